"""Series of waves, cosines or sines on a grid: transforms and gradients, for radial multipliers.

Along an axis of up to `MATRIX_POINTS` points a transform is a product with a dense matrix; longer axes use the FFT.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.grid import Grid
from raffia.spaces.laplacian import Boundary

Field = Float[Tensor, "*shape_and_batch"]
Spectrum = Float[Tensor, "*ranks_and_batch"]

MATRIX_POINTS = 128


@dataclass(frozen=True)
class Series:
    """f = Σ_k f_k ψ_k with products ψ_k of 1, cos, sin ("periodic"), of cosines ("neumann") or of sines ("dirichlet") along the axes.

    Lengths are in units of the longest side over π, on a torus over 2π, so that the lowest wavenumber along it is 1. Waves that the grid
    cannot hold are dropped, never aliased; so is the highest one of an even torus, and the highest cosine. Here the axes of the grid come
    first and those of a batch last: products are then with a few wide matrices, which takes half the time of many small ones.
    """

    grid: Grid
    boundary: Boundary

    def __post_init__(self) -> None:
        if self.boundary not in get_args(Boundary):
            raise RaffiaError(f"boundary must be one of {get_args(Boundary)}; got {self.boundary!r}.")
        if (self.boundary == "periodic") != self.grid.domain.periodic:
            kind = "a torus" if self.grid.domain.periodic else "a box"
            raise RaffiaError(f"boundary {self.boundary!r} does not go with {kind}, {self.grid.domain}.")
        if min(self.grid.shape) < 3:
            raise RaffiaError(f"a series needs 3 points or more along each axis; got a grid of shape {self.grid.shape}.")

    @property
    def squares(self) -> Float[Tensor, "*ranks"]:
        """|k|² of every ψ_k."""
        total = torch.zeros((), dtype=torch.float64)
        for points, stretch in zip(self.grid.shape, self._stretches, strict=True):
            total = total[..., None] + (stretch * _wavenumbers(points, self.boundary)).square()
        return total

    def analysis(self, f: Field) -> Spectrum:
        """The coefficients f_k."""
        for axis, points in enumerate(self.grid.shape):
            f = _forth(f, points, self.boundary, axis)
        return f

    def synthesis(self, coef: Spectrum) -> Field:
        """Σ_k f_k ψ_k on the grid."""
        for axis, points in enumerate(self.grid.shape):
            coef = _back(coef, points, self.boundary, axis)
        return coef

    def with_gradient(self, coef: Spectrum) -> tuple[Field, list[Field]]:
        """The function and its derivatives along each axis."""
        value, slopes = coef, list[Tensor]()
        for axis, (points, stretch) in enumerate(zip(self.grid.shape, self._stretches, strict=True)):
            slopes = [
                *(_back(slope, points, self.boundary, axis) for slope in slopes),
                _back(value, points, self.boundary, axis, stretch),
            ]
            value = _back(value, points, self.boundary, axis)
        return value, slopes

    @property
    def _stretches(self) -> tuple[float, ...]:
        """The longest side over each."""
        extents = self.grid.domain.extents
        return tuple(max(extents) / extent for extent in extents)


def _wavenumbers(points: int, boundary: Boundary) -> Float[Tensor, "rank"]:
    """Of the functions of one axis: all cosines, then all sines."""
    if boundary == "periodic":
        k = torch.arange((points + 1) // 2, dtype=torch.float64)
        return torch.cat([k, k[1:]])
    return torch.arange(0 if boundary == "neumann" else 1, points - 1, dtype=torch.float64)


@lru_cache(maxsize=64)
def _matrices(points: int, boundary: Boundary) -> tuple[Tensor, Tensor, Tensor]:
    """Along one axis, of length π, or 2π on a torus: analysis (rank, points), synthesis and derivative (points, rank)."""
    k, period = _wavenumbers(points, boundary), points if boundary == "periodic" else 2 * (points - 1)
    phase = 2 * math.pi / period * (torch.arange(points)[:, None] * k % period)
    rank = len(k)
    sines = torch.arange(rank) >= {"periodic": (points + 1) // 2, "neumann": rank, "dirichlet": 0}[boundary]
    back, slopes = torch.where(sines, phase.sin(), phase.cos()), k * torch.where(sines, phase.cos(), -phase.sin())
    weights = torch.ones(points, 1, dtype=torch.float64)
    if boundary != "periodic":
        weights[0] = weights[-1] = 0.5
    forth = (back * weights / (weights * back.square()).sum(0)).mT
    return forth.contiguous(), back, slopes


def _forth(f: Tensor, points: int, boundary: Boundary, axis: int) -> Tensor:
    """The coefficients along one axis."""
    if points <= MATRIX_POINTS:
        return _along(f, _matrices(points, boundary)[0], axis)
    f = f.movedim(axis, -1)
    if boundary == "periodic":
        spectrum = torch.fft.rfft(f)[..., : (points + 1) // 2] * (2 / points)
        parts = torch.cat([spectrum.real, -spectrum.imag[..., 1:]], -1)
    else:
        ends = torch.nn.functional.pad(f[..., 1:-1], (1, 1)) + f
        spectrum = torch.fft.rfft(ends, n=2 * (points - 1))[..., :-1] / (points - 1)  # half of either end
        parts = spectrum.real if boundary == "neumann" else -spectrum.imag[..., 1:]
    return (parts * torch.where(_wavenumbers(points, boundary) == 0, 0.5, 1.0).to(f)).movedim(-1, axis)


def _back(coef: Tensor, points: int, boundary: Boundary, axis: int, slope: float = 0.0) -> Tensor:
    """The function along one axis, or `slope` times its derivative: f = Re Σ_k (c_k − i s_k) e^(ikx), from cosines and sines."""
    if points <= MATRIX_POINTS:
        _, back, derivative = _matrices(points, boundary)
        return _along(coef, slope * derivative if slope else back, axis)
    coef, period = coef.movedim(axis, -1), points if boundary == "periodic" else 2 * (points - 1)
    half = (coef.shape[-1] + 1) // 2
    cosine = coef[..., :half] if boundary == "periodic" else coef
    sine = torch.nn.functional.pad(coef[..., half:] if boundary == "periodic" else coef, (1, 0))
    nothing = torch.zeros_like(cosine if boundary == "neumann" else sine)
    Z = torch.complex(nothing if boundary == "dirichlet" else cosine, nothing if boundary == "neumann" else -sine)
    k = torch.arange(Z.shape[-1], dtype=coef.dtype, device=coef.device)
    Z = Z * (period / 2 * (1 + (k == 0))) * (1j * slope * k if slope else 1.0)
    return torch.fft.irfft(Z, n=period)[..., :points].movedim(-1, axis)


def _along(f: Tensor, matrix: Float[Tensor, "rows columns"], axis: int) -> Tensor:
    """The matrix applied along an axis."""
    before, after = f.shape[:axis], f.shape[axis + 1 :]
    return (matrix.to(f) @ f.reshape(math.prod(before), f.shape[axis], -1)).reshape(*before, len(matrix), *after)
