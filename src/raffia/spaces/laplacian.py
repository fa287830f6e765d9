"""Eigenfunctions of the Laplacian on tori and boxes: eqn:periodic, eqn:eig_neumann and their Dirichlet sisters.

One axis has the orthonormal functions (L = 1)

    periodic    1, √2 sin 2πx, √2 cos 2πx, √2 sin 4πx, …      frequencies 0, 1, 1, 2, 2, …
    neumann     1, √2 cos πx, √2 cos 2πx, …                   frequencies 0, 1, 2, …
    dirichlet   √2 sin πx, √2 sin 2πx, …                      frequencies 1, 2, 3, …

and several axes have their products, ordered by eigenvalue, so that a longer basis extends a shorter one. Axes may differ.
The condition belongs to the basis, not to the grid: Neumann and Dirichlet functions live on the same points.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import Boundary
from raffia.spaces.grid import Domain, Grid
from raffia.spaces.mesh import Mesh
from raffia.transforms import outside_transforms


@dataclass(frozen=True)
class LaplacianBasis:
    """The first `n_modes` eigenfunctions φ_k of −Δ with one boundary condition, −Δφ_k = κ_k φ_k, ‖φ_k‖ = 1.

    `boundary` is one condition for all ends that the domain has, or one for each axis, "periodic" for those that are.
    `constant=False` leaves the constant function out: the Laplacian restricted to functions of mean zero.
    """

    domain: Domain
    boundary: Boundary | tuple[Boundary, ...]
    n_modes: int
    constant: bool = True

    def __post_init__(self) -> None:
        self.domain.boundaries(self.boundary)
        if self.n_modes < 1:
            raise RaffiaError(f"n_modes must be 1 or more; got {self.n_modes}.")

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """The condition along each axis."""
        return self.domain.boundaries(self.boundary)

    @property
    def modes(self) -> Int[Tensor, "modes dim"]:
        """The index of each eigenfunction along each axis."""
        skip = 0 if self.constant or "dirichlet" in self.boundaries else 1
        return _shells(self.domain.extents, self.boundaries, self.n_modes + skip)[skip:]

    @property
    def eigenvalues(self) -> Float[Tensor, "modes"]:
        """κ_k, nondecreasing."""
        return self._waves.square().sum(-1)

    @property
    def _waves(self) -> Float[Tensor, "modes dim"]:
        """The wavenumber of each eigenfunction along each axis."""
        turns = torch.tensor([_turn(boundary) for boundary in self.boundaries], dtype=torch.float64)
        return frequencies(self.modes, self.boundaries) * (turns / torch.tensor(self.domain.extents, dtype=torch.float64))

    def held_by(self, grid: Grid) -> Tensor:
        """Which eigenfunctions the grid can resolve: those whose products it integrates exactly. The others are dropped."""
        lines = zip(self.domain.kinds, grid.shape, self.boundaries, strict=True)
        return (self.modes < torch.tensor([kind.capacity(points, boundary) for kind, points, boundary in lines])).all(-1)

    def synthesis(self, coef: Float[Tensor, "*batch modes"], grid: Grid | Mesh) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k coef_k φ_k on the grid. Functions that the grid cannot resolve are dropped, never aliased; a mesh uses all."""
        if isinstance(grid, Mesh):
            return coef @ self.at(grid).to(coef)
        index, ranks, held = self._layout(grid)
        dense = coef.new_zeros(*coef.shape[:-1], math.prod(ranks))
        dense[..., index] = coef[..., held.to(coef.device)]
        field = synthesis(dense.reshape(*coef.shape[:-1], *ranks), grid, self.boundaries)
        return field / math.sqrt(math.prod(self.domain.extents))

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], grid: Grid | Mesh) -> Float[Tensor, "*batch modes"]:
        """⟨f, φ_k⟩ by the quadrature of the grid or mesh; 0 for functions that a grid cannot resolve."""
        if isinstance(grid, Mesh):
            return (f * grid.root_weights.to(f) ** 2) @ self.at(grid).to(f).mT
        index, ranks, held = self._layout(grid)
        field = analysis(f, grid, self.boundaries, ranks) / math.sqrt(math.prod(self.domain.extents))
        coef = f.new_zeros(*field.shape[: field.ndim - len(ranks)], self.n_modes)
        coef[..., held.to(f.device)] = field.flatten(-len(ranks))[..., index]
        return coef

    def at(self, mesh: Mesh) -> Float[Tensor, "modes points"]:
        """φ_k at the nodes of a mesh."""
        if mesh.domain != self.domain:
            raise RaffiaError(f"a mesh in {mesh.domain} does not go with {self.domain}: pass Mesh(nodes, domain=…).")
        return _at_nodes(self, mesh)

    def _layout(self, grid: Grid) -> tuple[Tensor, tuple[int, ...], Tensor]:
        """The index of each held mode in a dense array, the shape of that array, and the indices of the modes that are held."""
        held = self.held_by(grid)
        if not held.any():
            raise RaffiaError(
                f"a grid of shape {grid.shape} is too coarse for any of the {self.n_modes} modes. Use more points."
            )
        modes = self.modes[held]
        ranks = tuple(int(r) for r in modes.amax(0) + 1)
        strides = torch.tensor([math.prod(ranks[i + 1 :]) for i in range(len(ranks))])
        return (modes * strides).sum(-1), ranks, held.nonzero()[:, 0]


