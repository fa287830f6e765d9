"""Tuning: hyperparameters by a search, then the ridge for all features, then training on all pairs."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch
from sklearn.base import clone

from raffia.errors import RaffiaError
from raffia.features import ScalarFeatures
from raffia.model.accumulator import Accumulator
from raffia.model.model_defaults import DEFAULTS
from raffia.model.operator import Operator
from raffia.model.preprocessing import Prepared
from raffia.model.settings import Settings
from raffia.model.trained import HELD_OUT, Trained
from raffia.regression import ridge_for
from raffia.tuning import GradientSearch, History, Search, Trial, never, objective_for, search_kernel


def tuned(settings: Settings, pairs: Prepared, search: Search | None = None) -> tuple[Trained, History]:
    """The model with the best hyperparameters, trained on all pairs, and the history of the search.

    A fifth of the pairs is held out from the search. The reported error is that of a model trained on the others. The ridge minimises this
    error; with fewer than a hundred pairs, for kernels and for modal coefficients, it minimises the leave-one-out error.
    """
    distinct = pairs.distinct()
    n = len(distinct)
    if n < 8:
        raise RaffiaError(f"tune holds out a part of the data, so it needs 8 pairs with distinct inputs or more; got {n}.")
    held = torch.zeros(n, dtype=torch.bool)
    held[torch.linspace(0, n - 1, max(2, n // 5) + 2)[1:-1].round().long()] = True
    settings, history = searched(settings, distinct.part(~held), search)
    pairs, distinct = pairs.with_modes(settings), distinct.with_modes(settings)
    if n < DEFAULTS.few_pairs or settings.modal or math.isinf(settings.n_features):
        auto = replace(settings, ridge="auto")
        error = _held_out_error(auto, distinct.part(~held), distinct.part(held))
        trained = Accumulator(auto, expected=len(pairs)).take(pairs).finish()
        trained = replace(trained, settings=replace(trained.settings, ridge=trained.ridge))
    else:
        inputs, outputs, frame = distinct.inputs, distinct.outputs, pairs.frame
        stream = settings.stream(inputs, pairs.grid, frame.values)
        ridge, error = ridge_for(stream, inputs, outputs, held.to(inputs.device), frame.measure)
        copied = len(pairs) / n  # sums over all pairs are larger by this factor, so the ridge must be too
        trained = Accumulator(replace(settings, ridge=copied * ridge), expected=len(pairs)).take(pairs).finish()
    return trained.with_error(HELD_OUT, error), history


def _held_out_error(settings: Settings, pairs: Prepared, held: Prepared) -> float:
    """The mean error on held-out pairs of a model trained on the others."""
    trained = Accumulator(settings, expected=len(pairs)).take(pairs).finish()
    return float(Operator(trained, settings).errors_of(held).mean())


def searched(
    settings: Settings, pairs: Prepared, search: Search | None = None, stopped: Callable[[], bool] = never
) -> tuple[Settings, History]:
    """The settings with the best hyperparameters for these pairs, and the history of the search, which ends early if `stopped()`."""
    if math.isinf(settings.n_features):
        return _searched_kernel(settings, pairs.distinct(), bool(getattr(search, "verbose", False)))
    device, some = (
        settings.place(pairs.inputs),
        torch.arange(min(len(pairs), DEFAULTS.searched_pairs), device=pairs.inputs.device),
    )
    few = pairs.part(some)
    objective = objective_for(
        settings.feature_map,
        few.inputs.to(device),
        few.outputs.to(device),
        pairs.grid,
        seed=settings.random_state,
        target=int(settings.n_features),
        measure=pairs.frame.measure,
        modal=settings.modal,
    )
    history = (search or GradientSearch()).run(objective, stopped)
    chosen = {name: value for name, value in history.best.parameters.items() if name != "ridge"}
    return replace(settings, feature_map=objective.with_choices(chosen).feature_map), history


def _searched_kernel(settings: Settings, pairs: Prepared, verbose: bool) -> tuple[Settings, History]:
    """The kernel of the least leave-one-out error; a linear map has no hyperparameters but its ridge."""
    feature_map, frame = cast(ScalarFeatures, settings.feature_map), pairs.frame  # the only maps with a kernel in closed form
    if feature_map.law == "affine":
        return settings, History([Trial({}, 0.0)])
    few = pairs.part(torch.linspace(0, len(pairs) - 1, min(len(pairs), DEFAULTS.compared_pairs)).round().long())
    sizes = frame.measure.sizes(few.outputs, few.grid)
    feature_map = clone(feature_map).set_params(lengthscale=1.0)
    x, y = feature_map.coordinates(few.inputs), few.grid.embed(few.outputs)
    found, history = search_kernel(feature_map, x, y, sizes, verbose)
    return replace(settings, feature_map=found), history
