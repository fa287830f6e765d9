"""The result of a contest: an entry for each candidate, and which of them is the best."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.surrogate.candidates import Candidate
from raffia.tuning import History


@dataclass(frozen=True, kw_only=True)
class ContestDefaults:
    """Thresholds and sizes of a contest.

    Attributes
    ----------
    hopeless
        Times the best error so far: features as far behind are not searched, or given up after a stage of their search.
    far
        Times the best error so far: a search whose small models begin further behind is not begun.
    validated, folds
        The share of the pairs that is held out to judge by, and of few pairs the number of folds.
    least, few
        Pairs that a contest needs, and below which all are judged in folds.
    modal_features
        Of models with modal coefficients, as they are judged.
    close
        Times the best error: what is further behind is no tie.
    worth
        A sum of two is taken if its error is less than so much of the better one's.
    enough
        An error below which there is nothing left to win, by the precision of the data.
    """

    hopeless: float = 5.0
    far: float = 20.0
    validated: float = 0.2
    folds: int = 5
    least: int = 10
    few: int = 100
    modal_features: int = 256
    close: float = 1.03
    worth: float = 0.97
    enough: dict[torch.dtype, float] = field(default_factory=lambda: {torch.float32: 1e-6, torch.float64: 1e-10})


DEFAULTS = ContestDefaults()


@dataclass(frozen=True, eq=False)
class Entry:
    """The result of a candidate: errors and predictions for the held-out pairs, the time in seconds, and a note."""

    candidate: Candidate
    errors: Float[Tensor, "judged"]
    predicted: Tensor | None
    seconds: float
    found: str
    history: History | None = None
    relative: float | None = None
    """Its mean relative L² error, where it was trained and is judged by another measure."""
    cost: float = 0.0
    """Seconds of one training."""

    @property
    def error(self) -> float:
        """The mean of its errors, by which it is judged."""
        return float(self.errors.mean())

    @property
    def row(self) -> list[str]:
        """Features, error, seconds, what was found."""
        return [self.candidate.name, f"{self.error:.2e}", f"{self.seconds:.1f} s", self.found]


@dataclass(frozen=True, eq=False)
class Contest:
    """The results of a contest: its entries in the order tried, the best one, and the weight of a second one in a sum of both."""

    entries: list[Entry]
    n_train: int
    n_validation: int
    partner: tuple[Entry, float, float] | None = None
    """The second, its share, and the error of the sum."""
    unit: str = ""
    """What errors are in, where entries are not judged by relative L² errors."""
    leader: Entry | None = None
    """The entry of the least error along trajectories, where these decide."""
    partner_relative: float | None = None
    """The mean relative L² error of the sum, where it is judged by another."""

    @property
    def best(self) -> Entry:
        """The best entry along trajectories if these decide. Else the first, and simplest, whose error is the smallest up to noise."""
        if self.leader is not None:
            return self.leader
        least = min(self.entries, key=lambda entry: entry.error)
        return next(entry for entry in self.entries if _ties(entry, least))

    @property
    def header(self) -> list[str]:
        """The titles of the columns of `rows`."""
        return ["features", "relative error", *([f"{self.unit} (decides)"] if self.unit else []), "time", "found"]

    @property
    def rows(self) -> list[list[str]]:
        """A row for each entry: features, relative L² error, the error it is judged by where that is another, seconds, what was found."""
        rows = [self._row(entry.row, entry.relative) for entry in self.entries]
        if self.partner is None:
            return rows
        second, share, error = self.partner
        name = f"{self.best.candidate.name} + {second.candidate.name}"
        words = [name, f"{error:.2e}", "", f"shares {1 - share:.2f} and {share:.2f}"]
        return [*rows, self._row(words, self.partner_relative)]

    def _row(self, words: list[str], relative: float | None) -> list[str]:
        return [words[0], "" if relative is None else f"{relative:.2e}", *words[1:]] if self.unit else words


def noise_between(one: Float[Tensor, "judged"], other: Float[Tensor, "judged"]) -> float:
    """Return the standard error of the difference of two mean errors on the same pairs."""
    return float((one - other).std()) / math.sqrt(len(one))


def _ties(entry: Entry, least: Entry) -> bool:
    if entry is least:
        return True
    return entry.error < DEFAULTS.close * least.error and entry.error - least.error < noise_between(entry.errors, least.errors)
