import math
import warnings

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError
from raffia.problems import Helmholtz

PI = math.pi
WINDOW = {0: 0.3} | {m: 2 * (math.sin(0.65 * m * PI) - math.sin(0.35 * m * PI)) / (m * PI) for m in range(1, 400)}


def cosine_series(k, points, coefficients):
    """Σ_m g_m cos(mπx) cosh(γ_m y) / (γ_m sinh γ_m), γ_m² = m²π² − k², solves the equation with constant wavenumber k."""
    x, y = Domain(2, periodic=False).grid(points).axes()
    u = torch.zeros(points, points, dtype=torch.float64)
    for m, g in coefficients.items():
        square = (m * PI) ** 2 - k**2
        rate = math.sqrt(abs(square))
        if square > 0:
            along = (torch.exp(rate * (y - 1)) + torch.exp(-rate * (y + 1))) / (rate * (1 - math.exp(-2 * rate)))
        else:
            along = -torch.cos(rate * y) / (rate * math.sin(rate))
        u += g * torch.cos(m * PI * x)[:, None] * along
    return u


def error(u, v):
    return float(torch.linalg.vector_norm(u - v) / torch.linalg.vector_norm(v))


def constant(points, speed=2.0):
    return torch.full((1, points, points), speed, dtype=torch.float64)


@pytest.mark.filterwarnings("ignore:Helmholtz is not resolved")
def test_order_is_four_for_a_smooth_source():
    problem, points = Helmholtz(frequency=20.0, source=lambda x: 1 + torch.cos(3 * PI * x)), (17, 33, 65)
    errors = [error(problem.solve(constant(n))[0], cosine_series(10.0, n, {0: 1.0, 3: 1.0})) for n in points]
    assert np.polyfit(np.log([1 / (n - 1) for n in points]), np.log(errors), 1)[0] == pytest.approx(4, abs=0.3)
    assert errors[-1] < 5e-5


def test_constant_speed_has_the_cosine_series_of_the_window():
    """Also at ω/c = 50 as in the paper, where a scheme of second order is off by more than the solution."""
    assert error(Helmholtz(frequency=20.0).solve(constant(101))[0], cosine_series(10.0, 101, WINDOW)) < 1e-3
    with pytest.warns(UserWarning, match=r"off by about 1\.\d% or more. Pass fine_points=\d+"):
        assert error(Helmholtz().solve(constant(101, 20.0))[0], cosine_series(50.0, 101, WINDOW)) < 0.01


def test_solution_satisfies_greens_identity_with_variable_speed():
    """∫ (−Δv − (ω/c)² v) u = ∫_top g v for v with ∂v/∂n = 0: trapezoid sums, and −h²/12 ∂/∂n of the integrand on the top side."""
    problem = Helmholtz(frequency=100.0, source=lambda x: torch.cos(PI * x), n_modes=100)
    grid = problem.domain.grid(65)
    c = 20.0 + 4 * (problem.input_measure.sample(1, grid, seed=0) - 20.0)
    u, (x, y) = problem.solve(c)[0], grid.nodes().unbind(-1)
    v, source = torch.cos(PI * x) * torch.cos(2 * PI * y), torch.cos(PI * x[:, -1])
    factor = (5 * PI**2 - (100.0 / c[0]) ** 2) * v
    along = Domain(1, periodic=False).grid(65).weights()
    left = (factor * u * grid.weights()).sum() - (factor[:, -1] * source * along).sum() / 64**2 / 12
    assert float(left) == pytest.approx(float((source * v[:, -1] * along).sum()), rel=1e-4)


def bilinear_elements(speed, frequency, points):
    """Bilinear elements with three Gauss points along each axis, assembled one by one; the flux is 1 on the whole top side."""
    h, (nodes, weights) = 1 / (points - 1), np.polynomial.legendre.leggauss(3)
    at, weights = (nodes + 1) / 2, weights / 2
    hat, slope = np.stack([1 - at, at]), np.array([-1.0, 1.0]) / h
    matrix, load = np.zeros((points**2,) * 2), np.zeros(points**2)
    for i in range(points - 1):
        for j in range(points - 1):
            corners = [(i + p) * points + j + q for p in (0, 1) for q in (0, 1)]
            k2 = (frequency / speed(*np.meshgrid((i + at) * h, (j + at) * h, indexing="ij"))) ** 2
            for row, (p, q) in zip(corners, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=True):
                for column, (r, s) in zip(corners, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=True):
                    stiff = slope[p] * slope[r] * (hat[q] * hat[s] * weights).sum()
                    stiff += slope[q] * slope[s] * (hat[p] * hat[r] * weights).sum()
                    mass = ((hat[p] * hat[r] * weights)[:, None] * (hat[q] * hat[s] * weights) * k2).sum()
                    matrix[row, column] += h**2 * (stiff - mass)
        load[[i * points + points - 1, (i + 1) * points + points - 1]] += h / 2
    return torch.from_numpy(np.linalg.solve(matrix, load).reshape(points, points))


def test_bilinear_elements_are_those_assembled_one_by_one():
    """Exactly where the speed is constant; with a variable one but for the quadrature of k², which is that of the trapezoid rule here."""
    problem = Helmholtz(frequency=15.0, scheme="bilinear", source=torch.ones_like)
    x, y = problem.domain.grid(13).nodes().unbind(-1)
    torch.testing.assert_close(problem.solve(constant(13))[0], bilinear_elements(lambda x, y: 2 + 0 * x, 15.0, 13))
    variable = 2 + 0.1 * torch.cos(PI * x) * torch.cos(PI * y)
    wanted = bilinear_elements(lambda x, y: 2 + 0.1 * np.cos(PI * x) * np.cos(PI * y), 15.0, 13)
    assert error(problem.solve(variable[None])[0], wanted) < 5e-3


def test_pairs_are_functions_of_seed_and_number_and_grids_nest():
    problem = Helmholtz(frequency=200.0, fine_points=33, n_modes=200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine, coarse = problem.dataset(2, 33, seed=3), problem.dataset(2, 17, seed=3)
    assert torch.equal(coarse.a, fine.a[:, ::2, ::2])
    assert torch.equal(coarse.y, fine.y[:, ::2, ::2])
    assert torch.equal(problem.dataset(range(1, 2), 17, seed=3).y, coarse.y[1:])
    assert (fine.a - 20).abs().max() < 1


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: Helmholtz(frequency=0.0).solve(constant(9)), r"frequency=…\) must be positive"),
        (lambda: Helmholtz().solve(-constant(9)), "strictly positive, wave speeds"),
        (lambda: Helmholtz().solve(constant(9)[0]), r"shape \(n, r, r\)"),
    ],
)
def test_impossible_wishes_are_refused(ask, words):
    with pytest.raises(RaffiaError, match=words):
        ask()
