import math

import pytest
import torch

from raffia import Domain
from raffia.spaces.between import values_at


def at(f, positions, grid):
    return values_at(torch.fft.rfftn(f, dim=tuple(range(2, f.ndim))), positions, grid)


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
