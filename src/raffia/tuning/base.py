"""Searches for hyperparameters: one signature for all, and a record of what they tried. They know an objective, not a model."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import BaseEstimator

from raffia.errors import RaffiaError
from raffia.tuning.objective import Objective


@dataclass(frozen=True)
class Trial:
    """One setting that was tried, and its validation error."""

    parameters: dict[str, Any]
    error: float


@dataclass
class History:
    """What a search tried, in order; the best is the one to use."""

    trials: list[Trial] = field(default_factory=list)
    curve: list[float] = field(default_factory=list)
    """The validation error of every step, where a search has steps between trials."""
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def best(self) -> Trial:
        """The trial of the least error."""
        valid = [trial for trial in self.trials if math.isfinite(trial.error)]
        if not valid:
            raise RaffiaError(
                "the search found no setting with a finite validation error: the features may be undefined at the starting values. "
                "Check the data, or start from other hyperparameters."
            )
        return min(valid, key=lambda trial: trial.error)


class Search(BaseEstimator, ABC):
    """Looks for the hyperparameters of the least validation error."""

    @abstractmethod
    def run(self, objective: Objective) -> History:
        """Try settings; interrupted by Ctrl-C, a search returns what it has."""
