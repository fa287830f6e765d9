"""Vectors, and functions with several channels."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes, Space


@dataclass(frozen=True)
class Vectors(Space, Nodes):  # type: ignore[misc]  # one_channel is the vectors themselves, as either
    """Vectors of parameters or quantities of interest: arrays (n, size).

    Parameters
    ----------
    length
        The number of components; None allows any.

    Examples
    --------
    >>> import torch
    >>> from raffia import Vectors
    >>> Vectors().grid_of(torch.ones(10, 3))
    Vectors(length=3)
    """

    has_components: ClassVar[bool] = True
    tabular: ClassVar[bool] = True

    length: int | None = None

    @property
    def ndim(self) -> int:
        """The number of axes of a vector: one, whose entries are the components."""
        return 1

    @property
    def axes_in_words(self) -> tuple[str, ...]:
        """The components."""
        return ("components",)

    @property
    def in_words(self) -> str:
        """What messages call samples."""
        return "vectors"

    @property
    def space(self) -> "Vectors":
        """Vectors of any size."""
        return Vectors()

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The number of components."""
        if self.length is None:
            raise RaffiaError("Vectors() has no size of its own: take Vectors().grid_of(array).")
        return (self.length,)

    @property
    def root_weights(self) -> Float[Tensor, "_"]:
        """1: the inner product is the dot product."""
        return torch.ones(1, dtype=torch.float64)

    def grid_of(self, f: Tensor) -> "Vectors":
        """Vectors of the size of `f`."""
        if f.ndim < 1 or f.shape[-1] == 0 or self.length not in (None, f.shape[-1]):
            raise RaffiaError(f"vectors need {self.length or 'at least one'} components; got {tuple(f.shape)}.")
        return Vectors(f.shape[-1])


@dataclass(frozen=True)
class Channels(Space):
    """Functions with several channels on one domain: arrays (n, count, *grid).

    Parameters
    ----------
    of
        The `Domain` or `Mesh` of each channel.
    count
        The number of channels.

    Examples
    --------
    >>> from raffia import Channels, Domain
    >>> Channels(Domain(2), 3).ndim
    3
    """

    has_components: ClassVar[bool] = True

    of: Space
    count: int

    def __post_init__(self) -> None:
        if self.count < 1 or isinstance(self.of, (Channels, Vectors)):
            raise RaffiaError(f"Channels(of=…, count=…) needs a Domain or a Mesh and count >= 1; got {self.of}, {self.count}.")

    @property
    def ndim(self) -> int:
        """The number of axes: one for the channels, then those of the domain."""
        return 1 + self.of.ndim

    @property
    def one_channel(self) -> Space:
        """The space of one channel."""
        return self.of

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The dimension of the domain."""
        return self.of.dim

    @property
    def channels(self) -> int:  # type: ignore[override]
        """The number of channels."""
        return self.count

    def over(self, region: Space) -> "Channels":
        """The same number of channels on another region."""
        return Channels(region, self.count)

    @property
    def axes_in_words(self) -> tuple[str, ...]:
        """The channels, then the points."""
        return (str(self.count), *self.of.axes_in_words)

    @property
    def in_words(self) -> str:
        """What messages call samples."""
        return f"functions with {self.count} channels"

    @property
    def digest(self) -> str:
        """The digest of one channel, and their number."""
        return f"{self.count} of {self.of.digest}"

    @property
    def region(self) -> Space:
        """The space of one channel."""
        return self.of.region

    def grid_of(self, f: Tensor) -> "ChannelGrid":
        """The grid of one channel, with their number."""
        if f.ndim < self.ndim or f.shape[-self.ndim] != self.count:
            raise RaffiaError(
                f"functions with {self.count} channels have shape (n, {self.count}, *grid); got {tuple(f.shape)}."
            )
        return ChannelGrid(self.of.grid_of(f), self.count)


@dataclass(frozen=True)
class ChannelGrid(Nodes):
    """The same nodes for every channel."""

    has_components: ClassVar[bool] = True

    of: Nodes
    count: int

    @property
    def one_channel(self) -> Nodes:
        """The nodes of one channel."""
        return self.of

    @property
    def space(self) -> Channels:
        """Functions with this number of channels."""
        return Channels(self.of.space, self.count)

    def with_channels(self, one: Nodes) -> "ChannelGrid":
        """The same number of channels on other nodes."""
        return ChannelGrid(one, self.count)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The channels, then the grid."""
        return (self.count, *self.of.shape)

    @property
    def root_weights(self) -> Float[Tensor, "_"]:
        """Those of the grid, repeated for every channel."""
        root = self.of.root_weights
        return root if root.numel() == 1 else root.repeat(self.count)
