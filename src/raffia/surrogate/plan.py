"""What was asked of a fit, and the model that it chooses, before and after training."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from raffia.data import Dataset, Source
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.model import RandomFeatureModel
from raffia.model.accumulator import Accumulator
from raffia.model.conformal import rank_of
from raffia.model.preprocessing import prepare
from raffia.model.search import searched
from raffia.model.trained import LEFT_OUT, Trained
from raffia.surrogate.candidates import Candidate, Glance, named
from raffia.surrogate.contest import MODAL_FEATURES, Contest, Effort, Entry, contest
from raffia.surrogate.rollouts import Paths
from raffia.surrogate.sweeping import composed, left_out, swept
from raffia.tuning import GradientSearch, History

FEW = 10  # fewer pairs are all trained on, unless a number of them is to be held out
HELD_OUT = 0.2  # the share of pairs held out by default
MOST_COMPARED = 1024  # pairs, up to which the linear map and the kernel are compared once more by leave-one-out errors
BETTER = 0.95  # times the leave-one-out error of the winner: what a simpler model must be below to take its place
NEAR = 5.0  # times the best error: what is further behind is not taken for being bounded


@dataclass(frozen=True)
class Plan:
    """What was asked of a fit, whatever the pairs are."""

    features: FeatureMap | str
    n_features: int
    ridge: float | Literal["auto"]
    held_out: float | int | None
    seed: int
    tune: GradientSearch | None
    normalize: bool | Literal["function"] | None
    effort: Effort
    verbose: bool
    said: Callable[[str], None] | None
    band: float | None
    groups: np.ndarray | None
    blocks: bool
    settings: dict[str, Any]
    one_step: bool = False
    """Whether models of time steps are judged by one step alone."""

    def share_of(self, n: int) -> float | int:
        """What is held out of n pairs: a share or a count; nothing of few pairs, unless a count was given."""
        share = HELD_OUT if self.held_out is None else self.held_out
        return share if n >= FEW or share >= 1 else 0.0

    def tell(self, notes: Sequence[str]) -> None:
        """Say what is to be known before, or beside, the errors."""
        if self.said is not None:
            for note in notes:
                self.said(note)

    def check_band(self, pairs: int) -> None:
        """Refuse to begin where too few pairs are held out for the band that is wanted."""
        try:
            _ = self.band is None or rank_of(self.band, pairs)
        except RaffiaError as error:
            raise RaffiaError(f"band={self.band!r}: {error} held_out=… (--held-out) says how many.") from None

    def model(self, candidate: Candidate, output: object) -> RandomFeatureModel:
        """An untrained model."""
        told = {"n_features": self.n_features, "ridge": self.ridge, "random_state": self.seed, "output": output}
        told = candidate.arguments(told | self.settings, MODAL_FEATURES if self.effort == "quick" else None)
        said = {} if self.normalize is None else {"normalize": self.normalize}
        return RandomFeatureModel(candidate.feature_map, **told | said)  # type: ignore[arg-type]

    def chosen(
        self,
        a: Tensor,
        y: Tensor,
        pairs: Dataset | Source,
        streamed: bool = False,
        groups: Tensor | None = None,
        paths: Paths | None = None,
    ) -> "Choice":
        """The model to train: with features as given, by their name, or by a contest on these pairs; tuned where that was asked for.

        Where the pairs are steps of `paths`, these decide on the last numbers of features.
        """
        spaces = (pairs.domain, pairs.output_space)
        if self.features == "auto":
            told = {"verbose": self.verbose, "said": self.said, "normalize": self.normalize, **self.settings}
            told |= {"effort": self.effort, "streamed": streamed, "groups": groups}
            held = contest(a, y, *spaces, self.n_features, self.seed, self.tune, **told)
            best, second = held.best, held.partner
            model = self._settled(best, a, y, spaces[1], paths)
            partner = None if second is None else (self._settled(second[0], a, y, spaces[1], paths), second[1])
            candidates = (best.candidate,) if second is None else (best.candidate, second[0].candidate)
            return Choice(model, partner, held, best.history, candidates)
        if isinstance(self.features, str):
            candidate = named(self.features, a, y, *spaces, streamed)
        else:
            candidate = Candidate("given", self.features, normalize=self.features.normalized)
        model = self.model(candidate, spaces[1])
        if self.tune is None and not (candidate.kernel and candidate.tuned):
            return Choice(model, candidates=(candidate,))
        return Choice(model, history=model.tune(a, y, self.tune).history_, candidates=(candidate,))

    def trained(self, choice: "Choice", a: Tensor, y: Tensor, output: object) -> "Choice":
        """The choice, trained on these pairs; or the linear map or kernel of the contest, if its leave-one-out error here is less.

        The contest compared models of fewer pairs, and some gain more from the others than the winner does.
        """
        choice.fit(a, y, self.ridge)
        held, own = choice.contest, choice.model.trained_.errors.get(LEFT_OUT)
        if held is None or own is None or len(a) > MOST_COMPARED or choice.model.feature_map.fitted_to_data:
            return choice
        if held.partner is not None:
            own *= held.partner[2] / held.best.error
        for entry in held.entries:
            near = entry.error < NEAR * held.best.error or not entry.candidate.tuned  # a linear map takes no time
            if not entry.candidate.kernel or entry.candidate in choice.candidates or not near:
                continue
            other = self._alone(choice, entry, a, y, output)
            error = other.model.trained_.errors.get(LEFT_OUT, math.inf)
            if error < BETTER * own:
                choice, own = other, error
        return choice

    def others(self, choice: "Choice", a: Tensor, y: Tensor, output: object) -> Iterator[tuple[str, "Choice"]]:
        """The other entries of a contest that are not far behind, the best first, each trained when it is reached."""
        if choice.contest is None:
            return
        best = choice.contest.best
        for entry in sorted(choice.contest.entries, key=lambda entry: entry.error):
            if entry.predicted is None or entry is best or entry.error > NEAR * best.error:
                continue
            yield entry.candidate.name, self._alone(choice, entry, a, y, output)

    def _alone(self, choice: "Choice", entry: Entry, a: Tensor, y: Tensor, output: object) -> "Choice":
        """Another entry of the contest in place of the winner, trained."""
        model = self._settled(entry, a, y, output, last_word=False)
        other = replace(choice, model=model, partner=None, history=entry.history, candidates=(entry.candidate,))
        other.constrain(choice.model.constraints)
        other.fit(a, y, self.ridge)
        return other

    def _settled(
        self, entry: Entry, a: Tensor, y: Tensor, output: object, paths: Paths | None = None, last_word: bool = True
    ) -> RandomFeatureModel:
        """The model of an entry; where every fold had a search of its own, one on all pairs decides; numbers of some are moved again,
        for the last word on features that won."""
        model = self.model(entry.candidate, output)
        model.set_params(feature_map=fitted_to(model, entry.candidate, a, y))
        if entry.history is not None and entry.candidate.swept and self.tune is None and last_word:
            along = paths is not None and paths.marching.plain and len(paths.states) > 2 and not self.one_step
            error = composed(model.settings, paths) if along and paths else left_out(model.settings, a, y)
            model.set_params(feature_map=swept(model.feature_map, error))
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
        """Whether a user has said what outputs obey."""
        return bool(self.model.constraints)

    @property
    def fitted_to_data(self) -> bool:
        """Whether features are, so that leaving pairs out by closed formulas says too little."""
        return any(model.feature_map.fitted_to_data for model in self._models())

    def constrain(self, constraints: Any) -> None:
        """Say what predictions must obey, before they are trained."""
        for model in self._models():
            model.set_params(constraints=constraints)

    def fit(self, a: Tensor, y: Tensor, ridge: float | Literal["auto"] | None = None) -> RandomFeatureModel:
        """Train, with another ridge if there is one."""
        for model in self._models():
            model.set_params(ridge=model.ridge if ridge is None else ridge).fit(a, y)
        return self.joined()

    def repeated(self, a: Tensor, y: Tensor) -> RandomFeatureModel:
        """The same choice trained on other pairs: features fitted to data, kernels and ridges are found again from these alone."""
        models = []
        for model, candidate in zip(self._models(), self.candidates, strict=True):
            new = RandomFeatureModel(**model.get_params(deep=False))
            new.set_params(feature_map=fitted_to(new, candidate, a, y))
            models.append(new.fit(a, y))
        return self._with(models)

    def refitted(self, a: Tensor, y: Tensor) -> RandomFeatureModel:
        """The same on other pairs, with the ridges that were found."""
        return self._with([_renewed(model).fit(a, y) for model in self._models()])

    def extended(self, data: Dataset, held: list[int]) -> RandomFeatureModel:
        """The same on all pairs, those that were `held` out included: features that take long are evaluated for these only."""
        again = []
        for model in self._models():
            new, dear = _renewed(model), model.feature_map.expensive and model.trained_.pairs is not None
            again.append(new.adopt(_extended(model, new, data.part(held))) if dear else new.fit(data.a, data.y))
        return self._with(again)

    def _with(self, models: list[RandomFeatureModel]) -> RandomFeatureModel:
        """These trained models in place of ours, joined as they are."""
        partner = None if self.partner is None else (models[1], self.partner[1])
        return replace(self, model=models[0], partner=partner).joined()

    def joined(self) -> RandomFeatureModel:
        """The model, which adds the share of the other."""
        if self.partner is None:
            return self.model
        other, share = self.partner
        return self.model.adopt(replace(self.model.trained_, partner=other.trained_, share=share))

    def _models(self) -> list[RandomFeatureModel]:
        return [self.model] if self.partner is None else [self.model, self.partner[0]]


def fitted_to(model: RandomFeatureModel, candidate: Candidate, a: Tensor, y: Tensor) -> FeatureMap:
    """The features of a model, fitted to these pairs where its family does that, or its kernel has hyperparameters."""
    if candidate.learn is not None:
        glance = Glance(a, y, model.feature_map.domain, model.output or model.feature_map.domain)
        return candidate.learn(glance, math.inf)[0]
    if candidate.kernel and candidate.tuned:
        return searched(model.settings, prepare(model.settings, a, y))[0].feature_map
    return model.feature_map


def _renewed(model: RandomFeatureModel) -> RandomFeatureModel:
    """The same, untrained, with the ridge that was found."""
    return RandomFeatureModel(**model.get_params(deep=False) | {"ridge": model.ridge_})


def _extended(model: RandomFeatureModel, new: RandomFeatureModel, more: Dataset) -> Trained:
    """What a model was trained to, with more pairs, by the settings of a new one: statistics add."""
    before, settings = replace(model.trained_, partner=None, share=0.0), new.settings.frozen()
    assert before.pairs is not None  # as whoever asks has checked
    prepared = prepare(settings, more.a, more.y, before.frame)
    after = replace(Accumulator.resume(before), settings=settings).take(prepared).finish()
    a, y = (torch.cat([old, f.to(old)]) for old, f in zip(before.pairs, (prepared.inputs, prepared.outputs), strict=True))
    return replace(after, noise=before.noise, pairs=(a, y))
