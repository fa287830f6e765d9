"""For CUQIpy: a forward model with a gradient."""

from typing import Any

from raffia.adapters.needed import needed
from raffia.model.vector_operator import FlatOperator


def cuqi_model(operator: FlatOperator, range_geometry: Any = None, domain_geometry: Any = None) -> Any:
    """A `cuqi.model.Model` of x; with geometries of one's own, or vectors. Its samplers that need gradients have them by `vjp`."""
    model = needed("cuqi.model", "CUQIpy")
    return model.Model(
        lambda x: operator(x),
        operator.output_size if range_geometry is None else range_geometry,
        operator.input_size if domain_geometry is None else domain_geometry,
        gradient=lambda direction, x: operator.vjp(x, direction),
    )
