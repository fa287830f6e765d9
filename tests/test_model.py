import copy

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import raffia
from raffia import Burgers, Dataset, Domain, FourierFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, metrics
from raffia.features import BrownianBridge, Union
from raffia.solvers import Cholesky, Pseudoinverse
from raffia.tuning import GradientSearch
from tests.features.test_feature_maps import MeanOf


def model(**changes):
    return RandomFeatureModel(FourierFeatures(n_modes=32), n_features=48, ridge=1e-6, random_state=1).set_params(**changes)


def test_prediction_is_the_mean_of_weighted_features(burgers, small_model):  # eqn:rfm
    theta = small_model.feature_map.draw(48, seed=1)
    features = small_model.feature_map(burgers.a, theta)
    wanted = torch.einsum("j,ijx->ix", small_model.coef_, features) / 48
    torch.testing.assert_close(small_model.predict(burgers.a), wanted)


def test_coefficients_minimise_the_penalised_loss(burgers, small_model):  # eqn:opt_randomfeature: no direction goes down
    def loss(coef):
        return small_model.equations_.residual(coef) / 2 + 1e-6 / (2 * 48) * coef.square().sum()

    best = loss(small_model.coef_)
    for seed in range(20):
        direction = torch.randn(48, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        assert loss(small_model.coef_ + 1e-2 * direction) > best


@pytest.mark.parametrize("sizes", [(40,), (1,) * 40, (7, 20, 13)])
def test_partial_fits_add_up_to_fit(burgers, small_model, sizes):
    grown = model()
    for a, y in zip(burgers.a.split(sizes), burgers.y.split(sizes), strict=True):
        grown.partial_fit(a, y)
    assert grown.equations_.n_samples == 40
    torch.testing.assert_close(grown.predict(burgers.a), small_model.predict(burgers.a), rtol=1e-7, atol=1e-9)


def test_fit_forgets_what_was_learnt_before(burgers, small_model):
    again = clone(small_model).fit(burgers.a[:5], burgers.y[:5]).fit(burgers.a, burgers.y)
    assert torch.equal(again.coef_, small_model.coef_)


@pytest.mark.parametrize("changes", [{"batch_size": 1}, {"batch_size": 7}, {"memory_budget": 64 * 2**20}])
def test_batches_do_not_change_the_model(burgers, small_model, changes):
    other = model(**changes).fit(burgers.a, burgers.y)
    torch.testing.assert_close(other.predict(burgers.a), small_model.predict(burgers.a), rtol=1e-7, atol=1e-9)


def test_a_trained_model_serves_every_grid(burgers, small_model):
    fine = Burgers(fine_points=256).dataset(20, points=256, seed=8)
    errors = [metrics.relative_error(fine.y[:, ::s], small_model.predict(fine.a[:, ::s].contiguous())) for s in (4, 2, 1)]
    assert errors == pytest.approx([errors[0]] * 3, rel=0.02)


def test_features_of_a_larger_model_extend_those_of_a_smaller_one(burgers):
    small, large = (model(n_features=m).fit(burgers.a, burgers.y) for m in (10, 48))
    torch.testing.assert_close(small.equations_.gram * 10, large.equations_.gram[:10, :10] * 48)


def test_composition_applies_the_model_repeatedly(burgers, small_model):
    twice = small_model.predict(small_model.predict(burgers.a))
    assert torch.equal(small_model.compose(burgers.a, 2), twice)
    path = small_model.rollout(burgers.a, 4, every=2)
    assert path.shape == (len(burgers.a), 3, *burgers.a.shape[1:])
    assert torch.equal(path[:, 0], burgers.a)
    assert torch.equal(path[:, 1], twice)
    assert torch.equal(path[:, 2], small_model.compose(burgers.a, 4))
    with pytest.raises(RaffiaError, match="times must be a positive integer"):
        small_model.compose(burgers.a, 0)


def test_score_is_minus_the_mean_relative_error(burgers, small_model):
    assert small_model.score(burgers.a, burgers.y) == -metrics.relative_error(burgers.y, small_model.predict(burgers.a))


def test_arrays_in_give_arrays_out_and_tensors_tensors(burgers, small_model):
    array = small_model.predict(burgers.a.numpy())
    assert isinstance(array, np.ndarray)
    assert np.array_equal(array, small_model.predict(burgers.a).numpy())
    fitted = model().fit(burgers.a.numpy(), burgers.y.numpy())
    assert torch.equal(fitted.coef_, small_model.coef_)


def test_float32_is_trained_in_float64_and_predicted_in_float32(burgers, small_model):
    single = model().fit(burgers.a.float(), burgers.y.float())
    assert single.coef_.dtype == torch.float64
    prediction = single.predict(burgers.a.float())
    assert prediction.dtype == torch.float32
    assert metrics.relative_error(small_model.predict(burgers.a), prediction) < 1e-3


def test_devices_agree(burgers, small_model, device):
    there = model(device=device).fit(burgers.a, burgers.y)
    prediction = there.predict(burgers.a)
    assert prediction.device == burgers.a.device
    torch.testing.assert_close(prediction, small_model.predict(burgers.a), rtol=1e-7, atol=1e-9)


def test_default_solver_follows_the_ridge(burgers):
    for ridge, solver in ((0.0, Pseudoinverse()), (1e-5, Cholesky())):
        by_default, by_name = (model(ridge=ridge, solver=s).fit(burgers.a, burgers.y) for s in (None, solver))
        assert torch.equal(by_default.coef_, by_name.coef_)


def test_scalar_features_have_functions_as_coefficients(burgers):
    """One independent regression a grid point, so the fit at a point does not know the other points."""
    fitted = RandomFeatureModel(MeanOf(), 10, ridge=1e-4).fit(burgers.a, burgers.y)
    assert fitted.coef_.shape == (10, 64)
    features = MeanOf()(burgers.a, MeanOf().draw(10, seed=0))
    alone = torch.linalg.solve(features.T @ features / 10 + 1e-4 * torch.eye(10), features.T @ burgers.y[:, 17])
    torch.testing.assert_close(fitted.predict(burgers.a)[:, 17], features @ alone / 10, rtol=1e-6, atol=1e-8)


def test_scalar_features_on_numbers(burgers):
    x = torch.linspace(0.1, 0.9, 5, dtype=torch.float64)
    fitted = RandomFeatureModel(BrownianBridge(n_modes=50), 200).fit(x, torch.sin(3 * x))
    assert fitted.coef_.shape == (200,)
    torch.testing.assert_close(fitted.predict(x), torch.sin(3 * x), rtol=1e-6, atol=1e-6)


class TestScikitLearn:
    def test_clone_keeps_parameters_and_drops_what_was_learnt(self, small_model):
        copy = clone(small_model)
        assert copy.get_params()["feature_map__tau"] == 5.0
        with pytest.raises(NotFittedError, match="call fit"):
            copy.predict(torch.ones(1, 64))

    def test_hyperparameters_have_paths(self, small_model):
        assert clone(small_model).set_params(feature_map__tau=9.0).feature_map.tau == 9.0
        assert small_model.feature_map.tau == 5.0

    @pytest.mark.parametrize("kind", ["numpy", "torch"])
    def test_grid_search_and_cross_validation_run(self, burgers, kind):
        a, y = (f.numpy() if kind == "numpy" else f for f in burgers)
        search = GridSearchCV(model(), {"ridge": [1e-6, 1e2], "feature_map__tau": [5.0, 6.0]}, cv=2).fit(a, y)
        assert search.best_params_["ridge"] == 1e-6
        assert (cross_val_score(model(), a, y, cv=2) < 0).all()

    def test_pipeline_runs(self, burgers):
        a, y = (f.numpy() for f in burgers)
        doubled = Pipeline([("twice", FunctionTransformer(lambda f: 2 * f)), ("model", model())]).fit(a, y)
        assert np.allclose(doubled.predict(a), model().fit(2 * a, y).predict(2 * a))


def data(n=4, points=16):
    return torch.randn(n, points, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def closed(f):
    """The repeated end point of the authors' files."""
    return torch.cat([f, f[:, :1]], dim=1)


NAN = data().index_put((torch.tensor(2), torch.tensor(3)), torch.tensor(float("nan")).double())


@pytest.mark.parametrize(
    ("a", "y", "words"),
    [
        (NAN, data(), r"a must be finite; 1 of 4 samples .* first is a\[2\]"),
        (data(), data() * float("inf"), r"y must be finite; 4 of 4 samples"),
        (data()[0], data(), r"a must have shape \(n, points\).*a\[None\]"),
        (data(), data()[:, None, None], r"y must have shape \(n, points\)"),
        (data(3), data(4), "got 3 inputs and 4 outputs"),
        (data(points=16), data(points=20), r"one grid; got \(16,\) and \(20,\).*raffia.resample"),
        (data()[:0], data()[:0], "at least one sample"),
        (data(points=2), data(points=2), "no wavenumber left"),
        (data().half(), data(), r"a must be float32 or float64; got torch.float16.*a.double\(\)"),
        (data().half().numpy(), data(), r"got float16.*a.astype\(np.float64\)"),
        (data().long(), data(), "float32 or float64; got torch.int64"),
        (closed(data()), closed(data()), r"a seems to repeat its first point.*Pass a\[:, :-1\]"),
    ],
)
def test_bad_data_are_refused_with_a_remedy(a, y, words):
    untouched = model()
    with pytest.raises(RaffiaError, match=words):
        untouched.fit(a, y)
    assert not hasattr(untouched, "equations_")


def test_a_bump_that_vanishes_at_both_ends_is_not_a_repeated_end_point():
    a = data()
    a[:, :2] = a[:, -2:] = 0
    assert model().fit(a, a).predict(a).shape == a.shape


@pytest.mark.parametrize("points", [15, 16])
def test_odd_and_even_grids_are_fine(points):
    assert model().fit(data(points=points), data(points=points)).predict(data(points=points)).shape == (4, points)


def test_predict_checks_its_input_as_fit_does(small_model):
    for a, words in ((NAN, "finite"), (data()[None], "shape"), (closed(data()), "repeat")):
        with pytest.raises(RaffiaError, match=words):
            small_model.predict(a)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_features": 0}, "n_features must be a positive integer .*; got 0"),
        ({"ridge": -1e-3}, "ridge must be a finite number >= 0, or 'auto'; got -0.001"),
        ({"ridge": float("nan")}, "ridge"),
        ({"batch_size": 0}, "batch_size"),
        ({"random_state": -1}, "random_state must be"),
        ({"memory_budget": 1000}, "memory_budget=1000 bytes is too small.*Pass memory_budget="),
    ],
)
def test_bad_settings_are_refused_in_fit_not_in_the_constructor(changes, words):
    unusable = model(**changes)
    with pytest.raises(RaffiaError, match=words):
        unusable.fit(data(), data())


