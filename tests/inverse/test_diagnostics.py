"""Diagnostics of chains agree with ArviZ, and know chains that have not met."""

import numpy as np
import pytest
import torch

from raffia import RaffiaError
from raffia.inverse import InverseProblem, WhiteNoise, effective_sample_size, pcn, split_rhat

filtered = pytest.mark.filterwarnings("ignore::FutureWarning")


def walks(correlation, chains=6, draws=401, numbers=3):
    """First-order autoregressive processes of variance one."""
    noise = np.random.default_rng(0).normal(size=(chains, draws, numbers))
    values = noise.copy()
    for i in range(1, draws):
        values[:, i] = correlation * values[:, i - 1] + np.sqrt(1 - correlation**2) * noise[:, i]
    return values


@filtered
@pytest.mark.parametrize(
    "draws",
    [walks(0.0), walks(0.9), walks(-0.4), walks(0.5)[:1], np.exp(2 * walks(0.7)), walks(0.5) + np.arange(6)[:, None, None]],
)
def test_rhat_and_sizes_are_those_of_arviz(draws):
    arviz = pytest.importorskip("arviz", reason="ArviZ is not installed")
    data = arviz.convert_to_dataset({"x": draws})
    if len(draws) > 1:
        np.testing.assert_allclose(split_rhat(draws), arviz.rhat(data).x.values, rtol=1e-6)
    np.testing.assert_allclose(effective_sample_size(draws), arviz.ess(data).x.values, rtol=1e-6)


def test_the_size_of_a_walk_is_that_of_theory():
    sizes = effective_sample_size(walks(0.8, chains=50, draws=2000))
    np.testing.assert_allclose(sizes, 50 * 2000 * 0.2 / 1.8, rtol=0.1)  # (1 − ρ) / (1 + ρ) of the draws


def test_equal_draws_have_no_diagnostics_and_too_few_draws_are_refused():
    assert np.isnan(split_rhat(np.ones((2, 10, 1)))).all()
    assert np.isnan(effective_sample_size(np.ones((2, 10, 1)))).all()
    with pytest.raises(RaffiaError, match="4 draws or more"):
        split_rhat(np.ones((2, 3, 1)))


@pytest.mark.parametrize("draws", [32, 100, 128])  # sums of 100 equal values round, those of powers of two do not
def test_chains_that_never_move_have_not_met(draws):
    stuck = np.repeat(np.random.default_rng(0).normal(size=(8, 1, 2)), draws, axis=1)
    assert np.isinf(split_rhat(stuck)).all()
    assert (effective_sample_size(stuck) < 2 * 8).all()


def test_a_sampler_that_accepts_nothing_warns_with_its_acceptance_rate():
    problem = InverseProblem(lambda x: x, WhiteNoise(20), torch.ones(20), noise=1e-3)
    start = 1 + 0.003 * torch.randn(8, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match="acceptance rate is 0 .*smaller step"):
        chains = pcn(problem, 32, chains=8, burn_in=0, start=start)
    assert chains.acceptance == 0
    assert chains.rhat().isinf().all()


@filtered
def test_chains_become_an_arviz_dataset():
    pytest.importorskip("arviz", reason="ArviZ is not installed")
    problem = InverseProblem(lambda x: x, WhiteNoise(2), torch.tensor([1.0, 2.0]), 1.0)
    chains = pcn(problem, 20, chains=3, burn_in=5)
    data = chains.to_arviz(square=lambda x: x**2)
    assert data.posterior.xi.shape == (3, 20, 2)
    np.testing.assert_allclose(data.posterior.square.values, data.posterior.xi.values**2)
    np.testing.assert_allclose(data.sample_stats.misfit.values, chains.misfits)
