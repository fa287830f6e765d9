"""Bounds on output values."""

import math
from dataclasses import dataclass

from torch import Tensor

from raffia.constraints.inequality import POINTS, Collocation, Inequality, elements_of, spread
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space


@dataclass(frozen=True, repr=False)
class Positive(Inequality):
    """Keep predictions from becoming negative, at collocation points of the training inputs.

    F(a) ≥ 0 at the collocation points of the training inputs.
    """

    points: int = POINTS
    channels: tuple[int, ...] | None = None

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return "values are not negative"

    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """Output values."""
        return _values(self, inputs, nodes, 0.0, math.inf)


@dataclass(frozen=True, repr=False)
class Bounded(Inequality):
    """Keep predictions between two bounds, at collocation points of the training inputs.

    low ≤ F(a) ≤ high at the collocation points of the training inputs; either bound may be infinite.
    """

    low: float = -math.inf
    high: float = math.inf
    points: int = POINTS
    channels: tuple[int, ...] | None = None

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return f"values are between {self.low} and {self.high}"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Also refuse bounds without anything between them."""
        super().check(inputs, outputs)
        if not self.low <= self.high or self.low == math.inf or self.high == -math.inf:
            raise RaffiaError(f"constraints: {self} needs low <= high.")

    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """Output values."""
        return _values(self, inputs, nodes, self.low, self.high)


def _values(constraint: Inequality, inputs: Tensor, nodes: Nodes, low: float, high: float) -> Collocation:
    elements = elements_of(nodes, constraint.channels)
    where = spread(constraint.points, len(inputs) * len(elements))
    return Collocation(inputs, where // len(elements), elements[where % len(elements)], low, high)
