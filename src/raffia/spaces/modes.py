"""Orthonormal modes (ψ_k) of functions on given nodes: waves on a torus, sines or cosines on a box, principal components on a mesh.

On a torus, a mode of a real function represents ψ_k and its conjugate ψ_−k. `twice` is 2 where these differ and 1 where they are equal,
so ‖f‖² = Σ_k twice_k |⟨f, ψ_k⟩|². Coefficients belong to one grid: if a function is not as periodic, even or odd as the modes, they decay
slowly, and the quadrature of each grid aliases them differently. For axes without a node at an end, modes are those of the grid with it.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Inexact
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import Axis, Boundary
from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid
from raffia.spaces.laplacian import analysis, synthesis
from raffia.spaces.trimmed import average, largest

VANISHES = 1e-6
"""Functions vanish at a boundary if they are smaller there than this share of the largest value."""
EXTRAPOLATED = 0.5
"""At an end without a node, they vanish if linear extrapolation gives less than this share of the value at the last node."""
Coefficients = Inexact[Tensor, "*batch modes"]


class Modes(ABC):
    """Expansion in orthonormal modes; coefficients ⟨f, ψ_k⟩ are flattened. `grid` holds the nodes on which modes are defined."""

    grid: Nodes

    @property
    def count(self) -> int:
        """The number of modes."""
        return len(self.twice(self.grid))

    @abstractmethod
    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """⟨f, ψ_k⟩ for all modes, by the quadrature of the nodes."""

    @abstractmethod
    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k coef_k ψ_k at the nodes."""

    @abstractmethod
    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Σ_k power_k |ψ_k|² at the nodes: the variance of a function whose coefficients are independent with these variances."""

    @abstractmethod
    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """2 where a mode represents a conjugate pair, 1 elsewhere."""


@dataclass(frozen=True, eq=False)
class Waves(Modes):
    """ψ_k = e^(2πikx/L) / √|T| on a torus of any dimension, in the order of `torch.fft.rfftn`."""

    grid: Grid

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """By a real FFT."""
        axes = _axes(nodes)
        spectrum = torch.fft.rfftn(f, dim=axes, norm="forward").flatten(-len(axes))
        return spectrum if nodes.volume == 1 else spectrum * math.sqrt(nodes.volume)

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """By the inverse transform."""
        spectrum = coef.reshape(*coef.shape[:-1], *nodes.shape[:-1], nodes.shape[-1] // 2 + 1)
        return torch.fft.irfftn(spectrum, s=nodes.shape, dim=_axes(nodes), norm="forward") / math.sqrt(nodes.volume)

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """A constant function."""
        total = (power * self.twice(nodes).to(power)).sum(-1) / nodes.volume
        return total.reshape(*total.shape, *[1] * len(nodes.shape)).expand(*total.shape, *nodes.shape)

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """1 for the planes k = 0 and N/2 of the last axis, which contain both k and −k."""
        last = torch.full((nodes.shape[-1] // 2 + 1,), 2.0, dtype=torch.float64)
        last[0] = 1
        if nodes.shape[-1] % 2 == 0:
            last[-1] = 1
        return last.expand(*nodes.shape[:-1], -1).flatten()


@dataclass(frozen=True, eq=False)
class BoxWaves(Modes):
    """Products of real waves along the axes: cos kπx/L ("neumann"), sin kπx/L ("dirichlet"), or both of 2kπx/L around a "periodic" axis.

    They are normalised for the quadrature of the grid. `boundary` is one condition for all axes that have ends, or one for each axis.
    """

    grid: Grid
    boundary: Boundary | tuple[Boundary, ...]

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """By a real FFT along each axis, over twice its length if it is not periodic."""
        coef = analysis(f, self.grid, self._boundaries, self._ranks)
        return coef.flatten(-len(nodes.shape)) / math.sqrt(nodes.volume)

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """By the inverse transform."""
        coef = coef.reshape(*coef.shape[:-1], *self._ranks)
        return synthesis(coef, self.grid, self._boundaries) / math.sqrt(nodes.volume)

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Products of squares along the axes."""
        whole, f = self.grid.with_ends, power.reshape(*power.shape[:-1], *self._ranks)
        for axis, (kind, points, _), boundary in zip(_axes(nodes), whole.lines, self._boundaries, strict=True):
            waves = kind.synthesis(torch.eye(f.shape[axis], dtype=f.dtype, device=f.device), points, boundary)
            f = (f.transpose(axis, -1) @ waves.square()).transpose(axis, -1)
        return self.grid.cropped(f) / nodes.volume

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """All modes are real."""
        return torch.ones(math.prod(self._ranks), dtype=torch.float64)

    @property
    def _boundaries(self) -> tuple[Boundary, ...]:
        return self.grid.domain.boundaries(self.boundary)

    @property
    def _ranks(self) -> tuple[int, ...]:
        lines = zip(self.grid.with_ends.lines, self._boundaries, strict=True)
        return tuple(kind.rank(points, boundary) for (kind, points, _), boundary in lines)


