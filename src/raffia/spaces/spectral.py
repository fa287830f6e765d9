"""Series of waves, cosines or sines on a grid: transforms and gradients, for radial multipliers.

Along an axis of up to `MATRIX_POINTS` points a transform is a product with a dense matrix; longer axes use the FFT, where they are
periodic or have both ends.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import BOX, PERIODIC, Axis, Boundary
from raffia.spaces.grid import Grid
from raffia.transforms import plainly

Field = Float[Tensor, "*shape_and_batch"]
Spectrum = Float[Tensor, "*ranks_and_batch"]

MATRIX_POINTS = 128


def wavenumbers(grid: Grid) -> list[Float[Tensor, "..."]]:
    """Of `torch.fft.rfftn` on a torus, along each axis, with the others' axes of length one; along the last there are no negative ones."""
    found, dim = [], len(grid.shape)
    for axis, points in enumerate(grid.shape):
        last = axis == dim - 1
        k = torch.fft.rfftfreq(points, 1 / points) if last else torch.fft.fftfreq(points, 1 / points)
        found.append(k.round().double().reshape(-1, *(1,) * (dim - 1 - axis)))
    return found


@dataclass(frozen=True)
class Series:
    """f = Σ_k f_k ψ_k with products ψ_k of 1, cos, sin along periodic axes, of cosines ("neumann") or sines ("dirichlet") along others.

    Lengths are in units of the longest side over π, on a torus over 2π, so that the lowest wavenumber along it is 1. Waves that the grid
    cannot hold are dropped, never aliased; so is the highest one of an even circle, and the highest cosine. Here the axes of the grid come
    first and those of a batch last: products are then with a few wide matrices, which takes half the time of many small ones.
    """

    grid: Grid
    boundary: Boundary | tuple[Boundary, ...]

    def __post_init__(self) -> None:
        self.grid.domain.boundaries(self.boundary)
        if min(self.grid.shape) < 3:
            raise RaffiaError(f"a series needs 3 points or more along each axis; got a grid of shape {self.grid.shape}.")

    @property
    def lines(self) -> list["Line"]:
        """One for each axis."""
        domain, unit = self.grid.domain, self.grid.domain.longest * (1 if self.grid.domain.periodic else 2)
        axes = zip(self.grid.shape, domain.kinds, domain.boundaries(self.boundary), domain.extents, strict=True)
        return [
            Line(points, kind, boundary, unit / (extent * (1 if kind.around else 2))) for points, kind, boundary, extent in axes
        ]

    @property
    def squares(self) -> Float[Tensor, "*ranks"]:
        """|k|² of every ψ_k."""
        total = torch.zeros((), dtype=torch.float64)
        for line in self.lines:
            total = total[..., None] + (line.stretch * line.wavenumbers).square()
        return total

    def analysis(self, f: Field) -> Spectrum:
        """The coefficients f_k."""
        for axis, line in enumerate(self.lines):
            f = line.forth(f, axis)
        return f

    def synthesis(self, coef: Spectrum) -> Field:
        """Σ_k f_k ψ_k on the grid."""
        for axis, line in enumerate(self.lines):
            coef = line.back(coef, axis)
        return coef

    def with_gradient(self, coef: Spectrum) -> tuple[Field, list[Field]]:
        """The function and its derivatives along each axis."""
        value, slopes = coef, list[Tensor]()
        for axis, line in enumerate(self.lines):
            slopes = [*(line.back(slope, axis) for slope in slopes), line.slope(value, axis)]
            value = line.back(value, axis)
        return value, slopes


