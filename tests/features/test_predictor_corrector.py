import itertools

import pytest
import torch

from raffia import Darcy, Domain, GaussianField, PredictorCorrectorFeatures, RaffiaError, RandomFeatureModel, load, metrics
from raffia.features import predictor_corrector
from raffia.measures import LevelSet
from raffia.regression import FeatureStream, NormalEquations
from raffia.spaces.calculus import heat, poisson

GRID = Domain(2, periodic=False).grid(13)
KINDS = [(kind, steps) for kind in ("additive", "multiplicative") for steps in (0, 1, 3)]


def features(kind="additive", steps=1, **more):
    return PredictorCorrectorFeatures(randomisation=kind, steps=steps, n_modes=30, **more)


def coefficients(n=3):
    return LevelSet(n_modes=100).sample(n, GRID, seed=0)


def gradient(f, grid):
    return torch.stack(torch.gradient(f, spacing=grid.spacings[0], edge_order=2))


def plain(a, sigma, kind, steps, eta=1e-4, f=1.0):
    """eqn:rf_predictor_corrector for one pair, as it is written."""
    source = [f / a + s if kind == "additive" else f / a * (1 + s) for s in sigma]
    slope = gradient(torch.log(heat(a, GRID, eta)), GRID)
    p = poisson(source[0], GRID)
    for k in range(1, steps + 1):
        p = poisson(source[k] + (slope * gradient(p, GRID)).sum(0), GRID)
    return p


@pytest.mark.parametrize(("kind", "steps"), KINDS)
def test_feature_is_the_predictor_corrector_iteration(kind, steps):
    phi = features(kind, steps, weight=0.7, source=2.0)
    a, theta = coefficients(), phi.draw(4, seed=0)
    fields = phi._sigma(theta, GRID)
    padded = torch.nn.functional.pad(fields, (1, 1, 1, 1))
    found = phi(a, theta)
    for i in range(3):
        for j in range(4):
            wanted = plain(a[i], padded[j], kind, steps, f=2.0)
            torch.testing.assert_close(found[i, j], wanted, rtol=1e-10, atol=1e-14)


def test_sigmoid_is_the_papers():  # eqn:sigmoidal_func_defn
    phi = features(s_plus=0.2, s_minus=-0.5, delta=0.3, weight=3.0)
    theta = phi.draw(2, seed=0)
    r = GaussianField(GRID.domain, "neumann", 7.5, 2.0, 30)(theta, GRID)[..., 1:-1, 1:-1]
    torch.testing.assert_close(phi._sigma(theta, GRID), 3 * (0.7 / (1 + torch.exp(-r / 0.3)) - 0.5))


@pytest.mark.parametrize(("kind", "steps"), KINDS)
def test_without_random_terms_it_is_the_deterministic_iteration(kind, steps):
    off = features(kind, steps, s_plus=0.0, s_minus=0.0)
    a, nothing = coefficients(), torch.zeros(steps + 1, 13, 13, dtype=torch.float64)
    phi = off(a, off.draw(2, seed=0))
    for i, j in itertools.product(range(len(a)), range(2)):
        torch.testing.assert_close(phi[i, j], plain(a[i], nothing, kind, steps), rtol=1e-10, atol=1e-14)


def deterministic(features, a):
    """The iteration without random terms."""
    return features.set_params(weight=0.0)(a, features.draw(1, seed=0))[:, 0]


def test_the_deterministic_iteration_approximates_the_solution_better_with_each_step():
    a, u = Darcy(fine_points=65).dataset(10, 65, seed=0)
    grid = Domain(2, periodic=False).grid(65)
    errors = [
        metrics.relative_error(u, deterministic(PredictorCorrectorFeatures(steps=s, eta=1e-5), a), grid) for s in (0, 1, 3)
    ]
    assert errors[0] > 2 * errors[1] > 3 * errors[2]
    assert errors[2] < 0.04


@pytest.mark.parametrize(("kind", "steps"), KINDS)
def test_a_trained_model_collapses_to_a_few_poisson_solves(kind, steps):
    phi = features(kind, steps)
    a, theta = coefficients(), phi.draw(40, seed=0)
    coef = torch.randn(40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    summed = torch.einsum("j,ij...->i...", coef, phi(a, theta))
    torch.testing.assert_close(phi.combination(theta, coef, GRID)(a), summed, rtol=1e-11, atol=1e-14)


def test_predict_solves_steps_plus_one_poisson_problems_whatever_m_is(monkeypatch):
    a, u = Darcy(fine_points=17).dataset(6, 17, seed=0)
    model = RandomFeatureModel(features(steps=2), 50, ridge=1e-8).fit(a, u)
    model.predict(a)
    solved = []
    real = predictor_corrector.inner_poisson
    monkeypatch.setattr(predictor_corrector, "inner_poisson", lambda f, grid: solved.append(len(f)) or real(f, grid))
    model.predict(a)
    assert solved == [6, 6, 6]


def test_fit_does_not_depend_on_what_is_kept_of_theta():
    phi, a = features(steps=1), coefficients()
    theta = phi.draw(20, seed=0)
    kept, fresh = (NormalEquations.assemble(FeatureStream(phi, theta, GRID, 2, 500, n), a, a) for n in (10**9, 0))
    torch.testing.assert_close(kept.gram, fresh.gram, rtol=1e-12, atol=1e-18)
    torch.testing.assert_close(kept.rhs, fresh.rhs, rtol=1e-12, atol=1e-18)


def test_it_learns_and_saves(tmp_path):
    a, u = Darcy(fine_points=33).dataset(120, 17, seed=0)
    model = RandomFeatureModel(features(), 200, ridge=1e-8).fit(a[:90], u[:90])
    grid = Domain(2, periodic=False).grid(17)
    assert -model.score(a[90:], u[90:]) < 0.9 * metrics.relative_error(u[90:], deterministic(features(), a[90:]), grid)
    model.save(tmp_path / "m.safetensors")
    assert torch.equal(load(tmp_path / "m.safetensors").predict(a), model.predict(a))


def test_a_source_may_be_a_function_on_the_grid():
    f = GRID.nodes()[..., 0] + 1
    a = coefficients()
    with_field, with_number = features(source=f), features(source=1.0)
    assert not torch.allclose(deterministic(with_field, a), deterministic(with_number, a))
    torch.testing.assert_close(deterministic(features(source=torch.ones(13, 13)), a), deterministic(with_number, a))


@pytest.mark.parametrize(
    ("phi", "a", "words"),
    [
        (features(), -torch.ones(1, 13, 13).double(), "strictly positive a"),
        (features(steps=-1), torch.ones(1, 13, 13).double(), "steps >= 0"),
    ],
)
def test_bad_input_is_refused(phi, a, words):
    with pytest.raises(RaffiaError, match=words):
        phi(a, torch.zeros(2, 2, 30).double())


def test_a_model_refuses_what_is_not_a_field_on_a_rectangle():
    model = RandomFeatureModel(features(), 5, ridge=1e-3)
    with pytest.raises(RaffiaError, match=r"a must have shape \(n, points, points\)"):
        model.fit(torch.ones(4, 13).double(), torch.ones(4, 13).double())
    with pytest.raises(RaffiaError, match="a must be finite"):
        model.fit(torch.ones(4, 13, 13).double() * float("nan"), torch.ones(4, 13, 13).double())
    with pytest.raises(RaffiaError, match="too coarse"):
        model.fit(torch.ones(4, 2, 2).double(), torch.ones(4, 2, 2).double())
