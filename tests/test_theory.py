import numpy as np
import pytest

from raffia import RaffiaError
from raffia.theory import plan, rate, schedule


def test_plan_is_that_of_the_theorem():  # thm:rate
    found = plan(0.1)
    assert (found.n_features, found.n_samples) == (1100, 100_000)
    assert found.ridge == pytest.approx(1000)
    tighter = plan(0.05)
    assert tighter.n_features == 4 * found.n_features
    assert tighter.n_samples == 16 * found.n_samples


def test_ridge_and_features_grow_like_the_root_of_the_samples():  # the takeaway after thm:rate
    small, large = plan(0.1), plan(0.01)
    assert large.n_features / small.n_features == pytest.approx((large.n_samples / small.n_samples) ** 0.5, rel=1e-3)
    assert large.ridge / small.ridge == pytest.approx((large.n_samples / small.n_samples) ** 0.5, rel=1e-3)


def test_schedule_is_that_of_the_theorem():  # thm:converge, δ_l = (l+1)^(−2)
    d = 4.0**-2
    found = schedule(3)
    assert found.n_features == int(np.ceil(np.log(2 / d) / d))
    assert found.n_samples == int(np.ceil(np.log(2 / d) / d**2))
    assert found.ridge == found.n_features
    assert schedule(10).n_features > found.n_features


def test_rate_recovers_a_power_law_and_its_uncertainty():
    rng = np.random.default_rng(0)
    sizes, covered = (16, 64, 256, 1024), 0
    for _ in range(200):
        errors = [[0.7 * size**-0.5 * np.exp(0.1 * rng.standard_normal()) for _ in range(3)] for size in sizes]
        found = rate(sizes, errors)
        covered += found.interval[0] <= -0.5 <= found.interval[1]
    assert found.exponent == pytest.approx(-0.5, abs=0.06)
    assert found.constant == pytest.approx(0.7, rel=0.3)
    assert 180 <= covered <= 199  # a 95 % interval


@pytest.mark.parametrize(
    "bad", [lambda: plan(0.0), lambda: plan(1.5), lambda: schedule(0), lambda: rate([1, 2], [[1.0], [0.0]])]
)
def test_impossible_arguments_are_refused(bad):
    with pytest.raises(RaffiaError):
        bad()