def test_a_refused_batch_leaves_the_model_as_it_was(burgers):
    grown = model().partial_fit(burgers.a, burgers.y)
    before = grown.coef_
    with pytest.raises(RaffiaError):
        grown.partial_fit(NAN, data())
    assert torch.equal(grown.coef_, before)


@pytest.mark.parametrize("changes", [{"random_state": 7}, {"feature_map__tau": 9.0}, {"n_features": 20}])
def test_coefficients_are_not_used_with_other_features_than_their_own(burgers, changes):
    fitted = model().fit(burgers.a, burgers.y).set_params(**changes)
    for use in (lambda: fitted.predict(burgers.a), lambda: fitted.partial_fit(burgers.a, burgers.y)):
        with pytest.raises(RaffiaError, match="changed since the model was fitted: call fit again"):
            use()
    assert fitted.fit(burgers.a, burgers.y).predict(burgers.a).shape == burgers.a.shape


def test_batches_on_several_grids_add(burgers):
    coarse = tuple(f[:, ::2].contiguous() for f in burgers)
    grown = model().partial_fit(burgers.a[:20], burgers.y[:20]).partial_fit(coarse[0][20:], coarse[1][20:])
    torch.testing.assert_close(grown.predict(burgers.a), model().fit(*burgers).predict(burgers.a), rtol=1e-2, atol=1e-2)


