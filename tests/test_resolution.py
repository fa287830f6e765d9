"""Training on fewer points than the data have."""

import warnings

import pytest
import torch

from raffia import (
    Burgers,
    Darcy,
    Domain,
    FourierFeatures,
    PredictorCorrectorFeatures,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
)
from raffia.model.coarsening import inner_product_change


@pytest.fixture(scope="module")
def fine():
    return Burgers(fine_points=256).dataset(60, points=256, seed=0)


def test_coefficients_do_not_depend_on_the_grid_once_inner_products_have_converged(fine):
    a, y = fine
    features = FourierFeatures(n_modes=40)
    whole, coarse = (RandomFeatureModel(features, 30, ridge=1e-4, points=points).fit(a, y) for points in (None, 128))
    assert coarse.input_grid_.shape == (128,)
    assert inner_product_change(features, features.draw(30, 0), a, y, 128) < 1e-4
    torch.testing.assert_close(coarse.predict(a), whole.predict(a), rtol=0, atol=2e-3 * float(y.abs().max()))


def test_auto_takes_fewer_points_and_predicts_as_well(fine):
    a, y = fine
    whole, fewest = (
        RandomFeatureModel(FourierFeatures(n_modes=40), 64, ridge=1e-6, points=points).fit(a[:40], y[:40])
        for points in (None, "auto")
    )
    assert fewest.input_grid_.shape[0] <= 128
    assert fewest.score(a[40:], y[40:]) == pytest.approx(whole.score(a[40:], y[40:]), rel=0.01)


def test_auto_keeps_the_grid_where_every_point_counts():
    a, y = Darcy(fine_points=33).dataset(12, 17, seed=0)
    model = RandomFeatureModel(PredictorCorrectorFeatures(), 16, ridge=1e-6, points="auto").fit(a, y)
    assert model.input_grid_.shape == (17, 17)


def test_inner_products_that_have_not_converged_bring_a_warning_that_says_by_how_much(fine):
    model = RandomFeatureModel(FourierFeatures(n_modes=128), 20, ridge=1e-4, points=8)
    with pytest.warns(UserWarning, match=r"points=8 changes inner products of features by \d+\.\d%"):
        model.fit(*fine)


def test_points_of_a_finer_grid_than_the_datas_change_nothing(fine):
    a, y = fine
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RandomFeatureModel(FourierFeatures(n_modes=40), 20, ridge=1e-4, points=512).fit(a, y)
    assert model.input_grid_.shape == (256,)


def test_batches_of_partial_fit_are_coarsened_too(fine):
    a, y = fine
    settings = {"feature_map": FourierFeatures(n_modes=40), "n_features": 20, "ridge": 1e-4, "points": "auto"}
    once, twice = RandomFeatureModel(**settings).fit(a, y), RandomFeatureModel(**settings)
    twice.partial_fit(a[:25], y[:25]).partial_fit(a[25:], y[25:])
    assert twice.output_grid_ == once.output_grid_
    torch.testing.assert_close(twice.predict(a[:3]), once.predict(a[:3]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("points", [2, 0, 1.5, True, "coarse"])
def test_points_that_are_no_number_are_refused(fine, points):
    with pytest.raises(RaffiaError, match="points must be an integer >= 3, 'auto', or None"):
        RandomFeatureModel(FourierFeatures(), 20).set_params(points=points).fit(*fine)


def test_points_are_refused_for_scalar_features(fine):
    with pytest.raises(RaffiaError, match="features whose values are functions"):
        RandomFeatureModel(ScalarFeatures(n_modes=8, domain=Domain(1)), 20, points=32).fit(*fine)
