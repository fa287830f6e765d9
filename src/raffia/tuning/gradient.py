"""Gradient search: autograd through features, assembly and solve, with fresh θ and a fresh split at every step."""

import math
import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from raffia.features.hyperparameters import Range
from raffia.tuning.base import History, Search, Trial
from raffia.tuning.objective import Objective

SCORED = range(10**6, 10**6 + 4)  # draws that no step sees: every candidate is scored on the same ones


@dataclass(repr=False, eq=False)
class GradientSearch(Search):
    """Adam on the log of the validation error, in the logarithms of the hyperparameters; the ridge is one of them.

    Categories, such as the activation, are settled first by a contest: `contest_steps` steps for each combination. The winner is
    searched for `steps` steps with a cosine schedule; the start, the winner of the contest and the end are then scored on
    draws that no step has seen, and the best of them is kept. A step whose factorisation fails is skipped, and the ridge raised.
    """

    steps: int = 300
    contest_steps: int = 25
    learning_rate: float = 0.1

    def run(self, objective: Objective) -> History:
        """Contest, then search."""
        history, begun = History(), time.perf_counter()
        try:
            start = objective.start()
            history.trials.append(Trial(start, objective.value(start, SCORED)))
            names = list(objective.choices)
            best: tuple[float, dict[str, Any], dict[str, float]] | None = None
            for options in product(*objective.choices.values()):
                chosen = dict(zip(names, options, strict=True))
                found = self._descend(objective.with_choices(**chosen), self.contest_steps, history, 0)
                trial = self._score(objective, chosen, found, history)
                if best is None or trial.error < best[0]:
                    best = (trial.error, chosen, found)
            assert best is not None  # product of no choices is one empty choice
            final = self._descend(objective.with_choices(**best[1]), self.steps, history, self.contest_steps, best[2])
            self._score(objective, best[1], final, history)
        except KeyboardInterrupt:
            history.interrupted = True
        history.seconds = time.perf_counter() - begun
        return history

    def _score(self, objective: Objective, chosen: dict[str, Any], found: dict[str, float], history: History) -> Trial:
        trial = Trial({**chosen, **found}, objective.with_choices(**chosen).value(found, SCORED))
        history.trials.append(trial)
        return trial

    def _descend(
        self, objective: Objective, steps: int, history: History, first_draw: int, start: dict[str, float] | None = None
    ) -> dict[str, float]:
        values = objective.start() if start is None else start
        ranges = objective.ranges
        free = {name: _to_line(values.get(name, objective.start()[name]), r).requires_grad_() for name, r in ranges.items()}
        optimiser = torch.optim.Adam(free.values(), lr=self.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=0.02 * self.learning_rate)
        for step in range(steps):
            moved = {name: _from_line(u, ranges[name]).to(objective.a.device) for name, u in free.items()}
            loss = objective.loss(moved, first_draw + step)
            optimiser.zero_grad()
            if loss is not None:
                loss.backward()
            if loss is None or not all(u.grad is not None and torch.isfinite(u.grad) for u in free.values()):
                with torch.no_grad():
                    free["ridge"] += 1.0
                continue
            history.curve.append(float(loss.detach().exp()))
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                for name, u in free.items():
                    u.clamp_(_to_line(ranges[name].low, ranges[name]), _to_line(ranges[name].high, ranges[name]))
        return {name: float(_from_line(u, ranges[name]).detach()) for name, u in free.items()}


def _to_line(value: float, r: Range) -> Tensor:
    return torch.tensor(math.log(value) if r.log else value, dtype=torch.float64)


def _from_line(u: Tensor, r: Range) -> Tensor:
    return u.exp() if r.log else u
