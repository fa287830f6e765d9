"""Values of functions between the nodes of a grid: cubic B-splines, differentiable, batched, on any device.

A function is given by an image: the coefficients of its spline, with as many beyond either end of an axis as positions there need. Around
a circle these are the ones of the next turn. Along an axis with ends, the polynomials next to each end go on across the second node
("not a knot"), so that splines are of fourth order up to the walls for all functions. Positions beyond a wall are moved to it.

Weights of B-splines are positive, so that two terms are one value of a piecewise linear function: w₀f₀ + w₁f₁ = (w₀ + w₁) f(w₁/(w₀ + w₁)).
A sum over 4^d neighbours is then one over 2^d linear interpolations, for which torch has fast kernels.
"""

import itertools
import math
from functools import lru_cache, reduce

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.spaces.axes import Axis
from raffia.spaces.grid import Grid
from raffia.spaces.spectral import wavenumbers
from raffia.transforms import outside_transforms

Spectra = Complex[Tensor, "batch functions *half_spectrum"]
Values = Float[Tensor, "batch functions *grid"]
Image = Float[Tensor, "batch functions *more"]
Positions = Float[Tensor, "batch dim *grid"]


def values_at(image: Image, positions: Positions, grid: Grid, twice: bool = False) -> Values:
    """Values of functions, given by spline coefficients (images), at positions in units of the spacing from the first end of each axis.

    Positions on a periodic axis may lie in any period.

    By default, only first derivatives by backpropagation exist. With `twice`, second derivatives, forward derivatives and
    `torch.func.vmap` work too, but slower.
    """
    lines = zip(positions.unbind(1), grid.lines, strict=True)
    cells = [_cell(x, kind, points) for x, (kind, points, _) in lines]
    return _gathered(image, cells) if twice else _sampled(image, cells)


def image_around(spectra: Spectra, grid: Grid) -> Image:
    """Of functions on a torus with spectra as `torch.fft.rfftn` gives them, over Π (2 + cos κ_d)/3, κ the phase between nodes."""
    axes = zip(wavenumbers(grid), grid.shape, strict=True)
    divisor = reduce(torch.mul, ((2 + torch.cos(2 * math.pi / points * k)) / 3 for k, points in axes))
    image = torch.fft.irfftn(spectra / divisor.to(spectra.real), s=grid.shape, dim=tuple(range(-len(grid.shape), 0)))
    for axis in range(2, image.ndim):  # one neighbour before the first node, two after the last
        image = torch.cat([image.narrow(axis, -1, 1), image, image.narrow(axis, 0, 2)], axis)
    return image


def image_within(f: Values, grid: Grid) -> Image:
    """Of functions by their values, on a grid of any kind: a product with a matrix along each axis."""
    for axis, (kind, points, _) in enumerate(grid.lines, 2):
        f = (f.transpose(axis, -1) @ _matrix(kind, points).to(f).mT).transpose(axis, -1)
    return f.contiguous()


def _cell(x: Float[Tensor, "batch *grid"], kind: Axis, points: int) -> tuple[Tensor, Tensor, int]:
    """The index of the first of the four neighbours of x, the fraction of the way from the second to the third, and the number of nodes."""
    if kind.periodic:
        left = torch.floor(x.detach())
        return left - points * torch.floor(left / points), x - left, points + 3
    more = _beyond(kind)
    x = x.clamp(0, kind.intervals(points)) - kind.before
    left = torch.floor(x.detach()).clamp(-more[0], points - 2 + more[1])
    return left + more[0], x - left, points + 2 + sum(more)


def _sampled(image: Image, cells: list[tuple[Tensor, Tensor, int]]) -> Values:
    """The sum over 2^d linear interpolations."""
    dim, (batch, *shape) = len(cells), cells[0][0].shape
    lift = max(0, 2 - dim)  # torch interpolates in planes and in space: a line is a plane of one row
    total = torch.zeros(batch, image.shape[1], *shape, dtype=image.dtype, device=image.device)
    lifted, sides = image[(slice(None), slice(None), *[None] * lift)], [_sides(cell) for cell in cells]
    for chosen in itertools.product((0, 1), repeat=dim):
        places, weights = zip(*(side[one] for side, one in zip(sides, chosen, strict=True)), strict=True)
        flat = [*reversed(places), *[torch.zeros_like(places[0])] * lift]  # the last axis first
        at = torch.stack(flat, -1).reshape(batch, *[1] * lift, *shape, dim + lift)
        found = torch.nn.functional.grid_sample(lifted, at, "bilinear", "border", align_corners=True).reshape(total.shape)
        total = total + math.prod(weights)[:, None] * found
    return total


