"""Series of waves, cosines or sines on a grid: transforms, gradients and radial multipliers, by products with matrices along each axis."""

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
            total = total[..., None] + (stretch * _axis(points, self.boundary)[3]).square()
        return total

    def analysis(self, f: Field) -> Spectrum:
        """The coefficients f_k."""
        for axis, points in enumerate(self.grid.shape):
            f = _along(f, _axis(points, self.boundary)[0], axis)
        return f

    def synthesis(self, coef: Spectrum) -> Field:
        """Σ_k f_k ψ_k on the grid."""
        for axis, points in enumerate(self.grid.shape):
            coef = _along(coef, _axis(points, self.boundary)[1], axis)
        return coef

    def with_gradient(self, coef: Spectrum) -> tuple[Field, list[Field]]:
        """The function and its derivatives along each axis."""
        value, slopes = coef, list[Tensor]()
        for axis, (points, stretch) in enumerate(zip(self.grid.shape, self._stretches, strict=True)):
            _, back, derivative, _ = _axis(points, self.boundary)
            slopes = [*(_along(slope, back, axis) for slope in slopes), _along(value, stretch * derivative, axis)]
            value = _along(value, back, axis)
        return value, slopes

    @property
    def _stretches(self) -> tuple[float, ...]:
        """The longest side over each."""
        extents = self.grid.domain.extents
        return tuple(max(extents) / extent for extent in extents)


@lru_cache(maxsize=64)
def _axis(points: int, boundary: Boundary) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Along one axis: analysis (rank, points), synthesis and derivative (points, rank), wavenumbers; of length π, or 2π on a torus."""
    j = torch.arange(points)
    if boundary == "periodic":
        k, period = torch.arange((points - 1) // 2 + 1), points
    else:
        k, period = torch.arange(0 if boundary == "neumann" else 1, points - 1), 2 * (points - 1)
    phase = 2 * math.pi / period * (j[:, None] * k % period).double()
    cosine, sine, k = phase.cos(), phase.sin(), k.double()
    back = {"periodic": torch.cat([cosine, sine[:, 1:]], 1), "neumann": cosine, "dirichlet": sine}[boundary]
    slopes = {"periodic": torch.cat([-k * sine, (k * cosine)[:, 1:]], 1), "neumann": -k * sine, "dirichlet": k * cosine}
    k = torch.cat([k, k[1:]]) if boundary == "periodic" else k
    weights = torch.ones(points, dtype=torch.float64)
    if boundary != "periodic":
        weights[0] = weights[-1] = 0.5
    forth = (back * weights[:, None] / (weights[:, None] * back.square()).sum(0)).mT
    return forth.contiguous(), back, slopes[boundary], k


def _along(f: Tensor, matrix: Float[Tensor, "rows columns"], axis: int) -> Tensor:
    """The matrix applied along an axis."""
    before, after = f.shape[:axis], f.shape[axis + 1 :]
    return (matrix.to(f) @ f.reshape(math.prod(before), f.shape[axis], -1)).reshape(*before, len(matrix), *after)