def synthesis(
    coef: Float[Tensor, "*batch_and_ranks"], grid: Grid, boundaries: tuple[Boundary, ...]
) -> Float[Tensor, "*batch_and_shape"]:
    """Sums of products of waves of mean square 1, along the axes of a grid."""
    whole = grid.with_ends
    for dim, (kind, points, boundary) in enumerate(
        zip(whole.domain.kinds, whole.shape, boundaries, strict=True), -len(boundaries)
    ):
        coef = kind.synthesis(coef.transpose(dim, -1), points, boundary).transpose(dim, -1)
    return grid.cropped(coef)


def analysis(
    f: Float[Tensor, "*batch_and_shape"], grid: Grid, boundaries: tuple[Boundary, ...], ranks: tuple[int, ...]
) -> Float[Tensor, "*batch_and_ranks"]:
    """Integrals of a function times the first of these products, by quadrature."""
    whole = grid.with_ends
    f = grid.put_back(f, boundaries) * whole.weights().to(f)
    for dim, (kind, rank, boundary) in enumerate(zip(whole.domain.kinds, ranks, boundaries, strict=True), -len(ranks)):
        f = kind.analysis(f.transpose(dim, -1), rank, boundary).transpose(dim, -1)
    return f


@lru_cache(maxsize=16)
@outside_transforms()
def _at_nodes(basis: LaplacianBasis, mesh: Mesh) -> Float[Tensor, "modes points"]:
    """Products of the functions of each axis."""
    index, waves = basis.modes, basis._waves
    values = torch.full((len(index), len(mesh.nodes)), 1 / math.sqrt(math.prod(basis.domain.extents)), dtype=torch.float64)
    for axis, boundary in enumerate(basis.boundaries):
        phase = waves[:, axis, None] * mesh.positions[:, axis]
        odd = index[:, axis, None] % 2 == 1 if boundary == "periodic" else torch.tensor(boundary == "dirichlet")
        function = torch.where(odd, phase.sin(), phase.cos())
        values *= torch.where(waves[:, axis, None] > 0, math.sqrt(2) * function, torch.ones_like(function))
    return values


def _turn(boundary: Boundary) -> float:
    """What the length of an axis is to the wave of frequency 1."""
    return 2 * math.pi if boundary == "periodic" else math.pi


def frequencies(index: Tensor, boundaries: tuple[Boundary, ...]) -> Tensor:
    """Of waves with these numbers along each axis."""
    frequency = {"periodic": lambda k: (k + 1) // 2, "neumann": lambda k: k, "dirichlet": lambda k: k + 1}
    return torch.stack([frequency[boundary](k) for boundary, k in zip(boundaries, index.unbind(-1), strict=True)], dim=-1)


@lru_cache(maxsize=64)
@outside_transforms()
def _shells(extents: tuple[float, ...], boundaries: tuple[Boundary, ...], count: int) -> Int[Tensor, "count dim"]:
    """The first `count` index tuples by eigenvalue, ties in lexicographic order: a prefix of one fixed infinite list."""
    lengths = [extent * math.pi / _turn(boundary) for extent, boundary in zip(extents, boundaries, strict=True)]
    scale = torch.tensor([max(lengths) / length for length in lengths], dtype=torch.float64)
    radius = 4.0
    while True:  # all modes within a radius, so thin boxes have few along their short sides
        per_axis = [torch.arange(2 * int(radius / s) + 2) for s in scale.tolist()]
        index = torch.cartesian_prod(*per_axis).reshape(-1, len(extents))
        # rounded, so that 3² + 4² = 5² + 0² is a tie in floating point
        eigenvalue = (frequencies(index, boundaries) * scale).square().sum(-1).mul(2**20).round()
        inside = eigenvalue < radius**2 * 2**20
        if int(inside.sum()) >= count:
            return index[inside][torch.sort(eigenvalue[inside], stable=True).indices][:count]
        radius *= 1.5
