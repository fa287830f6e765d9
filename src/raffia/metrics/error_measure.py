"""What the error of a sample is relative to where models are judged: for choices of ridges, hyperparameters and features, and scores.

Reports say errors in one way whatever the outputs are, see `Sizes`; where models are judged in another, they say that beside it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

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
