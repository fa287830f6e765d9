"""Scattered nodes with quadrature weights, given or estimated from the points, inside a box or a torus."""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial import Delaunay, QhullError
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes, Space, digest_of
from raffia.spaces.grid import Domain
from raffia.spaces.simplices import Points, spread


@dataclass(frozen=True, eq=False)
class Mesh(Space, Nodes):  # type: ignore[misc]  # one_channel is the mesh itself, as either
    """Functions given by their values at scattered nodes: arrays (n, points).

    Two meshes are equal if they have the same nodes, weights and domain. The cells need not be the same.

    Parameters
    ----------
    nodes
        Coordinates, (points, dim) with dim from 1 to 3.
    weights
        Quadrature weights, ∫ f ≈ Σ_p w_p f(x_p). None estimates them: each simplex of `cells`, or of a Delaunay triangulation, gives equal
        parts of its volume to its corners.
    domain
        The box or torus that contains the nodes; None is their bounding box. Models treat functions on a mesh like functions on a grid of
        this domain.
    origin
        The lower corner of the domain.
    cells
        Intervals, triangles or tetrahedra as node indices, (cells, corners). Functions are interpolated linearly in them. They may
        leave holes in the domain. Cells with at most dim corners belong to a curve or a surface in space.

    Examples
    --------
    >>> import torch
    >>> from raffia import Mesh
    >>> Mesh(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])).root_weights.square().sum()
    tensor(1., dtype=torch.float64)
    """

    nodes: Tensor
    weights: Tensor | None = None
    domain: Domain | None = None
    origin: tuple[float, ...] | None = None
    cells: Tensor | None = None

    def __post_init__(self) -> None:
        nodes = torch.as_tensor(self.nodes, dtype=torch.float64).detach().cpu()
        if nodes.ndim != 2 or not len(nodes) or nodes.shape[1] not in (1, 2, 3) or not torch.isfinite(nodes).all():
            raise RaffiaError(f"Mesh(nodes=…) must be finite coordinates (points, dim), dim 1 to 3; got {tuple(nodes.shape)}.")
        low, high = nodes.amin(0), nodes.amax(0)
        if self.domain is None and not (high > low).all():
            raise RaffiaError("Mesh(nodes=…) must not lie in a plane or on a line: drop the coordinate that does not vary.")
        domain = self.domain or Domain(nodes.shape[1], periodic=False, extent=tuple((high - low).tolist()))
        around = self.domain is None and self.origin is None
        origin = tuple(low.tolist() if around else self.origin or [0.0] * domain.dim)
        if domain.dim != nodes.shape[1] or len(origin) != domain.dim:
            raise RaffiaError(
                f"Mesh(domain=…, origin=…) need the {nodes.shape[1]} dimensions of the nodes; got {domain}, {origin}."
            )
        corner, lengths = (torch.tensor(values, dtype=torch.float64) for values in (origin, domain.extents))
        outside = ((nodes - corner < -1e-9 * lengths) | (nodes - corner > lengths * (1 + 1e-9))).any(1).nonzero()
        if len(outside):
            index = int(outside[0])
            raise RaffiaError(f"Mesh(nodes=…) must lie in {domain} from {origin}; nodes[{index}] does not.")
        cells = None if self.cells is None else _checked(nodes, torch.as_tensor(self.cells).detach().cpu())
        if self.weights is not None:
            weights = torch.as_tensor(self.weights, dtype=torch.float64).detach().cpu()
        else:
            weights = _weights_of(nodes, domain) if cells is None else _weights_of_cells(nodes, cells)
        if weights.shape != (len(nodes),) or not (torch.isfinite(weights) & (weights > 0)).all():
            raise RaffiaError(f"Mesh(weights=…) must be {len(nodes)} positive numbers, one a node; got {tuple(weights.shape)}.")
        for name, value in (("nodes", nodes), ("weights", weights), ("domain", domain), ("origin", origin), ("cells", cells)):
            object.__setattr__(self, name, value)

    def as_fine_as(self, nodes: Nodes) -> "Mesh":
        """The mesh itself."""
        return self

    ndim = 1
    """One axis, of the nodes."""

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The dimension of the domain."""
        return self.nodes.shape[1]

    @property
    def space(self) -> "Mesh":
        """The mesh itself."""
        return self

    @cached_property
    def digest(self) -> str:
        """The text of the mesh with a hash of its nodes and weights."""
        return f"{self!r} {digest_of(self.nodes, self.root_weights)}"

    @property
    def region(self) -> Space:
        """The domain that contains the nodes."""
        return cast(Domain, self.domain)

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One axis, of the nodes."""
        return (len(self.nodes),)

    @property
    def root_weights(self) -> Float[Tensor, "_"]:
        """√w."""
        return cast(Tensor, self.weights).sqrt()

    @property
    def positions(self) -> Points:
        """The nodes, from the lower corner of the domain."""
        return self.nodes - torch.tensor(self.origin, dtype=torch.float64)

    def grid_of(self, f: Tensor) -> "Mesh":
        """The mesh itself, if `f` has as many values."""
        if f.ndim < 1 or f.shape[-1] != len(self.nodes):
            raise RaffiaError(f"functions on this mesh have {len(self.nodes)} values; got shape {tuple(f.shape)}.")
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh) or (self.domain, self.origin, self.shape) != (other.domain, other.origin, other.shape):
            return False
        return torch.equal(self.nodes, other.nodes) and torch.equal(self.root_weights, other.root_weights)

    def __hash__(self) -> int:
        return hash((self.shape, self.domain, float(self.nodes.sum())))

    def __repr__(self) -> str:
        return f"Mesh of {len(self.nodes)} nodes in {self.domain}"


