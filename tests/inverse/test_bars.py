"""Errors of a surrogate that depend on the input: where it knows little, data are believed less."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from raffia import Domain, FourierFeatures, GaussianField, RaffiaError, RandomFeatureModel, ScalarFeatures
from raffia.inverse import (
    InverseProblem,
    Prior,
    WhiteNoise,
    error_bars,
    laplace,
    maximum_a_posteriori,
    pcn,
    point_values,
    surrogate_error,
)
from raffia.spaces import Vectors

GRID = Domain(1).grid(16)
PRIOR = Prior(GaussianField(n_modes=2), GRID)
OBSERVE = point_values(GRID, torch.arange(4) / 4 + 0.1)
NOISE = 0.05
LINE = torch.linspace(-3.2, 3.2, 81, dtype=torch.float64)
NODES = torch.cartesian_prod(LINE, LINE)


def normal(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def truly(a):
    return 4 * a + torch.tanh(8 * a)


@pytest.fixture(scope="module")
def pairs():
    """Small inputs, a third of what the prior has, and outputs with noise; half of them to train on."""
    a = PRIOR(0.35 * normal(120, 2, seed=0))
    return a, truly(a) + 0.03 * normal(120, 16, seed=1)


@pytest.fixture(scope="module")
def model(pairs):
    features = FourierFeatures(16, profile="matern", activation="gelu", amplitude=2.0, bias=1.0, tau=10.0)
    return RandomFeatureModel(features, 200, "auto", normalize=True).fit(pairs[0][:60], pairs[1][:60])


@pytest.fixture(scope="module")
def bars(model, pairs):
    return error_bars(model, pairs[0][60:], pairs[1][60:], OBSERVE)


@pytest.fixture(scope="module")
def problem(model, bars):
    data = OBSERVE @ truly(PRIOR(torch.tensor([[1.0, -0.8]]).double()))[0]
    return InverseProblem(model.predict, PRIOR, data, 0.3, OBSERVE, bars)


def by_quadrature(problem):
    """The weights of the nodes in the posterior of two coordinates."""
    with torch.no_grad():
        return torch.softmax(-problem.misfit(NODES) - NODES.square().sum(1) / 2, 0)


def distance(truth, weights):
    """|C^(−½) (truth − mean)|² of a posterior: 2 in the mean where it is right, more where it is too sure."""
    off, mean = NODES - weights @ NODES, weights @ NODES
    covariance = (off * weights[:, None]).mT @ off + (LINE[1] - LINE[0]) ** 2 / 12 * torch.eye(2)
    return float((truth - mean) @ torch.linalg.solve(covariance, truth - mean))


def test_the_misfit_is_the_density_of_data_with_noise_and_error(problem, model, bars):
    xi = normal(5, 2, seed=2)
    a, noise = PRIOR(xi), 0.3**2 * torch.eye(4).double()
    density = MultivariateNormal(model.predict(a) @ OBSERVE.mT, noise + bars(a)).log_prob(problem.observed)
    off = problem.misfit(xi) + density
    torch.testing.assert_close(off, off[:1].expand(5))  # up to a constant
    torch.testing.assert_close(off[0], MultivariateNormal(torch.zeros(4).double(), noise).log_prob(torch.zeros(4).double()))


def test_bars_of_pairs_held_out_are_as_long_as_their_errors(model, pairs, bars):
    a, y = pairs[0][60:], pairs[1][60:]
    z = (y - model.predict(a)) @ OBSERVE.mT / (model.predict(a, return_std=True)[1] @ OBSERVE.mT)
    s = bars(a).diagonal(dim1=1, dim2=2).sqrt()
    torch.testing.assert_close(((y - model.predict(a)) @ OBSERVE.mT / s).square().mean(0), torch.ones(4).double())
    together = bars(a) / (s[:, :, None] * s[:, None, :])
    torch.testing.assert_close(together[0], (z.mT @ z) / (z.square().sum(0).sqrt().outer(z.square().sum(0).sqrt())))
    torch.testing.assert_close(together, together[:1].expand(60, 4, 4))


class BadOnOneSide:
    """A surrogate that is off by a half where x₁ > 0.5, and says so."""

    def predict(self, x, return_std=False):
        wrong = x[:, :1] > 0.5
        mean = x + 0.5 * wrong
        return (mean, torch.where(wrong, 0.5, 0.01).expand(len(x), 2).double()) if return_std else mean


def test_a_surrogate_that_knows_where_it_is_bad_has_a_posterior_that_covers_the_truth():
    """Trained where x₁ < 0.5, so that no pair held out tells of the rest."""
    model, good = BadOnOneSide(), normal(100, 2, seed=3).clamp(max=0.5)
    y = good + 0.01 * normal(100, 2, seed=4)
    truth = torch.tensor([1.5, 0.2]).double()
    ways = {"constant": surrogate_error(model.predict, good, y), "bars": error_bars(model, good, y)}
    weights = {
        name: by_quadrature(InverseProblem(model.predict, WhiteNoise(2), truth, 0.1, error=e)) for name, e in ways.items()
    }
    right = by_quadrature(InverseProblem(lambda x: x, WhiteNoise(2), truth, 0.1))
    assert distance(truth, right) < 6
    assert distance(truth, weights["constant"]) > 20
    assert distance(truth, weights["bars"]) < 6


def test_bars_of_a_model_make_posteriors_less_overconfident_where_it_was_not_trained(model, pairs, bars):
    """The mean over twenty inputs three times as large as those of the training."""
    constant = surrogate_error(model.predict, pairs[0][60:], pairs[1][60:], OBSERVE)
    a = PRIOR(NODES)
    with torch.no_grad():
        values, spread = model.predict(a), bars(a)
    found = {"constant": 0.0, "bars": 0.0}
    for number in range(20):
        angle = torch.tensor(number * 2 * math.pi / 20)
        truth = 1.7 * torch.stack([angle.cos(), angle.sin()]).double()
        data = OBSERVE @ truly(PRIOR(truth[None]))[0] + NOISE * normal(4, seed=10 + number)
        for name, error in (("constant", constant), ("bars", lambda _: spread)):
            weights = by_quadrature(InverseProblem(lambda _: values, PRIOR, data, NOISE, OBSERVE, error))
            found[name] += distance(truth, weights) / 20
    assert found["bars"] < found["constant"] / 2


def test_maxima_laplace_and_chains_take_errors_that_depend_on_the_input(problem):
    best = maximum_a_posteriori(problem)
    assert best.converged
    chains = pcn(problem, 30, chains=64, burn_in=10, reference=laplace(problem, best.xi), seed=5)
    weights = by_quadrature(problem)
    std = (weights @ (NODES - weights @ NODES).square()).sqrt()
    assert ((chains.mean() - weights @ NODES).abs() < 5 * std / chains.ess().sqrt()).all()
    assert float((chains.misfits + chains.draws.square().sum(-1) / 2).min()) > best.objective


def test_what_has_no_error_bars_is_told_so(model, pairs):
    a, y = pairs[0][60:], pairs[1][60:]
    with pytest.raises(RaffiaError, match=r"error_bars needs a model with error bars, .* got function"):
        error_bars(truly, a, y)
    numbers = RandomFeatureModel(ScalarFeatures(2, domain=Vectors(2)), 20, 1e-6, output=Vectors(3)).fit(
        normal(30, 2, seed=6), normal(30, 3, seed=7)
    )
    with pytest.raises(RaffiaError, match="error bars are for outputs of one channel and features that are functions"):
        error_bars(numbers, normal(5, 2, seed=8), normal(5, 3, seed=9))
    with pytest.raises(RaffiaError, match="error bars above zero where outputs are observed"):
        error_bars(model, a, y, torch.zeros(2, 16).double())
    odd = InverseProblem(model.predict, PRIOR, torch.zeros(4), NOISE, OBSERVE, lambda a: torch.ones(len(a), 4))
    with pytest.raises(
        RaffiaError, match=r"a covariance of 4 observations for each of 3 inputs, \(3, 4, 4\); got shape \(3, 4\)"
    ):
        odd.misfit(torch.zeros(3, 2).double())
    wrong = InverseProblem(model.predict, PRIOR, torch.zeros(4), NOISE, OBSERVE, lambda a: -torch.eye(4).expand(len(a), 4, 4))
    with pytest.raises(RaffiaError, match="gives no finite misfit where chain 0"):
        pcn(wrong, 5, chains=2)
