import math

import pytest
import torch

from raffia import Domain
from raffia.spaces.splines import image_around, image_within, values_at


def at(f, positions, grid, twice=False):
    around = grid.domain.periodic
    image = image_around(torch.fft.rfftn(f, dim=tuple(range(2, f.ndim))), grid) if around else image_within(f, grid)
    return values_at(image, positions, grid, twice)


def anywhere(grid, n=1):
    """Positions between the ends of every axis, in units of its spacing, and coordinates of the same."""
    x = torch.rand(n, *grid.shape, len(grid.shape), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return torch.stack([x[..., i] * kind.intervals(points) for i, (kind, points, _) in enumerate(grid.lines)], 1), x


def wave(grid, shift=0.0):
    """A function on a torus that is no product, and its values elsewhere."""
    x = 2 * math.pi * (grid.nodes() + shift)
    return torch.sin(x.sum(-1)) + 0.5 * torch.cos(2 * x[..., 0])


@pytest.mark.parametrize("shape", [(9,), (8, 11), (5, 6, 7)])
def test_at_nodes_they_are_what_they_are_there_on_every_turn(shape):
    grid = Domain(len(shape)).grid(*shape)
    f = torch.randn(2, 3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    index = torch.stack(torch.meshgrid(*(torch.arange(n) for n in shape), indexing="ij")).double()
    shift = torch.tensor([3, -2, 1][: len(shape)]).double()
    moved = index - shift.reshape(-1, *[1] * len(shape))
    wanted = f.roll(tuple(shift.int().tolist()), tuple(range(2, f.ndim)))
    torch.testing.assert_close(at(f, moved.expand(2, *moved.shape), grid), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_between_nodes_they_are_of_fourth_order(dim):
    errors = []
    for points in (12, 24):
        grid = Domain(dim).grid(points)
        index = torch.stack(torch.meshgrid(*(torch.arange(points),) * dim, indexing="ij")).double()
        found = at(wave(grid)[None, None], index[None] + 0.3, grid)[0, 0]
        errors.append(float((found - wave(grid, 0.3 / points)).norm()) / points ** (dim / 2))
    assert math.log2(errors[0] / errors[1]) > 3.7


@pytest.mark.parametrize("shape", [(7,), (5, 6), (4, 5, 4)])
def test_they_are_differentiable_in_values_and_positions(shape):
    grid, generator = Domain(len(shape)).grid(*shape), torch.Generator().manual_seed(0)
    f = torch.randn(1, 2, *shape, dtype=torch.float64, generator=generator, requires_grad=True)
    x = (5 * torch.rand(1, len(shape), *shape, dtype=torch.float64, generator=generator)).requires_grad_()
    assert torch.autograd.gradcheck(lambda f, x: at(f, x, grid), (f, x))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("axes", [("box",), ("cells",), ("left",), ("right",), ("box", "cells"), ("left", "box", "right")])
def test_cubic_polynomials_are_what_they_are_up_to_the_walls(axes, twice):
    domain = Domain(len(axes), axes=axes)
    grid = domain.grid(*(6, 5, 4)[: len(axes)])
    positions, x = anywhere(grid)
    positions[0][(slice(None), *[0] * len(axes))], x[(0, *[0] * len(axes))] = 0.0, 0.0  # a corner

    def cubic(x):
        return ((x - 0.3) ** 3 + x.square() - 2 * x).prod(-1)

    found = at(cubic(grid.nodes())[None, None], positions, grid, twice)[0, 0]
    torch.testing.assert_close(found, cubic(x[0]), rtol=1e-11, atol=1e-11)


def test_along_a_periodic_axis_beside_walls_they_go_around():
    domain = Domain(2, axes=("periodic", "box"))
    grid, torus = domain.grid(8, 5), Domain(1).grid(8)
    wave = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    positions, x = anywhere(grid)
    positions[:, 0] += 3 * 8
    found = at((wave[:, None] * grid.nodes()[..., 1])[None, None], positions, grid)
    along = torch.stack([at(wave[None, None], positions[:, 0, :, j][None], torus)[0, 0] for j in range(5)], 1)
    torch.testing.assert_close(found[0, 0], along * x[0, ..., 1])


def test_near_walls_they_are_of_fourth_order_whatever_the_slope_is_there():
    errors = []
    for points in (17, 33):
        grid = Domain(1, axes="box").grid(points)
        positions, x = anywhere(grid, 20)
        found = at(torch.exp(2 * grid.nodes()[..., 0]).expand(20, 1, points), positions, grid)
        errors.append(float((found[:, 0] - torch.exp(2 * x[..., 0])).abs().max()))
    assert math.log2(errors[0] / errors[1]) > 3.5


def test_beyond_a_wall_is_what_the_wall_has():
    grid = Domain(1, axes="box").grid(6)
    f = torch.randn(1, 1, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    positions = torch.tensor([-3.0, -1e-9, 2.0, 5.0, 5.1, 40.0], dtype=torch.float64)[None, None]
    torch.testing.assert_close(at(f, positions, grid)[0, 0], f[0, 0, [0, 0, 2, 5, 5, 5]])


@pytest.mark.parametrize("axes", [("box",), ("periodic", "cells")])
def test_between_walls_they_are_twice_differentiable(axes):
    grid = Domain(len(axes), axes=axes).grid(*(5, 4)[: len(axes)])
    f = torch.randn(1, 1, *grid.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    x = anywhere(grid)[0].requires_grad_()
    assert torch.autograd.gradcheck(lambda f, x: at(f, x, grid), (f, x))
    assert torch.autograd.gradgradcheck(lambda f, x: at(f, x, grid, twice=True), (f, x))
