"""Inequalities, which hold at collocation points: values of the outputs for training inputs. And how a list of constraints is read."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.constraints.equality import Equality, check_channels, constructor_text
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space

POINTS = 1000
"""The default number of collocation points."""


@dataclass(frozen=True, eq=False)
class Collocation:
    """low ≤ F(a_i)_e − F(a_k)_l ≤ high for each point, with indices e and l into the flattened output; or low ≤ F(a_i)_e ≤ high."""

    inputs: Float[Tensor, "n *input"]
    """In training units."""
    sample: Int[Tensor, "points"]
    element: Int[Tensor, "points"]
    low: float = -math.inf
    high: float = math.inf
    less_sample: Int[Tensor, "points"] | None = None
    less_element: Int[Tensor, "points"] | None = None


class Inequality(ABC):
    """A condition on output values for the training inputs. A new one is a frozen dataclass with three methods.

    It holds at `points` collocation points, spread evenly over all inputs and output values. Elsewhere it may be violated.
    """

    points: int
    channels: tuple[int, ...] | None = None
    """The channels of the outputs, or components of a vector, that it constrains; None is all."""

    def __repr__(self) -> str:
        return constructor_text(self)

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The statement in words."""

    def check(self, inputs: Space, outputs: Space) -> None:
        """Refuse spaces to which it does not apply."""
        if outputs.tabular:
            return  # the number of components is known with the data
        check_channels(self, self.channels, "outputs", outputs)

    @abstractmethod
    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """The collocation points, for training inputs in training units and outputs on these nodes."""

    def check_points(self) -> None:
        """Refuse an invalid number of points."""
        if type(self.points) is not int or self.points < 1:
            raise RaffiaError(f"constraints: {type(self).__name__}(points=…) must be a positive integer; got {self.points!r}.")


def spread(count: int, total: int) -> Int[Tensor, "least"]:
    """`count` distinct indices below `total`, or all. A stride near the golden section leaves no large gaps."""
    count = min(count, total)
    stride = max(1, round(total * (math.sqrt(5) - 1) / 2))
    while math.gcd(stride, total) > 1:
        stride += 1
    return torch.arange(count) * stride % total


def elements_of(nodes: Nodes, channels: tuple[int, ...] | None) -> Int[Tensor, "elements"]:
    """The indices of output values that belong to these channels or components."""
    every = torch.arange(nodes.size)
    if channels is None or not nodes.has_components:
        return every
    if max(channels) >= nodes.shape[0] or min(channels) < 0:
        raise RaffiaError(f"constraints: channels {channels} are named, and outputs have those from 0 to {nodes.shape[0] - 1}.")
    return every.reshape(nodes.shape[0], -1)[list(channels)].flatten()


Constraint = Equality | Inequality


def check_spaces(constraints: Iterable[Constraint], inputs: Space, outputs: Space) -> None:
    """Refuse constraints that do not apply to maps between these spaces."""
    for one in constraints:
        one.check(inputs, outputs)
