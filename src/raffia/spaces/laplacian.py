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
from raffia.spaces.mesh import Mesh

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
        return self._waves.square().sum(-1)

    @property
    def _waves(self) -> Float[Tensor, "modes dim"]:
        """The wavenumber of each eigenfunction along each axis."""
        turn = 2 * math.pi if self.boundary == "periodic" else math.pi
        return _frequency(self.modes, self.boundary) * (turn / torch.tensor(self.domain.extents, dtype=torch.float64))

    def held_by(self, grid: Grid) -> Tensor:
        """Which eigenfunctions the grid can hold: those whose products it integrates exactly. The others are dropped."""
        return (self.modes < torch.tensor([_capacity(points, self.boundary) for points in grid.shape])).all(-1)

    def synthesis(self, coef: Float[Tensor, "*batch modes"], grid: Grid | Mesh) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k coef_k φ_k on the grid; functions that the grid cannot hold are dropped, never aliased. On a mesh, all of them."""
        if isinstance(grid, Mesh):
            return coef @ self.at(grid).to(coef)
        index, ranks, held = self._layout(grid)
        dense = coef.new_zeros(*coef.shape[:-1], math.prod(ranks))
        dense[..., index] = coef[..., held.to(coef.device)]
        field = dense.reshape(*coef.shape[:-1], *ranks)
        for axis, points in enumerate(grid.shape, -len(ranks)):
            field = _synthesise(field.transpose(axis, -1), points, self.boundary).transpose(axis, -1)
        return field / math.sqrt(math.prod(self.domain.extents))

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], grid: Grid | Mesh) -> Float[Tensor, "*batch modes"]:
        """⟨f, φ_k⟩ by quadrature on the grid; 0 for functions that the grid cannot hold. On a mesh, by its weights."""
        if isinstance(grid, Mesh):
            return (f * grid.root_weights.to(f) ** 2) @ self.at(grid).to(f).mT
        index, ranks, held = self._layout(grid)
        field = f * grid.weights().to(f)
        for axis, rank in enumerate(ranks, -len(ranks)):
            field = _analyse(field.transpose(axis, -1), rank, self.boundary).transpose(axis, -1)
        field = field / math.sqrt(math.prod(self.domain.extents))
        coef = f.new_zeros(*field.shape[: field.ndim - len(ranks)], self.n_modes)
        coef[..., held.to(f.device)] = field.flatten(-len(ranks))[..., index]
        return coef

    def at(self, mesh: Mesh) -> Float[Tensor, "modes points"]:
        """φ_k at the nodes of a mesh."""
        if mesh.domain != self.domain:
            raise RaffiaError(
                f"a mesh in {mesh.domain} does not go with functions on {self.domain}: pass Mesh(nodes, domain=…)."
            )
        return _at_nodes(self, mesh)

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


@lru_cache(maxsize=16)
def _at_nodes(basis: LaplacianBasis, mesh: Mesh) -> Float[Tensor, "modes points"]:
    """Products of the functions of each axis."""
    index, waves = basis.modes, basis._waves
    values = torch.full((len(index), len(mesh.nodes)), 1 / math.sqrt(math.prod(basis.domain.extents)), dtype=torch.float64)
    for axis in range(basis.domain.dim):
        phase = waves[:, axis, None] * mesh.positions[:, axis]
        odd = index[:, axis, None] % 2 == 1 if basis.boundary == "periodic" else torch.tensor(basis.boundary == "dirichlet")
        function = torch.where(odd, phase.sin(), phase.cos())
        values *= torch.where(waves[:, axis, None] > 0, math.sqrt(2) * function, torch.ones_like(function))
    return values


def _synthesise(coef: Float[Tensor, "*batch rank"], points: int, boundary: Boundary) -> Float[Tensor, "*batch points"]:
    """Sums of the functions of one axis of unit length: 2 Re Σ_k X_k e^(iωx), a real inverse transform over one period."""
    weighted = coef / math.sqrt(2)
    if boundary == "periodic":
        sine, cosine = weighted[..., 1::2], weighted[..., 2::2]
        cosine = torch.nn.functional.pad(cosine, (0, sine.shape[-1] - cosine.shape[-1]))
        constant = torch.complex(coef[..., :1], torch.zeros_like(coef[..., :1]))
        spectrum = torch.cat([constant, torch.complex(cosine, -sine)], dim=-1)
    elif boundary == "neumann":
        real = torch.cat([coef[..., :1], weighted[..., 1:]], dim=-1)
        spectrum = torch.complex(real, torch.zeros_like(real))
    else:
        imaginary = torch.nn.functional.pad(-weighted, (1, 0))
        spectrum = torch.complex(torch.zeros_like(imaginary), imaginary)
    return torch.fft.irfft(spectrum, n=_period(points, boundary), norm="forward")[..., :points]


def _analyse(f: Float[Tensor, "*batch points"], rank: int, boundary: Boundary) -> Float[Tensor, "*batch rank"]:
    """Sums Σ_j f_j φ_k(x_j) over the nodes of one axis: the adjoint of `_synthesise`."""
    spectrum = torch.fft.rfft(f, n=_period(f.shape[-1], boundary))
    cosine, sine = math.sqrt(2) * spectrum.real, -math.sqrt(2) * spectrum.imag
    constant = spectrum.real[..., :1]
    if boundary == "periodic":
        waves = torch.stack([sine[..., 1:], cosine[..., 1:]], dim=-1).flatten(-2)
        return torch.cat([constant, waves], dim=-1)[..., :rank]
    if boundary == "neumann":
        return torch.cat([constant, cosine[..., 1:]], dim=-1)[..., :rank]
    return sine[..., 1 : rank + 1]


def _period(points: int, boundary: Boundary) -> int:
    """How many nodes one period of the (even or odd) extension has."""
    return points if boundary == "periodic" else 2 * (points - 1)


def _frequency(index: Tensor, boundary: Boundary) -> Tensor:
    return {"periodic": (index + 1) // 2, "neumann": index, "dirichlet": index + 1}[boundary]


def _capacity(points: int, boundary: Boundary) -> int:
    """How many functions of one axis are orthonormal under the grid's own quadrature (the Nyquist mode is not)."""
    return {"periodic": 2 * ((points - 1) // 2) + 1, "neumann": points - 1, "dirichlet": points - 2}[boundary]


@lru_cache(maxsize=64)
def _shells(extents: tuple[float, ...], boundary: Boundary, count: int) -> Int[Tensor, "count dim"]:
    """The first `count` index tuples by eigenvalue, ties in lexicographic order: a prefix of one fixed infinite list."""
    scale = torch.tensor([max(extents) / extent for extent in extents], dtype=torch.float64)
    radius = 4.0
    while True:  # all modes within a radius, so thin boxes have few along their short sides
        per_axis = [torch.arange(2 * int(radius / s) + 2) for s in scale.tolist()]
        index = torch.cartesian_prod(*per_axis).reshape(-1, len(extents))
        # rounded, so that 3² + 4² = 5² + 0² is a tie whatever the arithmetic does
        eigenvalue = (_frequency(index, boundary) * scale).square().sum(-1).mul(2**20).round()
        inside = eigenvalue < radius**2 * 2**20
        if int(inside.sum()) >= count:
            return index[inside][torch.sort(eigenvalue[inside], stable=True).indices][:count]
        radius *= 1.5
