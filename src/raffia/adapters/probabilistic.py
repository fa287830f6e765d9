"""A model as an operation in PyTensor graphs, for use in PyMC. Its gradient is an operation too."""

from functools import cache
from typing import Any

import numpy as np

from raffia.adapters.needed import needed
from raffia.model.vector_operator import FlatOperator


def pytensor_op(operator: FlatOperator) -> Any:
    """Make a PyTensor `Op` from a model, for deterministic variables and likelihoods of PyMC. NUTS gets its gradient.

    Parameters
    ----------
    operator
        `model.at(grid)`, or `model.at(grid, prior)`.

    Returns
    -------
    Op
        From vectors of length input_size to vectors of length output_size.

    Examples
    --------
    See *Derivatives, optimisers and export* in the reference (`docs/use.md`): `pm.Normal("y", pytensor_op(operator)(xi),
    noise, observed=data)`.
    """
    return _operation()(operator)


@cache
def _operation() -> Any:
    """The class, which cannot be made before the package is there."""
    graph, tensor = needed("pytensor.graph", "PyMC"), needed("pytensor.tensor", "PyMC")

    class Operation(graph.Op):  # type: ignore[name-defined]
        """x ↦ F(x), or where it is a gradient (x, s) ↦ F'(x)ᵀs."""

        def __init__(self, operator: FlatOperator, gradient: bool = False) -> None:
            self.operator, self.gradient = operator, gradient

        def make_node(self, *vectors: Any) -> Any:
            given = [tensor.as_tensor_variable(vector, dtype="float64") for vector in vectors]
            return graph.Apply(self, given, [tensor.vector(dtype="float64")])

        def perform(self, node: Any, inputs: list[np.ndarray], outputs: list[Any]) -> None:
            outputs[0][0] = (self.operator.vjp if self.gradient else self.operator)(*inputs)

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> list[tuple[int]]:
            return [(self.operator.input_size if self.gradient else self.operator.output_size,)]

        def L_op(self, inputs: list[Any], outputs: list[Any], gradients: list[Any]) -> list[Any]:
            """Of F alone; the curvature of F is not asked for by samplers."""
            return (
                super().L_op(inputs, outputs, gradients)
                if self.gradient
                else [Operation(self.operator, True)(*inputs, *gradients)]
            )

    return Operation
