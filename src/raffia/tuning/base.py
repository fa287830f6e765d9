"""Searches for hyperparameters: one signature for all, and a record of what they tried. They know an objective, not a model."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import torch
from sklearn.base import BaseEstimator

from raffia.errors import RaffiaError
from raffia.measures.noise import uniform_noise
from raffia.progress import Progress
from raffia.tuning.objective import PREFIX, Objective
from raffia.tuning.workers import side_by_side

SCORED = 10**6  # first of the draws that no step sees: every candidate is scored on the same ones
SCREENED = 700_000
RANDOM_STARTS, MOST_COMBINATIONS = 32, 12


def never() -> bool:
    """What stops no search."""
    return False


@dataclass(frozen=True)
class Trial:
    """One setting that a search tried.

    Attributes
    ----------
    parameters
        The hyperparameters, by their path in a model, as in `model.set_params`.
    error
        The validation error.
    n_features
        The number of features of the model that was judged.

    Examples
    --------
    >>> from raffia.tuning import Trial
    >>> Trial({"feature_map__tau": 7.0}, error=0.02).error
    0.02
    """

    parameters: dict[str, Any]
    error: float
    n_features: int = 0


@dataclass
class History:
    """What a search tried, in order.

    Attributes
    ----------
    trials
        A `Trial` for each setting; `best` is the one with the smallest error.
    curve
        The validation error of every step.
    seconds
        How long it took.
    interrupted
        Whether it was interrupted.

    Examples
    --------
    >>> from raffia.tuning import History, Trial
    >>> History([Trial({"ridge": 1e-3}, 0.2), Trial({"ridge": 1e-6}, 0.1)]).best.parameters
    {'ridge': 1e-06}
    """

    trials: list[Trial] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)
    """The validation error of every step, where a search has steps between trials."""
    seconds: float = 0.0
    interrupted: bool = False
    stopped: Callable[[], bool] = never
    """Asked before every step of a descent: whether to take no more of them."""

    def add(self, part: "History") -> None:
        """Append what a part of the search tried."""
        self.trials += part.trials
        self.curve += part.curve

    def then(self, later: "History") -> "History":
        """This and what a search found that went on from here."""
        both, interrupted = self.trials + later.trials, self.interrupted or later.interrupted
        return History(both, self.curve + later.curve, self.seconds + later.seconds, interrupted)

    @property
    def best(self) -> Trial:
        """The trial of the least error, among those with the most features: errors of larger and smaller models do not compare."""
        valid = [trial for trial in self.trials if math.isfinite(trial.error)]
        if not valid and self.interrupted:
            raise RaffiaError("the search was interrupted before it had scored a setting: nothing was changed.")
        if not valid:
            raise RaffiaError(
                "the search found no setting with a finite validation error: the features may be undefined at the starting values. "
                "Check the data, or start from other hyperparameters."
            )
        most = max(trial.n_features for trial in valid)
        return min((trial for trial in valid if trial.n_features == most), key=lambda trial: trial.error)

    @property
    def found(self) -> str:
        """The best hyperparameters of the feature map, in words."""
        named = {name.removeprefix(PREFIX): value for name, value in self.best.parameters.items() if name != "ridge"}
        return ", ".join(f"{name} {_in_words(value)}" for name, value in named.items())

    @property
    def summary(self) -> str:
        """One sentence: what came of it, and what to make of it if little did."""
        best = self.best
        compared = [trial for trial in self.trials if trial.n_features == self.trials[0].n_features]
        first, reached = compared[0].error, min(trial.error for trial in compared)
        failed = sum(not math.isfinite(trial.error) for trial in self.trials)
        small = compared[0].n_features  # none of a kernel
        text = f"validation error {first:.4g} → {reached:.4g}{f' with {small} features' if small else ''}"
        if best.n_features != compared[0].n_features:
            text += f", {best.error:.4g} with {best.n_features}"
        text += f"; {len(self.trials)} trials and {len(self.curve)} steps in {self.seconds:.1f} s"
        if self.interrupted:
            text += "; interrupted, the best so far is kept"
        if failed:
            text += f"; {failed} trials had no finite error"
        if math.isfinite(first) and reached > 0.99 * first and len(self.trials) > 1:
            text += "; nothing better than the start was found: the error hardly depends on these hyperparameters, or the start is good"
        return text


class Search(BaseEstimator, ABC):
    """Looks for the hyperparameters of the least validation error; `verbose` shows a bar with the best so far."""

    verbose: bool = False

    def run(self, objective: Objective, stopped: Callable[[], bool] = never) -> History:
        """Try settings until the steps are taken or it is `stopped`; interrupted by Ctrl-C, a search returns what it has."""
        history, begun = History(stopped=stopped), time.perf_counter()
        steps = self.steps_for(objective)
        with torch.inference_mode(False), torch.enable_grad(), Progress("searching", steps, self.verbose) as progress:
            try:
                self.search(objective, history, progress)
            except KeyboardInterrupt:
                if not history.trials:
                    raise
                history.interrupted = True
        history.seconds, history.stopped = time.perf_counter() - begun, never
        return history

    @abstractmethod
    def search(self, objective: Objective, history: History, progress: Progress) -> None:
        """Add trials to the history, the starting values first."""

    @abstractmethod
    def steps_for(self, objective: Objective) -> int:
        """How many steps the bar will have."""


def score(objective: Objective, parameters: dict[str, Any], history: History) -> Trial:
    """Score a setting, categories included, on draws that no step has seen, and record it."""
    chosen = {name: parameters[name] for name in objective.choices if name in parameters}
    fixed = objective.with_choices(chosen)
    numbers = {name: value for name, value in parameters.items() if name in fixed.space.ranges}
    trial = Trial(chosen | numbers, fixed.value(numbers, scored_draws(objective)), objective.n_features)
    history.trials.append(trial)
    return trial


def scored_draws(objective: Objective) -> range:
    """Four draws, or more where few samples are held out in each and features do not take long."""
    held = max(1, min(objective.n_samples, len(objective.a)) // 4)
    most = 4 if objective.feature_map.expensive else 16
    return range(SCORED, SCORED + max(4, min(most, 128 // held)))


def settle(objective: Objective, error_of: Callable[[dict[str, Any]], float]) -> dict[str, Any]:
    """The categories of the least error: of all combinations if these are few, else each category by itself, the others as they are."""
    choices = objective.choices
    if not choices:
        return {}
    if few(objective):
        combinations = [dict(zip(choices, options, strict=True)) for options in product(*choices.values())]
        errors = side_by_side(error_of, combinations)
        return combinations[errors.index(min(errors))]
    present = objective.feature_map.get_params(deep=True)
    chosen = {}
    for name, options in choices.items():
        value = present[name.removeprefix(PREFIX)]
        chosen[name] = value if any(value is option or value == option for option in options) else options[0]
    return {
        name: min(options, key=lambda option, name=name: error_of(chosen | {name: option}))  # type: ignore[misc]
        for name, options in choices.items()
    }


def few(objective: Objective) -> bool:
    """Whether all combinations of categories can be tried."""
    return math.prod(len(options) for options in objective.choices.values()) <= MOST_COMBINATIONS


def contestants(objective: Objective) -> int:
    """How many combinations of categories a contest tries."""
    counts = [len(options) for options in objective.choices.values()]
    return math.prod(counts) if counts and few(objective) else sum(counts)


def defined_start(objective: Objective, screened: int = 0, swept: int = 0) -> dict[str, Any]:
    """The best of the starting values and `screened` random settings; of more of these where the objective is undefined there.

    Then every number in its turn is moved to the best of `swept` places in its range: a value orders of magnitude off is corrected here,
    not by hundreds of steps. Delicate features have neither.
    """
    start, space = objective.start(), objective.space
    if objective.feature_map.start_from_current_values:
        screened = swept = 0
    screens = range(SCREENED, SCREENED + len(scored_draws(objective)) // 4)
    tried = [(objective.value(start, screens), start)]
    draws = screened if math.isfinite(tried[0][0]) else RANDOM_STARTS
    for uniform in uniform_noise(draws, (space.size,), objective.seed, "starts") if draws else ():
        numbers = space.numbers(space.low + uniform * (space.high - space.low))
        tried.append((objective.value(numbers, screens), numbers))
    best = min(tried, key=lambda pair: pair[0])
    for name, within in space.ranges.items():
        for place in range(swept):
            moved = space.numbers(space.line(best[1] | {name: within.at((place + 0.5) / swept)}))
            best = min(best, (objective.value(moved, screens), moved), key=lambda pair: pair[0])
    return best[1]


def _in_words(value: Any) -> str:
    """A number in three digits, several of them in parentheses, or a word."""
    if torch.is_tensor(value):
        return f"({' '.join(f'{number:.3g}' for number in value.flatten().tolist())})" if value.ndim else f"{float(value):.3g}"
    return f"{value:.3g}" if type(value) is float else str(value)


@dataclass(repr=False, eq=False)
class RidgeSearch(Search):
    """A search that changes no hyperparameters: `RandomFeatureModel.tune` then finds the ridge, as after every search.

    Parameters
    ----------
    verbose
        Whether to show progress.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.problems import Burgers
    >>> from raffia.tuning import RidgeSearch
    >>> a, y = Burgers(fine_points=64).dataset(20, points=32, seed=0)
    >>> bool(RandomFeatureModel(FourierFeatures(16), 32).tune(a, y, RidgeSearch()).held_out_error_ < 1)
    True
    """

    verbose: bool = False

    def search(self, objective: Objective, history: History, progress: Progress) -> None:
        """One trial."""
        history.trials.append(Trial({}, objective.value({"ridge": 1e-8}, scored_draws(objective)), objective.n_features))
        progress.step(history.trials[0].error)

    def steps_for(self, objective: Objective) -> int:
        """One."""
        return 1
