"""Eigenfunctions of the Laplacian on tori and boxes: eqn:periodic, eqn:eig_neumann and their Dirichlet sisters.

One axis has the orthonormal functions (L = 1)

    periodic    1, √2 sin 2πx, √2 cos 2πx, √2 sin 4πx, …      frequencies 0, 1, 1, 2, 2, …
    neumann     1, √2 cos πx, √2 cos 2πx, …                   frequencies 0, 1, 2, …
    dirichlet   √2 sin πx, √2 sin 2πx, …                      frequencies 1, 2, 3, …

and several axes have their products, ordered by eigenvalue, so that a longer basis extends a shorter one.
The condition belongs to the basis, not to the grid: Neumann and Dirichlet functions live on the same points.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.grid import Domain, Grid

Boundary = Literal["periodic", "neumann", "dirichlet"]


@dataclass(frozen=True)
class LaplacianBasis:
    """The first `n_modes` eigenfunctions φ_k of −Δ with one boundary condition, −Δφ_k = κ_k φ_k, ‖φ_k‖ = 1.

    `constant=False` leaves the constant function out: the Laplacian restricted to functions of mean zero.
    """

    domain: Domain
    boundary: Boundary
    n_modes: int
    constant: bool = True

    def __post_init__(self) -> None:
        if self.boundary not in get_args(Boundary):
            raise RaffiaError(f"boundary must be one of {get_args(Boundary)}; got {self.boundary!r}.")
        if (self.boundary == "periodic") != self.domain.periodic:
            kind = "a torus" if self.domain.periodic else "a box"
            raise RaffiaError(
                f"boundary {self.boundary!r} does not go with {kind}; pass Domain(…, periodic={not self.domain.periodic})."
            )
        if self.n_modes < 1:
            raise RaffiaError(f"n_modes must be 1 or more; got {self.n_modes}.")

    @property
    def modes(self) -> Int[Tensor, "modes dim"]:
        """The index of each eigenfunction along each axis."""
        skip = 0 if self.constant or self.boundary == "dirichlet" else 1
        return _shells(self.domain.extents, self.boundary, self.n_modes + skip)[skip:]

    @property
    def eigenvalues(self) -> Float[Tensor, "modes"]:
        """κ_k, nondecreasing."""
        waves = _frequency(self.modes, self.boundary) * _wavenumber(self.domain, self.boundary)
        return waves.square().sum(-1)

    def held_by(self, grid: Grid) -> Tensor:
        """Which eigenfunctions the grid can hold: those whose products it integrates exactly. The others are dropped."""
        return (self.modes < torch.tensor([_capacity(points, self.boundary) for points in grid.shape])).all(-1)

    def synthesis(self, coef: Float[Tensor, "*batch modes"], grid: Grid) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k coef_k φ_k on the grid; functions that the grid cannot hold are dropped, never aliased."""
        index, ranks, held = self._layout(grid)
        dense = coef.new_zeros(*coef.shape[:-1], math.prod(ranks))
        dense[..., index] = coef[..., held.to(coef.device)]
        field = dense.reshape(*coef.shape[:-1], *ranks)
        for axis, matrix in enumerate(self._matrices(grid, ranks)):
            field = _apply(matrix.to(coef), field, axis - len(ranks))
        return field

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], grid: Grid) -> Float[Tensor, "*batch modes"]:
        """⟨f, φ_k⟩ by quadrature on the grid; 0 for functions that the grid cannot hold."""
        index, ranks, held = self._layout(grid)
        field = f * grid.weights().to(f)
        for axis, matrix in enumerate(self._matrices(grid, ranks)):
            field = _apply(matrix.T.to(f), field, axis - len(ranks))
        coef = f.new_zeros(*field.shape[: field.ndim - len(ranks)], self.n_modes)
        coef[..., held.to(f.device)] = field.flatten(-len(ranks))[..., index]
        return coef

    def _layout(self, grid: Grid) -> tuple[Tensor, tuple[int, ...], Tensor]:
        """Where each held mode sits in a dense array of axis indices, the shape of that array, and which are held."""
        held = self.held_by(grid)
        if not held.any():
            raise RaffiaError(
                f"a grid of shape {grid.shape} is too coarse: it holds none of the {self.n_modes} modes. Use more points."
            )
        modes = self.modes[held]
        ranks = tuple(int(r) for r in modes.amax(0) + 1)
        strides = torch.tensor([math.prod(ranks[i + 1 :]) for i in range(len(ranks))])
        return (modes * strides).sum(-1), ranks, held

    def _matrices(self, grid: Grid, ranks: tuple[int, ...]) -> list[Tensor]:
        lengths = zip(grid.shape, ranks, self.domain.extents, strict=True)
        return [axis_basis(points, rank, self.boundary) / math.sqrt(extent) for points, rank, extent in lengths]


@lru_cache(maxsize=64)
def axis_basis(points: int, rank: int, boundary: Boundary) -> Float[Tensor, "points rank"]:
    """The first `rank` functions of one axis of unit length at its nodes, phases reduced exactly in integers."""
    index = torch.arange(rank)
    frequency = _frequency(index, boundary)
    period = points if boundary == "periodic" else 2 * (points - 1)
    phase = 2 * math.pi * (torch.arange(points)[:, None] * frequency % period).double() / period
    sine = torch.ones_like(index, dtype=torch.bool) if boundary == "dirichlet" else (index % 2 == 1) & (boundary == "periodic")
    norm = (1 + (frequency > 0)).double().sqrt()
    return norm * torch.where(sine, phase.sin(), phase.cos())


def _frequency(index: Tensor, boundary: Boundary) -> Tensor:
    return {"periodic": (index + 1) // 2, "neumann": index, "dirichlet": index + 1}[boundary]


def _wavenumber(domain: Domain, boundary: Boundary) -> Float[Tensor, "dim"]:
    turn = 2 * math.pi if boundary == "periodic" else math.pi
    return turn / torch.tensor(domain.extents, dtype=torch.float64)


def _capacity(points: int, boundary: Boundary) -> int:
    """How many functions of one axis are orthonormal under the grid's own quadrature (the Nyquist mode is not)."""
    return {"periodic": 2 * ((points - 1) // 2) + 1, "neumann": points - 1, "dirichlet": points - 2}[boundary]


def _apply(matrix: Tensor, field: Tensor, axis: int) -> Tensor:
    """The matrix applied along one axis."""
    return field @ matrix.T if axis == -1 else (field.transpose(axis, -1) @ matrix.T).transpose(axis, -1)


@lru_cache(maxsize=64)
def _shells(extents: tuple[float, ...], boundary: Boundary, count: int) -> Int[Tensor, "count dim"]:
    """The first `count` index tuples by eigenvalue, ties in lexicographic order: a prefix of one fixed infinite list."""
    reach = 4
    while True:
        index = torch.cartesian_prod(*[torch.arange(reach)] * len(extents)).reshape(-1, len(extents))
        scale = torch.tensor([max(extents) / extent for extent in extents], dtype=torch.float64)
        # rounded, so that 3² + 4² = 5² + 0² is a tie whatever the arithmetic does
        eigenvalue = (_frequency(index, boundary) * scale).square().sum(-1).mul(2**20).round()
        complete = float(_frequency(torch.tensor(reach), boundary) ** 2 * scale.min() ** 2) * 2**20
        index, eigenvalue = index[eigenvalue < complete], eigenvalue[eigenvalue < complete]
        if len(index) >= count:
            return index[torch.sort(eigenvalue, stable=True).indices][:count]
        reach *= 2
