"""The options of a fit, and the model that it chooses, before and after training."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.model import RandomFeatureModel
from raffia.model.accumulator import Accumulator
from raffia.model.error_bars import rank_of
from raffia.model.model_defaults import DEFAULTS as MODEL
from raffia.model.preprocessing import prepare
from raffia.model.search import searched
from raffia.model.trained import LEFT_OUT, Trained
from raffia.surrogate.budget import DEFAULTS as BUDGET
from raffia.surrogate.budget import Clock
from raffia.surrogate.candidates import Candidate, named
from raffia.surrogate.contest import contest
from raffia.surrogate.entries import DEFAULTS as CONTEST
from raffia.surrogate.entries import Contest, Entry
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.options import ModelOptions
from raffia.surrogate.refinement import composed, coordinate_search, left_out
from raffia.surrogate.rollouts import Paths
from raffia.tuning import GradientSearch, History
from raffia.tuning.workers import side_by_side


@dataclass(frozen=True, kw_only=True)
class FinalDefaults:
    """How the last decision is made.

    Attributes
    ----------
    few, held_out
        Pairs below which all are trained on unless a number is to be held out, and the share that is held out by default.
    better
        Times the leave-one-out error of the winner: what another model must be below to take its place.
    close, near
        Times the best error: what is as close is trained on all pairs before the last decision, and what is not near is never taken.
    most
        Pairs up to which there is a last decision.
    trainings
        How many times a model must be trained after the contest: for its errors, and on all pairs.
    """

    few: int = 10
    held_out: float = 0.2
    better: float = 0.95
    close: float = 1.5
    near: float = 5.0
    most: int = 1024
    trainings: int = 2


DEFAULTS = FinalDefaults()
FEW = DEFAULTS.few


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a fit, which do not depend on the data."""

    features: FeatureMap | str
    options: ModelOptions
    clock: Clock
    held_out: float | int | None = None
    tune: GradientSearch | None = None
    start: RandomFeatureModel | None = None
    verbose: bool = False
    on_message: Callable[[str], None] | None = None
    band: float | None = None
    groups: np.ndarray | None = None
    blocks: bool = False
    one_step: bool = False
    """Whether models of time steps are judged by one step alone."""

    @property
    def seed(self) -> int:
        """Of splits and of features."""
        return self.options.random_state

    def share_of(self, n: int) -> float | int:
        """Return the share or the number of n pairs to hold out; zero for few pairs unless the user gave a number."""
        share = DEFAULTS.held_out if self.held_out is None else self.held_out
        return share if n >= DEFAULTS.few or share >= 1 else 0.0

    def report(self, notes: Sequence[str]) -> None:
        """Pass a message to the user before the errors are known."""
        for note in notes if self.on_message else ():
            self.on_message(note)  # type: ignore[misc]  # there is one, or there were no notes

    def check_band(self, pairs: int) -> None:
        """Raise an error if too few pairs are held out for the requested level of the band."""
        try:
            _ = self.band is None or rank_of(self.band, pairs)
        except RaffiaError as error:
            raise RaffiaError(f"band={self.band!r}: {error} held_out=… (--held-out) says how many.") from None

    def model(self, candidate: Candidate, output: object) -> RandomFeatureModel:
        """An untrained model."""
        wanted = self.options.n_features if self.clock.plan.searched else CONTEST.modal_features
        return RandomFeatureModel(**self.options.arguments(candidate, output, wanted))

    def chosen(self, data: ExamplePairs, groups: Tensor | None = None, paths: Paths | None = None) -> "Choice":
        """Return the model to train, with the features given by the user or those that win a contest on these pairs.

        Hyperparameters are searched in a contest, and for given features if `tune` is set. With trajectories in `paths`, errors along
        these decide on the last changes of hyperparameters.
        """
        if self.features == "auto":
            some, few = self._compared(data, groups)
            held = contest(
                some, self.options, self.clock, search=self.tune, groups=few, start=self.start,
                on_message=self.on_message, verbose=self.verbose,
            )  # fmt: skip
            if paths is not None and self._follows(paths):
                held = self.led_along(held, data, paths)
            best, second = held.best, held.partner
            model = self._final(best, data, paths)
            partner = None if second is None else (self._final(second[0], data, paths), second[1])
            candidates = (best.candidate,) if second is None else (best.candidate, second[0].candidate)
            return Choice(model, partner, held, best.history, candidates)
        if isinstance(self.features, str):
            candidate = named(self.features, data.a, data.y, data.domain, data.output, data.streamed)
        else:
            candidate = Candidate("given", self.features, normalize=self.features.normalized)
        model = self.model(candidate, data.output)
        if self.tune is None and not (candidate.kernel and candidate.tuned):
            return Choice(model, candidates=(candidate,))
        return Choice(model, history=model.tune(data.a, data.y, self.tune).history_, candidates=(candidate,))

    def _follows(self, paths: Paths) -> bool:
        """Whether models are compared along trajectories."""
        return paths.marching.plain and len(paths.states) > 2 and not self.one_step

    def led_along(self, held: Contest, data: ExamplePairs, paths: Paths) -> Contest:
        """The contest, led by the entry of the least error along trajectories, where several are near to the best after one step.

        One step does not tell them apart where states are noisy: a model that follows the noise has the same error, and drifts.
        """
        near = [one for one in held.entries if one.predicted is not None and one.error < DEFAULTS.near * held.best.error]
        near = [one for one in near if not one.candidate.kernel]
        if held.best not in near or len(near) < 2:
            return held
        errors = side_by_side(
            lambda one: composed(self.model(one.candidate, data.output).settings, paths)(one.candidate.feature_map), near
        )
        leader = near[min(range(len(near)), key=errors.__getitem__)]
        return held if leader is held.best else replace(held, leader=leader, partner=None)

    def _compared(self, data: ExamplePairs, groups: Tensor | None) -> tuple[ExamplePairs, Tensor | None]:
        """The pairs that features are chosen on: all, or as many as the plan has, evenly spread."""
        count = self.clock.plan.compared
        if data.n <= count:
            return data, groups
        rows = torch.linspace(0, data.n - 1, count).round().long()
        self.report(
            [f"features are chosen on {count} of {data.n} pairs, as many as the budget allows; --budget (budget=…) has more."]
        )
        return replace(data, a=data.a[rows], y=data.y[rows]), None if groups is None else groups[rows]

    def affordable(self, choice: "Choice", data: Dataset) -> Dataset:
        """The pairs to train on: all, or as many as the time that is left allows, by the time that training took in the contest."""
        clock, held = self.clock, choice.contest
        if held is not None and not clock.given:
            winners = [held.best] + ([held.partner[0]] if held.partner else [])
            power = 2.5 if any(entry.candidate.kernel for entry in winners) else 1.0
            modal = [entry.candidate.coefficients == "modal" for entry in winners]
            more = [
                max(1.0, model.n_features / CONTEST.modal_features) if own else 1.0
                for model, own in zip(choice.models, modal, strict=True)
            ]
            cost = max(entry.cost * many for entry, many in zip(winners, more, strict=True))
            rest = (BUDGET.training * clock.plan.seconds - clock.seconds) / DEFAULTS.trainings
            left = max(BUDGET.small * clock.plan.seconds / 2, rest)
            count = int(held.n_train * max(1.0, (left / max(cost, 1e-3)) ** (1 / power)))
            if count < len(data):
                clock.record(trained=count)
        count = clock.plan.trained
        if count >= len(data):
            return data
        self.report([f"the model is trained on {count} of {len(data)} pairs, as many as the budget allows."])
        return data.part(torch.linspace(0, len(data) - 1, count).round().long().tolist())

    def trained(self, choice: "Choice", data: ExamplePairs) -> "Choice":
        """Return the choice trained on these pairs, or another entry of the contest with a smaller leave-one-out error on them.

        The contest compared models of fewer pairs, and some gain more from the others than the winner does. The linear map and the kernel
        are always compared once more, others if they were close.
        """
        held, finalists = choice.contest, []
        if held is not None and data.n <= DEFAULTS.most and not choice.model.feature_map.fitted_to_data:
            finalists = [entry for entry in held.entries if self._is_finalist(entry, choice)]
        choices = [choice, *(self._alone(choice, entry, data) for entry in finalists)]
        side_by_side(lambda one: one.fit(data.a, data.y, self.options.ridge), choices)
        errors = [one.model.trained_.errors.get(LEFT_OUT, math.inf) for one in choices]
        if held is None or errors[0] == math.inf:
            return choice
        if held.partner is not None:
            errors[0] *= held.partner[2] / held.best.error
        best = min(range(1, len(choices)), key=errors.__getitem__, default=0)
        return choices[best] if errors[best] < DEFAULTS.better * errors[0] else choice

    def _is_finalist(self, entry: Entry, choice: "Choice") -> bool:
        """Whether an entry is trained on all pairs beside the winner."""
        if choice.contest is None or entry.candidate in choice.candidates or entry.predicted is None:
            return False
        best = choice.contest.best.error
        if entry.candidate.kernel:
            return entry.error < DEFAULTS.near * best or not entry.candidate.tuned  # a linear map takes no time
        return entry.error < DEFAULTS.close * best and not entry.candidate.feature_map.fitted_to_data

    def others(self, choice: "Choice", data: ExamplePairs) -> Iterator[tuple[str, "Choice"]]:
        """The other entries of a contest that are not far behind, the best first, each trained when it is reached."""
        if choice.contest is None:
            return
        best = choice.contest.best
        for entry in sorted(choice.contest.entries, key=lambda entry: entry.error):
            if entry.predicted is None or entry is best or entry.error > DEFAULTS.near * best.error:
                continue
            other = self._alone(choice, entry, data)
            other.fit(data.a, data.y, self.options.ridge)
            yield entry.candidate.name, other

    def _alone(self, choice: "Choice", entry: Entry, data: ExamplePairs) -> "Choice":
        """Another entry of the contest in place of the winner."""
        model = self._final(entry, data, refine=False)
        other = replace(choice, model=model, partner=None, history=entry.history, candidates=(entry.candidate,))
        other.constrain(choice.model.constraints)
        return other

    def _final(self, entry: Entry, data: ExamplePairs, paths: Paths | None = None, refine: bool = True) -> RandomFeatureModel:
        """Return the untrained model of an entry. Kernel hyperparameters are searched again if there are many more pairs.

        For some families, hyperparameters are then refined one by one.
        """
        model, candidate = self.model(entry.candidate, data.output), entry.candidate
        settled = data.n >= CONTEST.few and 4 * len(entry.errors) >= MODEL.compared_pairs
        if not (candidate.kernel and settled):
            model.set_params(feature_map=fitted_to(model, candidate, data.a, data.y))
        if entry.history is not None and candidate.swept and self.tune is None and refine:
            along = paths is not None and self._follows(paths)
            error = composed(model.settings, paths) if paths and along else left_out(model.settings, data.a, data.y)
            model.set_params(feature_map=coordinate_search(model.feature_map, error))
        return model


