"""Values of functions on a torus between the nodes of a grid: cubic B-splines, differentiable, batched, on any device.

Weights of B-splines are positive, so that two terms are one value of a piecewise linear function: w₀f₀ + w₁f₁ = (w₀ + w₁) f(w₁/(w₀ + w₁)).
A sum over 4^d neighbours is then one over 2^d linear interpolations, for which torch has fast kernels.
"""

import itertools
import math
from functools import reduce

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.spaces.grid import Grid
from raffia.spaces.spectral import wavenumbers

Spectra = Complex[Tensor, "batch functions *half_spectrum"]
Values = Float[Tensor, "batch functions *grid"]
Positions = Float[Tensor, "batch dim *grid"]


def values_at(spectra: Spectra, positions: Positions, grid: Grid, twice: bool = False) -> Values:
    """Functions with spectra as `torch.fft.rfftn` gives them, at positions in units of the spacing along each axis, on whatever turn.

    Fast kernels have one derivative, backwards; with `twice` there are two, forwards or backwards, and under `torch.func.vmap`.
    """
    shape, dim = grid.shape, len(grid.shape)
    coefficients = _coefficients(spectra, grid)
    if twice:
        return _gathered(coefficients, positions)
    f = torch.zeros_like(coefficients)
    for axis in range(2, f.ndim):  # one neighbour before the first node, two after the last
        ends = coefficients.narrow(axis, -1, 1), coefficients.narrow(axis, 0, 2)
        coefficients = torch.cat([ends[0], coefficients, ends[1]], axis)
    sides = [_sides(positions[:, axis], points) for axis, points in enumerate(shape)]
    lift = max(0, 2 - dim)  # torch interpolates in planes and in space: a line is a plane of one row
    image, total = coefficients[(slice(None), slice(None), *[None] * lift)], f
    for chosen in itertools.product((0, 1), repeat=dim):
        places, weights = zip(*(side[one] for side, one in zip(sides, chosen, strict=True)), strict=True)
        flat = [*reversed(places), *[torch.zeros_like(places[0])] * lift]  # the last axis first
        at = torch.stack(flat, -1).reshape(len(f), *[1] * lift, *shape, dim + lift)
        found = torch.nn.functional.grid_sample(image, at, "bilinear", "border", align_corners=True).reshape(f.shape)
        total = total + math.prod(weights)[:, None] * found
    return total


def _sides(x: Float[Tensor, "batch *grid"], points: int) -> list[tuple[Tensor, Tensor]]:
    """For both neighbours on the left and both on the right: where between them, from −1 to 1 across the image, and their weight."""
    left = torch.floor(x.detach())
    t = x - left
    first, square = (
        left - points * torch.floor(left / points),
        t * t,
    )  # the place of the left neighbour's left one, in the image
    second, fourth = 2 / 3 + square * (t / 2 - 1), square * t / 6  # weights of four neighbours, which sum to one
    before = 5 / 6 - t * (0.5 + t * (0.5 - t / 3))  # of the first two
    pairs = (first, second, before), (first + 2, fourth, 1 - before)
    return [((place + weight / both) * (2 / (points + 2)) - 1, both) for place, weight, both in pairs]


def _gathered(coefficients: Values, positions: Positions) -> Values:
    """The sum over all 4^d neighbours, by their weights, which are C²."""
    shape, total = coefficients.shape[2:], torch.zeros_like(coefficients)
    lines = [_neighbours(positions[:, axis], points) for axis, points in enumerate(shape)]
    for chosen in itertools.product(*lines):
        place = torch.zeros_like(chosen[0][0])
        for (index, _), points in zip(chosen, shape, strict=True):
            place = place * points + index
        place = place.flatten(1)[:, None].expand(-1, coefficients.shape[1], -1)
        found = coefficients.flatten(2).gather(2, place).reshape(coefficients.shape)
        total = total + reduce(torch.mul, (weight for _, weight in chosen))[:, None] * found
    return total


def _neighbours(x: Float[Tensor, "batch *grid"], points: int) -> list[tuple[Tensor, Tensor]]:
    """The four nodes around x along an axis, and their weights."""
    left = torch.floor(x.detach())
    t = x - left
    weights = (1 - t) ** 3 / 6, 2 / 3 - t**2 * (1 - t / 2), 2 / 3 - (1 - t) ** 2 * (1 + t) / 2, t**3 / 6
    return [((left + step).long() % points, weight) for step, weight in zip((-1, 0, 1, 2), weights, strict=True)]


def _coefficients(spectra: Spectra, grid: Grid) -> Values:
    """Of the splines through functions: their spectra over Π (2 + cos κ_d)/3, κ the phase between neighbours."""
    axes = zip(wavenumbers(grid), grid.shape, strict=True)
    divisor = reduce(torch.mul, ((2 + torch.cos(2 * math.pi / points * k)) / 3 for k, points in axes))
    return torch.fft.irfftn(spectra / divisor.to(spectra.real), s=grid.shape, dim=tuple(range(-len(grid.shape), 0)))
