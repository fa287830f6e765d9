"""Where the forward map is linear the posterior is a Gaussian that is known exactly."""

import pytest
import torch

from raffia import Domain, GaussianField, RaffiaError
from raffia.inverse import (
    InverseProblem,
    Prior,
    WhiteNoise,
    delayed_acceptance,
    laplace,
    maximum_a_posteriori,
    pcn,
    point_values,
    surrogate_error,
)
from raffia.measures import Pushforward

SIZE, OBSERVED = 6, 4


def generator(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def matrix():
    return torch.randn(OBSERVED, SIZE, generator=generator(0), dtype=torch.float64)


@pytest.fixture(scope="module")
def problem(matrix):
    data = torch.randn(OBSERVED, generator=generator(1), dtype=torch.float64)
    return InverseProblem(lambda x: x @ matrix.mT, WhiteNoise(SIZE), data, 0.5)


def exact(matrix, data, covariance):
    """Mean and covariance of N(0, I) given matrix ξ + e = data."""
    precision = torch.eye(matrix.shape[1]).double() + matrix.mT @ torch.linalg.solve(covariance, matrix)
    there = torch.linalg.inv(precision)
    return there @ matrix.mT @ torch.linalg.solve(covariance, data), there


@pytest.fixture(scope="module")
def truth(matrix, problem):
    return exact(matrix, problem.observed, 0.25 * torch.eye(OBSERVED).double())


def test_the_most_probable_unknown_of_a_linear_map_is_the_posterior_mean(problem, truth):
    found = maximum_a_posteriori(problem, tolerance=1e-9)
    assert found.converged
    torch.testing.assert_close(found.xi, truth[0], rtol=0, atol=1e-7)
    residual = (found.xi @ truth[1].inverse() - truth[0] @ truth[1].inverse()).norm()
    assert residual < 1e-6
    assert found.objective == pytest.approx(found.misfit + float(found.xi.square().sum()) / 2)


def test_laplace_of_a_linear_map_has_the_covariance_of_the_posterior(problem, truth):
    found = laplace(problem, truth[0])
    covariance = torch.eye(SIZE).double() - found.vectors.mT @ torch.diag(found.values / (1 + found.values)) @ found.vectors
    torch.testing.assert_close(covariance, truth[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(found.std(lambda x: x), truth[1].diagonal().sqrt(), rtol=0, atol=1e-12)


def test_draws_of_laplace_have_its_mean_and_covariance(problem, truth):
    draws = laplace(problem, truth[0]).draws(40_000, seed=2)
    torch.testing.assert_close(draws.mean(0), truth[0], rtol=0, atol=0.02)
    torch.testing.assert_close(draws.mT.cov(), truth[1], rtol=0, atol=0.03)


def test_coordinates_of_laplace_are_inverted_and_their_excess_is_what_it_says(problem, truth):
    found = laplace(problem, truth[0])
    eta = torch.randn(5, SIZE, generator=generator(3), dtype=torch.float64)
    xi = found(eta)
    torch.testing.assert_close(found.inverse(xi), eta)
    torch.testing.assert_close(found.excess(eta), (xi.square().sum(1) - eta.square().sum(1)) / 2)


def test_a_lower_rank_keeps_the_directions_that_data_tell_most_of(problem, truth):
    whole, part = laplace(problem, truth[0]), laplace(problem, truth[0], rank=2)
    torch.testing.assert_close(part.values, whole.values[:2])


@pytest.mark.parametrize("reference", [False, True])
def test_chains_have_the_mean_and_covariance_of_the_posterior(problem, truth, reference):
    given = laplace(problem, truth[0] + 0.3, rank=2) if reference else None  # neither the right centre nor all directions
    found = pcn(problem, 100, chains=1024, burn_in=80, reference=given, seed=4)
    draws = found.draws.flatten(0, 1)
    error = 5 * (truth[1].diagonal() / found.ess()).sqrt()  # five standard errors
    assert ((found.mean() - truth[0]).abs() < error).all()
    assert float((draws.mT.cov() - truth[1]).abs().max()) < 5 * (2 / float(found.ess().min())) ** 0.5
    torch.testing.assert_close(found.std(), draws.std(0))
    torch.testing.assert_close(found.misfits.flatten(), problem.misfit(draws))


def test_steps_are_adapted_while_burning_in_to_what_is_best(problem):
    assert pcn(problem, 20, chains=1000, burn_in=100, seed=5).acceptance == pytest.approx(0.3, abs=0.05)


def test_delayed_acceptance_samples_the_posterior_of_the_true_map_whatever_the_surrogate(matrix, problem, truth):
    poor = InverseProblem(lambda x: 1.1 * x @ matrix.mT + 0.2, problem.prior, problem.data, 0.5)
    about = laplace(problem, truth[0])
    found = delayed_acceptance(problem, poor, 60, chains=512, burn_in=30, inner=2, reference=about, seed=6)
    error = 5 * (truth[1].diagonal() / found.ess()).sqrt()
    assert ((found.mean() - truth[0]).abs() < error).all()
    assert float((found.std() - truth[1].diagonal().sqrt()).abs().max()) < 5 * (2 / float(found.ess().min())) ** 0.5
    torch.testing.assert_close(found.misfits.flatten(), problem.misfit(found.draws.flatten(0, 1)))
    biased = pcn(poor, 60, chains=512, burn_in=20, reference=about, seed=6)
    assert ((biased.mean() - truth[0]).abs() > error).any()  # the surrogate's own posterior is another


def test_delayed_acceptance_solves_only_for_what_the_surrogate_accepts(problem):
    solved = []

    def counted(x):
        solved.append(len(x))
        return problem.forward(x)

    true = InverseProblem(counted, problem.prior, problem.data, 0.5)
    found = delayed_acceptance(true, problem, 50, chains=20, burn_in=10, seed=7)
    assert sum(solved) == found.solves < 20 * 56  # five steps of burning in are the surrogate's
    assert found.proposals == 20 * 60
    assert found.acceptance == 1.0  # the surrogate being the true map


def test_the_error_of_a_surrogate_is_added_to_the_noise(matrix, problem):
    inputs = torch.randn(300, SIZE, generator=generator(8), dtype=torch.float64)
    outputs = torch.randn(300, OBSERVED, generator=generator(9), dtype=torch.float64) * torch.tensor([0.1, 0.2, 0.3, 0.4])
    error = surrogate_error(lambda x: x @ matrix.mT, inputs, inputs @ matrix.mT + outputs)
    torch.testing.assert_close(error, outputs.mT @ outputs / 300)
    careful = InverseProblem(problem.forward, problem.prior, problem.data, 0.5, error=error)
    mean, covariance = exact(matrix, problem.observed, 0.25 * torch.eye(OBSERVED).double() + error)
    found = maximum_a_posteriori(careful, tolerance=1e-9).xi
    torch.testing.assert_close(found, mean, rtol=0, atol=1e-7)
    torch.testing.assert_close(laplace(careful, found).std(lambda x: x), covariance.diagonal().sqrt())
    one = InverseProblem(problem.forward, problem.prior, problem.data, 0.5, error=error.diagonal())
    assert not torch.equal(maximum_a_posteriori(one).xi, found)


def field_problem(points, mean, seed=10):
    """Four values of a field with a mean, observed with noise; the posterior is that of kriging."""
    domain = Domain(1)
    grid = domain.grid(points)
    prior = Prior(GaussianField(domain, "periodic", 7.0, 2.5, 20), grid, mean)
    observe = point_values(grid, torch.tensor([0.1, 0.3, 0.35, 0.8]))
    data = torch.tensor([1.4, 0.7, 0.9, 1.2]).double()
    return prior, observe, InverseProblem(lambda a: a, prior, data, 0.05, observe)


def test_a_prior_with_a_mean_gives_the_posterior_of_kriging_with_it():
    x = Domain(1).grid(32).axes()[0]
    mean = 1.0 + 0.2 * torch.sin(2 * torch.pi * x)
    prior, observe, problem = field_problem(32, mean)
    modes = prior.field(torch.eye(prior.size).double()) - mean
    covariance = modes.mT @ modes
    gain = torch.linalg.solve(observe @ covariance @ observe.mT + 0.05**2 * torch.eye(4), observe @ covariance).mT
    wanted = mean + gain @ (problem.observed - observe @ mean)
    std = (covariance - gain @ observe @ covariance).diagonal().sqrt()
    found = maximum_a_posteriori(problem, tolerance=1e-10)
    torch.testing.assert_close(prior(found.xi[None])[0], wanted, rtol=0, atol=1e-8)
    about = laplace(problem, found.xi)
    torch.testing.assert_close(about.std(prior), std, rtol=0, atol=1e-8)
    chains = pcn(problem, 80, chains=1024, burn_in=100, reference=about, seed=11)
    error = 6 * float(std.max()) / float(chains.ess().min()) ** 0.5
    assert float((chains.mean(prior) - wanted).abs().max()) < error
    assert float((chains.std(prior) - std).abs().max()) < error


def test_a_transformed_prior_has_the_mean_before_the_transform():
    law = Pushforward(GaussianField(Domain(1), "periodic", 7.0, 2.5, 10), torch.exp)
    prior = Prior(law, Domain(1).grid(16), 0.5)
    xi = torch.zeros(1, prior.size).double()
    torch.testing.assert_close(prior(xi), torch.full((1, 16), 0.5).double().exp())
    torch.testing.assert_close(prior.field(xi), torch.full((1, 16), 0.5).double())


def test_coordinates_are_those_of_the_draws_of_a_field():
    field, grid = GaussianField(n_modes=40), Domain(1).grid(24)
    prior = Prior(field, grid)
    assert prior.size == 22  # waves up to 11: a grid of 24 points holds no sine of 12
    xi = torch.randn(3, 40, generator=generator(12), dtype=torch.float64)
    torch.testing.assert_close(prior(xi[:, :22]), field(xi, grid))


def test_acceptance_does_not_fall_as_the_grid_is_refined():
    rates = []
    for points in (16, 64, 256):
        domain = Domain(1)
        grid = domain.grid(points)
        prior = Prior(GaussianField(domain, "periodic", 7.0, 1.0, points - 2), grid)
        observe = point_values(grid, torch.arange(4) / 4)
        problem = InverseProblem(lambda a: a + a**2, prior, torch.tensor([0.3, 0.1, -0.1, 0.2]).double(), 0.2, observe)
        rates.append(pcn(problem, 10, chains=256, burn_in=60, step=0.3, seed=13).step)
    rates = torch.tensor(rates)
    assert (rates[1:] > 0.75 * rates[:1]).all()


def test_what_is_wrong_is_named():
    prior, data = WhiteNoise(3), torch.zeros(3).double()
    for given, said in (
        ({"data": torch.zeros(2, 2)}, "data must be finite numbers of shape"),
        ({"noise": 0.0}, "noise must be a positive standard deviation"),
        ({"noise": torch.ones(2)}, "noise must be a positive standard deviation"),
        ({"observe": torch.ones(2, 3)}, "observe must be a matrix with a row for each of 3"),
        ({"error": -1.0}, "error must be variances"),
        ({"error": -torch.eye(3)}, "error must be variances"),
        ({"error": torch.ones(5)}, "error must be a variance, 3 of them"),
    ):
        with pytest.raises(RaffiaError, match=said):
            InverseProblem(**({"forward": lambda x: x, "prior": prior, "data": data, "noise": 1.0} | given))
    problem = InverseProblem(lambda x: x[:, :2], prior, data, 1.0)
    with pytest.raises(RaffiaError, match="Pass observe=point_values"):
        problem.misfit(torch.zeros(1, 3).double())
    with pytest.raises(RaffiaError, match="observe must have a column for each of the 2"):
        InverseProblem(problem.forward, prior, data, 1.0, torch.eye(3)).misfit(torch.zeros(1, 3).double())
    good = InverseProblem(lambda x: x, prior, data, 1.0)
    with pytest.raises(RaffiaError, match="start must be finite numbers of shape"):
        maximum_a_posteriori(good, torch.zeros(2))
    with pytest.raises(RaffiaError, match="step must lie between 0 and 1"):
        pcn(good, 5, step=1.5)
    with pytest.raises(RaffiaError, match="keep_every must be at most"):
        pcn(good, 5, keep_every=6)
    with pytest.raises(RaffiaError, match="start must be finite and of shape"):
        pcn(good, 5, chains=2, start=torch.zeros(3))
    with pytest.raises(RaffiaError, match="gives no finite misfit where chain 0 of 2"):
        pcn(InverseProblem(lambda x: x / 0, prior, data, 1.0), 5, chains=2)
    with pytest.raises(RaffiaError, match="one prior and device"):
        delayed_acceptance(good, InverseProblem(lambda x: x, WhiteNoise(2), data[:2], 1.0), 5)
    with pytest.raises(RaffiaError, match="forward map that torch can differentiate"):
        maximum_a_posteriori(InverseProblem(lambda x: x.detach(), prior, data, 1.0))
    with pytest.raises(RaffiaError, match="GaussianField or a Pushforward of one"):
        Prior(Pushforward(Pushforward(GaussianField(), torch.exp), torch.exp), Domain(1).grid(8))
    with pytest.raises(RaffiaError, match="the prior lives on"):
        _ = Prior(GaussianField(), Domain(1, extent=2.0).grid(8)).size
    with pytest.raises(RaffiaError, match=r"Prior\(mean=…\) must be a finite number or function"):
        Prior(GaussianField(), Domain(1).grid(8), torch.zeros(7))


def test_proposals_without_a_finite_misfit_are_not_accepted():
    problem = InverseProblem(lambda x: (x + 1).log(), WhiteNoise(1), torch.zeros(1).double(), 0.5)
    found = pcn(problem, 50, chains=30, burn_in=10, start=torch.zeros(30, 1), seed=14)
    assert (found.draws > -1).all()
