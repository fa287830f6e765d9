"""From a dataset to a surrogate: features chosen, trained, and judged on pairs held out. What `raffia fit` does, as a function."""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from raffia import io
from raffia.checks import check_instance, check_no_zero_function, check_settings
from raffia.contest import Contest, contest
from raffia.data import Source, read
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.measures.noise import uniform_noise
from raffia.model import RandomFeatureModel
from raffia.regression import available_memory
from raffia.streaming import fit_batches
from raffia.tuning import GradientSearch, History

SEARCHED, MOST_HELD = 512, 256  # pairs to choose features on, and to hold out, where memory cannot hold all of them


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
    split: str
    contest: Contest | None
    history: History | None
    seconds: float


def fit(
    data: Dataset | str | os.PathLike[str],
    features: FeatureMap | Literal["auto"] = "auto",
    n_features: int = 1024,
    ridge: float | Literal["auto"] = "auto",
    held_out: float | int = 0.2,
    test: Dataset | None = None,
    refit: bool = True,
    seed: int = 0,
    tune: GradientSearch | None = None,
    normalize: bool = True,
    verbose: bool = False,
    said: Callable[[str], None] | None = None,
    **settings: Any,
) -> Surrogate:
    """Train a surrogate on a dataset, or on a file that `raffia.read` understands.

    `features="auto"` holds a contest of the feature maps that apply. `held_out` pairs (a share below 1, or a number) are kept
    from everything and give the errors; then, with `refit`, the model is trained on all pairs with the hyperparameters found. `test`
    gives the errors instead, where there is a dataset for it. Equal seeds give equal splits. `settings` go to the model.
    """
    begun = time.perf_counter()
    check_settings(n_features, ridge, None, None, None)
    data = read(data) if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(data, Dataset):
        raise RaffiaError(f"data must be a Dataset or a path; got {type(data).__name__}. Pass raffia.Dataset(a, y, domain).")
    if ridge == "auto" or features == "auto":
        check_no_zero_function(torch.as_tensor(data.y))
    output = data.output if data.output is not None else data.domain
    order = uniform_noise(range(1), (len(data),), seed, "held out")[0].argsort().tolist()
    count = 0 if test is not None else _count(held_out, len(data))
    rows, train = sorted(order[:count]), sorted(order[count:])
    a, y = (data.a, data.y) if not count else (data.a[train], data.y[train])
    found, history, own = None, None, {"random_state": seed, "output": output, "normalize": normalize, **settings}
    if features == "auto":
        found = contest(a, y, data.domain, output, n_features, seed, tune, verbose, said, **settings)
        features, history = found.best.candidate.feature_map, found.best.history
        own |= found.best.candidate.settings
    model = RandomFeatureModel(features, n_features, ridge, **own)
    if found is None and tune is not None:
        history = model.tune(a, y, tune).history_
        if ridge != "auto":
            model.set_params(ridge=ridge).fit(a, y)
    else:
        model.fit(a, y)
    split = "all pairs were used for training" + ("" if test is None else "; the errors are of other data")
    if count:
        test = Dataset(data.a[rows], data.y[rows], data.domain, data.settings, data.output)
        split = f"{count} of {len(data)} pairs at random, seed {seed}"
    predicted = errors = None
    if test is not None:
        _check_test(test, data)
        predicted = torch.as_tensor(model.predict(test.a))
        errors = model.errors(test.a, test.y)
    if count and refit:
        model = RandomFeatureModel(**model.get_params(deep=False) | {"ridge": model.ridge_}).fit(data.a, data.y)
        split += f"; the errors are of the model trained on the other {len(train)}, the model itself was then trained on all {len(data)}"
    if errors is not None:
        model.held_out_error_ = float(errors.mean())
    seconds = time.perf_counter() - begun
    return Surrogate(model, len(train), test, rows if count else None, predicted, errors, split, found, history, seconds)


