import math

import pytest
import torch

from raffia import Domain, FourierFeatures, LocalFeatures, RandomFeatureModel
from raffia.measures import TruncatedWaves
from raffia.model.coefficients import coefficients_of
from raffia.model.coefficients.modal import Modal
from raffia.model.time_stepping import Marching
from raffia.problems.exponential import Spectrum, integrate
from raffia.surrogate.refinement import composed, coordinate_search, left_out
from raffia.surrogate.rollouts import Paths


@pytest.fixture(scope="module")
def settings():
    return RandomFeatureModel(LocalFeatures(0.06), n_features=24, ridge="auto", coefficients="modal", normalize=True).settings


@pytest.fixture(scope="module")
def paths():
    """Of Burgers' equation in the units of Scenario, with all modes that 32 points hold without aliases."""
    grid = Domain(1).grid(32)
    start, spectrum = TruncatedWaves(5).sample(10, grid, seed=3), Spectrum(grid, torch.device("cpu"))
    k = spectrum.waves[0]
    flow = integrate(
        start,
        [float(step) for step in range(1, 13)],
        spectrum,
        -1.5 / (2 * 32**2) * k**2,
        lambda v: 0.5j * 1.5 / 32 * k * spectrum.of(spectrum.values(v) ** 2),
        step=0.1,
    )
    states = torch.cat([start[:, None], flow], 1)
    return Paths(states[:, 0], states, Marching(Domain(1), Domain(1)))


def test_numbers_are_moved_to_where_the_error_is_least():
    best = {"length": 0.21, "amplitude": 0.1, "bias": 2.0}

    def error(one):
        return sum(math.log(getattr(one, name) / value) ** 2 for name, value in best.items())

    found = coordinate_search(LocalFeatures(0.05, 0.3, 0.5, "tanh"), error)
    assert all(getattr(found, name) == pytest.approx(value, rel=0.08) for name, value in best.items())
    assert found.activation == "tanh"


def test_numbers_stay_in_their_ranges():
    found = coordinate_search(LocalFeatures(0.9), lambda one: 1 / one.length)
    assert 0.9 < found.length <= LocalFeatures().hyperparameters["length"].high


def test_features_without_a_model_are_not_taken():
    start = LocalFeatures(0.1)
    assert coordinate_search(start, lambda one: 1.0 if one is start else float("inf")) is start


def test_the_error_along_paths_is_that_of_a_model_trained_on_the_others(settings, paths):
    """By hand: half of ten paths are followed from their beginnings."""
    judged = torch.zeros(10, dtype=torch.bool)
    judged[torch.linspace(0, 9, 5).round().long()] = True
    train, test = paths.states[~judged], paths.states[judged]
    model = RandomFeatureModel(LocalFeatures(0.06), n_features=24, ridge="auto", coefficients="modal", normalize=True)
    model.fit(train[:, :-1].flatten(0, 1), train[:, 1:].flatten(0, 1))
    path = model.rollout(test[:, 0], 12)
    off = (path - test)[:, 1:].norm(dim=-1) / test[:, 1:].norm(dim=-1)
    wanted = float(off.mean(0).log().mean().exp())
    assert composed(settings, paths)(LocalFeatures(0.06)) == pytest.approx(wanted, rel=1e-4)


def test_features_that_see_too_little_have_larger_errors_both_ways(settings, paths):
    a, y = paths.states[:, :-1].flatten(0, 1), paths.states[:, 1:].flatten(0, 1)
    for error in (composed(settings, paths), left_out(settings, a, y)):
        assert error(LocalFeatures(0.1)) < 0.3 * error(LocalFeatures(1e-3))


@pytest.mark.parametrize("coefficients", ["ordinary", "modal"])
def test_features_twice_as_large_want_ridges_four_times_as_large(coefficients, paths):
    """ReLU is homogeneous."""
    a, y = paths.states[:, :-1].flatten(0, 1), paths.states[:, 1:].flatten(0, 1)
    once, twice = (
        RandomFeatureModel(FourierFeatures(16, amplitude=size, activation="relu"), 24, "auto", coefficients=coefficients).fit(
            a, y
        )
        for size in (1.0, 2.0)
    )
    kind = coefficients_of(once.settings)
    ridge = kind.transferred(once.ridge_, once.trained_.statistics, twice.trained_.statistics)
    torch.testing.assert_close(torch.as_tensor(ridge), 4 * torch.as_tensor(once.ridge_))
    torch.testing.assert_close(torch.as_tensor(twice.ridge_), torch.as_tensor(ridge), rtol=1e-3, atol=0)


def test_ridges_are_found_once_for_all_features_that_are_compared(settings, paths, monkeypatch):
    """And errors are nearly those of ridges that are found for each."""
    found, search = [], Modal.choose_ridge
    monkeypatch.setattr(Modal, "choose_ridge", lambda *given, **how: found.append(1) or search(*given, **how))
    error = composed(settings, paths)
    once = [error(LocalFeatures(length)) for length in (0.06, 0.07, 0.05)]
    assert len(found) == 1
    again = [composed(settings, paths)(LocalFeatures(length)) for length in (0.06, 0.07, 0.05)]
    assert once == pytest.approx(again, rel=0.1)
