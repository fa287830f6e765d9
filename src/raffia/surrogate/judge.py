"""How candidates are judged: by models of some pairs, on the others."""

import math
import time
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import Sizes
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import Kernel
from raffia.model.operator import Operator
from raffia.model.preprocessing import Frame, prepare
from raffia.model.search import searched
from raffia.model.settings import Settings
from raffia.model.splitting import firsts, groups_of
from raffia.surrogate.candidates import Candidate
from raffia.surrogate.entries import DEFAULTS, Contest, Entry, noise_between
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.tuning import History
from raffia.tuning.workers import side_by_side


@dataclass(frozen=True, kw_only=True, eq=False)
class Entrant:
    """A candidate in the contest, with its settings, the history of its search, and the error of its small models."""

    candidate: Candidate
    settings: Settings
    history: History | None = None
    error: float = math.inf
    seconds: float = 0.0
    outcome: str = ""
    """Why it is not searched any further."""

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return self.candidate.name

    @property
    def searched(self) -> bool:
        """Whether a search by gradients has something to find."""
        return self.candidate.tuned and not self.candidate.kernel


@dataclass(frozen=True, eq=False)
class Judge:
    """Evaluates candidates on held-out pairs; all splits and the error measure are the same for every candidate."""

    a: Tensor
    y: Tensor
    splits: list[tuple[Tensor, Tensor]]
    frame: Frame
    groups: Tensor | None = None
    """Pairs of one group are never on both sides of a split."""

    @property
    def rows(self) -> Tensor:
        """The indices of the held-out pairs of all splits, in their order."""
        return torch.cat([judged for _, judged in self.splits])

    @property
    def mean_error(self) -> float:
        """The error of the constant prediction, the mean of the training outputs."""
        guesses = [self.y[train].mean(0).expand(len(judged), *self.y.shape[1:]) for train, judged in self.splits]
        return float(self.frame.errors(self.y[self.rows], torch.cat(guesses)).mean())

    @property
    def _apart(self) -> bool:
        """Whether pairs can be left out one at a time: there are no groups and no repeated inputs."""
        return self.groups is None and len(firsts(groups_of(self.a))) == len(self.a)

    def entry(self, entrant: Entrant, best: float) -> Entry:
        """Train a candidate and return its entry, with its errors on held-out pairs.

        Features fitted to the data are given up if their error is far above `best`, the smallest so far.
        """
        begun = time.perf_counter()
        try:
            settings, history, guess, error = self._guessed(entrant, best)
        except RaffiaError as failure:
            return self._without_model(entrant, math.inf, f"failed: {failure}", begun)
        if guess is None:
            return self._without_model(entrant, error, "given up; the error is that on pairs left out", begun)
        candidate = replace(entrant.candidate, feature_map=settings.feature_map)
        errors = self.frame.errors(self.y[self.rows], guess)
        plain = "made of the pairs" if candidate.learn else "not tuned" if entrant.searched else "nothing to tune"
        seconds = entrant.seconds + time.perf_counter() - begun
        cost = (time.perf_counter() - begun) / len(self.splits)
        return Entry(
            candidate, errors, guess, seconds, history.found if history else plain, history, self._relative(guess), cost
        )

    def given_up(self, entrant: Entrant) -> Entry:
        """An entry that was not trained: its error is that of the small models of its search."""
        return self._without_model(entrant, entrant.error, entrant.outcome, time.perf_counter())

    def _without_model(self, entrant: Entrant, error: float, outcome: str, begun: float) -> Entry:
        errors = torch.full((len(self.rows),), error, dtype=torch.float64)
        return Entry(entrant.candidate, errors, None, entrant.seconds + time.perf_counter() - begun, outcome)

    def _guessed(self, entrant: Entrant, best: float) -> tuple[Settings, History | None, Tensor | None, float]:
        """Return the settings, the history of the search, and predictions for held-out pairs; or None and the error if it is too large."""
        candidate, settings, history = entrant.candidate, entrant.settings, entrant.history
        if candidate.kernel and len(self.splits) > 1 and self._apart:
            return *self._left_out(candidate, settings), 0.0
        parts = side_by_side(lambda sides: self._part(entrant, sides, best), self.splits)
        for part in parts:
            if part[2] is None:
                return part
        settings, kernels, _, _ = parts[-1]
        return settings, kernels or history, torch.cat([part[2] for part in parts if part[2] is not None]), 0.0

    def _part(
        self, entrant: Entrant, sides: tuple[Tensor, Tensor], best: float
    ) -> tuple[Settings, History | None, Tensor | None, float]:
        """Return the same for one split."""
        (train, judged), settings, history = sides, entrant.settings, None
        if entrant.candidate.learn is not None:
            pairs = ExamplePairs(self.a[train], self.y[train], self.frame.input, self.frame.output)
            features, error = entrant.candidate.learn(pairs, DEFAULTS.hopeless * best)
            settings = replace(settings, feature_map=features)
            if error > DEFAULTS.hopeless * best:
                return settings, None, None, error
        train = train[: entrant.candidate.trained_on]
        prepared = prepare(settings, self.a[train], self.y[train])
        if entrant.candidate.kernel and entrant.candidate.tuned and len(prepared) >= 8:
            settings, history = searched(settings, prepared)
        trained = Accumulator(settings, expected=len(prepared)).take(prepared.with_modes(settings)).finish(errors=False)
        return settings, history, Operator(trained, settings)(self.a[judged].double()).to(self.a), 0.0

    def in_words(self, entry: Entry) -> str:
        """Return a line with the name of an entry and its error, or the reason why it failed."""
        name = entry.candidate.name
        if entry.error == math.inf:
            return f"{name}: {entry.found}"
        if entry.relative is None:
            unit = self.frame.measure.unit
            return f"{name}: error {entry.error:.2e}{unit and f' {unit}'}"
        return f"{name}: error {entry.relative:.2e} ({self.frame.measure.unit} {entry.error:.2e})"

    def completed(self, held: Contest) -> Contest:
        """Return the contest with the partner of the best entry, if a sum of both is better."""
        partner = self.partner(held)
        if partner is None or held.best.predicted is None or partner[0].predicted is None:
            return held
        guess = torch.lerp(held.best.predicted, partner[0].predicted, partner[1])
        return replace(held, partner=partner, partner_relative=self._relative(guess))

    def _relative(self, guess: Tensor) -> float | None:
        """Return the mean relative L² error of these predictions, or None if entries are compared by it anyway."""
        if not self.frame.measure.unit:
            return None
        grid = self.frame.output.grid_of(self.y)
        return float(Sizes.of(self.y, grid).errors(self.y[self.rows], guess, grid).relative.mean())

    def _left_out(self, candidate: Candidate, settings: Settings) -> tuple[Settings, History | None, Tensor]:
        """Return leave-one-out predictions of a kernel or linear model by a closed formula, with settings and history."""
        prepared, history = prepare(settings, self.a, self.y), None
        if candidate.tuned:
            settings, history = searched(settings, prepared)
        trained = Accumulator(settings, expected=len(prepared)).take(prepared).finish()
        guess = trained.frame.in_units(prepared.outputs - Kernel(settings).left_out(trained), prepared.inputs)
        return settings, history, guess.to(self.y)[self.rows]

    def partner(self, held: Contest) -> tuple[Entry, float, float] | None:
        """Return the entry to average with the best, its weight and the error, or None if the error falls by less than its noise."""
        best, truth = held.best, self.y[self.rows]
        found: tuple[float, float, Entry, Tensor] | None = None
        for other in held.entries:
            if (
                other is best
                or other.error > DEFAULTS.hopeless * best.error
                or other.predicted is None
                or best.predicted is None
            ):
                continue
            for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
                errors = self.frame.errors(truth, torch.lerp(best.predicted, other.predicted, share))
                if found is None or float(errors.mean()) < found[0]:
                    found = float(errors.mean()), share, other, errors
        if found is None or best.error < DEFAULTS.enough.get(self.a.dtype, 0.0):
            return None
        error, share, other, errors = found
        noise = noise_between(best.errors, errors)
        return (other, share, error) if error < DEFAULTS.worth * best.error and best.error - error > noise else None
