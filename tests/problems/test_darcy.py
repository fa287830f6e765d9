import math
import re
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse.linalg import spsolve

from raffia import Darcy, Domain, GaussianField, RaffiaError
from raffia.measures import LevelSet
from raffia.problems import darcy
from raffia.spaces.calculus import poisson

pytestmark = pytest.mark.filterwarnings("ignore:Darcy is not resolved")  # coarse grids are enough for identities
PI = torch.pi


def smooth(points, extent=1.0):
    """A manufactured solution of −∇·(a∇u) = f with variable a."""
    x, y = Domain(2, periodic=False, extent=extent).grid(points).nodes().unbind(-1)
    return _coefficient(x, y)[None], _solution(x, y)[None]


def _coefficient(x, y):
    return torch.exp(torch.sin(2 * x) + y)


def _solution(x, y):
    return torch.sin(PI * x) * torch.sin(2 * PI * y)


def _forcing(x, y):
    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
    ux, uy = torch.autograd.grad(_solution(x, y).sum(), (x, y), create_graph=True)
    flux = _coefficient(x, y) * ux, _coefficient(x, y) * uy
    return -sum(torch.autograd.grad(f.sum(), s, retain_graph=True)[0] for f, s in zip(flux, (x, y), strict=True))


@pytest.mark.parametrize("face", ["harmonic", "arithmetic"])
def test_solver_is_second_order_on_a_manufactured_solution(face):
    points = (17, 33, 65)
    errors = []
    for r in points:
        a, u = smooth(r)
        errors.append(float((Darcy(source=_forcing, face=face).solve(a) - u).abs().max()))
    order = np.polyfit(np.log([1 / (r - 1) for r in points]), np.log(errors), 1)[0]
    assert order == pytest.approx(2, abs=0.1)


def sparse_operator(a, face):
    """The same finite differences, assembled entry by entry."""
    r, h = a.shape[0], 1 / (a.shape[0] - 1)
    mean = (lambda p, q: 2 * p * q / (p + q)) if face == "harmonic" else (lambda p, q: (p + q) / 2)
    number = {(i, j): (i - 1) * (r - 2) + j - 1 for i in range(1, r - 1) for j in range(1, r - 1)}
    matrix = sparse.lil_matrix(((r - 2) ** 2,) * 2)
    for (i, j), row in number.items():
        for other in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            weight = mean(a[i, j], a[other]) / h**2
            matrix[row, row] += weight
            if other in number:
                matrix[row, number[other]] -= weight
    return matrix.tocsc()


@pytest.mark.parametrize(("points", "tolerance"), [(25, 1e-12), (35, 1e-8)])  # by elimination, and by iterations
@pytest.mark.parametrize("face", ["harmonic", "arithmetic"])
def test_solution_is_that_of_a_sparse_direct_solver(face, points, tolerance):
    a = LevelSet(n_modes=300).sample(2, Domain(2, periodic=False).grid(points), seed=0)
    u, inside = Darcy(face=face).solve(a), points - 2
    for one, found in zip(a, u, strict=True):
        wanted = spsolve(sparse_operator(one.numpy(), face), np.ones(inside**2)).reshape(inside, inside)
        assert np.abs(found[1:-1, 1:-1].numpy() - wanted).max() < tolerance * np.abs(wanted).max()


@pytest.mark.parametrize("shape", [(3, 3), (3, 8), (20, 9), (9, 20)])
def test_elimination_leaves_no_residual_on_any_rectangle(shape):
    domain = Domain(2, periodic=False, extent=(2.0, 1.0))
    x, y = domain.grid(*shape).nodes().unbind(-1)
    problem = Darcy(domain=domain, source=lambda x, y: 1 + x * y)
    a = torch.stack([torch.exp(k * torch.sin(5 * x) * y) for k in (0.0, 1.0, 4.0)])
    residual = problem.operator(a, problem.solve(a))[:, 1:-1, 1:-1] - (1 + x * y)[1:-1, 1:-1]
    assert residual.abs().max() < 1e-12


def test_elimination_has_the_derivatives_of_finite_differences():
    a = torch.exp(torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)).requires_grad_()
    assert torch.autograd.gradcheck(Darcy().solve, a)
    assert torch.autograd.gradgradcheck(Darcy().solve, a)


@pytest.mark.parametrize("face", ["harmonic", "arithmetic"])
def test_operator_is_symmetric_and_positive_definite(face):
    problem, points = Darcy(face=face), 9
    a = LevelSet(n_modes=100).sample(1, Domain(2, periodic=False).grid(points), seed=3)
    basis = torch.zeros(49, points, points, dtype=torch.float64)
    basis[:, 1:-1, 1:-1] = torch.eye(49, dtype=torch.float64).reshape(49, 7, 7)
    matrix = problem.operator(a.expand(49, -1, -1), basis)[:, 1:-1, 1:-1].reshape(49, 49)
    torch.testing.assert_close(matrix, matrix.T)
    assert torch.linalg.eigvalsh(matrix).min() > 0