def _sides(cell: tuple[Tensor, Tensor, int]) -> list[tuple[Tensor, Tensor]]:
    """For the two neighbours on the left and the two on the right: a point between them, from −1 to 1 across the image, and a weight."""
    first, t, size = cell
    square = t * t
    second, fourth = 2 / 3 + square * (t / 2 - 1), square * t / 6  # weights of four neighbours, which sum to one
    before = 5 / 6 - t * (0.5 + t * (0.5 - t / 3))  # of the first two
    pairs = (first, second, before), (first + 2, fourth, 1 - before)
    return [((place + weight / both) * (2 / (size - 1)) - 1, both) for place, weight, both in pairs]


def _gathered(image: Image, cells: list[tuple[Tensor, Tensor, int]]) -> Values:
    """The sum over all 4^d neighbours, by their weights, which are C²."""
    batch, *shape = cells[0][0].shape
    total = torch.zeros(batch, image.shape[1], *shape, dtype=image.dtype, device=image.device)
    for chosen in itertools.product(*map(_neighbours, cells)):
        place = torch.zeros_like(chosen[0][0])
        for (index, _), (_, _, size) in zip(chosen, cells, strict=True):
            place = place * size + index
        place = place.flatten(1)[:, None].expand(-1, image.shape[1], -1)
        found = image.flatten(2).gather(2, place).reshape(total.shape)
        total = total + reduce(torch.mul, (weight for _, weight in chosen))[:, None] * found
    return total


def _neighbours(cell: tuple[Tensor, Tensor, int]) -> list[tuple[Tensor, Tensor]]:
    """The indices of the four nodes around x along an axis, and their weights."""
    first, t, _ = cell
    weights = (1 - t) ** 3 / 6, 2 / 3 - t**2 * (1 - t / 2), 2 / 3 - (1 - t) ** 2 * (1 + t) / 2, t**3 / 6
    return [(first.long() + step, weight) for step, weight in enumerate(weights)]


def _beyond(kind: Axis) -> tuple[int, int]:
    """How many nodes to add beyond the first and the last, so that the spline reaches both ends of the axis."""
    return math.ceil(kind.before), math.ceil(kind.after)


@lru_cache(maxsize=64)
@outside_transforms()
def _matrix(kind: Axis, points: int) -> Float[Tensor, "more points"]:
    """The image along an axis: c with (c₋ + 4c + c₊)/6 = f at nodes, around a circle, or with no fourth differences at ends."""
    nodes = torch.eye(points, dtype=torch.float64)
    if kind.periodic:
        coefficients = torch.linalg.inv((4 * nodes + nodes.roll(1, 0) + nodes.roll(-1, 0)) / 6)
        return torch.cat([coefficients[-1:], coefficients, coefficients[:2]])
    order = min(4, points)
    difference = torch.tensor([(-1.0) ** i * math.comb(order, i) for i in range(order + 1)], dtype=torch.float64)
    system = torch.zeros(points + 2, points + 2, dtype=torch.float64)
    for node in range(points):
        system[node, node : node + 3] = torch.tensor([1.0, 4.0, 1.0], dtype=torch.float64) / 6
    system[points, : order + 1], system[points + 1, -order - 1 :] = difference, difference
    image = torch.linalg.solve(system, torch.eye(points + 2, points, dtype=torch.float64))
    for _ in range(_beyond(kind)[0]):
        image = torch.cat([-(difference[1:] @ image[:order])[None], image])
    for _ in range(_beyond(kind)[1]):
        image = torch.cat([image, -(difference[:-1] @ image[-order:])[None] / difference[-1]])
    return image
