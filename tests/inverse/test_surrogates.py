"""Surrogates and solvers as forward maps: their derivatives, their posteriors, and where these meet."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from raffia import Burgers, Darcy, GaussianField, RaffiaError, plotting
from raffia.inverse import InverseProblem, Prior, WhiteNoise, laplace, maximum_a_posteriori, pcn, point_values
from raffia.inverse.linearised import Linearised

ROOT = Path(__file__).parent.parent.parent
SOLVER = Burgers(fine_points=64, step=1 / 16)


def seen(values, noise=0.01):
    """Values with noise of that share of their size, and the deviation of the noise."""
    size = noise * float(values.square().mean().sqrt())
    return values + size * torch.randn(len(values), generator=torch.Generator().manual_seed(0), dtype=torch.float64), size


@pytest.fixture(scope="module")
def by_model(burgers, small_model):
    grid = burgers.domain.grid(64)
    prior = Prior(GaussianField(n_modes=20), grid)
    observe = point_values(grid, torch.arange(20) / 20)
    data, noise = seen(observe @ small_model.predict(burgers.a[3:4])[0], 0.05)
    return InverseProblem(small_model.predict, prior, data, noise, observe)


@pytest.fixture(scope="module")
def best(by_model):
    return maximum_a_posteriori(by_model)


def differences(f, x, v, h=1e-5):
    with torch.no_grad():
        return ((f((x + h * v)[None]) - f((x - h * v)[None])) / (2 * h)).flatten()


def problem_of(solver, prior, positions):
    observe = point_values(prior.grid, positions)
    truth = prior(torch.randn(1, prior.size, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    data, noise = seen(observe @ solver.solve(truth)[0].flatten())
    return InverseProblem(solver.solve, prior, data, noise, observe)


@pytest.mark.filterwarnings("ignore:.* is not resolved")
@pytest.mark.parametrize("name", ["model", "burgers", "darcy"])
def test_products_with_derivatives_are_those_of_finite_differences(name, by_model):
    if name == "model":
        problem = by_model
    elif name == "burgers":
        problem = problem_of(SOLVER, Prior(GaussianField(n_modes=20), SOLVER.domain.grid(64)), torch.arange(8) / 8)
    else:
        solver = Darcy(law="lognormal", n_modes=12)
        x = 0.1 + 0.8 * torch.rand(8, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        problem = problem_of(solver, Prior(solver.input_measure, solver.domain.grid(9)), x)
    x, v = (torch.randn(problem.size, generator=torch.Generator().manual_seed(s), dtype=torch.float64) for s in (3, 4))
    jacobian = Linearised(problem.residuals, x)
    forward = (jacobian @ v[None])[0]
    torch.testing.assert_close(forward, differences(problem.residuals, x, v), rtol=1e-5, atol=1e-5 * float(forward.norm()))
    w = torch.randn(len(forward), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    assert float(forward @ w) == pytest.approx(float(v @ jacobian.transposed(w[None])[0]), rel=1e-8)


def test_the_maximum_of_a_nonlinear_problem_is_that_of_another_minimiser(by_model, best):
    def objective(x):
        xi = torch.from_numpy(x)[None].requires_grad_()
        total = by_model.misfit(xi).sum() + xi.square().sum() / 2
        (gradient,) = torch.autograd.grad(total, xi)
        return float(total.detach()), gradient[0].numpy()

    other = minimize(objective, np.zeros(by_model.size), jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 0.0})
    assert best.converged
    assert best.objective == pytest.approx(other.fun, rel=1e-5)


def test_without_enough_iterations_a_maximum_says_so(by_model):
    assert not maximum_a_posteriori(by_model, iterations=1).converged


def test_a_flat_operator_of_coordinates_has_the_posterior_of_predictions(by_model, small_model):
    operator = small_model.at(64, prior=by_model.prior.law)
    same = InverseProblem(operator, WhiteNoise(operator.input_size), by_model.data, by_model.noise, by_model.observe)
    xi = torch.randn(4, by_model.size, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    torch.testing.assert_close(same.misfit(xi), by_model.misfit(xi))


def test_a_reference_changes_how_far_chains_go_but_not_where(by_model, best):
    about = laplace(by_model, best.xi)
    start = about.draws(64, seed=7)
    by, plain = (pcn(by_model, 20, burn_in=40, reference=r, start=start, seed=8) for r in (about, None))
    jumps, short = (chains.draws.diff(dim=1).square().mean() for chains in (by, plain))
    assert by.step > 10 * plain.step
    assert jumps > 100 * short
    torch.testing.assert_close(by.misfits.flatten(), by_model.misfit(by.draws.flatten(0, 1)))


def test_the_least_misfit_that_chains_see_is_above_that_of_the_most_probable(by_model, best):
    chains = pcn(by_model, 20, burn_in=20, reference=laplace(by_model, best.xi), seed=9)
    assert float((chains.misfits + chains.draws.square().sum(-1) / 2).min()) > best.objective


def test_chains_run_where_the_problem_is(by_model, device):
    problem = InverseProblem(by_model.forward, by_model.prior, by_model.data, by_model.noise, by_model.observe, device=device)
    there = maximum_a_posteriori(problem, iterations=2).xi
    chains = pcn(problem, 10, chains=8, burn_in=5, reference=laplace(problem, there))
    assert chains.draws.device.type == there.device.type == device


def test_a_posterior_is_drawn_on_a_line_and_on_a_square():
    line = plotting.posterior(torch.zeros(8), torch.ones(8), np.ones(8), positions=torch.tensor([0.5]))
    assert [text.get_text() for text in line.axes[0].get_legend().get_texts()] == [
        "± 2 standard deviations", "truth", "posterior mean", "observed at",
    ]  # fmt: skip
    square = plotting.posterior(torch.zeros(4, 5), torch.ones(4, 5), positions=torch.rand(3, 2))
    assert [axes.get_title() for axes in square.axes[:2]] == ["posterior mean", "standard deviation"]
    with pytest.raises(RaffiaError, match=r"arrays .* of one shape"):
        plotting.posterior(torch.zeros(8), torch.ones(7))


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["burgers", "darcy"])
def test_the_posterior_of_a_surrogate_is_that_of_the_true_solver(problem):
    facts = ROOT / "benchmarks" / "facts" / f"inverse-{problem}.npz"
    if not facts.exists():
        pytest.skip(f"no posterior of the true solver is kept for {problem}")
    told = [sys.executable, str(ROOT / "benchmarks/inverse.py"), problem, "--steps", "500", "--keep-every", "2"]
    said = subprocess.run(told, capture_output=True, text=True, check=True).stdout
    words = said.split("true solver's posterior: mean ")[1].replace("%", "").replace(",", "").split()
    assert float(words[0]) < 5
    assert float(words[2]) < 5


@pytest.mark.slow
def test_delayed_acceptance_has_the_posterior_of_the_true_solver_within_its_monte_carlo_error():
    """400 coordinates of Darcy flow: their means are one standard error apart, in the root mean square."""
    told = [sys.executable, str(ROOT / "benchmarks/inverse.py"), "darcy", "--by", "delayed", "--inner", "4", "--steps", "200"]
    said = subprocess.run([*told, "--burn-in", "60", "--keep-every", "1"], capture_output=True, text=True, check=True).stdout
    assert float(said.split("coordinates off by ")[1].split()[0]) < 1.2
