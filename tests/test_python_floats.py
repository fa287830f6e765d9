"""Python floats are double precision wherever users pass them: none is rounded to float32 on the way."""

import pytest
import torch

from raffia import Domain, FourierFeatures, GaussianField, RandomFeatureModel
from raffia.constraints import Integral
from raffia.features import Union
from raffia.inverse import Prior

CIRCLE = Domain(1)
ODD = 16777217.0  # 2^24 + 1, the first whole number that float32 does not hold


@pytest.mark.parametrize("value", [0.7, 1 / 3, ODD])
def test_an_integral_is_the_value_given(value):
    a = GaussianField(CIRCLE, n_modes=8).sample(30, CIRCLE.grid(32), seed=0)
    model = RandomFeatureModel(FourierFeatures(12), 24, 1e-6, constraints=[Integral(value)]).fit(a, torch.tanh(a) + value)
    assert float(model.predict(a[:1]).mean()) == pytest.approx(value, rel=1e-15)


def test_the_mean_of_a_prior_is_the_value_given():
    prior = Prior(GaussianField(CIRCLE, n_modes=4), CIRCLE.grid(8), mean=101325.3)
    assert (prior(torch.zeros(1, 4, dtype=torch.float64)) == 101325.3).all()


def test_shares_of_a_union_are_those_given():
    maps = (FourierFeatures(n_modes=8), FourierFeatures(n_modes=4))
    limit = torch.special.ndtri(torch.tensor([0.3 - 1e-12, 0.3 + 1e-12], dtype=torch.float64))
    theta = torch.zeros(2, *Union(maps).theta_shape, dtype=torch.float64)
    theta[:, 0] = limit
    members = Union(maps, shares=(0.3, 0.7))._members(theta)
    assert [(number, index.tolist()) for number, index, _ in members] == [(0, [0]), (1, [1])]


def test_sizes_that_float32_does_not_hold_are_taken():
    a = GaussianField(CIRCLE, n_modes=8).sample(4, CIRCLE.grid(32), seed=0)
    assert FourierFeatures(8, tau=1e-60)(a, FourierFeatures(8).draw(2, seed=0)).isfinite().all()
