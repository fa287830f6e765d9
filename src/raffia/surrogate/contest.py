"""Which features suit these data? A contest in rounds, of what is cheap first, judged on pairs that were not trained on.

What has a closed form comes first: linear maps, kernels, modal coefficients as they are. Then features are searched on small models, in
stages; after each stage those that are far behind the best are given up, so that the time goes to what is promising.

From a hundred pairs on, a fifth of them is held out to judge by. Fewer are all judged, in folds, each by models trained without it, or
where that has a closed formula, each pair by a model trained without it.
The best is the one of the least mean error, or a simpler one that is as good within the noise of that judgement; and the best two are
added up, with shares that sum to one, where that is better beyond that noise.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from sklearn.base import clone
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.model.preprocessing import Prepared, prepare
from raffia.model.search import searched
from raffia.model.splitting import folds_of, split
from raffia.progress import Standings
from raffia.surrogate.budget import DEFAULTS as BUDGET
from raffia.surrogate.budget import Clock
from raffia.surrogate.candidates import Candidate, candidates
from raffia.surrogate.entries import DEFAULTS, Contest, Entry
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.judge import Entrant, Judge
from raffia.surrogate.options import ModelOptions
from raffia.tuning import GradientSearch
from raffia.tuning.workers import side_by_side
from raffia.validation import check_device


def contest(
    data: ExamplePairs,
    options: ModelOptions,
    clock: Clock,
    *,
    search: GradientSearch | None = None,
    groups: Tensor | None = None,
    start: RandomFeatureModel | None = None,
    on_message: Callable[[str], None] | None = None,
    verbose: bool = False,
) -> Contest:
    """Judge every candidate on pairs that it was not trained on, searching the hyperparameters of those that are promising.

    A candidate whose features are undefined on these data counts as infinitely wrong. The contest ends when an error is as small as the
    precision of the data allows, or when its share of the time is spent. `search` takes the place of those of the plan. Pairs of one of
    the `groups`, an index for each pair, are on one side of each split. Features of the kind of a `start` begin with its hyperparameters.
    `verbose` shows a table while the contest is held; else `on_message` gets a line for each entry.
    """
    check_device(options.settings.get("device"))
    if data.domain.ndim == 0:
        raise RaffiaError(
            "inputs that are single numbers have no contest: pass them as vectors, a[:, None] with domain=Vectors()."
        )
    if data.n < DEFAULTS.least:
        raise RaffiaError(
            f"a contest holds out a fifth of the pairs, so it needs {DEFAULTS.least} or more; got {data.n}. "
            "Name the features: features=…, --map."
        )
    searching = search is not None or clock.plan.searched
    entrants = [
        Entrant(candidate=one, settings=options.settings_of(one, data.output, DEFAULTS.modal_features))
        for one in started(start, candidates(data.a, data.y, data.domain, data.output, data.streamed))
        if searching or not one.steps
    ]
    if clock.given:
        entrants = [one for one in entrants if one.name in clock.plan.steps] or entrants[:1]
    frame = prepare(entrants[0].settings, data.a, data.y).frame
    judge = Judge(data.a, data.y, _splits(data.a, options.random_state, groups), frame, groups)
    with Standings(f"contest, at most {clock.plan.seconds:g} s with training", verbose) as standings:
        messages = None if verbose else on_message
        rounds = _Rounds(judge, clock, searching, search, data.domain.dim > 1, messages or (lambda text: None), standings)
        rounds.hold(entrants)
    entries = sorted(rounds.entries.values(), key=lambda entry: [one.name for one in entrants].index(entry.candidate.name))
    if not any(entry.error < math.inf for entry in entries):
        raise RaffiaError(f"no features suit these data: {entries[0].found}")
    clock.record(steps={entry.candidate.name: rounds.steps.get(entry.candidate.name, 0) for entry in entries})
    return judge.completed(
        Contest(entries, min(len(train) for train, _ in judge.splits), len(judge.rows), unit=frame.measure.unit)
    )


def started(start: RandomFeatureModel | None, known: Iterable[Candidate]) -> Iterator[Candidate]:
    """Return the candidates. Those with features like the `start` model's begin with its hyperparameters."""
    for one in known:
        alike = (
            start is not None
            and type(start.feature_map) is type(one.feature_map)
            and start.feature_map.domain == one.feature_map.domain
        )
        yield replace(one, feature_map=clone(start.feature_map)) if alike and start is not None else one


