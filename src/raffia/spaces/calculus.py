"""Discrete calculus on grids of a box, all ends included: gradient, Poisson's equation, heat flow. Batched, differentiable, on any device.

A sine transform along an axis of up to `MATRIX_POINTS` points is a product with a dense matrix, which is faster there than a
padded FFT; longer axes use the FFT (`benchmarks/poisson.py` measures both).
"""

import math
from collections.abc import Iterable
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import BOX
from raffia.spaces.grid import Grid
from raffia.spaces.spectral import MATRIX_POINTS
from raffia.transforms import outside_transforms

Field = Float[Tensor, "*batch_and_shape"]


def inner_gradient(f: Field, grid: Grid) -> Float[Tensor, "*batch_dim_and_inner"]:
    """∇f by centred differences at the inner nodes only: (*batch, dim, *(shape − 2))."""
    dim, parts = len(grid.shape), []
    for axis, h in enumerate(grid.spacings, -dim):
        across, points = _inside(f, [other for other in range(-dim, 0) if other != axis]), f.shape[axis] - 2
        parts.append((across.narrow(axis, 2, points) - across.narrow(axis, 0, points)) / (2 * h))
    return torch.stack(parts, dim=f.ndim - dim)


def inner(f: Field, grid: Grid) -> Float[Tensor, "*batch_and_inner"]:
    """f at the inner nodes."""
    return _inside(f, range(-len(grid.shape), 0))


def _inside(f: Tensor, axes: Iterable[int]) -> Tensor:
    for axis in axes:
        f = f.narrow(axis, 1, f.shape[axis] - 2)
    return f


def poisson(f: Field, grid: Grid) -> Field:
    """Solve −Δp = f with p = 0 on the boundary, by the five-point stencil; f on the boundary is not used."""
    _check(f, grid)
    return inner_poisson(inner(f, grid), grid)


def inner_poisson(f: Float[Tensor, "*batch_and_inner"], grid: Grid) -> Field:
    """`poisson` for f given at the inner nodes of the grid; p comes with its zero boundary."""
    eigenvalues = torch.zeros((), dtype=torch.float64)
    for points, h in zip(grid.shape, grid.spacings, strict=True):
        eigenvalues = eigenvalues[..., None] + _sine_pairs(points, h)[1]
    p = _sine_transform(_sine_transform(f, grid) / eigenvalues.to(f), grid)
    return torch.nn.functional.pad(p, [1, 1] * len(grid.shape))


def heat(f: Field, grid: Grid, time: float | Tensor) -> Field:
    """v(time) for ∂v/∂t = Δv, v(0) = f, with ∂v/∂n = 0 on the boundary: the exact flow of the five-point stencil."""
    _check(f, grid)
    learnt = isinstance(time, Tensor) and time.requires_grad
    axes = zip(grid.shape, grid.spacings, strict=True)
    flows = [_heat_flow(*axis, time) if learnt else _cached_heat_flow(*axis, float(time)) for axis in axes]
    return _along_axes(f, [flow.to(f) for flow in flows])


def _sine_transform(f: Tensor, grid: Grid) -> Tensor:
    """The orthonormal sine transform along every axis; it is its own inverse."""
    if max(grid.shape) <= MATRIX_POINTS:
        return _along_axes(f, [_sine_pairs(points, h)[0].to(f) for points, h in zip(grid.shape, grid.spacings, strict=True)])
    for axis, points in enumerate(grid.shape, -len(grid.shape)):
        padded, n = torch.nn.functional.pad(f.transpose(axis, -1), (1, 0)), points - 1
        sums = torch.fft.rfft(padded, n=2 * n).imag[..., 1:n]
        f = (-math.sqrt(2 / n) * sums).transpose(axis, -1)
    return f


def _along_axes(f: Tensor, matrices: list[Tensor]) -> Tensor:
    """Each matrix applied along its own axis of the trailing axes."""
    for axis, matrix in enumerate(reversed(matrices)):
        if axis == 0:
            f = f @ matrix.mT
        elif axis == 1:
            f = matrix @ f
        else:
            f = (f.transpose(-1 - axis, -1) @ matrix.mT).transpose(-1 - axis, -1)
    return f


@lru_cache(maxsize=32)
@outside_transforms()
def _sine_pairs(points: int, spacing: float) -> tuple[Tensor, Tensor]:
    """The orthonormal sine matrix (its own inverse) and the eigenvalues of −Δ_h with zero boundary values."""
    n = points - 1
    k = torch.arange(1, n)
    phase = math.pi * (k[:, None] * k % (2 * n)).double() / n
    return math.sqrt(2 / n) * phase.sin(), (2 - 2 * (math.pi * k.double() / n).cos()) / spacing**2


@lru_cache(maxsize=32)
@outside_transforms()
def _cosine_pairs(points: int, spacing: float) -> tuple[Tensor, Tensor, Tensor]:
    """Cosines at the nodes in columns, their adjoint in the quadrature, and the eigenvalues of −Δ_h with reflecting ends."""
    basis = BOX.synthesis(torch.eye(points, dtype=torch.float64), points, "neumann").mT
    inverse = (basis * BOX.weights(points, 1.0)[:, None]).mT
    turn = 2 * math.pi * torch.arange(points).double() / BOX.period(points)
    return basis, inverse, (2 - 2 * turn.cos()) / spacing**2


def _heat_flow(points: int, spacing: float, time: float | Tensor) -> Tensor:
    """exp(time · Δ_h) along one axis with reflecting ends."""
    basis, inverse, eigenvalues = _cosine_pairs(points, spacing)
    time = torch.as_tensor(time, dtype=torch.float64)
    return (basis.to(time) * torch.exp(-time * eigenvalues.to(time))) @ inverse.to(time)


_cached_heat_flow = lru_cache(maxsize=32)(outside_transforms()(_heat_flow))


def _check(f: Tensor, grid: Grid) -> None:
    if not grid.domain.boxed or min(grid.shape) < 3:
        raise RaffiaError(f"this operation needs a grid on a box with 3 points or more along each axis; got {grid}.")
    grid.check(f)
