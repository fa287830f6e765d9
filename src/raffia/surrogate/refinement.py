"""The last step of a search: the hyperparameters of the best features are changed in turn, and larger models are compared.

Searches by gradients use small models of few pairs and one time step. Large models, and models that are applied again and again, may need
other length scales and amplitudes.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import cast

import torch
from sklearn.base import clone
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.features.base import Range
from raffia.model.accumulator import Accumulator
from raffia.model.estimator import of
from raffia.model.preprocessing import Prepared, prepare
from raffia.model.settings import Settings
from raffia.model.trained import LEFT_OUT, Trained
from raffia.surrogate.rollouts import Paths, errors_along, usual_size

FACTORS = (1.25, 1.1)  # that numbers are multiplied or divided by, as long as errors fall
MOST_FEATURES = 256
PAIRS, VALUES = (16, 128, 1024), 2**25  # of the models to judge by: at least, with ordinary and modal coefficients, and at most
JUDGED, STEPPED = (2, 6), 2**27  # paths that models are followed along: from so many to so many, of so many values of features
ROUNDING = 1e-14  # of the usual size of states: late ones count, however small, unless they are rounding

Error = Callable[[FeatureMap], float]


def coordinate_search(feature_map: FeatureMap, error: Error) -> FeatureMap:
    """Return the features with the smallest error that is found by changing one hyperparameter at a time."""
    best, least = feature_map, error(feature_map)
    known = feature_map.hyperparameters.items()
    ranges = {name: cast(Range, one) for name, one in known if getattr(one, "log", False) and getattr(one, "count", 1) is None}
    for factor in FACTORS:
        for name, one in ranges.items():
            for move in (factor, 1 / factor):
                moved = False
                while one.low <= (value := move * float(getattr(best, name))) <= one.high:
                    other = clone(best).set_params(**{name: value})
                    found = error(other)
                    if not found < least:
                        break
                    best, least, moved = other, found, True
                if moved:  # the other way is where it came from
                    break
    return best


def left_out(settings: Settings, a: Tensor, y: Tensor) -> Error:
    """Return a function that maps a feature map to the leave-one-out error of a model trained on some of the pairs.

    A model of trajectories is judged by one step only. The error is infinite if no model can be trained.
    """
    settings, pairs = _smaller(settings), prepare(settings, a, y)
    some = pairs.part(torch.linspace(0, len(pairs) - 1, _count(settings, pairs)).round().long())

    def error(feature_map: FeatureMap) -> float:
        trained = _trained(settings, feature_map, some, errors=True)
        return float("inf") if trained is None else trained.errors[LEFT_OUT]

    return error


def composed(settings: Settings, paths: Paths) -> Error:
    """Return a function that maps a feature map to the error along held-out trajectories, the geometric mean over all steps.

    Ridges are searched only for the first feature map with a model, since a search takes most of the time. Later feature maps use the
    same ridges relative to the size of the features.
    """
    settings, judged = _smaller(settings), torch.zeros(len(paths.states), dtype=torch.bool)
    many = min(max(JUDGED[0], STEPPED // (int(settings.n_features) * paths.states[0].numel())), JUDGED[1], len(judged) // 2)
    judged[torch.linspace(0, len(judged) - 1, many).round().long()] = True
    held, states = paths.part(judged.nonzero()[:, 0].tolist()), paths.states[~judged]
    pairs = prepare(settings, states[:, :-1].flatten(0, 1), states[:, 1:].flatten(0, 1))
    some = pairs.part(torch.linspace(0, len(pairs) - 1, _count(settings, pairs)).round().long())

    first: Trained | None = None
    least = ROUNDING * usual_size(paths.states) * paths.states[0, 0].numel() ** 0.5

    def error(feature_map: FeatureMap) -> float:
        nonlocal first
        trained = _trained(settings, feature_map, some, like=first)
        if trained is None:
            return float("inf")
        first = first or trained
        reached = [*islice(held.followed_by(of(trained, settings.device)), 1, held.states.shape[1])]
        if len(reached) < held.states.shape[1] - 1:
            return float("inf")
        errors = errors_along(torch.stack(reached, 1), held.states[:, 1:], least)
        return float(errors.mean(0).clamp(min=1e-300).log().mean().exp())

    return error


def _smaller(settings: Settings) -> Settings:
    return replace(settings, n_features=min(int(settings.n_features), MOST_FEATURES), ridge="auto")


def _count(settings: Settings, pairs: Prepared) -> int:
    """How many pairs a model is trained on."""
    many = VALUES // (int(settings.n_features) * max(1, pairs.grid.size))
    return min(max(PAIRS[settings.modal], many), PAIRS[-1], len(pairs))


def _trained(
    settings: Settings, feature_map: FeatureMap, pairs: Prepared, errors: bool = False, like: Trained | None = None
) -> Trained | None:
    """A model of these features, or None where there is none; with the ridges of another, if there is one."""
    told = replace(settings, feature_map=feature_map)
    try:
        known = Accumulator(told, expected=len(pairs)).take(pairs.with_modes(told))
        if like is not None and like.statistics is not None and known.statistics is not None:
            ridge = known.coefficients.transferred(like.ridge, like.statistics, known.statistics)
            known = replace(known, settings=replace(told, ridge=ridge))
        return known.finish(errors)
    except RaffiaError:
        return None