def test_features_that_vanish_or_are_not_finite_are_refused():
    with pytest.raises(RaffiaError, match=r"all features vanish on these inputs.*constant functions"):
        model().fit(torch.ones(5, 16).double(), torch.ones(5, 16).double())
    with pytest.raises(RaffiaError, match=r"FourierFeatures\(tau=…\) must be positive"):
        model(feature_map__tau=-5.0).fit(data(), data())


def test_a_single_symmetric_input_is_not_a_repeated_end_point(small_model):
    x = (torch.arange(64, dtype=torch.float64) + 0.5) / 64
    assert small_model.predict(torch.cos(2 * torch.pi * x)[None]).shape == (1, 64)


def test_a_repeated_end_point_is_seen_in_float32():
    x = torch.linspace(0, 1, 33)
    f = torch.sin(2 * torch.pi * x * torch.arange(1, 4)[:, None])
    with pytest.raises(RaffiaError, match="repeat"):
        model().fit(f, f)


def test_masked_arrays_are_refused_and_read_only_ones_are_fine(small_model, burgers):
    a = burgers.a.numpy().copy()
    with pytest.raises(RaffiaError, match="masked array"):
        small_model.predict(np.ma.masked_greater(a, 0.1))
    a.flags.writeable = False
    assert small_model.predict(a).shape == a.shape


