"""Which features suit these data? A short contest of those that apply, each tuned, judged on pairs that none of them saw."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from raffia.checks import check_device
from raffia.errors import RaffiaError
from raffia.model.operator import Operator
from raffia.model.tuned import tuned
from raffia.progress import Progress
from raffia.spaces import Space
from raffia.surrogate.candidates import Candidate, candidates
from raffia.training.accumulator import Accumulator
from raffia.training.copies import split
from raffia.training.frame import prepare
from raffia.training.settings import Settings
from raffia.tuning import GradientSearch, History

SHORT = GradientSearch(steps=60, contest_steps=6, screened=4, swept=3)
SHORTER = GradientSearch(steps=20, contest_steps=1, screened=0, swept=2)  # in several dimensions, where a step takes seconds
HOPELESS = 5.0  # times the best error so far: untuned features that are as far behind are not tuned
VALIDATED, LEAST = 0.2, 10
ENOUGH = {torch.float32: 1e-6, torch.float64: 1e-10}  # an error below which there is nothing left to win


@dataclass(frozen=True)
class Entry:
    """How a candidate did: its error on the pairs held out, the seconds it took, and what was found."""

    candidate: Candidate
    error: float
    seconds: float
    found: str
    history: History | None = None


@dataclass(frozen=True)
class Contest:
    """All entries in the order tried, and the best."""

    entries: list[Entry]
    n_train: int
    n_validation: int

    @property
    def best(self) -> Entry:
        """The one of the least error on the pairs held out."""
        return min(self.entries, key=lambda entry: entry.error)

    @property
    def rows(self) -> list[list[str]]:
        """A row for each entry: features, error, seconds, what was found."""
        return [[e.candidate.name, f"{e.error:.2e}", f"{e.seconds:.1f} s", e.found] for e in self.entries]


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
    normalize: bool | None = None,
    **settings: Any,
) -> Contest:
    """Tune every candidate on four fifths of the pairs and judge it on the others; `settings` go to the models.

    A candidate whose features are undefined on these data counts as infinitely wrong, and one that is far behind before it is tuned is
    not tuned. The contest ends when an error is as small as the precision of the data allows. `said` is told of every entry.
    """
    check_device(settings.get("device"))
    if domain.ndim == 0:
        raise RaffiaError(
            "inputs that are single numbers have no contest: pass them as vectors, a[:, None] with domain=Vectors()."
        )
    if len(a) < LEAST:
        raise RaffiaError(
            f"a contest holds out a fifth of the pairs, so it needs {LEAST} or more; got {len(a)}. Name the features: features=…, --map."
        )
    *parts, _ = split(a, max(2, round(VALIDATED * len(a))), seed, "contest split")
    judged, trained = ((a[rows], y[rows]) for rows in parts)
    held = len(judged[0])
    search = search or (SHORT if domain.dim < 2 else SHORTER)
    entries: list[Entry] = []
    known = list(candidates(a, y, domain, output))
    if normalize is not None:
        known = [replace(candidate, normalize=normalize) for candidate in known]
    with Progress("contest", len(known), verbose) as progress:
        for candidate in known:
            own = {"random_state": seed, "output": output, **settings, **candidate.settings}
            best = min((entry.error for entry in entries), default=float("inf"))
            entry = _entry(candidate, Settings(candidate.feature_map, n_features, "auto", **own), trained, judged, search, best)
            entries.append(entry)
            if entry.error == float("inf"):
                continue
            if said is not None:
                said(f"{candidate.name}: error {entry.error:.2e} on {held} pairs, {entry.seconds:.1f} s")
            progress.step(min(entry.error for entry in entries))
            if entry.error < ENOUGH.get(a.dtype, 0.0):
                break
    if not any(entry.error < float("inf") for entry in entries):
        raise RaffiaError(f"no features suit these data: {entries[0].found}")
    return Contest(entries, len(trained[0]), held)


def _entry(
    candidate: Candidate,
    settings: Settings,
    pairs: tuple[Tensor, Tensor],
    judged: tuple[Tensor, Tensor],
    search: GradientSearch,
    best: float,
) -> Entry:
    """Train a candidate, tune it if it is not too far behind the best so far, and judge it."""
    begun, history = time.perf_counter(), None
    try:
        prepared = prepare(settings, *pairs)
        trained = Accumulator(settings, expected=len(prepared)).take(prepared).finish()
        error = float(Operator(trained, settings).compare(*judged)[1].mean())
        if candidate.tuned and len(prepared) >= 8 and error <= HOPELESS * best:
            trained, history = tuned(settings, prepared, search)
            if history.interrupted:  # half a contest says nothing
                raise KeyboardInterrupt
            error = float(Operator(trained, trained.settings).compare(*judged)[1].mean())
    except RaffiaError as failure:
        return Entry(candidate, float("inf"), time.perf_counter() - begun, f"failed: {failure}")
    words = "too far behind to be tuned" if candidate.tuned else "nothing to tune"
    fitted = replace(candidate, feature_map=trained.settings.feature_map)
    return Entry(fitted, error, time.perf_counter() - begun, history.found if history else words, history)