@dataclass(eq=False)
class _Rounds:
    """The state of a running contest: its entries so far, and the number of steps of each search."""

    judge: Judge
    clock: Clock
    searching: bool
    search: GradientSearch | None
    several: bool
    """Whether functions have several dimensions, where a step takes seconds."""
    on_message: Callable[[str], None]
    standings: Standings
    entries: dict[str, Entry] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The least error so far."""
        return min((entry.error for entry in self.entries.values()), default=math.inf)

    @property
    def ended(self) -> bool:
        """Whether the contest is over: the best error is at the level of rounding, or the time is spent."""
        return self._won or self.clock.over(BUDGET.contest)

    @property
    def _won(self) -> bool:
        """Whether the best error is at the level of rounding, so that no candidate can be better."""
        return self.best < DEFAULTS.enough.get(self.judge.a.dtype, 0.0)

    def hold(self, entrants: list[Entrant]) -> None:
        """Evaluate the candidates: first those without a search, then those with one.

        The first candidate is cheap and comes alone. Then come features with fixed hyperparameters, together, and features fitted to the
        data, one after the other. Searches run in stages, and candidates far behind the best are dropped after each.
        """
        plain = [one for one in entrants[1:] if not one.candidate.steps]
        made = [[one] for one in plain if one.candidate.learn]  # one after the other: what is far behind the best is given up
        for group in (entrants[:1], [one for one in plain if not one.candidate.learn], *made):
            self._judge(group)
        if not self.searching:
            return
        alive = [one for one in entrants if one.searched and (one.candidate.steps or self._hopeful(one))]
        alive = self._survivors(side_by_side(partial(self._begun, best=self.best), [] if self.ended else alive))
        stage = 0
        while alive and not self.ended:
            alive = sorted(alive, key=lambda one: one.error)
            limits = [min(self.judge.mean_error, self._limit(one.candidate) * self.best) for one in alive]
            alive = side_by_side(partial(self._staged, stage=stage), list(zip(alive, limits, strict=True)))
            stage, alive = stage + 1, self._survivors(alive)
            ready = [one for one in alive if stage >= len(self._stages(one.candidate))]
            self._judge(ready, self.clock.interrupted.is_set)
            alive = [one for one in alive if one not in ready]
        self._judge([one for one in alive if one.outcome == "" and one.history is not None and one.history.curve])

    def _survivors(self, entrants: list[Entrant]) -> list[Entrant]:
        """Return the entrants that continue. The others enter the table of results as they are."""
        for one in entrants:
            if one.outcome:
                self._enter(self.judge.given_up(one))
        return [one for one in entrants if not one.outcome]

    def _hopeful(self, entrant: Entrant) -> bool:
        """Return whether an entrant's hyperparameters are searched: with modal coefficients always, else unless its error is too large."""
        entry = self.entries.get(entrant.name)
        return entrant.candidate.coefficients == "modal" or (entry is not None and entry.error <= DEFAULTS.hopeless * self.best)

    def _judge(self, entrants: list[Entrant], stopped: Callable[[], bool] | None = None) -> None:
        """Train and judge these, side by side; of one that was searched, the better of both entries counts."""
        best, stopped = self.best, stopped or (lambda: bool(self.entries) and (self._won or self.clock.over(BUDGET.closed)))
        for entry in side_by_side(lambda one: None if stopped() else self.judge.entry(one, best), entrants):
            if entry is not None:
                self._enter(entry)

    def _enter(self, entry: Entry) -> None:
        before = self.entries.get(entry.candidate.name)
        if before is None or entry.error < before.error:
            self.entries[entry.candidate.name] = entry
        state = "judged" if entry.predicted is not None else "given up"
        self.standings.update(entry.candidate.name, state, entry.error, entry.seconds)
        self.on_message(f"{self.judge.in_words(entry)} on {len(entry.errors)} pairs, {entry.seconds:.1f} s")

    def _begun(self, entrant: Entrant, best: float) -> Entrant:
        """A candidate and the error of its small models, before it is searched; given up if that is far behind."""
        begun = time.perf_counter()
        prepared = self._prepared(entrant)
        if len(prepared) < 8:
            return replace(entrant, outcome="too few pairs to search on")
        try:
            settings, history = searched(entrant.settings, prepared, GradientSearch(0, 0, 0, screened=0, swept=0))
        except RaffiaError as failure:
            return replace(entrant, outcome=f"failed: {failure}")
        error = history.trials[0].error
        far = error > DEFAULTS.far * best
        outcome = "given up as it begins; the error is that of small models" if far else ""
        return replace(entrant, settings=settings, error=error, seconds=time.perf_counter() - begun, outcome=outcome)

    def _staged(self, limited: tuple[Entrant, float], stage: int) -> Entrant:
        """A candidate after another stage of its search; given up if the error of its small models is above the limit."""
        (entrant, limit), begun = limited, time.perf_counter()
        self.standings.update(entrant.name, "searched", entrant.error, entrant.seconds)
        stop = self.clock.stop(entrant.name, self.steps.get(entrant.name, 0))
        search = self._stages(entrant.candidate)[stage]
        try:
            settings, later = searched(entrant.settings, self._prepared(entrant), search, stop)
        except RaffiaError as failure:
            return replace(entrant, error=math.inf, outcome=f"failed: {failure}")
        self.steps[entrant.name] = stop.taken
        history = later if entrant.history is None else entrant.history.then(later)
        error, outcome = later.best.error, ""
        if error > limit:
            outcome = f"given up after {len(history.curve)} steps; the error is that of small models"
        seconds = entrant.seconds + time.perf_counter() - begun
        return replace(entrant, settings=settings, history=history, error=error, seconds=seconds, outcome=outcome)

    def _prepared(self, entrant: Entrant) -> Prepared:
        """Return the pairs on which hyperparameters are searched: the training pairs of the first split."""
        train = self.judge.splits[0][0][: entrant.candidate.trained_on]
        return prepare(entrant.settings, self.judge.a[train], self.judge.y[train])

    def _limit(self, candidate: Candidate) -> float:
        """Return the largest allowed ratio of the error of a small model to the best error.

        The limit is lowest for features whose search has stages. It is higher with modal coefficients, and infinite for others.
        """
        if candidate.steps:
            return DEFAULTS.hopeless
        return (2 if self.several else 4) * DEFAULTS.hopeless if candidate.coefficients == "modal" else math.inf

    def _stages(self, candidate: Candidate) -> list[GradientSearch]:
        """The searches of a candidate, one after the other; those in several dimensions are shorter."""
        if self.search is not None:
            return [self.search]
        longer = self.clock.plan.longer
        if candidate.steps:
            first, *others = map(longer, candidate.steps)
            later = [GradientSearch(steps, 0, 0, screened=0, swept=0) for steps in others]
            searches = [GradientSearch(first, 8 if self.several else 3, 0, screened=4, swept=0), *later]
            return [*searches[:-1], replace(searches[-1], last_steps=longer(30))]
        if self.several:
            return [GradientSearch(longer(20), longer(1), longer(30), screened=0, swept=2)]
        if candidate.coefficients != "modal":
            return [GradientSearch(longer(60), longer(6), longer(30), screened=4, swept=3)]
        return [
            GradientSearch(0, longer(6), 0, screened=4, swept=3),
            GradientSearch(longer(60), 0, longer(30), screened=0, swept=0),
        ]


def _splits(a: Tensor, seed: int, groups: Tensor | None) -> list[tuple[Tensor, Tensor]]:
    """(to train on, to judge by): one fifth to judge by, or of few pairs each fifth in turn."""
    if len(a) >= DEFAULTS.few:
        judged, trained, _ = split(a, max(2, round(DEFAULTS.validated * len(a))), seed, "contest split", groups)
        return [(trained, judged)]
    return folds_of(a, DEFAULTS.folds, seed, "contest split", groups)
