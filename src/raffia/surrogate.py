"""From a dataset to a surrogate: features chosen, trained, and judged on pairs held out. What `raffia fit` does, as a function."""

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from raffia.contest import SHORT, Contest, contest
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import FeatureMap
from raffia.measures.noise import uniform_noise
from raffia.model import RandomFeatureModel
from raffia.tuning import GradientSearch, History


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
    data: Dataset,
    features: FeatureMap | Literal["auto"] = "auto",
    n_features: int = 1024,
    ridge: float | Literal["auto"] = "auto",
    held_out: float = 0.2,
    test: Dataset | None = None,
    refit: bool = True,
    seed: int = 0,
    tune: GradientSearch | None = None,
    normalize: bool = True,
    verbose: bool = False,
    **settings: Any,
) -> Surrogate:
    """Train a surrogate on a dataset.

    `features="auto"` holds a contest of the feature maps that apply. `held_out` pairs (a share below 1, or a number) are kept
    from everything and give the errors; then, with `refit`, the model is trained on all pairs with the hyperparameters found. `test`
    gives the errors instead, where there is a dataset for it. Equal seeds give equal splits. `settings` go to the model.
    """
    begun = time.perf_counter()
    output = data.output if data.output is not None else data.domain
    order = uniform_noise(range(1), (len(data),), seed, "held out")[0].argsort().tolist()
    count = 0 if test is not None else _count(held_out, len(data))
    rows, train = sorted(order[:count]), sorted(order[count:])
    a, y = (data.a, data.y) if not count else (data.a[train], data.y[train])
    found, history = None, None
    if features == "auto":
        found = contest(a, y, data.domain, output, n_features, seed, tune or SHORT, verbose, **settings)
        chosen, history = found.best.candidate, found.best.history
        features, normalize = chosen.feature_map, chosen.normalize
    model = RandomFeatureModel(features, n_features, ridge, random_state=seed, output=output, normalize=normalize, **settings)
    if found is None and tune is not None:
        model.tune(a, y, tune)
        history = model.history_
    else:
        model.fit(a, y)
    split = "all pairs were used for training; the errors are of other data"
    if count:
        test = Dataset(data.a[rows], data.y[rows], data.domain, data.settings, data.output)
        split = f"{count} of {len(data)} pairs at random, seed {seed}"
    predicted = errors = None
    if test is not None:
        predicted = torch.as_tensor(model.predict(test.a))
        errors = model.errors(test.a, test.y)
    if count and refit:
        model = RandomFeatureModel(**model.get_params(deep=False)).fit(data.a, data.y)
        split += f"; the errors are of the model trained on the other {len(train)}, the model itself was then trained on all {len(data)}"
    seconds = time.perf_counter() - begun
    return Surrogate(model, len(train), test, rows if count else None, predicted, errors, split, found, history, seconds)


def _count(held_out: float, n: int) -> int:
    """How many pairs a share, or a number of them, is."""
    if not np.isfinite(held_out) or held_out < 0 or (held_out >= 1 and held_out != int(held_out)):
        raise RaffiaError(f"held_out must be a share below 1 or a whole number of pairs; got {held_out!r}.")
    count = int(held_out) if held_out >= 1 else round(held_out * n)
    if count > n - 2:
        raise RaffiaError(f"held_out={held_out:g} leaves {n - count} of {n} pairs to train on: hold out fewer.")
    return count
