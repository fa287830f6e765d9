"""Models of one time step, applied again and again: how errors grow along trajectories held out, and whether values stay bounded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Source
from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.pairs import Dataset
from raffia.training.accumulator import Accumulator

LONGER = 10  # times the steps of a trajectory that a model is followed for, to see whether it stays bounded
GROWN = 10.0  # times the largest value of the data: what is larger has grown without bounds
ALIKE = 0.9  # the correlation of prediction and truth above which they are called alike
FOLLOWED = 8  # trajectories that are followed for long
RAISED = 4  # times that ridges are raised tenfold, to keep a model bounded


@dataclass(frozen=True, eq=False)
class Rollout:
    """Errors of a model of one step, composed, on trajectories that it had not seen."""

    errors: Float[Tensor, "steps"]
    """The mean relative error after 1, 2, … steps."""
    correlations: Float[Tensor, "steps"]
    """The mean correlation of prediction and truth."""
    trajectories: int
    followed: int
    """For how many steps some of them were followed, beyond the data."""
    bounded: bool
    """Whether all values stayed bounded."""

    @property
    def alike(self) -> int:
        """After how many steps prediction and truth are still alike."""
        below = (self.correlations < ALIKE).nonzero()
        return int(below[0]) if len(below) else len(self.correlations)

    @property
    def words(self) -> str:
        """What came of it, in a sentence."""
        last = len(self.errors)
        shown = sorted({1, *(step for step in (5, 10, 20, 50, 100, 200) if step < last), last})
        errors = ", ".join(f"{float(self.errors[step - 1]):.3g} after {step}" for step in shown)
        alike = f"for all {last}" if self.alike == last else f"for {self.alike}"
        end = "values stayed bounded" if self.bounded else "values grew without bounds"
        return (
            f"applied again and again, on {self.trajectories} trajectories held out: mean relative error {errors} steps; correlation above "
            f"{ALIKE:g} {alike} of them; over {self.followed} steps {end}"
        )


def paths_of(data: Dataset, rows: Sequence[int], source: Source) -> Tensor | None:
    """States (paths, states, *grid) that follow one another in these rows, as many of each as the shortest has; None where none do."""
    stride = 1 if source.steps is None else source.steps.stride
    rows = sorted(rows)
    breaks = [
        0,
        *(i for i, (one, other) in enumerate(pairwise(rows), 1) if other != one + 1 or other % source.each == 0),
        len(rows),
    ]
    runs = [rows[start:stop:stride] for start, stop in pairwise(breaks)]
    runs = [run for run in runs if len(run) > 1]
    if not runs:
        return None
    length = min(len(run) for run in runs)
    return torch.stack([torch.cat([data.a[run[:1]], data.y[run[:length]]]) for run in runs])


def rolled_out(model: RandomFeatureModel, paths: Tensor, steps: int) -> Rollout:
    """Follow a model along these paths, and some of them for many times as long as a trajectory of so many steps."""
    predicted = torch.as_tensor(model.rollout(paths[:, 0], paths.shape[1] - 1))[:, 1:].double()
    truth = paths[:, 1:].double()
    off, size = ((f).flatten(2).norm(dim=-1) for f in (predicted - truth, truth))
    p, t = ((f - f.flatten(2).mean(-1).reshape(*f.shape[:2], *[1] * (f.ndim - 2))).flatten(2) for f in (predicted, truth))
    correlation = (p * t).sum(-1) / (p.norm(dim=-1) * t.norm(dim=-1)).clamp(min=1e-300)
    followed = LONGER * steps
    bounded = is_bounded(model, paths, followed)
    return Rollout((off / size.clamp(min=1e-300)).mean(0), correlation.mean(0), len(paths), followed, bounded)


def is_bounded(model: RandomFeatureModel, paths: Tensor, steps: int) -> bool:
    """Whether values stay within a few times the largest of the data, for so many steps from the beginning of some paths."""
    states, most = paths[:FOLLOWED, 0], GROWN * float(paths.abs().max())
    for _ in range(steps):
        states = torch.as_tensor(model.predict(states))
        if not float(states.abs().max()) <= most:
            return False
    return True


def steadied(model: RandomFeatureModel, paths: Tensor, steps: int) -> str:
    """Raise the ridges of a model until values stay bounded, and say so; they are as they were where that does not help."""
    before = model.trained_
    for tenfold in range(RAISED + 1):
        if is_bounded(model, paths, LONGER * steps):
            return f"ridges are {10**tenfold} times as large, so that values stay bounded step after step." if tenfold else ""
        if before.statistics is None or before.partner is not None:
            break
        settings = replace(before.settings, ridge=10 ** (tenfold + 1) * before.ridge)
        try:
            after = replace(Accumulator.going_on(before), settings=settings).finish()
        except RaffiaError:
            break
        model.adopt(replace(after, settings=before.settings, noise=before.noise, pairs=before.pairs))
    model.adopt(before)
    return ""
