"""Domains and equispaced grids.

Functions are plain tensors whose last axes are the grid axes; a `Grid` is inferred from those axes.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, cast, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import BOX, PERIODIC, Axis, Boundary, kinds_of
from raffia.spaces.base import Nodes, Space

MOST_DIMENSIONS = 9


@dataclass(frozen=True)
class Domain(Space):
    """The torus or the box [0, extent]^dim; dim 0 is a single point, the domain of real numbers.

    Parameters
    ----------
    dim
        The dimension.
    periodic
        Whether all axes are periodic (a torus) or none (a box).
    extent
        The length of all axes, or one length for each axis.
    axes
        Kinds of axes, one for all or one for each: "periodic", "box" (with nodes at both ends), "cells" (nodes at centres of cells), "left"
        (a box without a node at its last end) or "right" (without a node at its first end). It replaces `periodic`.

    Examples
    --------
    >>> from raffia import Domain
    >>> Domain(2, axes=("periodic", "box")).grid(64, 33).size
    2112
    """

    gridded: ClassVar[bool] = True

    dim: int
    periodic: bool = True
    extent: float | tuple[float, ...] = 1.0
    axes: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.dim not in range(MOST_DIMENSIONS + 1):
            raise RaffiaError(f"Domain(dim=…) needs dim >= 0 and at most {MOST_DIMENSIONS}; got {self.dim!r}.")
        if self.axes is not None:  # equal domains must have equal fields, so `axes` is None if `periodic` is enough
            kinds = kinds_of(self.axes, self.dim, "Domain(axes=…)")
            plain = kinds in ((PERIODIC,) * self.dim, (BOX,) * self.dim)
            object.__setattr__(self, "periodic", all(kind.periodic for kind in kinds))
            object.__setattr__(self, "axes", None if plain else tuple(kind.name for kind in kinds))
        if len(self.extents) != self.dim:
            raise RaffiaError(f"Domain(extent=…) needs one length, or {self.dim}; got {self.extent}.")
        if not all(length > 0 for length in self.extents):
            raise RaffiaError(f"Domain(extent=…) needs positive lengths; got {self.extent}.")

    @property
    def ndim(self) -> int:
        """One axis for each dimension."""
        return self.dim

    def __repr__(self) -> str:
        axes = "" if self.axes is None else f", axes={self.axes}"
        return f"Domain(dim={self.dim}, periodic={self.periodic}, extent={self.extent}{axes})"

    @property
    def in_words(self) -> str:
        """What messages call samples."""
        return f"functions on a domain of dimension {self.dim}"

    @property
    def noun(self) -> str:
        """What messages call the domain: a torus, a box, or a domain with axes of these kinds."""
        return "torus" if self.periodic else "box" if self.boxed else f"domain with axes {', '.join(self.axes or ())}"

    @property
    def kinds(self) -> tuple[Axis, ...]:  # type: ignore[override]
        """The kind of each axis."""
        if self.axes is None:
            return (PERIODIC if self.periodic else BOX,) * self.dim
        return kinds_of(self.axes, self.dim, "Domain(axes=…)")

    @property
    def boxed(self) -> bool:
        """Whether no axis is periodic and all have nodes at both ends."""
        return self.axes is None and not self.periodic

    @property
    def natural_boundary(self) -> Boundary:
        """The boundary condition of fields if none is named: periodic on a torus, Neumann on other domains."""
        return "periodic" if self.periodic else "neumann"

    def boundaries(self, boundary: Boundary | tuple[Boundary, ...]) -> tuple[Boundary, ...]:
        """A boundary condition for each axis. One that is given for the whole domain holds for all axes that are not periodic."""
        one = boundary in get_args(Boundary)
        found = tuple("periodic" if kind.periodic else boundary for kind in self.kinds) if one else tuple(boundary)
        for word in found:
            if word not in get_args(Boundary):
                raise RaffiaError(f"boundary must be one of {get_args(Boundary)}, or one for each axis; got {boundary!r}.")
        fits = [word == "periodic" for word in found] == [kind.periodic for kind in self.kinds]
        if not fits or (one and self.dim and (boundary == "periodic") != self.periodic):
            raise RaffiaError(f"boundary {boundary!r} does not go with a {self.noun}: only periodic axes are 'periodic'.")
        return cast(tuple[Boundary, ...], found)

    @property
    def extents(self) -> tuple[float, ...]:
        """The length of each axis."""
        return tuple(self.extent) if isinstance(self.extent, (tuple, list)) else (float(self.extent),) * self.dim

    def grid(self, *shape: int) -> "Grid":
        """The equispaced grid with `shape` points; one number serves every axis."""
        return Grid(self, tuple(shape) * self.dim if len(shape) == 1 else tuple(shape))

    def as_fine_as(self, nodes: Nodes) -> "Grid":
        """A grid with twice as many points along an axis as the scattered nodes have on average."""
        return self.grid(1 + 2 * math.ceil(nodes.size ** (1 / self.dim)))

    def grid_of(self, f: Tensor) -> "Grid":
        """The grid of `f`, from the shape of its last axes."""
        if f.ndim < self.dim:
            raise RaffiaError(
                f"a function on a domain of dimension {self.dim} has at least that many axes; got {tuple(f.shape)}."
            )
        return Grid(self, tuple(f.shape[f.ndim - self.dim :]))


@dataclass(frozen=True)
class Grid(Nodes):
    """Equispaced nodes on a domain, with their quadrature. Usually made by `domain.grid(points)`.

    A periodic axis excludes its right end, and a box includes both ends; see `Domain` for other kinds. The quadrature is the
    composite trapezoid rule, on a torus the mean over the nodes.

    Parameters
    ----------
    domain
        The torus or box.
    shape
        The number of points along each axis.

    Examples
    --------
    >>> from raffia import Domain
    >>> Domain(1).grid(4).nodes()[:, 0].tolist()
    [0.0, 0.25, 0.5, 0.75]
    """

    domain: Domain
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        kinds = self.domain.kinds
        if len(self.shape) != len(kinds) or any(points < kind.least for points, kind in zip(self.shape, kinds, strict=True)):
            least = max((kind.least for kind in kinds), default=1)
            raise RaffiaError(
                f"a grid on a {self.domain.noun} needs {len(kinds)} axes of {least} point(s) or more; got shape {self.shape}."
            )

    @property
    def space(self) -> Domain:
        """The domain."""
        return self.domain

    @property
    def lines(self) -> tuple[tuple[Axis, int, float], ...]:
        """The kind, the number of points and the length of each axis."""
        return tuple(zip(self.domain.kinds, self.shape, self.domain.extents, strict=True))

    @property
    def spacings(self) -> tuple[float, ...]:
        """The distance between neighbours along each axis."""
        return tuple(extent / kind.intervals(points) for kind, points, extent in self.lines)

    def axes(self) -> tuple[Float[Tensor, "_"], ...]:
        """The coordinates of the nodes along each axis."""
        return tuple(kind.coordinates(points, extent) for kind, points, extent in self.lines)

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
        """The weights of the quadrature: ∫ f ≈ Σ weights · f."""
        weights = torch.ones((), dtype=torch.float64)
        for kind, points, extent in self.lines:
            weights = weights[..., None] * kind.weights(points, extent)
        return weights

    @property
    def root_weights(self) -> Float[Tensor, "_"]:
        """√w, flattened; a single number where all weights are equal."""
        if all(kind.periodic for kind in self.domain.kinds):
            return torch.tensor([math.sqrt(math.prod(self.spacings))], dtype=torch.float64)
        return self.weights().flatten().sqrt()

    def refined(self) -> tuple["Grid", tuple[slice, ...]]:
        """A finer grid that contains these nodes, and their positions in it."""
        finer = [kind.refined(points) for kind, points, _ in self.lines]
        return Grid(self.domain, tuple(points for points, _ in finer)), tuple(where for _, where in finer)

    @property
    def with_ends(self) -> "Grid":
        """The grid with nodes added at ends that lack them."""
        if not any(any(kind.left_out) for kind in self.domain.kinds):
            return self
        domain = replace(self.domain, axes=tuple(kind.with_ends.name for kind in self.domain.kinds))
        return Grid(domain, tuple(points + sum(kind.left_out) for kind, points, _ in self.lines))

    def put_back(
        self, f: Float[Tensor, "*batch_and_shape"], boundaries: tuple[Boundary, ...]
    ) -> Float[Tensor, "*batch_and_more"]:
        """Extend functions to `with_ends`: zero at added ends, or the value of the neighbour, by the condition of each axis."""
        for dim, (kind, boundary) in enumerate(zip(self.domain.kinds, boundaries, strict=True), -len(self.shape)):
            f = kind.put_back(f, dim, boundary)
        return f

    def cropped(self, f: Float[Tensor, "*batch_and_more"]) -> Float[Tensor, "*batch_and_shape"]:
        """Restrict functions on `with_ends` to this grid."""
        for dim, (kind, points, _) in enumerate(self.lines, -len(self.shape)):
            if any(kind.left_out):
                f = f.narrow(dim, kind.left_out[0], points)
        return f


POINT = Domain(0).grid()
"""The grid of scalar values: a point."""
