"""Gradient search: autograd through features, assembly and solve."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from raffia.progress import Progress
from raffia.tuning.base import History, Search, contestants, defined_start, few, score, settle
from raffia.tuning.objective import Objective, SearchSpace


@dataclass(repr=False, eq=False)
class GradientSearch(Search):
    """Minimise the validation error over the hyperparameters by gradients through features, assembly and solve.

    The unknowns are the logarithms of the hyperparameters and of the ridge. Each step of Adam has new θ and a new split.
    Categories, such as the activation, are chosen first by short searches for each combination. The start, every contestant
    and the end are compared on draws that no step used, and the best is kept.

    Parameters
    ----------
    steps
        The number of steps of the search.
    contest_steps
        The number of steps for each combination of categories.
    last_steps
        The number of steps at the end with larger models, for models of many features.
    screened, swept
        The number of random starting points. From the best one, each hyperparameter is set in turn to `swept` values in its range.
    learning_rate
        That of Adam, at the start of a cosine schedule.
    verbose
        Whether to show progress.

    Examples
    --------
    See `examples/plot_06_tuning.py` in the gallery.

    >>> from raffia.tuning import GradientSearch
    >>> GradientSearch(steps=20)
    GradientSearch(steps=20)
    """

    steps: int = 200
    contest_steps: int = 15
    last_steps: int = 30
    screened: int = 8
    swept: int = 5
    learning_rate: float = 0.1
    verbose: bool = False

    def steps_for(self, objective: Objective) -> int:
        """Contest, search and the last rung."""
        return self.contest_steps * contestants(objective) + self.steps + (self.last_steps if objective.last else 0)

    def search(self, objective: Objective, history: History, progress: Progress) -> None:
        """Contest, then search, then the last rung."""
        score(objective, objective.start(), history)
        ends: list[tuple[dict[str, Any], dict[str, Any], History]] = []

        def descended(options: dict[str, Any]) -> float:
            contestant, own = objective.with_choices(options), History()
            begin = defined_start(contestant, self.screened, self.swept if few(objective) else 0)
            end = self._descend(contestant, self.contest_steps, own, progress, 0, begin)
            error = score(objective, options | end, own).error
            ends.append((options, end, own))
            return error

        try:
            chosen = settle(objective, descended)
        finally:  # also where it is interrupted
            for _, _, own in sorted(ends, key=lambda end: repr(end[0])):
                history.trials += own.trials
                history.curve += own.curve
        fixed = objective.with_choices(chosen)
        found = next((end for options, end, _ in ends if options == chosen), None) if few(objective) else None
        if found is None:
            found = defined_start(fixed, self.screened, self.swept)
        found = self._descend(fixed, self.steps, history, progress, self.contest_steps, found)
        score(objective, chosen | found, history)
        if objective.last is not None:
            best = history.best.parameters
            chosen = {name: best[name] for name in chosen if name in best}  # the start has those of the map
            rung = objective.with_choices(chosen).with_last()
            score(rung, best, history)
            score(rung, chosen | self._descend(rung, self.last_steps, history, progress, 0, best), history)

    def _descend(
        self, objective: Objective, steps: int, history: History, progress: Progress, first_draw: int, start: dict[str, Any]
    ) -> dict[str, Any]:
        space = objective.space
        u = space.line(start).to(objective.a.device).requires_grad_()
        bounded = _Bounded(objective, space, space.low.to(u), space.high.to(u))
        adam, taken = _Adam(torch.zeros_like(u), torch.zeros_like(u)), 0
        for draw in range(first_draw, first_draw + steps):
            if history.stopped():
                break
            u.grad = None
            loss = bounded.loss(u, draw)
            if loss is not None:
                loss.backward()
            if loss is None or u.grad is None or not torch.isfinite(u.grad).all():
                bounded.raise_ridge(u)
                progress.step()
                continue
            rate = self.learning_rate * (0.02 + 0.98 * (1 + math.cos(math.pi * taken / steps)) / 2)
            taken += 1
            adam.step(u, rate, taken)
            u.data.clamp_(bounded.low, bounded.high)
            history.curve.append(float(loss.detach().exp()))
            progress.step(history.curve[-1])
        return space.numbers(u)


@dataclass(frozen=True, eq=False)
class _Adam:
    """Running means of the gradient and of its square; torch's own takes two seconds to import."""

    mean: Tensor
    square: Tensor

    @torch.no_grad()
    def step(self, u: Tensor, rate: float, number: int) -> None:
        assert u.grad is not None  # as whoever steps has checked
        self.mean.lerp_(u.grad, 0.1)
        self.square.lerp_(u.grad.square(), 0.001)
        root = (self.square / (1 - 0.999**number)).sqrt_().add_(1e-8)
        u.addcdiv_(self.mean / (1 - 0.9**number), root, value=-rate)


@dataclass(frozen=True)
class _Bounded:
    """An objective of u, evaluated at the projection onto its box, plus the squared distance to it."""

    objective: Objective
    space: SearchSpace
    low: Tensor
    high: Tensor

    def loss(self, u: Tensor, draw: int) -> Tensor | None:
        inside = torch.minimum(torch.maximum(u, self.low), self.high)
        loss = self.objective.loss(self.space.values(inside), draw)
        return None if loss is None else loss + (u - inside).square().sum()

    @torch.no_grad()
    def raise_ridge(self, u: Tensor) -> None:
        u[-1] += 1.0  # the ridge is the last of the unknowns
        u.clamp_(self.low, self.high)
