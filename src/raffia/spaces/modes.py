"""Orthonormal modes (ψ_k) of functions on given nodes: waves on a torus, sines or cosines on a box, any functions on a mesh.

A mode of a real function on a torus stands for ψ_k and its conjugate ψ_−k, which count as one, or as two where they differ; `twice`
says which, so that ‖f‖² = Σ_k twice_k |⟨f, ψ_k⟩|². Modes of different grids are the same functions, as long as both grids hold them;
the highest wave of an even torus, and the highest cosine, alias, so they are those of their own grid alone.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Inexact, Int
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid

VANISHES = 1e-6  # of the largest value: functions that are smaller at the boundary count as zero there
Coefficients = Inexact[Tensor, "*batch modes"]


class Modes(ABC):
    """Functions by their coefficients ⟨f, ψ_k⟩, flattened; `grid` is where the modes are numbered."""

    grid: Nodes

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.twice(self.grid))

    @abstractmethod
    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """⟨f, ψ_k⟩ for all modes that the nodes have, by their quadrature."""

    @abstractmethod
    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k coef_k ψ_k at the nodes."""

    @abstractmethod
    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k power_k |ψ_k|² over all modes at the nodes: the variance of a function whose coefficients have these, independently."""

    @abstractmethod
    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """2 where a mode stands for two that are conjugate, 1 elsewhere."""

    @abstractmethod
    def places(self, nodes: Nodes) -> Int[Tensor, "modes"]:
        """The number on `grid` of each mode of the nodes; −1 for those it does not hold."""


@dataclass(frozen=True, eq=False)
class Waves(Modes):
    """ψ_k = e^(2πikx/L) / √|T| on a torus of any dimension, in the order of `torch.fft.rfftn`."""

    grid: Grid

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """By a real transform."""
        axes = _axes(nodes)
        return torch.fft.rfftn(f, dim=axes, norm="forward").flatten(-len(axes)) * math.sqrt(nodes.volume)

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """By its inverse."""
        spectrum = coef.reshape(*coef.shape[:-1], *nodes.shape[:-1], nodes.shape[-1] // 2 + 1)
        return torch.fft.irfftn(spectrum, s=nodes.shape, dim=_axes(nodes), norm="forward") / math.sqrt(nodes.volume)

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """The same everywhere."""
        total = (power * self.twice(nodes).to(power)).sum(-1) / nodes.volume
        return total.reshape(*total.shape, *[1] * len(nodes.shape)).expand(*total.shape, *nodes.shape)

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """One for the planes k = 0 and N/2 of the last axis, which hold k and −k."""
        last = torch.full((nodes.shape[-1] // 2 + 1,), 2.0, dtype=torch.float64)
        last[0] = 1
        if nodes.shape[-1] % 2 == 0:
            last[-1] = 1
        return last.expand(*nodes.shape[:-1], -1).flatten()

    def places(self, nodes: Nodes) -> Int[Tensor, "modes"]:
        """Waves are the same if both grids have more than two points a wavelength."""
        axes, ranks = [], (*self.grid.shape[:-1], self.grid.shape[-1] // 2 + 1)
        for axis, (here, there) in enumerate(zip(nodes.shape, self.grid.shape, strict=True)):
            k = torch.fft.fftfreq(here, 1 / here).round().long()
            k = k[: here // 2 + 1].abs() if axis == len(ranks) - 1 else k
            held = (2 * k.abs() < min(here, there)) | (here == there)
            axes.append(torch.where(held, k % ranks[axis] if axis < len(ranks) - 1 else k, -1))
        return _joint(axes, ranks)


@dataclass(frozen=True, eq=False)
class BoxWaves(Modes):
    """cos kπx/L ("neumann") or sin kπx/L ("dirichlet") along every axis of a box, normalised for the trapezoid rule."""

    grid: Grid
    boundary: Literal["neumann", "dirichlet"]

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """By a real transform over twice the box along each axis."""
        root = nodes.root_weights.reshape(nodes.shape).to(f)
        f = f * root.square()
        for axis in _axes(nodes):
            f = _along(f.transpose(axis, -1), self.boundary).transpose(axis, -1)
        return f.flatten(-len(nodes.shape)) / math.sqrt(nodes.volume)

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """By its inverse."""
        f = coef.reshape(*coef.shape[:-1], *self._ranks(nodes))
        for axis, points in zip(_axes(nodes), nodes.shape, strict=True):
            f = _back(f.transpose(axis, -1), points, self.boundary).transpose(axis, -1)
        return f / math.sqrt(nodes.volume)

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Products of squares along the axes."""
        f = power.reshape(*power.shape[:-1], *self._ranks(nodes))
        for axis, points, rank in zip(_axes(nodes), nodes.shape, self._ranks(nodes), strict=True):
            squares = _back(torch.eye(rank, dtype=f.dtype, device=f.device), points, self.boundary).square()
            f = (f.transpose(axis, -1) @ squares).transpose(axis, -1)
        return f / nodes.volume

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """They are real."""
        return torch.ones(math.prod(self._ranks(nodes)), dtype=torch.float64)

    def places(self, nodes: Nodes) -> Int[Tensor, "modes"]:
        """By their numbers; the highest cosine is that of its own grid."""
        axes, ranks = [], self._ranks(self.grid)
        for here, there in zip(self._ranks(nodes), ranks, strict=True):
            k = torch.arange(here)
            held = k < min(here, there) - (self.boundary == "neumann")
            axes.append(torch.where(held | (here == there), k, -1))
        return _joint(axes, ranks)

    def _ranks(self, nodes: Nodes) -> tuple[int, ...]:
        return tuple(points - 2 * (self.boundary == "dirichlet") for points in nodes.shape)


