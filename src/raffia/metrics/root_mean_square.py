"""Errors relative to the size of all outputs together: for numbers, any of which may be near zero."""

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.metrics.error_measure import ErrorMeasure
from raffia.spaces import Nodes


class RootMeanSquare(ErrorMeasure):
    """|F(a) − y| / (mean of y² over the training data)^½."""

    formula = "The error of a sample is |F(a) − y|, relative to the root mean square of the training outputs"
    naive = "zero"
    unit = "relative to the root mean square"

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Numbers."""
        return grid.size == 1

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """One for all."""
        size = float(self.norms(y, grid).square().mean().sqrt()) if self.reference is None else self.reference
        return torch.full((len(y),), size, dtype=y.dtype, device=y.device)
