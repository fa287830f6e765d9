"""Which features suit these data? A contest of those that apply, cheap ones first, judged on pairs that none of them saw.

From a hundred pairs on, a fifth of them is kept to judge by. Fewer are all judged, in folds, each by models trained without it, or where
that has a closed formula, each pair by a model trained without it.
The best is the one of the least mean error, or a simpler one that is as good within the noise of that judgement; and the best two are
added up, with shares that sum to one, where that is better beyond that noise.
A search tries features on small models; where these are far behind the best so far, it ends, and the candidate is given up.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import Sizes
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import Kernel
from raffia.model.copies import firsts, folds_of, groups_of, split
from raffia.model.operator import Operator
from raffia.model.preprocessing import Frame, prepare
from raffia.model.search import searched
from raffia.model.settings import Settings
from raffia.progress import Progress
from raffia.spaces import Space
from raffia.surrogate.candidates import Candidate, Glance, candidates
from raffia.tuning import GradientSearch, History
from raffia.validation import check_device

Effort = Literal["quick", "normal", "long"]
SEARCHES: dict[tuple[Effort, bool], GradientSearch | None] = {
    ("quick", False): None,
    ("quick", True): None,
    ("normal", False): GradientSearch(steps=60, contest_steps=6, screened=4, swept=3),
    ("normal", True): GradientSearch(steps=20, contest_steps=1, screened=0, swept=2),
    ("long", False): GradientSearch(),
    ("long", True): GradientSearch(steps=100, contest_steps=5, screened=4, swept=3),
}
"""By effort, and whether functions have several dimensions, where a step takes seconds."""
HOPELESS = 5.0  # times the best error so far: features as far behind are not tuned, or given up after a stage of their search
FAR = 200.0  # times the best error so far: a search whose small models begin further behind is not begun
VALIDATED, LEAST, FEW, FOLDS = 0.2, 10, 100, 5
MODAL_FEATURES = 256  # of models with modal coefficients, as they are judged
CLOSE = 1.03  # times the best error: what is further behind is no tie
WORTH = 0.97  # a sum of two is taken if its error is less than so much of the better one's
ENOUGH = {torch.float32: 1e-6, torch.float64: 1e-10}  # an error below which there is nothing left to win


@dataclass(frozen=True, eq=False)
class Entry:
    """How a candidate did: its errors and predictions on the pairs judged, the seconds it took, and what was found."""

    candidate: Candidate
    errors: Float[Tensor, "judged"]
    predicted: Tensor | None
    seconds: float
    found: str
    history: History | None = None
    relative: float | None = None
    """Its mean relative L² error, where it was trained and is judged by another measure."""

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
    """All entries in the order tried, the best, and what share of the prediction a second one has, if any."""

    entries: list[Entry]
    n_train: int
    n_validation: int
    partner: tuple[Entry, float, float] | None = None
    """The second, its share, and the error of the sum."""
    unit: str = ""
    """What errors are in, where entries are not judged by relative L² errors."""
    partner_relative: float | None = None
    """The mean relative L² error of the sum, where it is judged by another."""

    @property
    def best(self) -> Entry:
        """The one of the least error; or the first, which is simpler, of those that are as good within the noise."""
        least = min(self.entries, key=lambda entry: entry.error)
        return next(entry for entry in self.entries if _ties(entry, least))

    @property
    def header(self) -> list[str]:
        """What the columns of `rows` are."""
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


def contest(
    a: Tensor,
    y: Tensor,
    domain: Space,
    output: Space,
    n_features: int = 1024,
    seed: int = 0,
    search: GradientSearch | None = None,
    verbose: bool = False,
    said: Callable[[str], None] | None = None,
    normalize: bool | Literal["function"] | None = None,
    effort: Effort = "normal",
    streamed: bool = False,
    groups: Tensor | None = None,
    **settings: Any,
) -> Contest:
    """Tune every candidate and judge it on pairs it has not seen; `settings` go to the models.

    A candidate whose features are undefined on these data counts as infinitely wrong, and one that is far behind before it is tuned is
    not tuned. The contest ends when an error is as small as the precision of the data allows. `said` is told of every entry. `search`
    takes the place of that of the `effort`. `streamed` contests are of features that can be trained in bounded memory. Pairs of one of
    the `groups`, a number for each pair, are on one side of each split.
    """
    check_device(settings.get("device"))
    if effort not in ("quick", "normal", "long"):
        raise RaffiaError(f"effort must be 'quick', 'normal' or 'long'; got {effort!r}.")
    if domain.ndim == 0:
        raise RaffiaError(
            "inputs that are single numbers have no contest: pass them as vectors, a[:, None] with domain=Vectors()."
        )
    if len(a) < LEAST:
        raise RaffiaError(
            f"a contest holds out a fifth of the pairs, so it needs {LEAST} or more; got {len(a)}. Name the features: features=…, --map."
        )
    known = [one for one in candidates(a, y, domain, output, streamed) if search or effort != "quick" or not one.steps]
    if normalize is not None:
        known = [replace(candidate, normalize=normalize) for candidate in known]
    told = {"n_features": n_features, "ridge": "auto", "random_state": seed, "output": output, **settings}
    models = [
        Settings.of(Settings(candidate.feature_map).arguments | candidate.arguments(told, MODAL_FEATURES))
        for candidate in known
    ]
    judge = Judge(a, y, _splits(a, seed, groups), prepare(models[0], a, y).frame, groups)
    entries: list[Entry] = []
    with Progress("contest", len(known), verbose) as progress:
        for candidate, model in zip(known, models, strict=True):
            best = min((entry.error for entry in entries), default=float("inf"))
            stages = [search] if search else _stages(candidate, effort, domain.dim > 1)
            entry = judge.entry(candidate, model, stages, best)
            entries.append(entry)
            if entry.error == float("inf"):
                continue
            if said is not None:
                said(f"{judge.in_words(entry)} on {len(entry.errors)} pairs, {entry.seconds:.1f} s")
            progress.step(min(entry.error for entry in entries))
            if entry.error < ENOUGH.get(a.dtype, 0.0):
                break
    if not any(entry.error < float("inf") for entry in entries):
        raise RaffiaError(f"no features suit these data: {entries[0].found}")
    held = Contest(entries, min(len(train) for train, _ in judge.splits), len(judge.rows), unit=judge.frame.measure.unit)
    return judge.completed(held)


def _splits(a: Tensor, seed: int, groups: Tensor | None) -> list[tuple[Tensor, Tensor]]:
    """(to train on, to judge by): one fifth to judge by, or of few pairs each fifth in turn."""
    if len(a) >= FEW:
        judged, trained, _ = split(a, max(2, round(VALIDATED * len(a))), seed, "contest split", groups)
        return [(trained, judged)]
    return folds_of(a, FOLDS, seed, "contest split", groups)


@dataclass(frozen=True, eq=False)
class Judge:
    """Pairs, how they are split, and the frame by whose measure all are judged."""

    a: Tensor
    y: Tensor
    splits: list[tuple[Tensor, Tensor]]
    frame: Frame
    groups: Tensor | None = None
    """Pairs of one group are never on both sides of a split."""

    @property
    def rows(self) -> Tensor:
        """The numbers of the pairs that are judged by, in order."""
        return torch.cat([judged for _, judged in self.splits])

    @property
    def _apart(self) -> bool:
        """Whether each pair may be left out by itself: no input is a copy of another, or of its group."""
        return self.groups is None and len(firsts(groups_of(self.a))) == len(self.a)

    def entry(self, candidate: Candidate, settings: Settings, stages: Sequence[GradientSearch], best: float) -> Entry:
        """Train a candidate, tune it if it is not too far behind the best so far, in stages if there are several, and judge it."""
        begun, history, predicted = time.perf_counter(), None, []
        words = "nothing to tune"
        try:
            if candidate.kernel and len(self.splits) > 1 and self._apart:
                settings, history, guess = self._left_out(candidate, settings)
                return self._judged(candidate, settings, history, guess, words, begun)
            for number, (train, judged) in enumerate(self.splits):
                if candidate.learn is not None:
                    glance = Glance(self.a[train], self.y[train], self.frame.input, self.frame.output)
                    features, error = candidate.learn(glance, HOPELESS * best)
                    settings, words = replace(settings, feature_map=features), "made of the pairs"
                    if error > HOPELESS * best:
                        return self._given_up(candidate, error, "given up; the error is that on pairs left out", begun)
                train = train[: candidate.trained_on]
                prepared = prepare(settings, self.a[train], self.y[train])
                if candidate.tuned and len(prepared) >= 8 and (candidate.kernel or number == 0):
                    words = "not tuned"
                    if candidate.kernel:
                        settings, history = searched(settings, prepared)
                    elif stages and self._hopeful(candidate, settings, prepared, judged, best):
                        limit = self._limit(candidate) * best
                        settings, history = _searched(settings, prepared, stages, limit, best)
                        if history.best.error > limit and not history.interrupted:
                            words = f"given up after {len(history.curve)} steps; the error is that of small models"
                            return self._given_up(candidate, history.best.error, words, begun)
                        prepared = prepared.with_modes(settings)
                    elif stages:
                        words = "too far behind to be tuned"
                    if history is not None and history.interrupted:  # half a contest says nothing
                        raise KeyboardInterrupt
                predicted.append(_predicted(settings, prepared, self.a[judged]))
        except RaffiaError as failure:
            wrong = torch.full((len(self.rows),), float("inf"), dtype=torch.float64)
            return Entry(candidate, wrong, None, time.perf_counter() - begun, f"failed: {failure}")
        return self._judged(candidate, settings, history, torch.cat(predicted), words, begun)

    def in_words(self, entry: Entry) -> str:
        """An entry and its error, in both ways where it is not judged by relative L² errors."""
        if entry.relative is None:
            unit = self.frame.measure.unit
            return f"{entry.candidate.name}: error {entry.error:.2e}{unit and f' {unit}'}"
        return f"{entry.candidate.name}: error {entry.relative:.2e} ({self.frame.measure.unit} {entry.error:.2e})"

    def completed(self, held: Contest) -> Contest:
        """The contest with what is to be added to the best, if anything is."""
        partner = self.partner(held)
        if partner is None:
            return held
        (other, share, _), best = partner, held.best
        assert best.predicted is not None  # or there were no partner
        assert other.predicted is not None
        guess = torch.lerp(best.predicted, other.predicted, share)
        return replace(held, partner=partner, partner_relative=self._relative(guess))

    def _relative(self, guess: Tensor) -> float | None:
        """The mean relative L² error of these predictions, where they are judged by another."""
        if not self.frame.measure.unit:
            return None
        grid = self.frame.output.grid_of(self.y)
        return float(Sizes.of(self.y, grid).errors(self.y[self.rows], guess, grid).relative.mean())

    def _judged(
        self, candidate: Candidate, settings: Settings, history: History | None, guess: Tensor, words: str, begun: float
    ) -> Entry:
        fitted = replace(candidate, feature_map=settings.feature_map)
        errors = self.frame.errors(self.y[self.rows], guess)
        found = history.found if history else words
        return Entry(fitted, errors, guess, time.perf_counter() - begun, found, history, self._relative(guess))

    def _limit(self, candidate: Candidate) -> float:
        """How many times the best error small models may have: where features are many in the end, they say less."""
        if candidate.steps:
            return HOPELESS
        return (4 if self.frame.input.dim == 1 else 2) * HOPELESS if candidate.coefficients == "modal" else math.inf

    def _given_up(self, candidate: Candidate, error: float, words: str, begun: float) -> Entry:
        """An entry that was not trained: its error is that of the small models of its search, or what features were made by."""
        errors = torch.full((len(self.rows),), error, dtype=torch.float64)
        return Entry(candidate, errors, None, time.perf_counter() - begun, words)

    def _left_out(self, candidate: Candidate, settings: Settings) -> tuple[Settings, History | None, Tensor]:
        """Predictions of kernel and linear models trained without each pair, which have closed formulas."""
        prepared, history = prepare(settings, self.a, self.y), None
        if candidate.tuned:
            settings, history = searched(settings, prepared)
        trained = Accumulator(settings, expected=len(prepared)).take(prepared).finish()
        guess = trained.frame.in_units(prepared.outputs - Kernel(settings).left_out(trained), prepared.inputs)
        return settings, history, guess.to(self.y)[self.rows]

    def _hopeful(self, candidate: Candidate, settings: Settings, prepared: Any, judged: Tensor, best: float) -> bool:
        """Whether a search is worth its time; with modal coefficients, it takes less than training does."""
        if candidate.coefficients == "modal":
            return True
        guess = _predicted(settings, prepared, self.a[judged])
        return float(self.frame.errors(self.y[judged], guess).mean()) <= HOPELESS * best

    def partner(self, held: Contest) -> tuple[Entry, float, float] | None:
        """What to add to the best, with which share, where the sum is better than it beyond the noise."""
        best, truth = held.best, self.y[self.rows]
        found: tuple[float, float, Entry, Tensor] | None = None
        for other in held.entries:
            if other is best or other.error > HOPELESS * best.error or other.predicted is None or best.predicted is None:
                continue
            for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
                errors = self.frame.errors(truth, torch.lerp(best.predicted, other.predicted, share))
                if found is None or float(errors.mean()) < found[0]:
                    found = float(errors.mean()), share, other, errors
        if found is None or best.error < ENOUGH.get(self.a.dtype, 0.0):
            return None
        error, share, other, errors = found
        noise = noise_between(best.errors, errors)
        return (other, share, error) if error < WORTH * best.error and best.error - error > noise else None


def _stages(candidate: Candidate, effort: Effort, several: bool) -> list[GradientSearch]:
    """The searches of a candidate, one after the other; `several` dimensions have shorter ones."""
    longer = 3 if effort == "long" else 1
    if candidate.steps:
        first, *others = (longer * steps for steps in candidate.steps)
        later = [GradientSearch(steps, 0, 0, screened=0, swept=0) for steps in others]
        searches = [GradientSearch(first, 8 if several else 3, 0, screened=4, swept=0), *later]
        return [*searches[:-1], replace(searches[-1], last_steps=30 * longer)]
    search = SEARCHES[effort, several]
    if search is None or several or candidate.coefficients != "modal":
        return [] if search is None else [search]
    return [replace(search, steps=0, last_steps=0), replace(search, contest_steps=0, screened=0, swept=0)]


def _searched(
    settings: Settings, prepared: Any, stages: Sequence[GradientSearch], limit: float, best: float
) -> tuple[Settings, History]:
    """What searches find, one going on from the other as long as the error of small models is not above the limit.

    Where it is far above the best so far before a search has begun, there is none.
    """
    settings, whole = searched(settings, prepared, GradientSearch(0, 0, 0, screened=0, swept=0))
    if whole.best.error > FAR * best:
        return settings, whole
    whole = History()
    for search in stages:
        settings, history = searched(settings, prepared, search)
        whole = whole.then(history)
        if whole.interrupted or history.best.error > limit:
            break
    return settings, whole


def _predicted(settings: Settings, prepared: Any, a: Tensor) -> Tensor:
    trained = Accumulator(settings, expected=len(prepared)).take(prepared).finish(errors=False)
    return Operator(trained, settings)(a.double()).to(a)


def noise_between(one: Float[Tensor, "judged"], other: Float[Tensor, "judged"]) -> float:
    """The standard error of the difference of two mean errors on the same pairs."""
    return float((one - other).std()) / math.sqrt(len(one))


def _ties(entry: Entry, least: Entry) -> bool:
    if entry is least:
        return True
    return entry.error < CLOSE * least.error and entry.error - least.error < noise_between(entry.errors, least.errors)
