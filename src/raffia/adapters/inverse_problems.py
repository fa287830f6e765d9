"""For CUQIpy: a forward model with a gradient."""

from typing import Any

from raffia.adapters.needed import needed
from raffia.model.vector_operator import FlatOperator


def cuqi_model(operator: FlatOperator, range_geometry: Any = None, domain_geometry: Any = None) -> Any:
    """Make a `cuqi.model.Model` of CUQIpy from a model, with its gradient.

    Parameters
    ----------
    operator
        `model.at(grid)`, or `model.at(grid, prior)`.
    range_geometry, domain_geometry
        Geometries of CUQIpy; None is plain vectors.

    Returns
    -------
    cuqi.model.Model
        From vectors of length input_size to vectors of length output_size.

    Examples
    --------
    See *Derivatives, optimisers and export* in the reference (`docs/use.md`): `cuqi_model(model.at(64, prior))`.
    """
    model = needed("cuqi.model", "CUQIpy")
    return model.Model(
        lambda x: operator(x),
        operator.output_size if range_geometry is None else range_geometry,
        operator.input_size if domain_geometry is None else domain_geometry,
        gradient=lambda direction, x: operator.vjp(x, direction),
    )
