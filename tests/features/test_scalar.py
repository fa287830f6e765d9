import math

import pytest
import torch

from raffia import Domain, GaussianField, RaffiaError, RandomFeatureModel, ScalarFeatures, Vectors, resample

CIRCLE = Domain(1)


def inputs(n, points=32, modes=8):
    return GaussianField(CIRCLE, n_modes=modes).sample(n, CIRCLE.grid(points), seed=0)


@pytest.mark.parametrize(
    ("law", "kernel"),
    [
        ("gaussian", lambda r: torch.exp(-(r**2) / 2)),
        ("student", lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * torch.exp(-math.sqrt(5) * r)),  # Matérn 5/2
        ("cauchy", lambda r: torch.exp(-r)),
    ],
)
def test_the_mean_of_products_of_features_is_the_kernel_of_the_law(law, kernel):
    features = ScalarFeatures(n_modes=9, law=law, affine=None, lengthscale=0.3, regularity=0.5)
    a = inputs(6)
    phi = features(a, features.draw(40_000, seed=0))
    z = features.coefficients(a) / features._lengthscales(a)
    distance = torch.cdist(z, z)
    assert distance.max() > 1
    torch.testing.assert_close(phi @ phi.T / 40_000, kernel(distance), atol=0.03, rtol=0)


def test_coefficients_have_mean_square_one_functions_and_do_not_depend_on_the_grid():
    features = ScalarFeatures(n_modes=9, domain=Domain(1, extent=3.0))
    x = features.domain.grid(16).axes()[0]
    a = 2 + 3 * math.sqrt(2) * torch.cos(2 * math.pi * x / 3)
    z = features.coefficients(a[None])[0]
    torch.testing.assert_close(z[[0, 2]], torch.tensor([2.0, 3.0], dtype=torch.float64))
    assert z[[1, 3, 4, 5, 6, 7, 8]].abs().max() < 1e-12


def test_linear_operators_are_learnt_exactly_by_the_affine_part():
    a = inputs(60)
    y = (a + 2 * a.roll(5, dims=-1) + a.flip(-1)).cumsum(-1) / 32 + 0.3  # no structure that the features know of
    train, test = slice(0, 40), slice(40, 60)
    model = RandomFeatureModel(ScalarFeatures(n_modes=9, affine=100.0), n_features=200, ridge=1e-9).fit(a[train], y[train])
    exact = -model.score(a[test], y[test])
    assert exact < 1e-5
    without = RandomFeatureModel(ScalarFeatures(n_modes=9, affine=None), n_features=200, ridge=1e-9).fit(a[train], y[train])
    assert -without.score(a[test], y[test]) > 30 * exact


def test_a_quarter_of_the_features_are_affine():
    features = ScalarFeatures(n_modes=4)
    straight, *_ = features.prepare(features.draw(4000, seed=0), CIRCLE.grid(16))
    assert float(straight.double().mean()) == pytest.approx(0.25, abs=0.03)
    none, *_ = ScalarFeatures(n_modes=4, affine=None).prepare(features.draw(100, seed=0), CIRCLE.grid(16))
    assert not none.any()


def test_outputs_that_shared_the_grid_of_the_inputs_are_predicted_on_any_grid(tmp_path):
    a = inputs(20)
    model = RandomFeatureModel(ScalarFeatures(n_modes=9), n_features=50, ridge=1e-6).fit(a, a**2)
    finer = resample(a, CIRCLE.grid(32), CIRCLE.grid(80))
    wanted = resample(model.predict(a), CIRCLE.grid(32), CIRCLE.grid(80))
    torch.testing.assert_close(model.predict(finer), wanted, atol=1e-9, rtol=0)


def test_outputs_on_a_grid_of_their_own_stay_there():
    a = inputs(20)
    model = RandomFeatureModel(ScalarFeatures(n_modes=9), n_features=50, ridge=1e-6).fit(a, a[:, ::4].contiguous())
    assert model.predict(inputs(3, points=64)).shape == (3, 8)


def test_bad_settings_are_refused():
    a = inputs(2)
    short = ScalarFeatures(n_modes=4, lengthscale=torch.ones(3).double())
    with pytest.raises(RaffiaError, match="or 4, one a mode; got 3"):
        short(a, short.draw(2, seed=0))
    unknown = ScalarFeatures(n_modes=4).set_params(law="uniform")
    with pytest.raises(RaffiaError, match="'gaussian', 'student', 'cauchy' or 'affine'; got 'uniform'"):
        unknown(a, unknown.draw(2, seed=0))


SLOPES = {  # law, dof: d/dt and d²/dt² of the kernel as a function of t = |x − y|², s = √(dof · t)
    ("gaussian", 5): (lambda t, s: -torch.exp(-t / 2) / 2, lambda t, s: torch.exp(-t / 2) / 4),
    ("student", 3): (lambda t, s: -3 / 2 * torch.exp(-s), lambda t, s: 9 / 4 * torch.exp(-s) / s.clamp(min=1e-100)),
    ("student", 5): (lambda t, s: -5 / 6 * (1 + s) * torch.exp(-s), lambda t, s: 25 / 12 * torch.exp(-s)),
    ("student", 7): (
        lambda t, s: -7 / 10 * (1 + s + s**2 / 3) * torch.exp(-s),
        lambda t, s: 49 / 60 * (1 + s) * torch.exp(-s),
    ),
}


@pytest.mark.parametrize(("law", "dof"), SLOPES)
@pytest.mark.parametrize("beside", [0.0, 1e-9, 3e-8, 1e-7, 1e-5, 1e-2])
def test_kernel_models_have_the_hessian_of_the_kernel_at_training_inputs(law, dof, beside):
    v = torch.rand(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    features = ScalarFeatures(None, law=law, dof=dof, affine=None, domain=Vectors())
    model = RandomFeatureModel(features, math.inf, 1e-6, output=Vectors()).fit(v, torch.sin(3 * v[:, :1]) * v[:, 1:])
    x = v[0] + beside * torch.tensor([0.6, 0.8], dtype=torch.float64)
    d = x - v
    t = d.square().sum(1)
    first, second = (slope(t, (dof * t).sqrt())[:, None, None] for slope in SLOPES[law, dof])
    hessians = 4 * second * d[:, :, None] * d[:, None] + 2 * first * torch.eye(2, dtype=torch.float64)
    wanted = (model.solution_.coef[:, 0, None, None] * hessians).sum(0)
    rounding = 1e-7 * float(model.solution_.coef.abs().sum())

    def predicted(z):
        return model.predict(z[None])[0, 0]

    by_double_backward = torch.autograd.functional.hessian(predicted, x)
    for found in (torch.func.hessian(predicted)(x), by_double_backward):
        torch.testing.assert_close(found, wanted, rtol=0, atol=rounding)


@pytest.mark.parametrize(("law", "dof"), [*SLOPES, ("cauchy", 1)])
def test_kernels_are_one_at_zero_distance_and_continuous_near_it(law, dof):
    features = ScalarFeatures(None, law=law, dof=dof, affine=None, domain=Vectors())
    x = torch.tensor([[0.0], [0.99e-7], [1.01e-7]], dtype=torch.float64)
    at_zero, below, above = features.kernel_of(x, x[:1])[:, 0]
    assert abs(at_zero - 1) < 1e-14
    assert 1 - 2e-7 < above <= below <= at_zero + 1e-14