def test_scalar_features_need_one_output_grid():
    grown = RandomFeatureModel(MeanOf(), 5, ridge=1e-3).partial_fit(data(), data())
    with pytest.raises(RaffiaError, match="y must stay on the grid of the first batch"):
        grown.partial_fit(data(), data(points=20))
    assert grown.output_grid_ == Domain(1).grid(16)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (torch.Tensor.to_sparse, r"must be a dense tensor; got torch.sparse_coo. Pass .\.to_dense\(\)"),
        (lambda f: f.to("meta"), "must hold values; got a tensor on the device meta"),
        (lambda f: f.to(torch.complex128), r"must be float32 or float64; got .*torch\.stack\(\[.\.real, .\.imag\], 1\)"),
        (lambda f: f.numpy().astype(complex), r"must be float32 or float64; got .*\.stack\(\[.\.real, .\.imag\], 1\)"),
    ],
    ids=["sparse", "meta", "complex tensor", "complex array"],
)
def test_tensors_without_plain_real_values_are_refused_by_name(burgers, small_model, kind, words):
    a, y = burgers
    new = RandomFeatureModel(FourierFeatures(n_modes=32), 8, ridge=1e-3)
    for name, work in (
        ("a", lambda: new.fit(kind(a), y)),
        ("y", lambda: new.fit(a, kind(y))),
        ("a", lambda: new.partial_fit(kind(a), y)),
        ("a", lambda: new.fit([(kind(a), y)])),
        ("a", lambda: new.tune(kind(a), y)),
        ("a", lambda: small_model.predict(kind(a))),
        ("y", lambda: small_model.errors(a, kind(y))),
        ("y", lambda: new.fit(*Dataset(a, kind(y), burgers.domain))),
    ):
        with pytest.raises(RaffiaError, match=f"^{name} {words}"):
            work()


SHORT = GradientSearch(steps=2, contest_steps=1, screened=0, swept=0, last_steps=1)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_tuning_without_gradients_outside_is_tuning(burgers, mode):
    tuned = [RandomFeatureModel(ScalarFeatures(n_modes=8), 16) for _ in range(2)]
    tuned[0].tune(burgers.a, burgers.y, SHORT)
    with mode():
        tuned[1].tune(burgers.a, burgers.y, SHORT)
        assert torch.equal(tuned[0].coef_, tuned[1].coef_)