def _weights_of(nodes: Points, domain: Domain) -> Float[Tensor, "points"]:
    """Give equal parts of the volume of each simplex to its corners. Coinciding points share one weight."""
    distinct, place, count = np.unique(nodes.numpy(), axis=0, return_inverse=True, return_counts=True)
    points = torch.from_numpy(distinct)
    if domain.dim == 1:
        weights = _line_weights(points[:, 0], domain)
    else:
        around = _with_copies(points, domain) if any(kind.periodic for kind in domain.kinds) else points
        try:
            triangulation = Delaunay(around.numpy())
        except QhullError:
            raise RaffiaError(f"weights cannot be estimated from {len(points)} points: pass Mesh(weights=…).") from None
        weights = spread(around, torch.from_numpy(triangulation.simplices).long())
        for point, _, neighbour in triangulation.coplanar.tolist():  # too close to another point for the triangulation
            weights[point] = weights[neighbour] = weights[neighbour] / 2
        weights = weights[: len(points)]
    weights = weights.clamp(min=1e-12 * float(weights.sum()) / len(weights))
    return (weights / torch.from_numpy(count))[torch.from_numpy(place.reshape(-1)).long()]


def _with_copies(points: Points, domain: Domain) -> Float[Tensor, "more dim"]:
    """The points, followed by their copies shifted along each periodic axis."""
    lengths = torch.tensor(domain.extents, dtype=torch.float64)
    low, high = points.amin(0) - 0.35 * lengths, points.amin(0) + 1.35 * lengths
    turns = [[0.0, -1.0, 1.0] if kind.periodic else [0.0] for kind in domain.kinds]
    shifts = torch.cartesian_prod(*[torch.tensor(some, dtype=torch.float64) for some in turns])[1:]
    copies = (points[None] + (shifts * lengths)[:, None]).reshape(-1, domain.dim)
    near = ((copies >= low) & (copies <= high)).all(1)
    return torch.cat([points, copies[near]])


def _line_weights(x: Float[Tensor, "points"], domain: Domain) -> Float[Tensor, "points"]:
    """Half of the distance between the two neighbours of each point; periodic if the domain is."""
    if domain.periodic:
        gaps = torch.diff(x, append=x[:1] + domain.extents[0])
        return (gaps + gaps.roll(1)) / 2
    if len(x) < 2:
        raise RaffiaError("weights cannot be estimated from a single point: pass Mesh(weights=…).")
    gaps = torch.diff(x)
    return torch.nn.functional.pad(gaps, (0, 1)) / 2 + torch.nn.functional.pad(gaps, (1, 0)) / 2


def _checked(nodes: Points, cells: Tensor) -> Tensor:
    """Refuse cells that are not node indices."""
    dim = nodes.shape[1]
    whole = not cells.is_complex() and cells.dtype != torch.bool and bool((cells == cells.long()).all())
    if not whole or cells.ndim != 2 or not len(cells) or not 2 <= cells.shape[1] <= dim + 1:
        raise RaffiaError(f"cells must be integer node indices, (cells, {dim + 1}); got {cells.dtype}, {tuple(cells.shape)}.")
    if cells.min() < 0 or cells.max() >= len(nodes):
        raise RaffiaError(
            f"cells must be node indices from 0 to {len(nodes) - 1}; got {int(cells.min())} to {int(cells.max())}."
        )
    return cells.long()


def _weights_of_cells(nodes: Points, cells: Tensor) -> Float[Tensor, "points"]:
    """Give equal parts of the volume of each cell to its corners. Every node needs a positive weight."""
    weights = spread(nodes, cells)
    if not (weights > 0).all():
        lost = int((weights <= 0).nonzero()[0])
        raise RaffiaError(f"every node must belong to a cell with positive volume; node {lost} does not. Leave such nodes out.")
    return weights
