"""A fit in batches is the fit, in memory that does not grow with the data."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from raffia import FourierFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, load
from raffia.data import InMemory
from raffia.regression import k_fold_errors
from raffia.solvers import Cholesky, Dual, Pseudoinverse


def a_model(**settings):
    return RandomFeatureModel(FourierFeatures(n_modes=32), 48, **{"ridge": 1.0, "random_state": 1} | settings)


def close(model, other, rtol=1e-12):
    difference = torch.linalg.vector_norm(model.coef_ - other.coef_)
    return difference <= rtol * torch.linalg.vector_norm(other.coef_)


@pytest.mark.parametrize("solver", [None, Cholesky(), Pseudoinverse()], ids=repr)
def test_a_fit_in_batches_is_the_fit(burgers, solver):
    whole = a_model(solver=solver).fit(burgers.a, burgers.y)
    streamed = a_model(solver=solver).fit(InMemory(burgers.a, burgers.y), batch_size=7)
    assert close(streamed, whole)
    torch.testing.assert_close(streamed.predict(burgers.a), whole.predict(burgers.a), rtol=1e-10, atol=1e-12)
    assert (streamed.input_grid_, streamed.output_grid_, streamed.ridge_) == (whole.input_grid_, whole.output_grid_, 1.0)


def test_scalar_features_stream_too(burgers):
    model = RandomFeatureModel(ScalarFeatures(n_modes=16), 16, ridge=1.0)
    streamed = RandomFeatureModel(ScalarFeatures(n_modes=16), 16, ridge=1.0).fit(burgers, batch_size=7)
    assert close(streamed, model.fit(burgers.a, burgers.y))


def test_a_dataset_arrays_lists_and_generators_are_the_same_source(burgers):
    a, y = burgers.a.numpy(), burgers.y.numpy()
    batches = [(a[i : i + 8], y[i : i + 8]) for i in range(0, 40, 8)]
    expected = a_model().fit(InMemory(a, y), batch_size=8).coef_
    for source in (batches, iter(batches)):
        assert torch.equal(a_model().fit(source).coef_, expected)
    assert torch.equal(a_model().fit(burgers, batch_size=8).coef_, expected)


def test_what_was_learnt_before_is_forgotten(burgers):
    model = a_model().fit(burgers.a[:5], burgers.y[:5])
    assert close(model.fit(burgers, batch_size=8), a_model().fit(burgers.a, burgers.y))


def test_the_fit_goes_on_with_more_pairs_and_from_a_file(burgers, tmp_path):
    model = a_model().fit(InMemory(burgers.a[:24], burgers.y[:24]), batch_size=8)
    model.save(tmp_path / "model.safetensors", statistics=True)
    again = load(tmp_path / "model.safetensors").partial_fit(burgers.a[24:], burgers.y[24:])
    assert close(again, a_model().fit(burgers.a, burgers.y))


def test_every_batch_is_on_the_grid_that_the_first_was_moved_to(burgers):
    streamed = a_model(points=32).fit(burgers, batch_size=8)
    assert streamed.output_grid_.shape == (32,)
    assert close(streamed, a_model(points=32).fit(burgers.a, burgers.y))


def test_the_automatic_ridge_has_the_least_k_fold_error(burgers):
    model = a_model(ridge="auto").fit(burgers, batch_size=4, folds=3)
    parts = [
        a_model().partial_fit(burgers.a[rows], burgers.y[rows]).equations_
        for rows in (torch.arange(40) // 4 % 3 == fold for fold in range(3))
    ]
    around = [model.ridge_ * 10.0**k for k in (-2, -1, 0, 1, 2)]
    errors = k_fold_errors(parts, around)
    assert errors[2] <= 1.02 * errors.min()
    assert model.fold_error_ == pytest.approx(float(errors[2]), rel=1e-6)
    assert close(model, a_model(ridge=model.ridge_).partial_fit(burgers.a, burgers.y), rtol=1e-6)
    assert model.ridge == "auto"


def test_the_ridge_found_is_in_the_file_of_the_model(burgers, tmp_path):
    model = a_model(ridge="auto").fit(burgers)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert (again.ridge_, again.fold_error_) == (model.ridge_, model.fold_error_)


def test_bad_arguments_are_named(burgers):
    for arguments, word in [
        ({"batch_size": 0}, "batch_size"),
        ({"folds": 1}, "folds"),
        ({"checkpoint_every": -1.0}, "checkpoint_every"),
        ({"batch_size": 40}, "two or more"),
    ]:
        with pytest.raises(RaffiaError, match=word):
            a_model(ridge="auto").fit(burgers, **arguments)
    with pytest.raises(RaffiaError, match=r"solver=Dual\(\).*Cholesky\(\)"):
        a_model(solver=Dual()).fit(burgers)
    with pytest.raises(RaffiaError, match="no pairs"):
        a_model().fit([])
    with pytest.raises(RaffiaError, match=r"batches \(a, y\)"):
        a_model().fit(iter([np.zeros(3)]))
    with pytest.raises(RaffiaError, match="batch_size"):
        a_model().fit([(burgers.a, burgers.y)], batch_size=3)


MEMORY = """
import resource
import numpy as np
from raffia import FourierFeatures, RandomFeatureModel
def batches(n):
    rng = np.random.default_rng(0)
    for _ in range(n // 200):
        a = rng.standard_normal((200, 512))
        yield a, a

for n in (400, 6000):
    RandomFeatureModel(FourierFeatures(n_modes=8), 8, ridge=1.0).fit(batches(n))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def test_memory_does_not_grow_with_the_number_of_pairs():
    result = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    few, many = map(float, result.stdout.split())
    assert many - few < 12  # MiB, where the pairs take 47
