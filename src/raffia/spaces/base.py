"""The interfaces of function spaces and of their discretisations."""

import hashlib
import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import Axis


class Space(ABC):
    """A space of functions (or vectors), independent of the discretisation. The last `ndim` axes of an array hold one sample."""

    dim: int = 0
    """The dimension of the domain; 0 if there is none."""
    channels: int = 1
    """The number of functions in a sample."""
    periodic: bool = False
    """Whether all axes are periodic."""
    kinds: tuple[Axis, ...] = ()
    """The kinds of the axes, for samples on a grid."""
    tabular: ClassVar[bool] = False
    """Whether samples are vectors (rows of a table) and not functions."""
    gridded: ClassVar[bool] = False
    """Whether one channel of a sample is on an equispaced grid."""
    has_components: ClassVar[bool] = False
    """Whether the first axis of a sample holds different quantities: channels, or components of a vector."""

    @property
    @abstractmethod
    def ndim(self) -> int:
        """The number of axes of a sample."""

    @property
    def one_channel(self) -> "Space":
        """The space of one channel; the space itself if there are no channels."""
        return self

    def over(self, region: "Space") -> "Space":
        """Functions on `region` with the same number of channels."""
        return region

    @property
    def axes_in_words(self) -> tuple[str, ...]:
        """The meaning of each axis of a sample, for messages."""
        return ("points",) * self.ndim

    @property
    def in_words(self) -> str:
        """A description of samples, for messages."""
        return f"functions on a {self!r}"

    @property
    def digest(self) -> str:
        """A text that identifies the space in every process."""
        return repr(self)

    @property
    def region(self) -> "Space":
        """The torus or box on which its functions are defined, for any discretisation and number of channels."""
        return self

    @property
    def longest(self) -> float:
        """The longest side of the region, the unit of default length scales; 1 for vectors."""
        return max(getattr(self.region, "extents", ()), default=1.0)

    def as_fine_as(self, nodes: "Nodes") -> "Nodes":
        """Nodes of this space that resolve functions given on other nodes, for one channel."""
        return nodes

    @abstractmethod
    def grid_of(self, f: Tensor) -> "Nodes":
        """The discretisation of `f`, from the shape of its last axes."""


class Nodes(ABC):
    """A discretisation with a quadrature. `embed` makes every inner product a dot product."""

    shape: tuple[int, ...]
    has_components: ClassVar[bool] = False
    """Whether the first axis holds different quantities."""

    @property
    def one_channel(self) -> "Nodes":
        """The nodes of one channel."""
        return self

    def with_channels(self, one: "Nodes") -> "Nodes":
        """`one` with the same number of channels as here."""
        return one

    @property
    @abstractmethod
    def space(self) -> Space:
        """The space of functions on these nodes."""

    @property
    @abstractmethod
    def root_weights(self) -> Float[Tensor, "_"]:
        """√w, flattened; a single value if all weights are equal."""

    @property
    def size(self) -> int:
        """The number of values of a function."""
        return math.prod(self.shape)

    @property
    def volume(self) -> float:
        """The integral of 1."""
        root = self.root_weights
        return float(root.square().sum()) * (self.size if root.numel() == 1 else 1)

    def check(self, f: Tensor) -> None:
        """Refuse functions whose last axes are not those of these nodes."""
        if tuple(f.shape[f.ndim - len(self.shape) :]) != self.shape:
            raise RaffiaError(f"f has trailing shape {tuple(f.shape)}, but its nodes have shape {self.shape}.")

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
