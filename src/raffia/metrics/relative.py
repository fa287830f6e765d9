"""Errors relative to the norm of each output: for functions."""

from jaxtyping import Float
from torch import Tensor

from raffia.metrics.measure import ErrorMeasure
from raffia.spaces import Nodes


class Relative(ErrorMeasure):
    """‖F(a) − y‖ / ‖y‖, the paper's (eqn:test_error)."""

    formula = "The error of a sample is ‖F(a) − y‖ / ‖y‖"
    naive = "zero"

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Wherever nothing else does."""
        return True

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The norm of each output, in units of its deviation where the model normalises."""
        return self.norms(y, grid)
