"""Errors in units of how much outputs vary: for quantities whose means say nothing of their errors."""

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.metrics.error_measure import ErrorMeasure
from raffia.spaces import Nodes


class Deviations(ErrorMeasure):
    """The root mean square of the errors of a sample, each in units of the standard deviation of that output over the training data."""

    formula = "The error of a sample is the root mean square of its errors, each in units of the deviation of that output"
    naive = "the means"
    unit = "in deviations"

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Normalised numbers, vectors and several channels: their means may be large beside what varies."""
        return normalized and (grid.size == 1 or (grid.has_components and grid.shape[0] > 1))

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """Outputs are in these units already, so only the volume is left."""
        return torch.full((len(y),), grid.volume**0.5, dtype=y.dtype, device=y.device)
