"""Models without features: n_features=inf."""

import math
import pickle

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import raffia
from raffia import Domain, GaussianField, RandomFeatureModel, ScalarFeatures
from raffia.spaces import Channels, Mesh, Vectors

BOX = Domain(1, periodic=False)


def pairs(n=40, points=21, seed=0, domain=BOX):
    boundary = "periodic" if domain.periodic else "neumann"
    a = GaussianField(domain, boundary, tau=3.0, n_modes=8).sample(n, domain.grid(points), seed=seed)
    return a, torch.tanh(2 * a) * a.mean(1, keepdim=True) + 0.3


def of_kernel(law="gaussian", ridge=1e-3, domain=BOX, **settings):
    own = {name: settings.pop(name) for name in ("lengthscale", "affine", "dof", "whitening", "n_modes") if name in settings}
    own = {"n_modes": None, "affine": None} | own
    return RandomFeatureModel(ScalarFeatures(law=law, domain=domain, **own), math.inf, ridge, **settings)


@pytest.mark.parametrize(("law", "dof"), [("gaussian", 5), ("student", 3), ("student", 5), ("student", 7), ("cauchy", 5)])
def test_the_kernel_is_the_mean_of_products_of_features(law, dof):
    features = ScalarFeatures(8, 0.7, law=law, dof=dof, affine=0.8, domain=BOX)
    a = pairs(6)[0]
    phi = features(a, features.draw(200_000, seed=0))
    torch.testing.assert_close(features.kernel(a, a), phi @ phi.mT / 200_000, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("law", ["gaussian", "student", "cauchy"])
def test_a_kernel_model_is_kernel_ridge_regression(law):
    (a, y), (test, _) = pairs(), pairs(seed=1)
    model = of_kernel(law, 1e-4, lengthscale=0.8).fit(a, y)
    kernel = model.feature_map.kernel
    theirs = KernelRidge(alpha=1e-4, kernel="precomputed").fit(kernel(a, a).numpy(), y.numpy())
    np.testing.assert_allclose(model.predict(test), theirs.predict(kernel(test, a).numpy()), rtol=1e-10, atol=1e-10)


def test_a_gaussian_kernel_of_vectors_is_the_radial_basis_function_of_others():
    a, test = (np.random.default_rng(seed).normal(size=(30, 3)) for seed in (0, 1))
    y = np.sin(a.sum(1))
    model = of_kernel(domain=Vectors(), lengthscale=1.3).fit(a, y)
    theirs = KernelRidge(alpha=1e-3, kernel="rbf", gamma=1 / (2 * 1.3**2)).fit(a, y)
    np.testing.assert_allclose(model.predict(test), theirs.predict(test), rtol=1e-10, atol=1e-10)


def test_an_affine_kernel_is_ridge_regression_with_a_free_intercept():
    a, test = (np.random.default_rng(seed).normal(size=(30, 4)) + 5 for seed in (0, 1))
    y = np.cos(a) @ np.ones((4, 2)) + 100
    model = of_kernel("affine", 0.3, Vectors()).fit(a, y)
    np.testing.assert_allclose(model.predict(test), Ridge(alpha=0.3).fit(a, y).predict(test), rtol=1e-11)


@pytest.mark.parametrize("n", [15, 60])
def test_a_linear_operator_is_learnt_to_rounding(n):
    a = pairs(n + 20)[0]
    matrix = torch.linspace(-1, 1, 21 * 33, dtype=torch.float64).reshape(21, 33).sin()
    y = a @ matrix + 7
    model = of_kernel("affine", "auto", output=BOX).fit(a[:n], y[:n])
    assert model.errors(a[n:], y[n:]).max() < 1e-11


@pytest.mark.parametrize("law", ["gaussian", "affine"])
def test_leave_one_out_errors_are_those_of_refits(law):
    a, y = pairs(14)
    model = of_kernel(law, "auto").fit(a, y)
    refits = []
    for i in range(len(a)):
        rest = torch.arange(len(a)) != i
        one = of_kernel(law, model.ridge_).fit(a[rest], y[rest])
        guess = one.predict(a[i : i + 1])
        refits.append(model.trained_.frame.errors(y[i : i + 1], guess))
    assert model.loo_error_ == pytest.approx(float(torch.cat(refits).mean()), rel=1e-6)


@pytest.mark.parametrize("law", ["gaussian", "affine"])
def test_more_pairs_add_and_streams_agree_with_whole_fits(law):
    a, y = pairs()
    whole = of_kernel(law).fit(a, y)
    grown = of_kernel(law).partial_fit(a[:15], y[:15]).partial_fit(a[15:], y[15:])
    streamed = of_kernel(law).fit([(a[:25], y[:25]), (a[25:], y[25:])])
    for other in (grown, streamed):
        torch.testing.assert_close(other.predict(a), whole.predict(a), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("law", ["gaussian", "affine"])
def test_files_and_pickles_predict_the_same(law, tmp_path):
    a, y = pairs()
    model = of_kernel(law, "auto", whitening=0.5, normalize="function").fit(a, y)
    model.save(tmp_path / "m.safetensors", statistics=True)
    loaded = raffia.load(tmp_path / "m.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert torch.equal(other.predict(a), model.predict(a))
    torch.testing.assert_close(loaded.predict(a, return_std=True)[1], model.predict(a, return_std=True)[1])


def test_predictions_are_on_the_grid_of_the_inputs():
    domain = Domain(1)
    (a, y), (fine, truth) = pairs(80, 32, domain=domain), pairs(5, 96, seed=1, domain=domain)
    model = of_kernel(ridge="auto", domain=domain, lengthscale=2.0, normalize="function").fit(a, y)
    coarse = model.errors(fine[:, ::3], truth[:, ::3])
    torch.testing.assert_close(model.errors(fine, truth), coarse, rtol=0.02, atol=1e-4)


@pytest.mark.parametrize("law", ["gaussian", "affine"])
def test_error_bars_of_noise_cover_what_they_should(law):
    a, y = pairs(120)
    y = y if law == "gaussian" else a.cumsum(1) / 21
    noisy = y + 0.05 * torch.randn(y.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model = of_kernel(law, "auto", lengthscale=2.0, normalize="function").fit(a[:80], noisy[:80])
    mean, std = model.predict(a[80:], return_std=True)
    assert 0.85 < float(((noisy[80:] - mean).abs() < 1.645 * std).double().mean()) < 0.95


def test_kernels_are_tuned_by_leaving_out_one_pair():
    (a, y), (test, truth) = pairs(80), pairs(40, seed=1)
    plain = of_kernel(ridge="auto", lengthscale=0.05).fit(a, y)
    tuned = of_kernel(ridge="auto", lengthscale=0.05).tune(a, y)
    assert tuned.errors(test, truth).mean() < 0.2 * plain.errors(test, truth).mean()
    assert tuned.held_out_error_ == pytest.approx(float(tuned.errors(test, truth).mean()), rel=1.0)


def test_features_without_a_kernel_in_closed_form_say_so():
    a, y = pairs(domain=Domain(1))
    with pytest.raises(raffia.RaffiaError, match=r"FourierFeatures has no kernel in closed form.*n_features must be a number"):
        RandomFeatureModel(raffia.FourierFeatures(), math.inf).fit(a, y)
    with pytest.raises(raffia.RaffiaError, match=r"n_modes=None.*n_features=inf"):
        RandomFeatureModel(ScalarFeatures(None, domain=BOX), 10, 1e-3).fit(a, y)


@pytest.mark.parametrize("domain", [Domain(1), BOX], ids=["torus", "box"])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_mean_function_is_learnt_on_every_grid(domain, channels):
    a, _ = pairs(30, 33, domain=domain)
    x = domain.grid(33).axes()[0]
    source = torch.exp(torch.cos(2 * math.pi * x))
    y = (source + 1e-3 * a)[:, None].repeat(1, channels, 1)
    y = y[:, 0] if channels == 1 else y
    output = Channels(domain, 2) if channels == 2 else domain
    model = RandomFeatureModel(raffia.FourierFeatures(domain=domain), 20, 1e-6, normalize="function", output=output).fit(a, y)
    fine = pairs(3, 65, seed=5, domain=domain)[0]
    wanted = torch.exp(torch.cos(2 * math.pi * domain.grid(65).axes()[0]))
    assert (model.predict(fine) - wanted).abs().max() < 0.02
    plain = RandomFeatureModel(raffia.FourierFeatures(domain=domain), 20, 1e-6, normalize=True, output=output).fit(a, y)
    assert (plain.predict(fine) - wanted).abs().max() > 0.2


def test_a_mean_function_goes_with_a_model_from_a_grid_to_a_mesh():
    domain = Domain(2, periodic=False)
    a = GaussianField(domain, "neumann", tau=3.0, n_modes=8).sample(12, domain.grid(17), seed=0)
    x, y = domain.grid(17).nodes().unbind(-1)
    features = raffia.FourierFeatures(16, domain=domain)
    model = RandomFeatureModel(features, 10, 1e-6, normalize="function").fit(a, torch.sin(3 * x) * y + 1e-3 * a)
    nodes = torch.rand(40, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    there = model.on(Mesh(nodes, domain=domain)).predict(torch.zeros(1, 40, dtype=torch.float64))
    assert (there - torch.sin(3 * nodes[:, 0]) * nodes[:, 1]).abs().max() < 0.02
