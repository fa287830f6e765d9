"""Domains and equispaced grids: the only place where a function meets its discretisation.

Functions are plain tensors whose last axes are the grid axes; a `Grid` is inferred from those axes.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes, Space

MOST_DIMENSIONS = 9


@dataclass(frozen=True)
class Domain(Space):
    """The torus or the box [0, extent]^dim; dim 0 is a single point, the domain of real numbers.

    `extent` is one length for all axes, or one per axis.
    """

    dim: int
    periodic: bool = True
    extent: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        if self.dim not in range(MOST_DIMENSIONS + 1):
            raise RaffiaError(f"Domain(dim=…) needs dim >= 0 and at most {MOST_DIMENSIONS}; got {self.dim!r}.")
        if len(self.extents) != self.dim:
            raise RaffiaError(f"Domain(extent=…) needs one length, or {self.dim}; got {self.extent}.")
        if not all(length > 0 for length in self.extents):
            raise RaffiaError(f"Domain(extent=…) needs positive lengths; got {self.extent}.")

    @property
    def ndim(self) -> int:
        """One axis for each dimension."""
        return self.dim

    @property
    def in_words(self) -> str:
        """What samples are."""
        return f"functions on a domain of dimension {self.dim}"

    @property
    def extents(self) -> tuple[float, ...]:
        """The length of each axis."""
        return tuple(self.extent) if isinstance(self.extent, (tuple, list)) else (float(self.extent),) * self.dim

    def grid(self, *shape: int) -> "Grid":
        """The equispaced grid with `shape` points; one number serves every axis."""
        return Grid(self, tuple(shape) * self.dim if len(shape) == 1 else tuple(shape))

    def as_fine_as(self, nodes: Nodes) -> "Grid":
        """A grid with twice as many points along an axis as scattered ones would have."""
        return self.grid(1 + 2 * math.ceil(nodes.size ** (1 / self.dim)))

    def grid_of(self, f: Tensor) -> "Grid":
        """The grid on which `f` is given, read off its trailing axes."""
        if f.ndim < self.dim:
            raise RaffiaError(
                f"a function on a domain of dimension {self.dim} has at least that many axes; got shape {tuple(f.shape)}."
            )
        return Grid(self, tuple(f.shape[f.ndim - self.dim :]))


@dataclass(frozen=True)
class Grid(Nodes):
    """Equispaced nodes. Periodic: the right end is excluded. Box: both ends are included.

    The quadrature is the composite trapezoid rule, which on a torus is the mean over the nodes.
    """

    domain: Domain
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        least = 1 if self.domain.periodic else 2
        if len(self.shape) != self.domain.dim or any(points < least for points in self.shape):
            kind = "torus" if self.domain.periodic else "box"
            raise RaffiaError(
                f"a grid on a {kind} of dimension {self.domain.dim} needs {self.domain.dim} axes "
                f"of {least} point(s) or more; got shape {self.shape}."
            )

    @property
    def space(self) -> Domain:
        """The domain."""
        return self.domain

    @property
    def spacings(self) -> tuple[float, ...]:
        """The distance between neighbours along each axis."""
        intervals = (points if self.domain.periodic else points - 1 for points in self.shape)
        return tuple(extent / n for extent, n in zip(self.domain.extents, intervals, strict=True))

    def axes(self) -> tuple[Float[Tensor, "_"], ...]:
        """The coordinates of the nodes along each axis."""
        return tuple(h * torch.arange(points, dtype=torch.float64) for h, points in zip(self.spacings, self.shape, strict=True))

    def nodes(self) -> Float[Tensor, "*shape dim"]:
        """The coordinates of every node."""
        if not self.shape:
            return torch.zeros(0, dtype=torch.float64)
        return torch.stack(torch.meshgrid(*self.axes(), indexing="ij"), dim=-1)

    @property
    def positions(self) -> Float[Tensor, "points dim"]:
        """The coordinates of every node, one below the other."""
        return self.nodes().reshape(self.size, self.domain.dim)

    def weights(self) -> Float[Tensor, "*shape"]:
        """The trapezoid weights: ∫ f ≈ Σ weights · f."""
        weights = torch.ones((), dtype=torch.float64)
        for h, points in zip(self.spacings, self.shape, strict=True):
            axis = torch.full((points,), h, dtype=torch.float64)
            if not self.domain.periodic:
                axis[0] = axis[-1] = h / 2
            weights = weights[..., None] * axis
        return weights

    @property
    def root_weights(self) -> Float[Tensor, "_"]:
        """√w, flattened; a single number where all weights are equal."""
        if self.domain.periodic:
            return torch.tensor([math.sqrt(math.prod(self.spacings))], dtype=torch.float64)
        return self.weights().flatten().sqrt()


POINT = Domain(0).grid()
"""Where numbers live: functions on a point."""
