"""Product features: steps of exponential time differencing are found from their trajectories, and noise does little harm."""

import pytest
import torch

from raffia import Domain, RandomFeatureModel
from raffia.errors import RaffiaError
from raffia.features import ProductFeatures
from raffia.features.product_search import found
from raffia.problems import Scenario
from raffia.spaces import Channels
from raffia.surrogate.candidates import candidates

CIRCLE = Domain(1)
CASES = {
    "burgers": (Scenario(points=48, fine_points=48), 48),
    "kdv": (Scenario((0.0, 0.0, 0.0, -14.0, -9.0), 2.0, points=64, fine_points=64), 64),
}


def pairs(u):
    return u[:, :-1].flatten(0, 1), u[:, 1:].flatten(0, 1)


def model_of(features, u):
    return RandomFeatureModel(features, 32, coefficients="modal", normalize=False).fit(*pairs(u))


@pytest.mark.parametrize("name", CASES)
def test_steps_of_exponential_time_differencing_are_represented(name):
    problem, points = CASES[name]
    u = problem.trajectories(24, points, 20, 1.0, seed=0)
    features, error = found(*pairs(u), CIRCLE)
    assert features.kinds == ("squares",)
    assert error < 1e-7
    test = problem.trajectories(4, points, 40, 1.0, seed=1)
    path = model_of(features, u).rollout(test[:, 0], 40)
    assert float((path - test).norm() / test.norm()) < 1e-5


def test_several_substeps_are_found():
    problem, points = CASES["burgers"]
    u = problem.trajectories(24, points, 20, 2.0, seed=0)
    features, error = found(*pairs(u), CIRCLE)
    assert features.substeps == 2
    assert error < 1e-3


def test_noise_does_little_harm():
    problem, points = CASES["burgers"]
    clean = problem.trajectories(40, points, 20, 1.0, seed=0)
    size = 0.01 * float(clean.square().mean().sqrt())
    noisy = clean + size * torch.randn(clean.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    features, _ = found(*pairs(noisy), CIRCLE)
    test = problem.trajectories(6, points, 20, 1.0, seed=1)
    path = model_of(features, noisy).rollout(test[:, 0], 20)
    errors = (path - test).norm(dim=2) / test.norm(dim=2)
    assert float(errors.mean(0)[-1]) < 0.01


def test_the_mean_function_is_learnt_only_where_there_is_a_source():
    """u ↦ u/2 + s: with s = 0 nothing is added to zero."""
    u = CASES["burgers"][0].trajectories(24, 48, 4, 1.0, seed=0)
    a, _ = pairs(u)
    source = torch.sin(2 * torch.pi * torch.arange(48) / 48).double()
    zero = torch.zeros(1, 48, dtype=torch.float64)
    for s, sourced in ((0 * source, False), (source, True)):
        features, _ = found(a, a / 2 + s, CIRCLE)
        assert features.sourced == sourced
        model = RandomFeatureModel(features, 8, coefficients="modal", normalize=False).fit(a, a / 2 + s)
        torch.testing.assert_close(model.predict(zero)[0], s, atol=1e-6, rtol=0)


def test_kinds_that_there_are_not_are_refused():
    with pytest.raises(RaffiaError, match="kinds="):
        _ = ProductFeatures(("transport",)).products
    with pytest.raises(RaffiaError, match="torus"):
        _ = ProductFeatures(domain=Domain(1, periodic=False)).products


def test_channels_go_together():
    """A rotation of two channels and the product of the first with itself, which is added to the second."""
    u = CASES["burgers"][0].trajectories(16, 48, 8, 1.0, seed=0)
    a = torch.stack([u[:, :-1].flatten(0, 1), u[:, 1:].flatten(0, 1)], 1)
    y = torch.stack([a[:, 1], -a[:, 0] + a[:, 0] ** 2], 1)
    features, error = found(a, y, Channels(CIRCLE, 2))
    assert features.kinds == ("squares",)
    assert error < 1e-6


def test_features_are_bounded_on_inputs_far_larger_than_those_they_were_made_of():
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(12, 32, dtype=torch.float64, generator=generator)
    features, _ = found(a, torch.tanh(2 * a), Domain(1))
    theta = torch.randn(3, *features.theta_shape, dtype=torch.float64, generator=generator)
    here, there = (features(size * a, theta).abs().max() for size in (1.0, 1e6))
    assert there < 100 * here


def test_waves_that_inputs_do_not_have_are_not_amplified():
    x = torch.arange(32, dtype=torch.float64) / 32
    k = torch.arange(1, 4, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(12, 3, dtype=torch.float64, generator=generator) @ torch.sin(2 * torch.pi * k[:, None] * x)
    features, _ = found(a, a**2, Domain(1))
    assert features.D is None or features.D.abs().max() < 10


def test_a_contest_tries_them_for_channels_on_a_torus():
    torus = Domain(2)
    u = torch.randn(12, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    names = [one.name for one in candidates(u, u + 0.1 * u**2, Channels(torus, 2), Channels(torus, 2))]
    assert "products" in names