def iterations(a, monkeypatch):
    """How many iterations of conjugate gradients the hardest of these samples needs: one Poisson solve each, after two."""
    grid, solved = Domain(2, periodic=False).grid(a.shape[-1]), []
    with monkeypatch.context() as patch:
        patch.setattr(darcy, "poisson", lambda f, grid: solved.append(f) or poisson(f, grid))
        Darcy()._conjugate_gradients(a, torch.ones(grid.shape, dtype=torch.float64), grid)
    return len(solved) - 2


def test_iterations_do_not_depend_on_the_resolution(monkeypatch):
    law = Darcy().input_measure
    grids = [Domain(2, periodic=False).grid(points) for points in (17, 33, 65, 129)]
    counts = [iterations(law.sample(2, grid, seed=0), monkeypatch) for grid in grids]
    assert max(counts) - min(counts) <= 3
    assert max(counts) <= 26


def test_solution_scales_with_the_source_and_against_the_coefficient():
    a = LevelSet(n_modes=100).sample(2, Domain(2, periodic=False).grid(17), seed=0)
    u = Darcy().solve(a)
    torch.testing.assert_close(Darcy(source=3.0).solve(a), 3 * u, rtol=1e-8, atol=1e-12)
    torch.testing.assert_close(Darcy().solve(2 * a), u / 2, rtol=1e-8, atol=1e-12)


def test_maximum_principle_and_boundary():
    u = Darcy(fine_points=33).dataset(5, 33, seed=0).y
    assert (u[:, 1:-1, 1:-1] > 0).all()
    assert u[:, 0].abs().max() == u[:, :, -1].abs().max() == 0


def test_rectangles_are_fine():
    """−Δu = f on [0, 2] × [0, 1]: the sine mode of the rectangle."""
    domain = Domain(2, periodic=False, extent=(2.0, 1.0))
    x, y = domain.grid(65, 33).nodes().unbind(-1)
    mode = torch.sin(PI * x / 2) * torch.sin(PI * y)
    u = Darcy(source=lambda x, y: torch.sin(PI * x / 2) * torch.sin(PI * y), domain=domain).solve(
        torch.ones(1, 65, 33).double()
    )
    torch.testing.assert_close(u[0], mode / (PI**2 * 1.25), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("points", [17, 35])
def test_solution_does_not_depend_on_the_batch(points):
    a = LevelSet(n_modes=200).sample(6, Domain(2, periodic=False).grid(points), seed=0)
    a[0] = 1.0  # converges at once
    together, alone = Darcy().solve(a), torch.cat([Darcy().solve(one[None]) for one in a])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-15)


def test_a_sample_that_starts_solved_stays_so_beside_one_that_iterates():
    a = torch.ones(2, 35, 36, dtype=torch.float64)
    a[0] += torch.arange(35 * 36, dtype=torch.float64).reshape(35, 36) / 700
    assert torch.isfinite(Darcy().solve(a)).all()


def test_data_are_solved_on_a_refinement_of_the_grid_asked_for():
    problem = Darcy(fine_points=65)
    fine, coarse = problem.dataset(3, 65, seed=0), problem.dataset(3, 17, seed=0)
    assert torch.equal(coarse.a, fine.a[:, ::4, ::4])
    torch.testing.assert_close(coarse.y, fine.y[:, ::4, ::4], rtol=1e-9, atol=1e-14)
    assert problem.fine_grid(problem.domain.grid(20)).shape == (77, 77)
    part = problem.dataset(range(1, 3), 17, seed=0)
    assert torch.equal(part.a, coarse.a[1:])
    assert problem.dataset(1, (17, 33), seed=0).a.shape == (1, 17, 33)


def test_high_contrast_converges_with_more_iterations(monkeypatch):
    low = LevelSet(low=1.0, high=1000.0, n_modes=100).sample(2, Domain(2, periodic=False).grid(33), seed=0)
    problem = Darcy()
    assert 26 < iterations(low, monkeypatch) < 500
    residual = problem.operator(low, problem.solve(low))[:, 1:-1, 1:-1] - 1
    assert residual.abs().max() < 1e-6


