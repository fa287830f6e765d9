"""The result of training as one frozen value, and attributes of the estimator that read it.

Forgetting a model is dropping this value; saving is encoding it; using it on another machine is sending it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from torch import Tensor

from raffia.data import Schema, SideSchema
from raffia.errors import RaffiaError
from raffia.metrics import Sizes
from raffia.model.error_bars import ErrorBars
from raffia.model.novelty import Novelty
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.regression import Solution, Statistics

SEARCHED_FROM = 20.0  # seconds from which hyperparameters are searched by gradients; less is spent on closed forms alone


@dataclass(frozen=True, kw_only=True)
class WorkPlan:
    """What a fit does within its budget. The same plan and seed give the same model on any number of cores.

    Parameters
    ----------
    seconds : float
        The budget that the plan was made for.
    compared : int
        Pairs that features are chosen on, at most.
    trained : int
        Pairs that the model is trained on, at most.
    steps : dict
        Steps of the search of each kind of features, by name: those that were taken, where a search was cut short.
    """

    seconds: float
    compared: int
    trained: int = 2**31
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The plan in a line."""
        steps = ", ".join(f"{name} {count}" for name, count in self.steps.items() if count)
        trained = "" if self.trained >= 2**31 else f", trained on {self.trained} pairs at most"
        return f"{self.seconds:g} s: features chosen on {self.compared} pairs at most{trained}, steps of searches: {steps or 'none'}"

    @property
    def beyond(self) -> str:
        """The effect of ten times the budget, in words."""
        more = WorkPlan(seconds=10 * self.seconds, compared=self.compared)
        if not self.searched:
            what = "would also search hyperparameters by gradients" if more.searched else "would compare more kinds of features"
        elif more.longer(100) > self.longer(100):
            what = f"would search {more.longer(100) / self.longer(100):.1f} times as many steps"
        else:
            what = "would only compare and train on more pairs, where there are more"
        return f"a budget of {more.seconds:g} s {what}"

    @property
    def searched(self) -> bool:
        """Whether the budget is enough for searches by gradients."""
        return self.seconds >= SEARCHED_FROM

    def longer(self, steps: int) -> int:
        """So many steps of a minute, for this budget: they grow as its square root, three times at most."""
        return max(1, round(steps * min(3.0, math.sqrt(self.seconds / 60.0))))


LEFT_OUT, FOLDS, HELD_OUT = "leave one out", "folds", "held out"
"""The methods that estimate errors: leave-one-out, k-fold, and a held-out set."""


@dataclass(frozen=True, eq=False)
class Trained:
    """The coefficients and everything else that a trained model needs."""

    settings: Settings
    """The settings for which the coefficients were computed."""
    frame: Frame
    solution: Solution
    ridge: Any
    errors: dict[str, float] = field(default_factory=dict)
    """Estimated errors, by the name of the method."""
    noise: Any = None
    """The noise level; its type depends on the kind of coefficients."""
    statistics: Statistics | None = None
    """Statistics of the training pairs, needed to add more pairs and for error bars."""
    pairs: tuple[Tensor, Tensor] | None = None
    """The training pairs in training units, if they came at once; the noise level is estimated from them when needed."""
    scores: tuple[float, ...] = ()
    """For each held-out pair, the largest pointwise error in standard deviations: the scores of conformal bands."""
    partner: "Trained | None" = None
    """A second model; predictions are (1 − share) times ours plus share times its."""
    share: float = 0.0
    schema: Schema | None = None
    """How the pairs were read from a file, so that similar files are read in the same way."""
    sizes: Sizes | None = None
    """Norms and standard deviations of the training outputs, in which errors are reported."""
    novelty: Novelty | None = None
    """The distribution of the training inputs, to recognise extrapolation."""
    error_bars: ErrorBars | None = None
    """Error bars calibrated on left-out pairs by `raffia.fit`; they replace those of the posterior."""

    @property
    def file_schema(self) -> Schema:
        """How files are read for the model: as that of its training was, or where there was none, by its spaces."""
        by_spaces = Schema(input=SideSchema(space=self.frame.input), output=SideSchema(space=self.frame.output))
        return self.schema or by_spaces

    def known_pairs(self) -> Prepared:
        """The training pairs, where the model still has them."""
        if self.pairs is None:
            raise RaffiaError("this needs the training pairs, which a model from a file does not have: call fit on them.")
        return Prepared(self.frame, *self.pairs, self.frame.output_nodes)

    def known_statistics(self) -> Any:
        """The statistics of the training pairs, where the model still has them."""
        if self.statistics is None:
            raise RaffiaError("this needs the statistics of the training pairs: save the model with statistics=True.")
        return self.statistics

    plan: WorkPlan | None = None
    """What `raffia.fit` did within its budget."""

    def light(self, statistics: bool = False) -> "Trained":
        """Only what predictions need, for files and other machines; with `statistics`, also what error bars need."""
        settings = Settings.of(self.settings.arguments | {"device": None})
        kept = self.statistics if statistics and self.statistics is not None and self.statistics.portable else None
        partner = self.partner and self.partner.light(statistics)
        return replace(self, settings=settings, pairs=None, statistics=kept, partner=partner)

    def with_error(self, method: str, error: float) -> "Trained":
        """The same with the error that a method estimates."""
        return replace(self, errors={**self.errors, method: error})


T = TypeVar("T")


class FittedAttribute(Generic[T]):
    """An attribute that `read` computes from `trained_`. If it is None, the attribute is missing, with a message that says why."""

    def __init__(self, read: Callable[[Trained], T | None], doc: str, why_missing: str = "") -> None:
        self.read, self.__doc__, self.why_missing = read, doc, why_missing

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> T:
        if model is None:
            return self  # type: ignore[return-value]  # of the class: for documentation
        value = self.read(model.trained_)
        if value is None:
            raise AttributeError(f"this {owner.__name__} has no {self.name}: {self.why_missing}")
        return value
