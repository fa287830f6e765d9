"""All that training found, as one frozen value: dropping it is forgetting, encoding it is saving, sending it is sending the model."""

from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from raffia.data import Schema
from raffia.metrics import Sizes
from raffia.model.error_bars import ErrorBars
from raffia.model.novelty import Novelty
from raffia.model.preprocessing import Frame
from raffia.model.settings import Settings
from raffia.regression import Solution, Statistics

LEFT_OUT, FOLDS, HELD_OUT = "leave one out", "folds", "held out"
"""The methods that give errors: models trained without each sample in turn, without each fold, and pairs that no model saw."""


@dataclass(frozen=True, eq=False)
class Trained:
    """The coefficients, and everything that makes them a model."""

    settings: Settings
    """What the coefficients were found with."""
    frame: Frame
    solution: Solution
    ridge: Any
    errors: dict[str, float] = field(default_factory=dict)
    """Errors to expect, by the name of the method that gave them."""
    noise: Any = None
    """The noise level, as the kind of coefficients has it."""
    statistics: Statistics | None = None
    """What more pairs can be added to; error bars need it too."""
    pairs: tuple[Tensor, Tensor] | None = None
    """The training pairs in training units, where all of them came at once: the noise level is read off them, when asked for."""
    scores: tuple[float, ...] = ()
    """The largest error at a point, in deviations of the outputs, of each pair held out: bands are read off them."""
    partner: "Trained | None" = None
    """Another, whose predictions are added, with its share; ours have the rest."""
    share: float = 0.0
    schema: Schema | None = None
    """How the pairs were read from a file, so that others of its kind are read alike."""
    sizes: Sizes | None = None
    """How large training outputs are and how much they vary, where that is known: errors are reported in these units."""
    novelty: Novelty | None = None
    """What tells inputs unlike those of the training."""
    error_bars: ErrorBars | None = None
    """Calibrated on left-out pairs by `raffia.fit`; they take the place of the posterior's."""

    def light(self, statistics: bool = False) -> "Trained":
        """What predictions need and no more, for files and for other machines; with `statistics`, what error bars need."""
        settings = Settings.of(self.settings.arguments | {"device": None})
        kept = self.statistics if statistics and self.statistics is not None and self.statistics.portable else None
        partner = self.partner and self.partner.light(statistics)
        return replace(self, settings=settings, pairs=None, statistics=kept, partner=partner)

    def with_error(self, method: str, error: float) -> "Trained":
        """The same, and the error that a method gives."""
        return replace(self, errors={**self.errors, method: error})
