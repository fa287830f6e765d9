"""Tuning: hyperparameters by a search, then the ridge for all features, then training on all pairs."""

from dataclasses import replace

from raffia.errors import RaffiaError
from raffia.regression import Streamed, dual_ridge_for, ridge_for
from raffia.spaces import POINT
from raffia.training.accumulator import Accumulator
from raffia.training.frame import Prepared
from raffia.training.settings import Settings
from raffia.training.trained import HELD_OUT, Trained
from raffia.tuning import GradientSearch, History, Search, objective_for

SEARCHED = 2**13  # pairs that a search looks at, at most


def tuned(settings: Settings, pairs: Prepared, search: Search | None = None) -> tuple[Trained, History]:
    """The model of the best hyperparameters found, trained on all pairs, and what was tried."""
    if len(pairs) < 8:
        raise RaffiaError(f"tune holds out a part of the data, so it needs 8 pairs or more; got {len(pairs)}.")
    inputs, outputs, frame = pairs.inputs, pairs.outputs, pairs.frame
    device = settings.theta(inputs).device
    objective = objective_for(
        settings.feature_map,
        inputs[:SEARCHED].to(device),
        outputs[:SEARCHED].to(device),
        pairs.grid,
        seed=settings.random_state,
        target=settings.n_features,
        measure=frame.measure,
    )
    history = (search or GradientSearch()).run(objective)
    chosen = {name: value for name, value in history.best.parameters.items() if name != "ridge"}
    settings = replace(settings, feature_map=objective.with_choices(chosen).feature_map)
    stream = settings.stream(inputs, pairs.grid, frame.values)
    if frame.values == POINT and 2 * len(inputs) <= settings.n_features:
        ridge, error = dual_ridge_for(Streamed.assemble(stream, inputs, outputs), frame.measure)
    else:
        ridge, error = ridge_for(stream, inputs, outputs, max(1, len(inputs) // 5), frame.measure)
    trained = Accumulator(replace(settings, ridge=ridge), expected=len(pairs)).take(pairs).finish()
    return trained.with_error(HELD_OUT, error), history