@dataclass(frozen=True)
class Choice:
    """A model to train, and another with its share of the predictions, if there is one; and how they were chosen."""

    model: RandomFeatureModel
    partner: tuple[RandomFeatureModel, float] | None = None
    contest: Contest | None = None
    history: History | None = None
    candidates: tuple[Candidate, ...] = ()
    """What the models were made from, in their order."""

    @property
    def given_constraints(self) -> bool:
        """Whether the user has set constraints."""
        return bool(self.model.constraints)

    @property
    def fitted_to_data(self) -> bool:
        """Whether features are, so that leaving pairs out by closed formulas says too little."""
        return any(model.feature_map.fitted_to_data for model in self.models)

    def constrain(self, constraints: Any) -> None:
        """Set the constraints of the models before they are trained."""
        for model in self.models:
            model.set_params(constraints=constraints)

    def fit(self, a: Tensor, y: Tensor, ridge: float | str | None = None) -> RandomFeatureModel:
        """Train, with another ridge if there is one."""
        side_by_side(lambda one: one.set_params(ridge=one.ridge if ridge is None else ridge).fit(a, y), self.models)
        return self.joined()

    def repeated(self, a: Tensor, y: Tensor) -> RandomFeatureModel:
        """Return this choice trained on other pairs. Fitted features, kernels and ridges are chosen again from these alone."""
        models = []
        for model, candidate in zip(self.models, self.candidates, strict=True):
            new = RandomFeatureModel(**model.get_params(deep=False))
            new.set_params(feature_map=fitted_to(new, candidate, a, y))
            models.append(new.fit(a, y))
        return self._with(models)

    def refitted(self, a: Tensor, y: Tensor) -> RandomFeatureModel:
        """Return this choice trained on other pairs, with the same ridges."""
        return self._with([_renewed(model).fit(a, y) for model in self.models])

    def extended(self, data: Dataset, held: list[int]) -> RandomFeatureModel:
        """Return this choice trained on all pairs. Expensive features are evaluated only for the `held` pairs, which are new."""
        again = []
        for model in self.models:
            new, dear = _renewed(model), model.feature_map.expensive and model.trained_.pairs is not None
            again.append(new.adopt(_extended(model, new, data.part(held))) if dear else new.fit(data.a, data.y))
        return self._with(again)

    def _with(self, models: list[RandomFeatureModel]) -> RandomFeatureModel:
        """Return this choice with these trained models, combined in the same way."""
        partner = None if self.partner is None else (models[1], self.partner[1])
        return replace(self, model=models[0], partner=partner).joined()

    def joined(self) -> RandomFeatureModel:
        """The model, which adds the share of the other."""
        if self.partner is None:
            return self.model
        other, share = self.partner
        return self.model.adopt(replace(self.model.trained_, partner=other.trained_, share=share))

    @property
    def models(self) -> list[RandomFeatureModel]:
        """The model, and the other that is added to it, if there is one."""
        return [self.model] if self.partner is None else [self.model, self.partner[0]]