@dataclass(frozen=True)
class Part:
    """Consecutive pairs of a source, itself a source."""

    source: Source
    rows: range

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Some of them."""
        chosen = self.rows[rows]
        return self.source.read(chosen)

    def batches(self, size: int, start: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """All of them, `size` at a time."""
        for first in range(start, len(self), size):
            yield self.read(slice(first, first + size))


def too_large(source: Source) -> bool:
    """Whether the pairs would take more than a quarter of the memory that is free."""
    numbers = sum(math.prod(part.shape[1:]) for part in source.read(slice(0, 1)))
    return 8 * numbers * len(source) > available_memory(torch.device("cpu")) // 4


def fit_source(
    source: Source,
    features: FeatureMap | Literal["auto"] = "auto",
    n_features: int = 1024,
    ridge: float | Literal["auto"] = "auto",
    held_out: float | int = 0.2,
    seed: int = 0,
    tune: GradientSearch | None = None,
    normalize: bool = True,
    verbose: bool = False,
    said: Callable[[str], None] | None = None,
    train: Callable[..., Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Surrogate:
    """`fit` for pairs that memory cannot hold: one pass over the file, a batch at a time, with a checkpoint to go on from.

    The last pairs of the file are held out, at most 256, and nothing is trained on them. Features are chosen, or tuned, on
    512 pairs spread over the others. `train(model, stop=…)` takes the place of the pass where a cluster does it; else `reading` has the
    arguments of `streaming.fit_batches`.
    """
    begun = time.perf_counter()
    check_settings(n_features, ridge, None, None, None)
    count = min(_count(held_out, len(source)), MOST_HELD)
    part = Part(source, range(len(source) - count))
    output = source.output if source.output is not None else source.domain
    found, history, own = None, None, {"random_state": seed, "output": output, "normalize": normalize, **settings}
    checkpoint = (reading or {}).get("checkpoint")
    chosen = None if checkpoint is None else Path(f"{checkpoint}.features")
    asked = repr((features, tune, n_features, seed, len(source)))
    if chosen is not None and chosen.is_file() and (content := io.read(chosen)).get("asked") == asked:
        features, own = content["features"], own | content["settings"]
        check_instance("features", features, FeatureMap, "FourierFeatures()")
    elif features == "auto" or tune is not None:
        a, y = _spread(source, part.rows, SEARCHED)
        if features == "auto":
            found = contest(a, y, source.domain, output, n_features, seed, tune, verbose, said, **settings)
            history, features = found.best.history, found.best.candidate.feature_map
            own |= found.best.candidate.settings
        else:
            tuned = RandomFeatureModel(features, n_features, **own)
            history, features = tuned.tune(a, y, tune).history_, tuned.feature_map
        if chosen is not None:  # for the same command after a kill: searches on other numbers of threads end in other digits
            kept = {"normalize": own["normalize"], "points": own.get("points")}
            io.write(chosen, {"asked": asked, "features": features, "settings": kept})
    assert features != "auto"  # chosen by now
    model = RandomFeatureModel(features, n_features, ridge, **own)
    if train is None:
        fit_batches(model, part, verbose=verbose, **reading or {})
    else:
        train(model, stop=len(part))
    if chosen is not None:
        chosen.unlink(missing_ok=True)
    test = predicted = errors = None
    if count:
        a, y = source.read(range(len(part), len(source)))
        test = Dataset(a, y, source.domain, source.settings, source.output)
        predicted, errors = torch.as_tensor(model.predict(a)), model.errors(a, y)
    split = f"the last {count} of {len(source)} pairs; the model was trained on the others"
    rows = list(range(len(part), len(source))) if count else None
    return Surrogate(model, len(part), test, rows, predicted, errors, split, found, history, time.perf_counter() - begun)


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
    if count > n - 2:
        raise RaffiaError(f"held_out={held_out:g} leaves {n - count} of {n} pairs to train on: hold out fewer.")
    return count
