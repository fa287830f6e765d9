"""Tuning: hyperparameters by a search, then the ridge for all features, then training on all pairs."""

from dataclasses import replace

import torch

from raffia.errors import RaffiaError
from raffia.model.operator import Operator
from raffia.regression import ridge_for
from raffia.training.accumulator import Accumulator
from raffia.training.frame import Prepared
from raffia.training.settings import Settings
from raffia.training.trained import HELD_OUT, Trained
from raffia.tuning import GradientSearch, History, Search, objective_for

SEARCHED = 2**13  # pairs that a search looks at, at most
FEW = 100  # distinct pairs, below which those held out are too few to find a ridge on


def tuned(settings: Settings, pairs: Prepared, search: Search | None = None) -> tuple[Trained, History]:
    """The model of the best hyperparameters found, trained on all pairs, and what was tried.

    A fifth of the pairs is kept from the search, and the error on them of a model that was not trained on them is that on pairs held
    out. The ridge is the best there; of fewer than a hundred pairs, and of modal coefficients, the best by leaving out one at a time.
    """
    distinct = pairs.distinct()
    n = len(distinct)
    if n < 8:
        raise RaffiaError(f"tune holds out a part of the data, so it needs 8 pairs or more; got {n} with inputs of their own.")
    inputs, outputs, frame = distinct.inputs, distinct.outputs, pairs.frame
    held = torch.zeros(n, dtype=torch.bool)
    held[torch.linspace(0, n - 1, max(2, n // 5) + 2)[1:-1].round().long()] = True
    device, seen = settings.theta(inputs).device, (~held).nonzero()[:SEARCHED, 0].to(inputs.device)
    objective = objective_for(
        settings.feature_map,
        inputs[seen].to(device),
        outputs[seen].to(device),
        pairs.grid,
        seed=settings.random_state,
        target=settings.n_features,
        measure=frame.measure,
        modal=settings.modal,
    )
    history = (search or GradientSearch()).run(objective)
    chosen = {name: value for name, value in history.best.parameters.items() if name != "ridge"}
    settings = replace(settings, feature_map=objective.with_choices(chosen).feature_map)
    if n < FEW or settings.modal:
        auto = replace(settings, ridge="auto")
        part = Operator(Accumulator(auto, expected=n - int(held.sum())).take(distinct.part(~held)).finish(), auto)
        error = float(part.errors_of(distinct.part(held)).mean())
        trained = Accumulator(auto, expected=len(pairs)).take(pairs).finish()
        trained = replace(trained, settings=replace(trained.settings, ridge=trained.ridge))
    else:
        stream = settings.stream(inputs, pairs.grid, frame.values)
        ridge, error = ridge_for(stream, inputs, outputs, held.to(inputs.device), frame.measure)
        copied = len(pairs) / n  # sums over all pairs are so much larger, and so must be the ridge
        trained = Accumulator(replace(settings, ridge=copied * ridge), expected=len(pairs)).take(pairs).finish()
    return trained.with_error(HELD_OUT, error), history