@dataclass(frozen=True, eq=False)
class Components(Modes):
    """Functions on a mesh that are orthonormal in its quadrature, given by their embedded values."""

    grid: Nodes
    embedded: Tensor

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """Inner products."""
        self._check(nodes)
        v = nodes.embed(f)
        return v @ self.embedded.to(v).mT

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Sums."""
        self._check(nodes)
        return nodes.unembed(coef @ self.embedded.to(coef))

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Sums of squares."""
        self._check(nodes)
        return power @ nodes.unembed(self.embedded).square().to(power)

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """They are real."""
        return torch.ones(len(self.embedded), dtype=torch.float64)

    def places(self, nodes: Nodes) -> Int[Tensor, "modes"]:
        """Each its own."""
        return torch.arange(len(self.embedded))

    def _check(self, nodes: Nodes) -> None:
        if nodes is not self.grid and nodes != self.grid:
            raise RaffiaError(
                f"principal components live on the mesh of the training data, {self.grid!r}; got functions on {nodes!r}. "
                "Pass coefficients='ordinary' to predict elsewhere."
            )


def modes_of(f: Float[Tensor, "n *shape"], nodes: Nodes) -> Modes:
    """Modes that suit these functions: sines where they vanish at the boundary of a box, their principal components on a mesh."""
    one = nodes.one_channel
    if not isinstance(one, Grid):
        return Components(one, _principal(one.embed(f.reshape(-1, *one.shape))))
    if one.domain.periodic:
        return Waves(one)
    f = f.reshape(-1, *one.shape).abs()
    ends = max(float(f.select(axis, end).max()) for axis in _axes(one) for end in (0, -1))
    odd = ends <= VANISHES * float(f.max()) and min(one.shape) > 2
    return BoxWaves(one, "dirichlet" if odd else "neumann")


def _principal(v: Float[Tensor, "n points"]) -> Float[Tensor, "modes points"]:
    """An orthonormal basis of the span of v, in the order of the energy that it holds; what is rounding is left out."""
    _, s, modes = torch.linalg.svd(v, full_matrices=False)
    kept = s > 1e-12 * s[0] if s[0] > 0 else torch.arange(len(s), device=s.device) < 1
    return modes[kept].cpu()


def _axes(nodes: Nodes) -> tuple[int, ...]:
    return tuple(range(-len(nodes.shape), 0))


def _joint(axes: list[Tensor], ranks: tuple[int, ...]) -> Int[Tensor, "modes"]:
    """Numbers in an array of shape `ranks`, from numbers along its axes; −1 if any is."""
    places = torch.zeros((), dtype=torch.long)
    missing = torch.zeros((), dtype=torch.bool)
    for numbers, rank in zip(axes, ranks, strict=True):
        places = places[..., None] * rank + numbers
        missing = missing[..., None] | (numbers < 0)
    return torch.where(missing, -1, places).flatten()


def _along(f: Tensor, boundary: str) -> Tensor:
    """√2 Σ_j f_j cos(πjk/N) or sin along the last axis, N + 1 points; without √2 for cosines with k = 0 and N."""
    spectrum = torch.fft.rfft(f, n=2 * (f.shape[-1] - 1))
    return spectrum.real * _scale(f) if boundary == "neumann" else -math.sqrt(2) * spectrum.imag[..., 1:-1]


def _back(coef: Tensor, points: int, boundary: str) -> Tensor:
    """The transpose of `_along`."""
    if boundary == "neumann":
        real = coef / _scale(coef)
        spectrum = torch.complex(real, torch.zeros_like(real))
    else:
        imaginary = torch.nn.functional.pad(-coef / math.sqrt(2), (1, 1))
        spectrum = torch.complex(torch.zeros_like(imaginary), imaginary)
    return torch.fft.irfft(spectrum, n=2 * (points - 1), norm="forward")[..., :points]


def _scale(f: Tensor) -> Tensor:
    scale = torch.full((f.shape[-1],), math.sqrt(2), dtype=f.dtype, device=f.device)
    scale[0] = scale[-1] = 1
    return scale
