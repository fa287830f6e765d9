"""Inequalities: they hold where they are asked for, at collocation points, which are values of outputs for training inputs."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.constraints.constructor_text import as_written
from raffia.constraints.equality import check_channels
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space

POINTS = 1000
"""Collocation points, unless told."""


@dataclass(frozen=True, eq=False)
class Collocation:
    """low ≤ F(a_i)_e − F(a_k)_l ≤ high, with e and l numbers of values of an output, flattened; without k and l, of F(a_i)_e alone."""

    inputs: Float[Tensor, "n *input"]
    """In training units."""
    sample: Int[Tensor, "points"]
    element: Int[Tensor, "points"]
    low: float = -math.inf
    high: float = math.inf
    less_sample: Int[Tensor, "points"] | None = None
    less_element: Int[Tensor, "points"] | None = None


class Inequality(ABC):
    """What values of outputs for the training inputs must obey. A new one is a frozen dataclass and three methods.

    It holds at so many `points`, spread evenly over all inputs and values of outputs; elsewhere it may not.
    """

    points: int
    channels: tuple[int, ...] | None = None
    """Which channels of outputs, or components of a vector, it is about; None is all."""

    def __repr__(self) -> str:
        return as_written(self)

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What holds."""

    def check(self, inputs: Space, outputs: Space) -> None:
        """Refuse spaces where it says nothing."""
        if outputs.tabular:
            return  # how many components there are is seen with the data
        check_channels(self, self.channels, "outputs", outputs)

    @abstractmethod
    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """Where it is to hold, for training inputs in training units and outputs on these nodes."""

    def check_points(self) -> None:
        """Refuse counts that are none."""
        if type(self.points) is not int or self.points < 1:
            raise RaffiaError(f"constraints: {type(self).__name__}(points=…) must be a positive integer; got {self.points!r}.")


def spread(count: int, total: int) -> Int[Tensor, "least"]:
    """`count` different numbers below `total`, or all of them: a stride near the golden section leaves no large gaps."""
    count = min(count, total)
    stride = max(1, round(total * (math.sqrt(5) - 1) / 2))
    while math.gcd(stride, total) > 1:
        stride += 1
    return torch.arange(count) * stride % total


def elements_of(nodes: Nodes, channels: tuple[int, ...] | None) -> Int[Tensor, "elements"]:
    """The numbers of the values of an output that belong to these channels, or components."""
    every = torch.arange(nodes.size)
    if channels is None or not nodes.has_components:
        return every
    if max(channels) >= nodes.shape[0] or min(channels) < 0:
        raise RaffiaError(f"constraints: channels {channels} are named, and outputs have those from 0 to {nodes.shape[0] - 1}.")
    return every.reshape(nodes.shape[0], -1)[list(channels)].flatten()
