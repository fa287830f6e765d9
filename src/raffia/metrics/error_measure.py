"""Error measures: the errors by which ridges, hyperparameters and features are chosen, and that `score` returns.

Reports give errors in one way for all outputs, see `Sizes`. Where a model is judged by another measure, reports add that one.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Nodes, interpolate


@dataclass(frozen=True, eq=False)
class ErrorMeasure(ABC):
    """error_i = ‖F(a_i) − y_i‖ / size_i, with outputs in training units (normalised, where the model normalises).

    A measure is one file: when it applies, what sizes are, and the words for it.
    """

    formula: ClassVar[str]
    """The error of a sample, in a sentence."""
    naive: ClassVar[str]
    """What has error 1 when always predicted."""
    unit: ClassVar[str]
    """A short name for tables that have relative L² errors beside; none for a measure that is just that."""

    offset: Tensor | None
    """What was subtracted from outputs, in training units; None is nothing."""
    reference: float | None
    """The root mean square norm of the training outputs; None where it is not known."""
    nodes: Nodes | None = None
    """Where the offset is given, if it is a function."""

    @classmethod
    def of(cls, y: Tensor, grid: Nodes, offset: Tensor | None = None, nodes: Nodes | None = None) -> "ErrorMeasure":
        """The measure for a model that learns from these outputs, given in training units."""
        return cls(offset, float(cls(offset, None, nodes).norms(y, grid).square().mean().sqrt()), nodes)

    def norms(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """‖y_i‖ before anything was subtracted, in training units."""
        return grid.norm(y if self.offset is None else y + interpolate(self.offset, self.nodes, grid).to(y))

    @classmethod
    @abstractmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Whether it is the one for outputs on these nodes, of a model that normalises or not."""

    @abstractmethod
    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """What the errors of these outputs are relative to."""

    def errors(self, y: Float[Tensor, "n *output"], prediction: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The error of each prediction."""
        sizes = self.sizes(y, grid)
        if (sizes == 0).any():
            raise RaffiaError(
                f"the relative error is undefined: y[{int((sizes == 0).nonzero()[0])}] is zero, and so are the training outputs. "
                "Use metrics.bochner_error, or check the data."
            )
        return grid.norm(prediction - y) / sizes


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
