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
    """How ridges and features are judged: error_i = ‖F(a_i) − y_i‖ / size_i, with outputs as the model is trained on them.

    A new measure is a class with `applies`, `sizes` and three texts, and an entry in `raffia.metrics.MEASURES`.

    Examples
    --------
    See *Add a measure of errors* on the page *Contributing*.

    >>> from raffia import metrics
    >>> all(issubclass(measure, metrics.ErrorMeasure) for measure in metrics.MEASURES)
    True
    """

    formula: ClassVar[str]
    """A sentence that defines the error of a sample."""
    naive: ClassVar[str]
    """The constant prediction whose error is 1."""
    unit: ClassVar[str]
    """The unit in tables, beside relative L² errors; empty for relative L² errors themselves."""

    offset: Tensor | None
    """The shift that was subtracted from outputs, in training units; None is zero."""
    reference: float | None
    """The root mean square norm of the training outputs; None if unknown."""
    nodes: Nodes | None = None
    """The nodes of the offset, if it is a function."""

    @classmethod
    def of(cls, y: Tensor, grid: Nodes, offset: Tensor | None = None, nodes: Nodes | None = None) -> "ErrorMeasure":
        """The measure for a model trained on these outputs, given in training units."""
        return cls(offset, float(cls(offset, None, nodes).norms(y, grid).square().mean().sqrt()), nodes)

    def norms(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """‖y_i‖ with the offset added back, in training units."""
        return grid.norm(y if self.offset is None else y + interpolate(self.offset, self.nodes, grid).to(y))

    @classmethod
    @abstractmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Return whether a model with outputs on `grid` is judged by this measure.

        `normalized` is whether the outputs were normalised before training. The first measure in `MEASURES` that applies is taken.
        """

    @abstractmethod
    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The sizes by which the errors of these outputs are divided."""

    def errors(self, y: Float[Tensor, "n *output"], prediction: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The error of each prediction."""
        return grid.norm(prediction - y) / not_zero(self.sizes(y, grid))


def not_zero(sizes: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    """The sizes that errors are divided by, refused where one is zero."""
    if (sizes == 0).any():
        raise RaffiaError(
            f"the relative error is undefined: y[{int((sizes == 0).nonzero()[0])}] is zero, and so are the training outputs. "
            "Use metrics.bochner_error, or check the data."
        )
    return sizes


class Deviations(ErrorMeasure):
    """The root mean square of the errors of a sample, each in units of the standard deviation of that output over the training data."""

    formula = "The error of a sample is the root mean square of its errors, each in units of the deviation of that output"
    naive = "the means"
    unit = "in deviations"

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Return True for normalised scalars, vectors and several channels: their means may be large compared with their variation."""
        return normalized and (grid.size == 1 or (grid.has_components and grid.shape[0] > 1))

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """Training units are standard deviations already, so only the volume remains."""
        return torch.full((len(y),), grid.volume**0.5, dtype=y.dtype, device=y.device)


class RootMeanSquare(ErrorMeasure):
    """|F(a) − y| / (mean of y² over the training data)^½."""

    formula = "The error of a sample is |F(a) − y|, relative to the root mean square of the training outputs"
    naive = "zero"
    unit = "relative to the root mean square"

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Return True for scalar outputs."""
        return grid.size == 1

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The same for all samples."""
        size = float(self.norms(y, grid).square().mean().sqrt()) if self.reference is None else self.reference
        return torch.full((len(y),), size, dtype=y.dtype, device=y.device)


FLOOR = 0.1
"""Outputs smaller than this share of the usual norm are treated as having it, so that one output near zero does not dominate the mean."""


class Relative(ErrorMeasure):
    """‖F(a) − y‖ / max(‖y‖, 0.1 r), with r the root mean square norm of the training outputs; the paper's has r = 0 (eqn:test_error)."""

    formula = "The error of a sample is ‖F(a) − y‖ / ‖y‖ (or a tenth of the usual norm, where y is smaller)"
    naive = "zero"
    unit = ""

    @classmethod
    def applies(cls, grid: Nodes, normalized: bool) -> bool:
        """Return True, as the last measure is for all other outputs."""
        return True

    def sizes(self, y: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n"]:
        """The norm of each output in training units."""
        return self.norms(y, grid).clamp(min=FLOOR * (self.reference or 0.0))
