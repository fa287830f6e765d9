"""Chains on Burgers' equation with two coordinates, whose posterior is far from Gaussian and known by quadrature."""

import pytest
import torch

from raffia import Burgers, GaussianField
from raffia.inverse import InverseProblem, Prior, laplace, maximum_a_posteriori, pcn, point_values

pytestmark = pytest.mark.filterwarnings("ignore:.* is not resolved")
SOLVER = Burgers(viscosity=0.02, fine_points=32, step=1 / 16)
LINE = torch.linspace(-4, 4, 65, dtype=torch.float64)
NODES = torch.cartesian_prod(LINE, LINE)


@pytest.fixture(scope="module")
def problem():
    """One value of u(·, 1), at a front that steepens."""
    grid = SOLVER.domain.grid(32)
    prior = Prior(GaussianField(n_modes=2), grid)
    observe = point_values(grid, torch.tensor([0.5]))
    data = observe @ SOLVER.solve(prior(torch.tensor([[1.0, 0.5]]).double()))[0]
    return InverseProblem(SOLVER.solve, prior, data, 0.03, observe)


@pytest.fixture(scope="module")
def truth(problem):
    """Mean and covariance."""
    with torch.no_grad():
        weights = torch.softmax(-torch.cat([problem.misfit(part) for part in NODES.split(4096)]) - NODES.square().sum(1) / 2, 0)
    mean = weights @ NODES
    return mean, ((NODES - mean) * weights[:, None]).mT @ (NODES - mean)


@pytest.mark.parametrize("reference", [False, True])
def test_chains_have_the_moments_of_quadrature(problem, truth, reference):
    about = laplace(problem, maximum_a_posteriori(problem).xi) if reference else None
    found = pcn(problem, 50, chains=100, burn_in=40, reference=about, seed=0)
    mean, covariance = truth
    std, ess = covariance.diagonal().sqrt(), found.ess()
    assert ((found.mean() - mean).abs() < 4 * std / ess.sqrt()).all()
    assert ((found.std() / std - 1).abs() < 4 / ess.sqrt()).all()


def test_its_posterior_is_not_that_of_laplace(problem, truth):
    about = laplace(problem, maximum_a_posteriori(problem).xi)
    std = truth[1].diagonal().sqrt()
    assert ((about.mean - truth[0]).abs() / std).max() > 0.3
