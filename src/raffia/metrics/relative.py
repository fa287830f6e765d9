"""Errors relative to the norm of each output: for functions."""

from jaxtyping import Float
from torch import Tensor

from raffia.metrics.error_measure import ErrorMeasure
from raffia.spaces import Nodes

FLOOR = 0.1  # of the usual norm: smaller outputs count as if they had it, lest one that is nearly zero own the mean


class Relative(ErrorMeasure):
    """‖F(a) − y‖ / max(‖y‖, 0.1 r), with r the root mean square norm of the training outputs; the paper's has r = 0 (eqn:test_error)."""

    formula = "The error of a sample is ‖F(a) − y‖ / ‖y‖ (or a tenth of the usual norm, where y is smaller)"
    naive = "zero"
    unit = ""

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Wherever nothing else does."""
        return True

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The norm of each output, in units of its deviation where the model normalises."""
        return self.norms(y, grid).clamp(min=FLOOR * (self.reference or 0.0))
