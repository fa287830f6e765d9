"""Diagnostics of chains are those of theory, and know chains that have not met."""

import numpy as np
import pytest
import torch
from scipy.special import ndtri
from scipy.stats import rankdata

from raffia.inverse import Chains, InverseProblem, WhiteNoise, pcn

pytest.importorskip("arviz", reason="ArviZ is not installed")


def chains_of(draws):
    draws = torch.from_numpy(draws)
    facts = {"acceptance": 1.0, "step": 0.5, "solves": 0, "proposals": 0, "seconds": 0.0}
    return Chains(draws=draws, misfits=draws.sum(-1), **facts)


def split_rhat(draws):
    return chains_of(draws).rhat().numpy()


def effective_sample_size(draws):
    return chains_of(draws).ess().numpy()


def walks(correlation, chains=6, draws=401, numbers=3):
    """First-order autoregressive processes of variance one."""
    noise = np.random.default_rng(0).normal(size=(chains, draws, numbers))
    values = noise.copy()
    for i in range(1, draws):
        values[:, i] = correlation * values[:, i - 1] + np.sqrt(1 - correlation**2) * noise[:, i]
    return values


def test_rhat_is_the_ratio_of_variances_of_ranks():
    """Split chains, normal scores of ranks of values and of distances from the median, and √(whole variance / variance within)."""
    draws = walks(0.5) + np.arange(6)[:, None, None]
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    for i, found in enumerate(split_rhat(draws)):
        ratios = []
        for values in (halves[..., i], np.abs(halves[..., i] - np.median(halves[..., i]))):
            scores = ndtri((rankdata(values).reshape(values.shape) - 0.375) / (values.size + 0.25))
            within, between = scores.var(1, ddof=1).mean(), scores.mean(1).var(ddof=1)
            ratios.append(np.sqrt((between + (half - 1) / half * within) / within))
        assert found == pytest.approx(max(ratios), rel=1e-6)


def test_the_size_of_a_walk_is_that_of_theory():
    sizes = effective_sample_size(walks(0.8, chains=50, draws=2000))
    np.testing.assert_allclose(sizes, 50 * 2000 * 0.2 / 1.8, rtol=0.1)  # (1 − ρ) / (1 + ρ) of the draws


def test_equal_draws_and_too_few_of_them_have_no_rhat():
    assert np.isnan(split_rhat(np.ones((2, 10, 1)))).all()
    assert np.isnan(split_rhat(walks(0.5, draws=3))).all()


@pytest.mark.parametrize("draws", [32, 100, 128])  # sums of 100 equal values round, those of powers of two do not
def test_chains_that_never_move_have_not_met(draws):
    stuck = np.repeat(np.random.default_rng(0).normal(size=(8, 1, 2)), draws, axis=1)
    assert (split_rhat(stuck) > 1e6).all()
    assert (effective_sample_size(stuck) < 2 * 8).all()


def test_a_sampler_that_accepts_nothing_warns_with_its_acceptance_rate():
    problem = InverseProblem(lambda x: x, WhiteNoise(20), torch.ones(20), noise=1e-3)
    start = 1 + 0.003 * torch.randn(8, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match="acceptance rate is 0 .*smaller step"):
        chains = pcn(problem, 32, chains=8, burn_in=0, start=start)
    assert chains.acceptance == 0
    assert (chains.rhat() > 1e6).all()


def test_chains_become_an_arviz_dataset():
    problem = InverseProblem(lambda x: x, WhiteNoise(2), torch.tensor([1.0, 2.0]), 1.0)
    chains = pcn(problem, 20, chains=3, burn_in=5)
    data = chains.to_arviz(square=lambda x: x**2)
    assert data.posterior.xi.shape == (3, 20, 2)
    np.testing.assert_allclose(data.posterior.square.values, data.posterior.xi.values**2)
    np.testing.assert_allclose(data.sample_stats.misfit.values, chains.misfits)
