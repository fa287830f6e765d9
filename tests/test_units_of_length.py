"""The unit of length is a matter of convention: the same arrays on a longer domain give the same predictions, by every family."""

import math

import pytest
import torch

from raffia import Channels, Domain, GaussianField, RandomFeatureModel
from raffia.features.base import Range
from raffia.surrogate.candidates import FAMILIES, named
from raffia.surrogate.example_pairs import ExamplePairs

LENGTHS = (2 * math.pi, 64.0, 1e-3, 1000.0)
SIDES = {"circle": (1.0,), "interval": (1.0,), "torus": (1.0, 0.5), "box": (1.0, 0.5)}
SHAPES = {"circle": (16,), "interval": (17,), "torus": (8, 6), "box": (9, 7)}
NAMES = [family.name for family in FAMILIES]


def domain_of(kind, length):
    sides = SIDES[kind]
    return Domain(len(sides), periodic=kind in ("circle", "torus"), extent=tuple(length * side for side in sides))


def pairs_on(kind):
    """A positive coefficient, and outputs that vanish on the boundary of a box, where predictor–corrector features enter."""
    unit = domain_of(kind, 1.0)
    a = torch.exp(GaussianField(unit, unit.natural_boundary, n_modes=9).sample(28, unit.grid(*SHAPES[kind]), seed=0))
    y = torch.tanh(a) + 0.1 * a.flip(1)
    if kind == "box":
        for axis in (1, 2):
            y.index_fill_(axis, torch.tensor([0, y.shape[axis] - 1]), 0.0)
    return a, y


def candidates_of(name, kind, length):
    """The candidate of a contest and that of the name alone; none where the family does not apply."""
    a, y = pairs_on(kind)
    domain = domain_of(kind, length)
    pairs = ExamplePairs(a[:20], y[:20], domain, domain)
    (family,) = (one for one in FAMILIES if one.name == name)
    if not family.applies(pairs):
        return []
    by_name = named(name, pairs.a, pairs.y, domain, domain)
    return [by_name] if family.learn else [family.candidate(pairs), by_name]


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("name", NAMES)
def test_predictions_do_not_depend_on_the_unit_of_length(name, kind):
    a, y = pairs_on(kind)

    def predictions(length):
        told = {"n_features": 12, "ridge": "auto", "random_state": 0, "output": domain_of(kind, length)}
        models = [RandomFeatureModel(c.feature_map, **c.arguments(told)) for c in candidates_of(name, kind, length)]
        return [model.fit(a[:20], y[:20]).predict(a[20:]) for model in models]

    wanted = predictions(1.0)
    for length in (2 * math.pi, 1000.0):
        for one, other in zip(predictions(length), wanted, strict=True):
            assert float((one - other).norm() / other.norm()) < 1e-3  # of rounding, which ill-conditioned features amplify


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("name", NAMES)
def test_searches_begin_at_the_same_place_whatever_the_unit_of_length(name, kind):
    def places(length):
        """Where the value of each hyperparameter lies between the ends of its range."""
        found = {}
        for number, candidate in enumerate(candidates_of(name, kind, length)):
            values = candidate.feature_map.get_params()
            for key, one in candidate.feature_map.hyperparameters.items():
                if isinstance(one, Range) and one.log and isinstance(values[key], float) and values[key] > 0:
                    found[number, key] = (math.log(values[key] / one.low), math.log(one.high / one.low))
        return found

    wanted = places(1.0)
    for length in LENGTHS:
        assert places(length) == {key: pytest.approx(place, abs=1e-9) for key, place in wanted.items()}


def test_channels_and_vectors_have_a_longest_side():
    assert Channels(domain_of("box", 3.0), 2).longest == 3.0