@pytest.mark.parametrize(
    ("a", "words"),
    [
        (torch.zeros(2, 9, 9).double(), r"strictly positive, a permeability; a\[0\] is not.*exp"),
        (torch.ones(2, 9, 9).double() * float("nan"), "finite and strictly positive"),
        (torch.ones(9, 9).double(), r"shape \(n, r, r\).*a\[None\]"),
        (torch.ones(1, 2, 9).double(), "3 points or more"),
    ],
)
def test_bad_coefficients_are_refused(a, words):
    with pytest.raises(RaffiaError, match=words):
        Darcy().solve(a)


def test_no_convergence_is_an_error_with_a_remedy():
    a = LevelSet(n_modes=100).sample(1, Domain(2, periodic=False).grid(35), seed=0)
    with pytest.raises(RaffiaError, match=r"no convergence in 3 iterations.*max_iterations"):
        Darcy(max_iterations=3).solve(a)
    with pytest.raises(RaffiaError, match="must be 'harmonic' or 'arithmetic'; got 'geometric'"):
        Darcy().set_params(face="geometric").solve(a)
    with pytest.raises(RaffiaError, match="must be on the grid of a"):
        Darcy(source=torch.ones(5, 5)).solve(a)


def test_second_moment_is_that_of_the_authors_data():
    """E‖u‖² from their files: 4.70e-5; ours, with the paper's variance of axis modes, within the spread of 200 samples."""
    u = Darcy(fine_points=65).dataset(200, 65, seed=0).y
    energy = Domain(2, periodic=False).grid(65).norm(u).square()
    assert abs(float(energy.mean()) - 4.70e-5) < 4 * float(energy.std()) / math.sqrt(200)


def told_by(solve):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        return solve(), [str(warning.message) for warning in told]


@pytest.mark.parametrize(("points", "warned"), [(9, True), (33, False)])
def test_smooth_media_warn_by_the_error_that_they_have(points, warned):
    a, u = smooth(points)
    found, told = told_by(lambda: Darcy(source=_forcing).solve(a))
    error = float((found - u).norm() / u.norm())
    assert (bool(told), error > 0.01) == (warned, warned)
    if warned:
        assert float(re.search(r"off by about ([\d.]+)%", told[0])[1]) == pytest.approx(100 * error, rel=0.3)


def of_two_phases(points):
    problem = Darcy(n_modes=400)
    a = problem.input_measure.sample(8, problem.domain.grid(points), seed=0)
    return told_by(lambda: problem.solve(a))


def mean_error(u, truth):
    step = (truth.shape[-1] - 1) // (u.shape[-1] - 1)
    truth = truth[:, ::step, ::step].flatten(1)
    return float(((u.flatten(1) - truth).norm(dim=1) / truth.norm(dim=1)).mean())


def test_media_of_two_phases_warn_and_the_number_of_points_that_they_name_is_enough():
    u, told = of_two_phases(17)
    enough = int(re.search(r"fine_points=(\d+) or more", told[0])[1])
    (fine, none), (truth, _) = of_two_phases(enough), of_two_phases(257)
    assert 17 < enough < 257
    assert none == []
    assert mean_error(u, truth) > 0.01 > mean_error(fine, truth)


@pytest.mark.parametrize("points", [65, 64])  # 64 has every third point to compare with
def test_media_of_two_phases_on_enough_points_do_not_warn(points):
    assert of_two_phases(points)[1] == []


def test_a_grid_without_a_coarser_one_says_nothing():
    a = LevelSet(n_modes=100).sample(2, Domain(2, periodic=False).grid(12), seed=0)  # 11 intervals
    assert told_by(lambda: Darcy().solve(a))[1] == []


def test_lognormal_media_are_continuous_with_gaussian_logarithms():
    """E log a = 0 and E ∫ (log a)² = Σ_k λ_k, to the spread of 400 samples; solutions on 33² and 65² points are close."""
    problem = Darcy(law="lognormal", n_modes=200, fine_points=33)
    logarithms = problem.input_measure.sample(400, problem.domain.grid(33), seed=0).log()
    variance = float(GaussianField(problem.domain, "neumann", 3.0, 2.0, 200).eigenvalues.sum())
    energy = problem.domain.grid(33).norm(logarithms).square()
    assert abs(float(energy.mean()) - variance) < 4 * float(energy.std()) / math.sqrt(400)
    assert float((logarithms * problem.domain.grid(33).weights()).sum((-2, -1)).abs().max()) < 1e-10
    coarse, fine = (Darcy(law="lognormal", n_modes=200, fine_points=n).dataset(3, 33, seed=0) for n in (33, 65))
    torch.testing.assert_close(coarse.a, fine.a)
    assert mean_error(coarse.y, fine.y) < 0.01
    with pytest.raises(RaffiaError, match="must be 'level set' or 'lognormal'; got 'normal'"):
        Darcy().set_params(law="normal").dataset(1, 9)
