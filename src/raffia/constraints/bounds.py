"""Bounds on output values."""

import math
from dataclasses import dataclass

from torch import Tensor

from raffia.constraints.inequality import POINTS, Collocation, Inequality, elements_of, spread
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space


@dataclass(frozen=True, repr=False)
class Positive(Inequality):
    """Keep predictions from becoming negative: F(a) ≥ 0 at collocation points of the training inputs.

    Parameters
    ----------
    points
        The number of collocation points, spread evenly over the training inputs and their nodes.
    channels
        Indices of output channels; None is all.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import Positive
    >>> model = RandomFeatureModel(FourierFeatures(), ridge=1e-6, constraints=[Positive()])
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
    """Keep predictions between two bounds: low ≤ F(a) ≤ high at collocation points of the training inputs.

    Parameters
    ----------
    low, high
        The bounds; either may be infinite.
    points
        The number of collocation points, spread evenly over the training inputs and their nodes.
    channels
        Indices of output channels; None is all.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import Bounded
    >>> model = RandomFeatureModel(FourierFeatures(), ridge=1e-6, constraints=[Bounded(low=0.0, high=1.0)])
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
