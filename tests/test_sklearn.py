"""scikit-learn's own checks, on a model of vectors, which is what they feed it; and its tools on models of functions."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from raffia import Burgers, FourierFeatures, RandomFeatureModel, ScalarFeatures, Vectors

EXEMPT = {"check_dtype_object": "a TypeError is wanted; every refusal of raffia's is a RaffiaError, which is a ValueError"}


@parametrize_with_checks(
    [
        RandomFeatureModel(ScalarFeatures(64, domain=Vectors()), 50, 1e-3, normalize=True),
        RandomFeatureModel(ScalarFeatures(None, domain=Vectors()), math.inf, 1e-3, normalize=True),  # the kernel
        RandomFeatureModel(
            ScalarFeatures(None, law="affine", domain=Vectors()), math.inf, 1e-3, normalize="function"
        ),  # ridge regression
    ],
    expected_failed_checks=lambda _: EXEMPT,
)
def test_scikit_learn_agrees(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        check(estimator)


@pytest.fixture(scope="module")
def burgers():
    return tuple(f.numpy() for f in Burgers(fine_points=128).dataset(30, 32, seed=0))


def model(**settings):
    return RandomFeatureModel(FourierFeatures(20), 40, 1e-6, **settings)


def test_clones_of_a_fitted_model_are_unfitted_and_equal(burgers):
    fitted = model(normalize=True).fit(*burgers)
    copy = clone(fitted)
    assert not hasattr(copy, "equations_")
    assert np.array_equal(copy.fit(*burgers).predict(burgers[0]), fitted.predict(burgers[0]))


def test_a_grid_search_finds_the_amplitude_that_scores_best(burgers):
    grid = {"feature_map__amplitude": [1e-3, 1024.0], "n_features": [20, 40]}
    search = GridSearchCV(model(), grid, cv=KFold(3)).fit(*burgers)
    by_hand = {
        (a, m): np.mean(cross_val_score(model().set_params(feature_map__amplitude=a, n_features=m), *burgers, cv=KFold(3)))
        for a in (1e-3, 1024.0)
        for m in (20, 40)
    }
    best = max(by_hand, key=by_hand.get)
    assert tuple(search.best_params_.values()) == best
    assert search.best_score_ == pytest.approx(by_hand[best])


def test_a_pipeline_is_its_steps_one_after_the_other(burgers):
    a, y = burgers
    pipeline = make_pipeline(FunctionTransformer(lambda f: f - f.mean(1, keepdims=True)), model()).fit(a, y)
    alone = model().fit(a - a.mean(1, keepdims=True), y)
    assert np.array_equal(pipeline.predict(a), alone.predict(a - a.mean(1, keepdims=True)))
    assert pipeline.score(a, y) == alone.score(a - a.mean(1, keepdims=True), y)