def fitted_to(model: RandomFeatureModel, candidate: Candidate, a: Tensor, y: Tensor) -> FeatureMap:
    """Return the features of a model, fitted to these pairs if its family is, or if its kernel has hyperparameters."""
    if candidate.learn is not None:
        pairs = ExamplePairs(a, y, model.feature_map.domain, model.output or model.feature_map.domain)
        return candidate.learn(pairs, math.inf)[0]
    if candidate.kernel and candidate.tuned:
        return searched(model.settings, prepare(model.settings, a, y))[0].feature_map
    return model.feature_map


def _renewed(model: RandomFeatureModel) -> RandomFeatureModel:
    """Return an untrained copy with the ridge of this model."""
    return RandomFeatureModel(**model.get_params(deep=False) | {"ridge": model.ridge_})


def _extended(model: RandomFeatureModel, new: RandomFeatureModel, more: Dataset) -> Trained:
    """Return a trained model with the pairs of an earlier one and more, by adding statistics."""
    before, settings = replace(model.trained_, partner=None, share=0.0), new.settings.frozen()
    assert before.pairs is not None  # as whoever asks has checked
    prepared = prepare(settings, more.a, more.y, before.frame)
    after = replace(Accumulator.resume(before), settings=settings).take(prepared).finish()
    a, y = (torch.cat([old, f.to(old)]) for old, f in zip(before.pairs, (prepared.inputs, prepared.outputs), strict=True))
    return replace(after, noise=before.noise, pairs=(a, y))
