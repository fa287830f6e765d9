"""Point values are exact where interpolation is, and what is wrong is named."""

import math

import pytest
import torch

from raffia import Domain, RaffiaError
from raffia.inverse import point_values


def test_values_between_nodes_of_a_circle_are_exact_for_waves_that_it_holds():
    for points in (15, 16):
        grid, x = Domain(1, extent=3.0).grid(points), torch.tensor([0.0, 0.123, 1.7, 2.99, 3.5]).double()
        for k in range(1, 8):
            f = [torch.cos(2 * math.pi * k * at / 3.0 + 0.4) for at in (grid.axes()[0], x)]
            torch.testing.assert_close(point_values(grid, x) @ f[0], f[1])


def test_values_between_nodes_of_a_box_are_exact_for_cubics():
    grid = Domain(2, periodic=False, extent=(1.0, 2.0)).grid(6, 9)
    x = torch.rand(20, 2, generator=torch.Generator().manual_seed(0)).double() * torch.tensor([1.0, 2.0])
    f = [(at[..., 0] ** 3 - at[..., 0]) * (1 + at[..., 1] ** 2) for at in (grid.nodes(), x)]
    torch.testing.assert_close(point_values(grid, x) @ f[0].flatten(), f[1])


def test_values_at_nodes_are_those_given():
    for domain in (Domain(1), Domain(2, periodic=False), Domain(2, axes=("periodic", "cells"))):
        grid = domain.grid(*[5, 6][: domain.dim])
        torch.testing.assert_close(point_values(grid, grid.positions), torch.eye(grid.size).double(), rtol=0, atol=1e-12)


def test_positions_that_are_no_positions_are_refused():
    with pytest.raises(RaffiaError, match=r"of shape \(points, 2\); got shape \(3,\)"):
        point_values(Domain(2).grid(4), torch.zeros(3))
    with pytest.raises(RaffiaError, match=r"positions must lie in the domain.*got \[1.5\]"):
        point_values(Domain(1, periodic=False).grid(4), torch.tensor([0.5, 1.5]))
