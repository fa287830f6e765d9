"""Series of waves, cosines or sines: on a grid, with gradients, for radial multipliers; and on a mesh, by quadrature and summation.

Along a grid axis of up to `MATRIX_POINTS` points a transform is a product with a dense matrix. Longer axes use the FFT where they are
periodic or include both ends.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import BOX, PERIODIC, Axis, Boundary
from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.transforms import outside_transforms

Field = Float[Tensor, "*shape_and_batch"]
Spectrum = Float[Tensor, "*ranks_and_batch"]

MATRIX_POINTS = 128


def wavenumbers(grid: Grid) -> list[Float[Tensor, "..."]]:
    """The wavenumbers of `torch.fft.rfftn` along each axis, shaped for broadcasting; those of the last axis are not negative."""
    found, dim = [], len(grid.shape)
    for axis, points in enumerate(grid.shape):
        last = axis == dim - 1
        k = torch.fft.rfftfreq(points, 1 / points) if last else torch.fft.fftfreq(points, 1 / points)
        found.append(k.round().double().reshape(-1, *(1,) * (dim - 1 - axis)))
    return found


@dataclass(frozen=True)
class Series:
    """f = Σ_k f_k ψ_k with products ψ_k of 1, cos, sin along periodic axes, of cosines ("neumann") or sines ("dirichlet") along others.

    The unit of length is the longest side over π (over 2π on a torus), so the lowest wavenumber along it is 1. Waves that the grid cannot
    resolve are dropped, never aliased; so are the highest wave of an even periodic axis and the highest cosine. Here the axes of the grid
    come first and those of a batch last: a few products with wide matrices take half the time of many small ones.
    """

    grid: Grid
    boundary: Boundary | tuple[Boundary, ...]

    def __post_init__(self) -> None:
        self.grid.domain.boundaries(self.boundary)
        if min(self.grid.shape) < 3:
            raise RaffiaError(f"a series needs 3 points or more along each axis; got a grid of shape {self.grid.shape}.")

    @property
    def lines(self) -> list["Line"]:
        """The transform of each axis."""
        domain, unit = self.grid.domain, self.grid.domain.longest * (1 if self.grid.domain.periodic else 2)
        axes = zip(self.grid.shape, domain.kinds, domain.boundaries(self.boundary), domain.extents, strict=True)
        return [
            Line(points, kind, boundary, unit / (extent * (1 if kind.periodic else 2)))
            for points, kind, boundary, extent in axes
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
    """The functions of one axis of length π, or 2π if it is periodic. `stretch` converts derivatives to the units of the grid."""

    points: int
    kind: Axis
    boundary: Boundary
    stretch: float

    @property
    def wavenumbers(self) -> Float[Tensor, "rank"]:
        """The wavenumbers of all cosines, then of all sines."""
        return _wavenumbers(self.kind.intervals(self.points), self.boundary)

    def forth(self, f: Tensor, axis: int) -> Tensor:
        """The coefficients along an axis."""
        if self._dense:
            return _along(f, _matrices(self.points, self.kind, self.boundary)[0], axis)
        f, points = f.movedim(axis, -1), self.points
        if self.boundary == "periodic":
            spectrum = torch.fft.rfft(f).narrow(-1, 0, (points + 1) // 2) * (2 / points)  # all, if the number of points is odd
            parts = torch.cat([spectrum.real, -spectrum.imag[..., 1:]], -1)
        else:
            ends = torch.nn.functional.pad(f[..., 1:-1], (1, 1)) + f
            spectrum = torch.fft.rfft(ends, n=2 * (points - 1))[..., :-1] / float(points - 1)  # both ends have weight 1/2
            parts = spectrum.real if self.boundary == "neumann" else -spectrum.imag[..., 1:]
        return (parts * torch.where(self.wavenumbers == 0, 0.5, 1.0).to(f)).movedim(-1, axis)

    def back(self, coef: Tensor, axis: int) -> Tensor:
        """Return the function values along an axis: the inverse transform of its coefficients."""
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
    """The wavenumbers on an axis of so many spacings."""
    if boundary == "periodic":
        k = torch.arange((intervals + 1) // 2, dtype=torch.float64)
        return torch.cat([k, k[1:]])
    return torch.arange(0 if boundary == "neumann" else 1, intervals, dtype=torch.float64)


@lru_cache(maxsize=64)
@outside_transforms()
def _matrices(points: int, kind: Axis, boundary: Boundary) -> tuple[Tensor, Tensor, Tensor]:
    """Matrices along one axis: analysis (rank, points), synthesis and derivative (points, rank); ends without nodes are added."""
    whole, (first, last) = kind.with_ends, kind.left_out
    there, intervals = points + first + last, kind.intervals(points)
    k, length = _wavenumbers(intervals, boundary), (2 if kind.periodic else 1) * math.pi
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


@lru_cache(maxsize=8)
@outside_transforms()
def waves(
    mesh: Mesh, shape: tuple[int, ...], boundary: Literal["neumann", "dirichlet"]
) -> tuple[Complex[Tensor, "points waves"], Complex[Tensor, "waves points"]]:
    """Matrices from functions on a mesh to the spectrum of `torch.fft.rfftn(…, norm="forward")` on a torus of this shape, and back.

    Along a periodic axis, coefficients are ∫ f e^(−ikx) / |T|. Along another axis the torus is twice as long, and f is continued evenly or
    oddly: cos kx or −i sin kx replaces the exponential.
    """
    domain = mesh.domain
    assert domain is not None  # a mesh always has one
    lengths = [length * (1 if kind.periodic else 2) for kind, length in zip(domain.kinds, domain.extents, strict=True)]
    axes = [torch.fft.fftfreq(n, 1 / n).double() for n in shape[:-1]] + [torch.arange(shape[-1] // 2 + 1).double()]
    vectors = torch.cartesian_prod(*axes).reshape(-1, len(shape))
    phases = [2 * math.pi / L * vectors[:, j, None] * mesh.positions[:, j] for j, L in enumerate(lengths)]
    total = torch.stack(phases).sum(0)
    alone = (vectors[:, -1] == 0) | (2 * vectors[:, -1] == shape[-1])  # k and −k are the same wave
    twice = torch.where(alone, 1.0, 2.0)
    synthesis = twice[:, None] * torch.polar(torch.ones_like(total), total)
    turns = -sum((phase for kind, phase in zip(domain.kinds, phases, strict=True) if kind.periodic), torch.zeros_like(total))
    analysis = torch.polar(torch.ones_like(total), turns)
    for kind, phase in zip(domain.kinds, phases, strict=True):
        if not kind.periodic:
            analysis = analysis * (phase.cos() if boundary == "neumann" else -1j * phase.sin())
    weights = mesh.root_weights.square() / math.prod(domain.extents)
    return (analysis * weights).mT.contiguous(), synthesis
