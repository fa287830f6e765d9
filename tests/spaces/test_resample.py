import math

import pytest
import torch

from raffia import Domain, Mesh, RaffiaError, resample
from raffia.spaces import interpolate


@pytest.mark.parametrize("source", [24, 25, 48])
@pytest.mark.parametrize("target", [11, 12, 24, 36, 48, 50, 101])
def test_band_limited_functions_move_exactly_between_periodic_grids(source, target):
    domain = Domain(1)

    def f(points):
        x = domain.grid(points).axes()[0]
        return 1 + torch.sin(2 * torch.pi * 3 * x) - 0.5 * torch.cos(2 * torch.pi * 11 * x + 0.3)

    torch.testing.assert_close(resample(f(source), domain.grid(source), domain.grid(target)), f(target), atol=1e-13, rtol=0)


def test_the_nyquist_mode_is_interpolated_by_its_cosine():
    domain = Domain(1)
    x8, x16 = domain.grid(8).axes()[0], domain.grid(16).axes()[0]
    moved = resample(torch.cos(2 * torch.pi * 4 * x8), domain.grid(8), domain.grid(16))
    torch.testing.assert_close(moved, torch.cos(2 * torch.pi * 4 * x16), atol=1e-14, rtol=0)


def test_two_dimensional_torus_moves_axis_by_axis():
    domain = Domain(2)

    def f(*shape):
        x, y = domain.grid(*shape).nodes().unbind(-1)
        return torch.sin(2 * torch.pi * x) * torch.cos(4 * torch.pi * y)

    torch.testing.assert_close(resample(f(12, 10), domain.grid(12, 10), domain.grid(17, 20)), f(17, 20), atol=1e-13, rtol=0)


@pytest.mark.parametrize("periodic", [True, False])
def test_shared_nodes_keep_their_values_exactly(periodic):
    domain = Domain(1, periodic=periodic)
    fine, coarse = (64, 16) if periodic else (65, 17)
    f = torch.randn(3, fine, dtype=torch.float64)
    assert torch.equal(resample(f, domain.grid(fine), domain.grid(coarse)), f[:, ::4])


def test_linear_functions_move_exactly_on_a_box_and_smooth_ones_to_second_order():
    domain = Domain(2, periodic=False)

    def error(f, source):
        x, y = domain.grid(source).nodes().unbind(-1)
        u, v = domain.grid(40).nodes().unbind(-1)
        return float((resample(f(x, y), domain.grid(source), domain.grid(40)) - f(u, v)).abs().max())

    assert error(lambda x, y: 1 + 2 * x - 3 * y, 7) < 1e-14
    smooth = [error(lambda x, y: torch.exp(x) * torch.cos(y), source) for source in (11, 21)]
    assert math.log2(smooth[0] / smooth[1]) == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("kind", ["box", "cells", "left", "right"])
def test_linear_functions_move_exactly_along_every_kind_of_axis(kind):
    domain = Domain(2, axes=("periodic", kind), extent=(1.0, 2.0))

    def f(*shape):
        x, y = domain.grid(*shape).nodes().unbind(-1)
        return torch.sin(2 * torch.pi * x) * (1 - 3 * y)

    for there in ((12, 7), (20, 19), (8, 24)):
        for smooth in (False, True):
            moved = resample(f(12, 8), domain.grid(12, 8), domain.grid(*there), smooth=smooth)
            torch.testing.assert_close(moved, f(*there), atol=1e-12, rtol=0)


@pytest.mark.parametrize("kind", ["box", "cells", "left", "right"])
def test_smooth_functions_move_smoothly_along_every_kind_of_axis(kind):
    domain = Domain(1, axes=kind)
    f = {points: torch.exp(domain.grid(points).axes()[0]) for points in (20, 57)}
    moved = resample(f[20], domain.grid(20), domain.grid(57), smooth=True)
    torch.testing.assert_close(moved, f[57], atol=2e-4 if kind in ("left", "right") else 1e-7, rtol=0)


@pytest.mark.parametrize("axes", [("periodic", "box"), ("cells", "left"), ("right", "periodic")])
def test_shared_nodes_keep_their_values_along_every_kind_of_axis(axes):
    grid = Domain(2, axes=axes).grid(6, 7)
    fine, shared = grid.refined()
    f = torch.randn(3, *fine.shape, dtype=torch.float64)
    torch.testing.assert_close(resample(f, fine, grid), f[(..., *shared)], rtol=0, atol=1e-15)


@pytest.mark.parametrize("axes", [("periodic", "box"), ("cells", "periodic"), ("left", "right")])
def test_functions_are_carried_to_scattered_nodes(axes):
    domain = Domain(2, axes=axes)
    x, y = domain.grid(40).nodes().unbind(-1)
    f = torch.cos(2 * torch.pi * x) * torch.cos(2 * torch.pi * y)
    mesh = Mesh(torch.rand(50, 2, dtype=torch.float64), torch.ones(50), domain)
    there = torch.cos(2 * torch.pi * mesh.positions).prod(-1)
    torch.testing.assert_close(interpolate(f, domain.grid(40), mesh), there, atol=1e-3, rtol=0)


def test_grids_of_different_domains_are_refused():
    with pytest.raises(RaffiaError, match="two grids of one domain"):
        resample(torch.zeros(8), Domain(1).grid(8), Domain(1, periodic=False).grid(8))
    with pytest.raises(RaffiaError, match="its nodes have shape"):
        resample(torch.zeros(9), Domain(1).grid(8), Domain(1).grid(16))