@dataclass(frozen=True)
class Line:
    """The functions of one axis, of length π, or 2π if it is a circle; `stretch` is a length of π in units of the grid's."""

    points: int
    kind: Axis
    boundary: Boundary
    stretch: float

    @property
    def wavenumbers(self) -> Float[Tensor, "rank"]:
        """All cosines, then all sines."""
        return _wavenumbers(self.kind.intervals(self.points), self.boundary)

    def forth(self, f: Tensor, axis: int) -> Tensor:
        """The coefficients along an axis."""
        if self._dense:
            return _along(f, _matrices(self.points, self.kind, self.boundary)[0], axis)
        f, points = f.movedim(axis, -1), self.points
        if self.boundary == "periodic":
            spectrum = torch.fft.rfft(f).narrow(-1, 0, (points + 1) // 2) * (2 / points)  # of an odd circle, all
            parts = torch.cat([spectrum.real, -spectrum.imag[..., 1:]], -1)
        else:
            ends = torch.nn.functional.pad(f[..., 1:-1], (1, 1)) + f
            spectrum = torch.fft.rfft(ends, n=2 * (points - 1))[..., :-1] / float(points - 1)  # half of either end
            parts = spectrum.real if self.boundary == "neumann" else -spectrum.imag[..., 1:]
        return (parts * torch.where(self.wavenumbers == 0, 0.5, 1.0).to(f)).movedim(-1, axis)

    def back(self, coef: Tensor, axis: int) -> Tensor:
        """The function along an axis."""
        return (
            _along(coef, _matrices(self.points, self.kind, self.boundary)[1], axis) if self._dense else self._summed(coef, axis)
        )

    def slope(self, coef: Tensor, axis: int) -> Tensor:
        """Its derivative."""
        if self._dense:
            return _along(coef, self.stretch * _matrices(self.points, self.kind, self.boundary)[2], axis)
        return self._summed(coef, axis, self.stretch)

    @property
    def _dense(self) -> bool:
        return self.points <= MATRIX_POINTS or self.kind not in (PERIODIC, BOX)

    def _summed(self, coef: Tensor, axis: int, slope: float = 0.0) -> Tensor:
        """f = Re Σ_k (c_k − i s_k) e^(ikx), from cosines and sines, or `slope` times its derivative."""
        coef, period, boundary = coef.movedim(axis, -1), self.kind.period(self.points), self.boundary
        half = (coef.shape[-1] + 1) // 2
        cosine = coef[..., :half] if boundary == "periodic" else coef
        sine = torch.nn.functional.pad(coef[..., half:] if boundary == "periodic" else coef, (1, 0))
        nothing = torch.zeros_like(cosine if boundary == "neumann" else sine)
        Z = torch.complex(nothing if boundary == "dirichlet" else cosine, nothing if boundary == "neumann" else -sine)
        k = torch.arange(Z.shape[-1], dtype=coef.dtype, device=coef.device)
        Z = Z * (period / 2 * (1 + (k == 0))) * (1j * slope * k if slope else 1.0)
        return torch.fft.irfft(Z, n=period)[..., : self.points].movedim(-1, axis)


def _wavenumbers(intervals: int, boundary: Boundary) -> Float[Tensor, "rank"]:
    """Of the functions of an axis that is so many spacings long."""
    if boundary == "periodic":
        k = torch.arange((intervals + 1) // 2, dtype=torch.float64)
        return torch.cat([k, k[1:]])
    return torch.arange(0 if boundary == "neumann" else 1, intervals, dtype=torch.float64)


@lru_cache(maxsize=64)
@plainly()
def _matrices(points: int, kind: Axis, boundary: Boundary) -> tuple[Tensor, Tensor, Tensor]:
    """Along one axis: analysis (rank, points), synthesis and derivative (points, rank); ends that were left out are put back."""
    whole, (first, last) = kind.with_ends, kind.left_out
    there, intervals = points + first + last, kind.intervals(points)
    k, length = _wavenumbers(intervals, boundary), (2 if kind.around else 1) * math.pi
    phase = whole.coordinates(there, length)[:, None] * k
    sines = torch.arange(len(k)) >= {"periodic": (intervals + 1) // 2, "neumann": len(k), "dirichlet": 0}[boundary]
    back, slopes = torch.where(sines, phase.sin(), phase.cos()), k * torch.where(sines, phase.cos(), -phase.sin())
    weights = whole.weights(there, length)[:, None]
    forth = (back * weights / (weights * back.square()).sum(0)).mT @ kind.put_back(torch.eye(points).double(), 0, boundary)
    inside = slice(first, there - last)
    return forth.contiguous(), back[inside].contiguous(), slopes[inside].contiguous()


def _along(f: Tensor, matrix: Float[Tensor, "rows columns"], axis: int) -> Tensor:
    """The matrix applied along an axis."""
    before, after = f.shape[:axis], f.shape[axis + 1 :]
    return (matrix.to(f) @ f.reshape(math.prod(before), f.shape[axis], -1)).reshape(*before, len(matrix), *after)
