import math

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse.linalg import spsolve

from raffia import Domain, RaffiaError
from raffia.spaces import calculus
from raffia.spaces.calculus import heat, inner_gradient, poisson

SQUARE = Domain(2, periodic=False)
PI = torch.pi


def nodes(grid):
    return grid.nodes().unbind(-1)


def second_order(error, coarse=17, fine=33):
    return math.log2(error(coarse) / error(fine)) == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("extent", [1.0, (2.0, 0.5)])
def test_poisson_is_second_order(extent):
    domain = Domain(2, periodic=False, extent=extent)
    l1, l2 = domain.extents

    def error(points):
        grid = domain.grid(points, 2 * points - 1)
        x, y = nodes(grid)
        p = torch.sin(PI * x / l1) * torch.sin(2 * PI * y / l2) * torch.exp(x)
        f = -(
            torch.sin(2 * PI * y / l2)
            * torch.exp(x)
            * ((1 - (PI / l1) ** 2 - (2 * PI / l2) ** 2) * torch.sin(PI * x / l1) + 2 * PI / l1 * torch.cos(PI * x / l1))
        )
        return float((poisson(f, grid) - p).abs().max())

    assert second_order(error)


def stencil(points):
    """−Δ_h at inner nodes as a sparse matrix."""
    n, h = points - 2, 1 / (points - 1)
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)) / h**2
    return sparse.kron(line, sparse.eye(n)) + sparse.kron(sparse.eye(n), line)


@pytest.mark.parametrize("by_matrix", [True, False])
def test_poisson_is_the_sparse_direct_solution_by_matrix_and_by_fft(by_matrix, monkeypatch):
    monkeypatch.setattr(calculus, "MATRIX_POINTS", 128 if by_matrix else 0)
    grid = SQUARE.grid(20)
    f = torch.randn(3, 20, 20, dtype=torch.float64)
    p = poisson(f, grid)
    wanted = spsolve(stencil(20).tocsc(), f[:, 1:-1, 1:-1].reshape(3, -1).numpy().T).T.reshape(3, 18, 18)
    assert np.allclose(p[:, 1:-1, 1:-1], wanted, rtol=0, atol=1e-13)
    assert p[:, 0].abs().max() == p[:, -1].abs().max() == p[..., 0].abs().max() == p[..., -1].abs().max() == 0


def test_poisson_in_one_and_three_dimensions():
    line, cube = Domain(1, periodic=False).grid(9), Domain(3, periodic=False).grid(9)
    x = line.axes()[0]
    torch.testing.assert_close(poisson(torch.full((9,), 2.0).double(), line), x * (1 - x))  # exact for parabolas
    x, y, z = nodes(cube)
    mode = torch.sin(PI * x) * torch.sin(2 * PI * y) * torch.sin(PI * z)
    h = cube.spacings[0]
    eigenvalue = sum((2 - 2 * math.cos(k * math.pi * h)) / h**2 for k in (1, 2, 1))
    torch.testing.assert_close(poisson(mode, cube), mode / eigenvalue, atol=1e-13, rtol=0)


def test_heat_decays_cosines_by_the_eigenvalue_of_the_stencil_and_keeps_the_mean():
    grid = SQUARE.grid(21)
    x, y = nodes(grid)
    mode, h = torch.cos(3 * PI * x) * torch.cos(PI * y), grid.spacings[0]
    rate = sum((2 - 2 * math.cos(k * math.pi * h)) / h**2 for k in (3, 1))
    torch.testing.assert_close(heat(mode + 2, grid, 1e-3), mode * math.exp(-1e-3 * rate) + 2, atol=1e-13, rtol=0)


def test_heat_is_the_limit_of_explicit_steps_with_reflecting_ends():
    """The paper's scheme: forward Euler on the five-point stencil, with the ghost values of the Neumann condition."""
    grid, time = SQUARE.grid(17), 2e-3
    f = torch.rand(17, 17, dtype=torch.float64)

    def euler(steps):
        v = f
        for _ in range(steps):
            ghost = torch.nn.functional.pad(v[None, None], (1, 1, 1, 1), mode="reflect")[0, 0]
            laplacian = ghost[2:, 1:-1] + ghost[:-2, 1:-1] + ghost[1:-1, 2:] + ghost[1:-1, :-2] - 4 * v
            v = v + time / steps * laplacian / grid.spacings[0] ** 2
        return v

    exact = heat(f, grid, time)
    errors = [float((euler(steps) - exact).abs().max()) for steps in (100, 200)]
    assert errors[0] / errors[1] == pytest.approx(2, abs=0.1)


def test_heat_is_a_semigroup():
    grid = SQUARE.grid(12)
    f = torch.rand(2, 12, 12, dtype=torch.float64)
    torch.testing.assert_close(heat(heat(f, grid, 1e-3), grid, 2e-3), heat(f, grid, 3e-3))


def test_inner_gradient_is_of_second_order():
    def error(points):
        grid = Domain(2, periodic=False, extent=(1.0, 3.0)).grid(points)
        x, y = (axis[1:-1, 1:-1] for axis in nodes(grid))
        whole_x, whole_y = nodes(grid)
        found = inner_gradient(torch.exp(whole_x) * torch.sin(2 * whole_y), grid)
        return float((found - torch.stack([torch.exp(x) * torch.sin(2 * y), 2 * torch.exp(x) * torch.cos(2 * y)])).abs().max())

    assert second_order(error, 33, 65)


def test_everything_is_differentiable():
    grid = SQUARE.grid(6)
    f = torch.randn(6, 6, dtype=torch.float64, requires_grad=True)
    time = torch.tensor(1e-3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda f: poisson(f, grid), (f,))
    assert torch.autograd.gradcheck(lambda f: inner_gradient(f, grid), (f,))
    assert torch.autograd.gradcheck(lambda f, t: heat(f, grid, t), (f, time), eps=1e-7, atol=1e-4)


def test_wrong_grids_are_refused():
    with pytest.raises(RaffiaError, match="grid on a box"):
        poisson(torch.zeros(8, 8), Domain(2).grid(8))
    with pytest.raises(RaffiaError, match="3 points or more"):
        poisson(torch.zeros(2, 2), SQUARE.grid(2))
    with pytest.raises(RaffiaError, match="its nodes have shape"):
        heat(torch.zeros(8, 8), SQUARE.grid(9), 0.1)
