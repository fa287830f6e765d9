"""Pairs of functions: in memory, with the spaces they live in, or anywhere that gives them a part at a time."""

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, SupportsIndex, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from raffia.data.trajectories import Along, pairs_in_memory, widened
from raffia.errors import RaffiaError
from raffia.spaces import Space, Vectors, bytes_of
from raffia.validation import check_dense

Array = np.ndarray | Tensor
Batch = tuple[Array, Array]


@runtime_checkable
class Pairs(Protocol):
    """Pairs (a_i, y_i) that are read a part at a time."""

    def __len__(self) -> int:
        """How many there are."""

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The pairs from number `start` on, in order, `size` at a time; the last batch may be shorter."""


class Readable(ABC):
    """Pairs any part of which can be read."""

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @property
    def stamp(self) -> str:
        """What tells these pairs from others, such as another version of their file; nothing where that is not known."""
        return ""

    @abstractmethod
    def read(self, rows: slice) -> Batch:
        """Some of them."""

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The pairs from number `start` on, in order, `size` at a time; the last batch may be shorter."""
        for first in range(start, len(self), size):
            yield self.read(slice(first, min(first + size, len(self))))


@dataclass(frozen=True)
class Dataset(Readable):
    """Pairs of inputs and outputs, with the spaces that they live in. It unpacks: `a, y = dataset`.

    Parameters
    ----------
    a, y
        Inputs and outputs, arrays or tensors of shape (n, *grid); see `Channels`, `Mesh` and `Vectors` for other shapes.
    domain
        The space of the inputs.
    settings
        What made the data, stored with them.
    output
        The space of the outputs, if it is not that of the inputs.
    along
        The positions of pairs along trajectories, as `of_trajectories` sets them.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import Dataset, Domain
    >>> data = Dataset(np.zeros((5, 32)), np.zeros((5, 32)), Domain(1))
    >>> len(data), data.a.shape
    (5, torch.Size([5, 32]))
    """

    a: Any
    y: Any
    domain: Any
    settings: dict[str, Any] = field(default_factory=dict)
    output: Space | None = None
    along: Along | None = None

    @classmethod
    def of_trajectories(
        cls,
        u: Any,
        domain: Any,
        stride: SupportsIndex = 1,
        window: SupportsIndex | None = None,
        horizon: SupportsIndex = 1,
        parameters: Any = None,
        times: Any = None,
    ) -> "Dataset":
        """Make pairs from trajectories: a state is the input, the next state the output.

        Parameters
        ----------
        u
            States (trajectories, states, *grid), with channels before the grid if there are several. One long trajectory is
            `u[None]`.
        domain
            The space of a state.
        stride
            The number of steps from a state to the next in a pair.
        window, horizon
            The numbers of states in a row that are the input and the output, as channels. `raffia.fit` may change a window
            that is not given to two, if one state does not determine the next.
        parameters
            Numbers that are constant along a trajectory, (trajectories,) or (trajectories, numbers): constant channels of the
            inputs.
        times
            The times of the states, (states,), which must be in equal steps.

        Returns
        -------
        Dataset
            The pairs. Whole trajectories are held out of it.

        Examples
        --------
        >>> import numpy as np
        >>> from raffia import Dataset, Domain
        >>> len(Dataset.of_trajectories(np.random.rand(4, 11, 32), Domain(1)))
        40
        """
        a, y, inputs, output, along = pairs_in_memory(u, domain, stride, window, horizon, parameters, times)
        return cls(a, y, inputs, output=None if output == inputs != Vectors() else output, along=along)

    def __post_init__(self) -> None:
        for name, space in (("domain", self.domain), ("output", self.output)):
            if not isinstance(space, Space) and (name == "domain" or space is not None):
                raise RaffiaError(f"Dataset({name}=…) must be a space, such as Domain(1) or Vectors(); got {space!r}.")
        if not isinstance(self.settings, dict):
            raise RaffiaError(
                f"Dataset(settings=…) must be a dictionary; got {self.settings!r}. A space of the outputs is output=…."
            )
        for name in ("a", "y"):
            check_dense(name, getattr(self, name))
            object.__setattr__(self, name, torch.as_tensor(getattr(self, name)))
        if self.along is not None and len(self.along) != len(self.a):
            raise RaffiaError(f"Dataset(along=…) must be of all {len(self.a)} pairs; it is of {len(self.along)}.")

    def __iter__(self) -> Iterator[Tensor]:
        yield self.a
        yield self.y

    def __len__(self) -> int:
        return len(self.a)

    @property
    def output_space(self) -> Space:
        """The space of the outputs."""
        return self.domain if self.output is None else self.output

    def read(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Some of the pairs."""
        return self.a[rows], self.y[rows]

    def dataset(self) -> "Dataset":
        """Itself: pairs in a file are read into one."""
        return self

    def widened(self) -> "Dataset":
        """The pairs of trajectories with one state more in their inputs, the one a stride before: those that have one."""
        if self.along is None:
            raise RaffiaError("only pairs of trajectories have states before them: make them by Dataset.of_trajectories.")
        a, space, along = widened(self.a, self.domain, self.along)
        return Dataset(a, self.y[self.along.preceded()[0]], space, self.settings, self.output_space, along)

    def part(self, rows: list[int]) -> "Dataset":
        """The pairs of these numbers."""
        along = None if self.along is None else self.along.part(rows)
        return Dataset(self.a[rows], self.y[rows], self.domain, self.settings, self.output, along)


@dataclass(frozen=True, eq=False)
class InMemory(Readable):
    """Two arrays as `Pairs`."""

    a: Array
    y: Array

    def __len__(self) -> int:
        return len(self.a)

    @property
    def stamp(self) -> str:
        """A checksum of the arrays."""
        return str([zlib.crc32(bytes_of(torch.as_tensor(f))) for f in (self.a, self.y)])

    def read(self, rows: slice) -> Batch:
        """Some of the pairs."""
        return self.a[rows], self.y[rows]


@dataclass(frozen=True)
class Part(Readable):
    """Consecutive pairs of others, themselves `Pairs`."""

    of: Readable
    rows: range

    @property
    def stamp(self) -> str:
        """That of the others."""
        return self.of.stamp

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: slice) -> Batch:
        """Some of them."""
        chosen = self.rows[rows]
        return self.of.read(slice(chosen.start, chosen.stop))


def elements_of(pairs: Pairs) -> int:
    """How many numbers one pair has."""
    one = next(iter(pairs.batches(1)), None)
    if one is None:
        raise RaffiaError("source holds no pairs.")
    return sum(math.prod(values.shape[1:]) for values in one)
