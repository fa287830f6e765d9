"""What every space can do: read its discretisation off an array, and turn inner products into dot products."""

import hashlib
import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.spaces.axes import Axis


class Space(ABC):
    """A space of functions (or vectors), whatever their discretisation; the last `ndim` axes of an array hold one of them."""

    dim: int = 0
    """How many coordinates a point of the domain has; 0 where there is none."""
    channels: int = 1
    """How many functions a sample consists of."""
    periodic: bool = False
    """Whether samples are on a grid without its right ends."""
    kinds: tuple[Axis, ...] = ()
    """The kinds of the axes of a grid, where samples are on one."""
    tabular: ClassVar[bool] = False
    """Whether samples are vectors, rows of a table, and no functions."""
    gridded: ClassVar[bool] = False
    """Whether samples of one channel are on equispaced grids."""
    has_components: ClassVar[bool] = False
    """Whether the first axis of a sample counts quantities with units of their own: channels, or components of a vector."""

    @property
    @abstractmethod
    def ndim(self) -> int:
        """How many axes a sample has."""

    @property
    def one_channel(self) -> "Space":
        """The space of one channel: the space itself, where there are not several."""
        return self

    def over(self, region: "Space") -> "Space":
        """Functions on `region`, with as many channels as here."""
        return region

    @property
    def axes_in_words(self) -> tuple[str, ...]:
        """What each axis of a sample counts."""
        return ("points",) * self.ndim

    @property
    def in_words(self) -> str:
        """What samples are."""
        return f"functions on a {self!r}"

    @property
    def digest(self) -> str:
        """A text that is the same in every process for equal spaces, and differs for others."""
        return repr(self)

    @property
    def region(self) -> "Space":
        """The torus or box that its functions live in, whatever their discretisation and number of channels."""
        return self

    @property
    def longest(self) -> float:
        """The longest side of the region, in which default lengths are measured; 1 for vectors."""
        return max(getattr(self.region, "extents", ()), default=1.0)

    def as_fine_as(self, nodes: "Nodes") -> "Nodes":
        """Nodes here that hold what is given on others, of one channel."""
        return nodes

    @abstractmethod
    def grid_of(self, f: Tensor) -> "Nodes":
        """The discretisation on which `f` is given, read off its trailing axes."""


class Nodes(ABC):
    """A discretisation with a quadrature. `embed` makes every inner product a dot product."""

    shape: tuple[int, ...]
    has_components: ClassVar[bool] = False
    """Whether the first axis counts quantities with units of their own."""

    @property
    def one_channel(self) -> "Nodes":
        """The nodes of one channel of functions that may have several."""
        return self

    def with_channels(self, one: "Nodes") -> "Nodes":
        """`one`, for as many channels as there are here."""
        return one

    @property
    @abstractmethod
    def space(self) -> Space:
        """The space of functions that are given here."""

    @property
    @abstractmethod
    def root_weights(self) -> Float[Tensor, "_"]:
        """√w, flattened; a single number where all weights are equal."""

    @property
    def size(self) -> int:
        """How many values a function has."""
        return math.prod(self.shape)

    @property
    def volume(self) -> float:
        """The integral of 1."""
        root = self.root_weights
        return float(root.square().sum()) * (self.size if root.numel() == 1 else 1)

    def embed(self, f: Float[Tensor, "*batch_and_shape"]) -> Float[Tensor, "*batch points"]:
        """√w·f with the grid axes flattened, so that ⟨f, g⟩ = embed(f)·embed(g)."""
        flat = f.reshape(*f.shape[: f.ndim - len(self.shape)], self.size)
        return flat * self.root_weights.to(flat)

    def unembed(self, v: Float[Tensor, "*batch points"]) -> Float[Tensor, "*batch_and_shape"]:
        """The function whose embedding is v."""
        return (v / self.root_weights.to(v)).reshape(*v.shape[:-1], *self.shape)

    def inner(self, f: Tensor, g: Tensor) -> Tensor:
        """⟨f, g⟩ in L²."""
        return (self.embed(f) * self.embed(g)).sum(-1)

    def norm(self, f: Tensor) -> Tensor:
        """‖f‖ in L²."""
        return torch.linalg.vector_norm(self.embed(f), dim=-1)


def digest_of(*tensors: Tensor) -> str:
    """A hash of the values of tensors."""
    hashed = hashlib.sha256()
    for tensor in tensors:
        hashed.update(bytes_of(tensor))
    return hashed.hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """The values of a tensor, as they lie in memory."""
    return tensor.detach().cpu().contiguous().reshape(-1).numpy().data