@pytest.mark.parametrize("change", ["parameter", "nested parameter", "fit", "partial_fit", "tune"])
def test_no_change_of_a_shallow_copy_changes_predictions_of_the_original_silently(burgers, change):
    one = ScalarFeatures(n_modes=8)
    model = RandomFeatureModel(Union((one, ScalarFeatures(n_modes=4))) if change == "nested parameter" else one, 16, 1e-3)
    before = model.fit(burgers.a, burgers.y).predict(burgers.a)
    other = copy.copy(model)
    match change:
        case "parameter":
            other.set_params(feature_map__tau=9.0)
        case "nested parameter":
            other.set_params(feature_map__map0__tau=9.0)
        case "fit":
            other.set_params(n_features=8).fit(burgers.a[:9], burgers.y[:9] + 1)
        case "partial_fit":
            other.partial_fit(burgers.a[:9], burgers.y[:9] + 1).predict(burgers.a)
        case "tune":
            other.tune(burgers.a, burgers.y, SHORT)
    if "parameter" in change:  # they share the feature map, so the original says that it is not the one it was trained with
        for shared in (model, other):
            with pytest.raises(RaffiaError, match="changed since the model was fitted: call fit again"):
                shared.predict(burgers.a)
    else:
        assert torch.equal(model.predict(burgers.a), before)
        assert not torch.equal(other.predict(burgers.a), before)


def test_whole_numbers_of_numpy_are_whole_numbers(burgers):
    """As they come from searches over np.arange."""
    one, other = (
        RandomFeatureModel(FourierFeatures(8), m, 1e-3, batch_size=b).fit(*burgers)
        for m, b in ((8, 7), (np.int64(8), np.int64(7)))
    )
    assert torch.equal(one.predict(burgers.a), other.predict(burgers.a))


def test_pruning_a_pool_is_better_than_drawing_few_features(tmp_path):
    problem = raffia.Burgers(fine_points=128)
    (a, y), (test, truth) = problem.dataset(100, 32, seed=0), problem.dataset(40, 32, seed=1)
    features = raffia.FourierFeatures(32, 10.0, 2.0, amplitude=2.0, bias=0.5, activation="gelu", profile="matern")
    pool = raffia.RandomFeatureModel(features, 400, 1e-8, normalize=True).fit(a, y)
    few = raffia.RandomFeatureModel(features, 60, 1e-8, normalize=True).fit(a, y)
    pruned = pool.prune(60)
    assert pruned.n_features == len(pruned.coef_) == 60
    assert pruned.errors(test, truth).mean() < 0.6 * few.errors(test, truth).mean()
    pruned.save(tmp_path / "pruned.safetensors")
    assert torch.equal(raffia.load(tmp_path / "pruned.safetensors").predict(test), pruned.predict(test))
    assert torch.allclose(pool.prune(200).prune(60).predict(test), pruned.predict(test), atol=0.05)


def test_a_pruned_model_is_that_of_a_fit_with_these_features():
    a, y = raffia.Burgers(fine_points=128).dataset(50, 32, seed=0)
    pruned = raffia.RandomFeatureModel(raffia.FourierFeatures(32), 40, 1e-2).fit(a, y).prune(25)
    again = raffia.RandomFeatureModel(pruned.feature_map, 25, pruned.ridge_).fit(a, y)
    torch.testing.assert_close(again.predict(a), pruned.predict(a), rtol=1e-6, atol=1e-8)
    assert pruned.ridge_ == pytest.approx(1e-2 * 40 / 25)
    with pytest.raises(raffia.RaffiaError, match="at most 40"):
        raffia.RandomFeatureModel(raffia.FourierFeatures(32), 40, 1e-2).fit(a, y).prune(41)
