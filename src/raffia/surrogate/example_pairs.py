"""Some pairs of functions, by which features are chosen."""

import math
from dataclasses import dataclass

from torch import Tensor

from raffia.data import Dataset
from raffia.spaces import Domain, Mesh, Space


@dataclass(frozen=True)
class ExamplePairs:
    """Pairs and their spaces, by which a family of features is chosen."""

    a: Tensor
    y: Tensor
    domain: Space
    output: Space
    streamed: bool = False
    """Whether pairs are read once, in bounded memory."""

    @classmethod
    def of(cls, data: Dataset) -> "ExamplePairs":
        """Those of a dataset."""
        return cls(data.a, data.y, data.domain, data.output_space)

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.a)

    @property
    def modes(self) -> int:
        """How many blocks modal coefficients have, about."""
        one = self.output.one_channel
        points = math.prod(self.y.shape[self.y.ndim - one.ndim :])
        return min(points, self.n) if isinstance(one, Mesh) else points // 2 + 1 if one.periodic else points

    @property
    def on_one_domain(self) -> bool:
        """Whether inputs and outputs are functions on the same nodes."""
        one, there = self.domain.one_channel, self.output.one_channel
        functions = one.dim > 0 and one == there
        return functions and self.a.shape[self.a.ndim - one.ndim :] == self.y.shape[self.y.ndim - one.ndim :]

    @property
    def on_a_rectangle(self) -> bool:
        """Whether inputs and outputs are functions of one channel on a rectangle."""
        return self.domain == self.output and self.domain.dim == 2 and isinstance(self.domain, Domain) and self.domain.boxed
