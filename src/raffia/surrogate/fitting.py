"""From data to a surrogate: features chosen, trained, and judged on pairs held out. What `raffia fit` does, as a function."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from raffia.data import Source, open_source
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.model import RandomFeatureModel
from raffia.model.conformal import rank_of, scores_of
from raffia.model.file import CLASSES
from raffia.model.tuned import searched
from raffia.pairs import Dataset, Part, elements_of
from raffia.regression import available_memory
from raffia.storage import archive
from raffia.surrogate.candidates import Candidate, named
from raffia.surrogate.contest import MODAL_FEATURES, Contest, Effort, Entry, contest
from raffia.training.accumulator import Accumulator
from raffia.training.copies import split
from raffia.training.frame import prepare
from raffia.training.settings import check_numbers
from raffia.training.trained import HELD_OUT, Trained
from raffia.tuning import GradientSearch, History

SEARCHED, MOST_HELD = 512, 256  # pairs to choose features on, and to hold out, where memory cannot hold all of them
FEW = 10  # fewer pairs are all trained on, unless a number of them is to be held out


@dataclass(frozen=True)
class Surrogate:
    """A trained model and what is known of its errors."""

    model: RandomFeatureModel
    n_train: int
    test: Dataset | None
    """The pairs that its errors are of, if there were any."""
    rows: list[int] | None
    """Their numbers in the data, where they were held out from it."""
    predicted: Tensor | None
    errors: Tensor | None
    """The relative error of each."""
    baselines: dict[str, float]
    """The mean errors, on the same pairs, of what needs no features: always the mean function of the training
    (of 512 pairs of it, where memory does not hold all), the best linear map."""
    split: str
    contest: Contest | None
    history: History | None
    seconds: float

    def half_widths(self, level: float) -> list[float]:
        """How far the band of `model.band` reaches to either side of predictions: a number, or one for each channel or component."""
        width, scale = self.model.band(level).width, self.model.output_scaling_.scale
        return [width] if scale is None else (width * scale).flatten().tolist()


@dataclass(frozen=True)
class _Plan:
    """What was asked of a fit, whatever the pairs are."""

    features: FeatureMap | str
    n_features: int
    ridge: float | Literal["auto"]
    held_out: float | int
    seed: int
    tune: GradientSearch | None
    normalize: bool | Literal["function"] | None
    effort: Effort
    verbose: bool
    said: Callable[[str], None] | None
    band: float | None
    settings: dict[str, Any]

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

    def chosen(self, a: Tensor, y: Tensor, pairs: Dataset | Source, streamed: bool = False) -> "_Choice":
        """The model to train: with features as given, by their name, or by a contest on these pairs; tuned where that was asked for."""
        spaces = (pairs.domain, pairs.output_space)
        if self.features == "auto":
            told = {"verbose": self.verbose, "said": self.said, "normalize": self.normalize, **self.settings}
            told |= {"effort": self.effort, "streamed": streamed}
            held = contest(a, y, *spaces, self.n_features, self.seed, self.tune, **told)
            best, second = held.best, held.partner
            model = self._settled(best, a, y, spaces[1])
            partner = None if second is None else (self._settled(second[0], a, y, spaces[1]), second[1])
            return _Choice(model, partner, held, best.history)
        if isinstance(self.features, str):
            candidate = named(self.features, a, y, *spaces, streamed)
        else:
            candidate = Candidate("given", self.features, normalize=self.features.normalized)
        model = self.model(candidate, spaces[1])
        if self.tune is None and not (candidate.kernel and candidate.tuned):
            return _Choice(model)
        return _Choice(model, history=model.tune(a, y, self.tune).history_)

    def _settled(self, entry: Entry, a: Tensor, y: Tensor, output: object) -> RandomFeatureModel:
        """The model of an entry; where every fold had a search of its own, one on all pairs decides."""
        model = self.model(entry.candidate, output)
        if entry.candidate.kernel and entry.history is not None:
            found = searched(model.settings, prepare(model.settings, a, y))[0]
            model.set_params(feature_map=found.feature_map)
        return model


@dataclass(frozen=True)
class _Choice:
    """A model to train, and another with its share of the predictions, if there is one; and how they were chosen."""

    model: RandomFeatureModel
    partner: tuple[RandomFeatureModel, float] | None = None
    contest: Contest | None = None
    history: History | None = None

    def fit(self, a: Tensor, y: Tensor, ridge: float | Literal["auto"] | None = None) -> RandomFeatureModel:
        """Train, with another ridge if there is one."""
        for model in self._models():
            model.set_params(ridge=model.ridge if ridge is None else ridge).fit(a, y)
        return self.joined()

    def refitted(self, data: Dataset, held: list[int]) -> RandomFeatureModel:
        """The same on all pairs, those `held` out before included, with the ridges that were found."""
        again = []
        for model in self._models():
            new = RandomFeatureModel(**model.get_params(deep=False) | {"ridge": model.ridge_})
            dear = model.feature_map.dear and model.trained_.pairs is not None
            again.append(new.adopt(_extended(model, new, data.part(held))) if dear else new.fit(data.a, data.y))
        partner = None if self.partner is None else (again[1], self.partner[1])
        return replace(self, model=again[0], partner=partner).joined()

    def joined(self) -> RandomFeatureModel:
        """The model, which adds the share of the other."""
        if self.partner is None:
            return self.model
        other, share = self.partner
        return self.model.adopt(replace(self.model.trained_, partner=other.trained_, share=share))

    def _models(self) -> list[RandomFeatureModel]:
        return [self.model] if self.partner is None else [self.model, self.partner[0]]


def _extended(model: RandomFeatureModel, new: RandomFeatureModel, more: Dataset) -> Trained:
    """What a model was trained to, with more pairs, by the settings of a new one: statistics add, so no feature is evaluated again."""
    before, settings = model.trained_, new.settings.frozen()
    assert before.pairs is not None  # as whoever asks has checked
    prepared = prepare(settings, more.a, more.y, before.frame)
    after = replace(Accumulator.going_on(before), settings=settings).take(prepared).finish()
    a, y = (torch.cat([old, f.to(old)]) for old, f in zip(before.pairs, (prepared.inputs, prepared.outputs), strict=True))
    return replace(after, noise=before.noise, pairs=(a, y))


def fit(
    data: Dataset | Source | str | os.PathLike[str],
    features: FeatureMap | str = "auto",
    n_features: int = 1024,
    ridge: float | Literal["auto"] = "auto",
    held_out: float | int = 0.2,
    test: Dataset | None = None,
    refit: bool = True,
    seed: int = 0,
    tune: GradientSearch | None = None,
    normalize: bool | Literal["function"] | None = None,
    verbose: bool = False,
    said: Callable[[str], None] | None = None,
    *,
    effort: Effort = "normal",
    band: float | None = None,
    stream: bool | None = None,
    batches: Mapping[str, Any] | None = None,
    scheduler: str | None = None,
    **settings: Any,
) -> Surrogate:
    """Train a surrogate on a dataset, or on a file that `raffia.read` understands.

    `features` are a feature map, the name of a family of them, or "auto", which holds a contest of those that apply. `held_out` pairs
    (a share below 1, or a number) are kept from everything and give the errors; then, with `refit`, the model is trained on all pairs
    with the hyperparameters found. Of fewer than ten pairs a share is none. `test` gives the errors instead, where there is a dataset
    for it. `effort` says how long a contest may take: "quick", "normal" or "long". Equal seeds give equal splits. `normalize=None` leaves
    it to the features. `settings` go to the model.

    The pairs that give the errors also calibrate `model.band`, for any level that they are enough for; `band` is one for which they must
    be, else nothing is begun.

    A file whose pairs would take more than a quarter of the free memory, or any with `stream=True`, is read once, a batch at a time, with
    the options `batches` of `raffia.training.batches.fit_batches`, or on the cluster of a Dask `scheduler`. Then the last pairs are held
    out, at most 256, and nothing is trained on them; features are chosen, or tuned, on 512 pairs spread over the others.
    """
    begun = time.perf_counter()
    check_numbers(n_features, ridge)
    pairs = open_source(data) if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(pairs, (Dataset, Source)):
        raise RaffiaError(f"data must be a Dataset or a path; got {type(data).__name__}. Pass raffia.Dataset(a, y, domain).")
    share = held_out if len(pairs) >= FEW or held_out >= 1 else 0.0
    plan = _Plan(features, n_features, ridge, share, seed, tune, normalize, effort, verbose, said, band, settings)
    source = pairs if isinstance(pairs, Source) else None
    if source is not None and (scheduler or (too_large(source) if stream is None else stream)):
        if test is not None:
            raise RaffiaError("test=… (--test) is for data that are read as a whole: with streams, use model.errors then.")
        surrogate = _streamed(plan, source, batches or {}, scheduler)
    else:
        surrogate = _whole(plan, pairs, test, refit)
    if source is not None:
        model = surrogate.model
        model.adopt(replace(model.trained_, reading=source.reading))
    return replace(surrogate, seconds=time.perf_counter() - begun)


def too_large(source: Source) -> bool:
    """Whether the pairs would take more than a quarter of the memory that is free."""
    return 8 * elements_of(source) * len(source) > available_memory(torch.device("cpu")) // 4


def _whole(plan: _Plan, pairs: Dataset | Source, test: Dataset | None, refit: bool) -> Surrogate:
    """Pairs that memory holds: some at random are held out, and trained on in the end."""
    data = pairs.dataset()
    n, seed = len(data), plan.seed
    count = 0 if test is not None else _count(plan.held_out, n)
    plan.check_band(count if test is None else len(test))
    held_rows, others, told = split(data.a, count, seed, "held out")
    rows, train = sorted(held_rows.tolist()), sorted(others.tolist())
    if count and told and plan.said is not None:
        plan.said(told)
    a, y = (data.a[train], data.y[train]) if count else (data.a, data.y)
    choice = plan.chosen(a, y, data)
    held, history, model = choice.contest, choice.history, choice.model
    if history is None or held is not None or plan.ridge != "auto":
        model = choice.fit(a, y, plan.ridge)
    words = "all pairs were used for training" + ("" if test is None else "; the errors are of other data")
    if count:
        test, words = data.part(rows), f"{len(rows)} of {n} pairs at random, seed {seed}"
    predicted, errors, baselines = None, None, {}
    if test is not None:
        _check_test(test, data)
        predicted, errors = model.compare(test.a, test.y)
        baselines = _baselines(model, y.double().mean(0), test)
        if held is not None:
            baselines |= _linear(plan, held, a, y, data, test)
    if count and refit:
        model = choice.refitted(data, rows)
        words += (
            f"; the errors are of the model trained on the other {len(train)}, the model itself was then trained on all {n}"
        )
    if test is not None and predicted is not None and errors is not None:
        model.adopt(_judged(model, predicted, errors, test))
    return Surrogate(model, len(train), test, rows if count else None, predicted, errors, baselines, words, held, history, 0.0)


def _streamed(plan: _Plan, source: Source, batches: Mapping[str, Any], scheduler: str | None) -> Surrogate:
    """Pairs that memory cannot hold: one pass over the file, or on a cluster, with a checkpoint to go on from."""
    n = len(source)
    count = min(_count(plan.held_out, n), MOST_HELD)
    plan.check_band(count)
    part = Part(source, range(n - count))
    checkpoint = batches.get("checkpoint")
    kept = None if checkpoint is None else Path(f"{checkpoint}.features")
    some = _spread(source, part.rows, SEARCHED)
    asked = repr((plan.features, plan.tune, plan.n_features, plan.seed, plan.normalize, n, source.stamp))
    held = history = None
    if kept is not None and kept.is_file() and (content := archive.read(kept, CLASSES)).get("asked") == asked:
        model = plan.model(Candidate("kept", content["features"], **content["settings"]), source.output_space)
    else:
        choice = plan.chosen(*some, source, streamed=True)
        model, held, history = choice.model, choice.contest, choice.history
        if kept is not None:  # for the same command after a kill: searches on other numbers of threads end in other digits
            told = {"normalize": model.normalize}
            archive.write(kept, {"asked": asked, "features": model.feature_map, "settings": told})
    model.set_params(ridge=plan.ridge)
    if scheduler is None:
        model.fit(part, **{"verbose": plan.verbose, **batches})
    else:
        model.fit(source.opened, scheduler=scheduler, stop=len(part))
    if kept is not None:
        kept.unlink(missing_ok=True)
    test = predicted = errors = rows = None
    baselines: dict[str, float] = {}
    if count:
        rows = list(range(len(part), n))
        a, y = source.read(range(len(part), n))
        test = Dataset(a, y, source.domain, source.settings, source.output)
        predicted, errors = model.compare(a, y)
        baselines = _baselines(model, some[1].double().mean(0), test)
        model.adopt(_judged(model, predicted, errors, test))
    split = f"the last {count} of {n} pairs; the model was trained on the others"
    return Surrogate(model, len(part), test, rows, predicted, errors, baselines, split, held, history, 0.0)


def _judged(model: RandomFeatureModel, predicted: Tensor, errors: Tensor, test: Dataset) -> Trained:
    """What was trained, with the mean error on pairs held out and the largest error at a point of each, by which bands are drawn."""
    trained = model.trained_.with_error(HELD_OUT, float(errors.mean()))
    scale = trained.frame.output_scaling.stretch(torch.ones_like(predicted))
    return replace(trained, scores=tuple(scores_of(lambda _: (predicted, scale), test.a, test.y).tolist()))


def _baselines(model: RandomFeatureModel, mean: Tensor, test: Dataset) -> dict[str, float]:
    """The error of always predicting the mean output of the training."""
    return {"the mean function": float(model.trained_.frame.errors(test.y, mean.expand(test.y.shape)).mean())}


def _linear(plan: _Plan, held: Contest, a: Tensor, y: Tensor, data: Dataset, test: Dataset) -> dict[str, float]:
    """The error of the linear entry of the contest, trained as the model was."""
    linear = next((entry.candidate for entry in held.entries if entry.candidate.name in ("linear", "affine")), None)
    if linear is None:
        return {}
    model = plan.model(linear, data.output_space)
    try:
        return {"the best linear map": float(model.set_params(ridge="auto").fit(a, y).errors(test.a, test.y).mean())}
    except RaffiaError:
        return {}


def _check_test(test: Dataset, data: Dataset) -> None:
    for name, one, other in (("inputs", test.domain, data.domain), ("outputs", test.output, data.output)):
        if one != other:
            raise RaffiaError(f"the test data have {name} in {one}, the training data in {other}: they must be of one kind.")


def _spread(source: Source, rows: range, count: int) -> tuple[Tensor, Tensor]:
    """About `count` pairs in up to 16 runs, evenly spread: few places to read, and not all from the beginning."""
    runs = min(16, max(1, len(rows) // count))
    each = min(count, len(rows)) // runs
    starts = [rows[0] + i * (len(rows) - each) // max(1, runs - 1) for i in range(runs)]
    parts = [source.read(range(start, start + each)) for start in starts]
    return torch.cat([a for a, _ in parts]), torch.cat([y for _, y in parts])


def _count(held_out: float | int, n: int) -> int:
    """How many pairs a share, or a number of them, is."""
    if not np.isfinite(held_out) or held_out < 0 or (held_out >= 1 and held_out != int(held_out)):
        raise RaffiaError(f"held_out must be a share below 1 or a whole number of pairs; got {held_out!r}.")
    count = int(held_out) if held_out >= 1 else round(held_out * n)
    if n < 2:
        raise RaffiaError(
            f"a model is learnt from two pairs at least, and the data have {n}: a file of VTK, say, holds one sample."
        )
    if count > n - 2:
        raise RaffiaError(f"held_out={held_out:g} leaves {n - count} of {n} pairs to train on: hold out fewer.")
    return count