@dataclass(frozen=True, eq=False)
class Components(Modes):
    """Functions on a mesh, orthonormal in its quadrature, given by their embedded values."""

    grid: Nodes
    embedded: Tensor

    def analysis(self, f: Float[Tensor, "*batch_and_shape"], nodes: Nodes) -> Coefficients:
        """Inner products."""
        self._check(nodes)
        v = nodes.embed(f)
        return v @ self.embedded.to(v).mT

    def synthesis(self, coef: Coefficients, nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Weighted sums of the functions."""
        self._check(nodes)
        return nodes.unembed(coef @ self.embedded.to(coef))

    def density(self, power: Float[Tensor, "*batch modes"], nodes: Nodes) -> Float[Tensor, "*batch_and_shape"]:
        """Weighted sums of squares of the functions."""
        self._check(nodes)
        return power @ nodes.unembed(self.embedded).square().to(power)

    def twice(self, nodes: Nodes) -> Float[Tensor, "modes"]:
        """All modes are real."""
        return torch.ones(len(self.embedded), dtype=torch.float64)

    def _check(self, nodes: Nodes) -> None:
        if nodes is not self.grid and nodes != self.grid:
            raise RaffiaError(
                f"principal components live on the mesh of the training data, {self.grid!r}; got functions on {nodes!r}. "
                "Pass coefficients='ordinary' to predict elsewhere."
            )


def modes_of(f: Float[Tensor, "n *shape"], nodes: Nodes, tolerance: float = VANISHES) -> Modes:
    """Modes for these functions: waves on a torus, sines along axes at whose ends they vanish, principal components on a mesh.

    Values below the `tolerance`, relative to the largest, count as zero.
    """
    one = nodes.one_channel
    if not isinstance(one, Grid):
        return Components(one, _principal(one.embed(f.reshape(-1, *one.shape))))
    if one.domain.periodic:
        return Waves(one)
    f = f.reshape(-1, *one.shape)
    free = one.domain.boundaries("neumann")
    odd = [
        word == "neumann" and _vanish(f, kind, dim, tolerance)
        for word, kind, dim in zip(free, one.domain.kinds, _axes(one), strict=True)
    ]
    found = tuple("dirichlet" if sines else word for sines, word in zip(odd, free, strict=True))
    alike = {word for word in found if word != "periodic"}
    return BoxWaves(one, alike.pop() if len(alike) == 1 else found)


def _vanish(f: Float[Tensor, "n *shape"], kind: Axis, dim: int, tolerance: float) -> bool:
    """Whether functions vanish at both ends of an axis, by linear extrapolation at ends without a node."""
    zero = [
        largest(end) <= tolerance * largest(f) if gap == 0 else average(end) <= EXTRAPOLATED * average(near)
        for (end, near), gap in zip(kind.at_ends(f, dim), (kind.before, kind.after), strict=True)
    ]
    return all(zero) and f.shape[dim] > 2


def _principal(v: Float[Tensor, "n points"]) -> Float[Tensor, "modes points"]:
    """Principal directions of v in the order of their energy, without those of rounding errors."""
    _, s, modes = torch.linalg.svd(v, full_matrices=False)
    kept = s > 1e-12 * s[0] if s[0] > 0 else torch.arange(len(s), device=s.device) < 1
    return modes[kept].cpu()


def _axes(nodes: Nodes) -> tuple[int, ...]:
    return tuple(range(-len(nodes.shape), 0))
