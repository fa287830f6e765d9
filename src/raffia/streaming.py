"""Fit data larger than memory: statistics add batch by batch, and a run that was killed goes on from its checkpoint.

A ridge to be found needs data held out, and here no data are kept. So batch i belongs to fold i mod `folds`, each fold has
statistics of its own, and the ridge is the one of the least k-fold error, by the grid and the parabola of `best_ridge`:

    error(λ)² = Σ_k ‖y − F(a; α_k(λ))‖² over fold k / Σ ‖y‖²,     α_k trained on all folds but k.
"""

import hashlib
import json
import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import escape
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor

from raffia import io
from raffia.checks import Array, check_count
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.progress import Progress
from raffia.regression import NormalEquations, Statistics, Streamed, TriangularFactor, best_ridge, k_fold_errors
from raffia.scaling import Scaling
from raffia.spaces import Domain

Model = Any
"""A `RandomFeatureModel`, which is made of what is here."""

Batch = tuple[Array, Array]
Packed = dict[str, Any]
"""Statistics as a dictionary of NumPy arrays and numbers: what files hold and what travels between machines."""

BATCH_BYTES = 2**26  # of one batch in float64, where nobody says how many pairs it should have


@runtime_checkable
class Pairs(Protocol):
    """Pairs (a_i, y_i) that are read a part at a time."""

    def __len__(self) -> int:
        """How many there are."""

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The pairs from number `start` on, in order, `size` at a time; the last batch may be shorter."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """Arrays as `Pairs`."""

    a: Array
    y: Array

    def __len__(self) -> int:
        return len(self.a)

    def read(self, rows: slice) -> Batch:
        """Some of the pairs."""
        return self.a[rows], self.y[rows]

    def batches(self, size: int, start: int = 0) -> Iterator[Batch]:
        """The pairs from number `start` on, `size` at a time."""
        for first in range(start, len(self), size):
            yield self.read(slice(first, first + size))


def fit_batches(
    model: Model,
    source: Pairs | Dataset | Iterable[Batch],
    *,
    batch_size: int | None = None,
    checkpoint: io.Path | None = None,
    checkpoint_every: float = 30.0,
    folds: int = 5,
    verbose: bool = False,
) -> Model:
    """Train on pairs that are read a batch at a time; memory holds one batch and the statistics, however many pairs there are.

    The first batch sets the model up, as that of `partial_fit` does. With ridge="auto" the ridge found is in `ridge_` and its k-fold
    relative error, in the mean-square sense, in `held_out_error_`.

    Parameters
    ----------
    source
        `Pairs`, such as an open file, or any iterable of batches (a, y).
    batch_size
        Pairs to read at once, from `Pairs`; None is 64 MiB of them, or less if there would be fewer batches than folds.
    checkpoint
        A file for the statistics so far. The same call after an interruption goes on from it, and ends with the same coefficients
        bit for bit; it is removed when the model is trained, so save the model then. It is written after the first batch, and again
        whenever `checkpoint_every` seconds have passed.
    folds
        How many parts ridge="auto" holds out in turn.
    verbose
        Show a bar with the time left.
    """
    if not isinstance(source, Iterable) and not isinstance(source, (Pairs, Dataset)):
        raise RaffiaError(
            f"without y, a must be a path, a Source or an iterable of batches (a, y); got {type(source).__name__}. Pass fit(a, y)."
        )
    _check_arguments(batch_size, checkpoint_every, folds, model.ridge)
    _check_domain(model, getattr(source, "domain", None))
    count = folds if model.ridge == "auto" else 1
    reader = _Reader(InMemory(source.a, source.y) if isinstance(source, Dataset) else source, batch_size, count)
    part = set_up(model, *reader.first)
    device = part.equations_.rhs.device
    sums: list[Statistics | None] = [part.equations_] + [None] * (count - 1)
    done, file = 1, None
    if checkpoint is not None:
        file = Checkpoint(Path(checkpoint), _problem(model, reader, count), checkpoint_every)
        if file.path.exists():
            content, done = file.read()
            sums = [None if one is None else unpacked(one, device) for one in content]
        else:
            file.write(sums, done)
    with Progress("training", reader.total, verbose and reader.total > 0) as bar:
        bar.step(count=done)
        for a, y in reader.after(done):
            sums[done % count] = with_batch(part, sums[done % count], a, y)
            done += 1
            bar.step()
            if file is not None and file.due:
                file.write(sums, done)
    settle(model, part, [one for one in sums if one is not None])
    if file is not None:
        file.remove()
    return model


def set_up(model: Model, a: Array, y: Array, scalings: tuple[Scaling, Scaling] | None = None) -> Model:
    """A copy of the model that the first batch has set up: it knows its grids, and `with_batch` makes it assemble statistics.

    `scalings` normalise inputs and outputs, where more is known of them than the first batch says.
    """
    part = clone(model).set_params(ridge=0.0 if model.ridge == "auto" else model.ridge)
    if scalings is not None:
        part.input_scaling_, part.output_scaling_ = scalings
    part.partial_fit(a, y)
    if isinstance(part.equations_, Streamed):
        raise RaffiaError(
            f"solver={model.solver!r} goes through all pairs again and again, and here they are read once. Pass solver=None, Cholesky(), "
            "Pseudoinverse(), NystromPCG() or TriangularQR()."
        )
    return part


def with_batch(part: Model, earlier: Statistics | None, a: Array, y: Array) -> Statistics:
    """`earlier` and the statistics of one more batch, by a model that `set_up` made."""
    part.equations_ = nothing_like(part.equations_) if earlier is None else earlier
    return part.partial_fit(a, y).equations_


def nothing_like(statistics: Statistics, device: torch.device | str | None = None) -> Statistics:
    """The statistics of no samples, in the same form; they take no memory."""
    device = statistics.rhs.device if device is None else device
    if isinstance(statistics, TriangularFactor):
        factor = torch.empty(0, statistics.factor.shape[1], dtype=statistics.factor.dtype, device=device)
        return TriangularFactor(factor, statistics.n_unknowns, 0, statistics.vector)
    assert isinstance(statistics, NormalEquations)
    zero = torch.zeros((), dtype=statistics.rhs.dtype, device=device)
    return NormalEquations(zero.expand(statistics.gram.shape), zero.expand(statistics.rhs.shape), zero, 0)


def settle(model: Model, part: Model, folds: Sequence[Statistics]) -> None:
    """Find the ridge if it is to be found, solve, and give what `part` has learnt to the model, which forgets what it had."""
    part.equations_ = sum(folds[1:], start=folds[0])
    if model.ridge == "auto":
        ridge, part.held_out_error_ = fold_ridge(folds)
        part.set_params(ridge=ridge)
    _ = part.solution_
    parameters = model.get_params(deep=False)
    for name in set(vars(model)) - set(parameters) - {"history_"}:
        delattr(model, name)
    model.__dict__.update({name: value for name, value in vars(part).items() if name not in parameters})


def fold_ridge(folds: Sequence[Statistics]) -> tuple[float, float]:
    """The ridge of the least k-fold error, and that error: the root of the mean square over all held-out samples, relative to ‖y‖."""
    if len(folds) < 2:
        raise RaffiaError(
            "ridge='auto' holds out batches, so it needs two or more; got one. Pass smaller batches, or call fit."
        )
    formed = [fold.normal_equations() if isinstance(fold, TriangularFactor) else fold for fold in folds]
    equations = [fold for fold in formed if isinstance(fold, NormalEquations)]
    scale = float(sum(fold.gram.diagonal().sum() for fold in equations))

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges one"]:
        return k_fold_errors(equations, ridges)[:, None]

    return best_ridge(errors, scale)


def packed(statistics: Statistics) -> Packed:
    """The content of statistics, and of which kind they are."""
    fields = {name: value.numpy(force=True) if isinstance(value, Tensor) else value for name, value in vars(statistics).items()}
    return {"kind": type(statistics).__name__, **fields}


def unpacked(content: Packed, device: torch.device | str = "cpu") -> Statistics:
    """The inverse of `packed`, in memory of torch's own: products may depend on how a file or a message was aligned, in the last bit."""
    kinds: dict[str, type[Statistics]] = {"NormalEquations": NormalEquations, "TriangularFactor": TriangularFactor}
    fields = {name: value for name, value in content.items() if name != "kind"}
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            fields[name] = torch.tensor(value, device=device)
        elif isinstance(value, Tensor):
            fields[name] = value.clone().to(device)
    return kinds[content["kind"]](**fields)


class Checkpoint:
    """Sums of the statistics of the batches done, in a file that says which problem they belong to."""

    def __init__(self, path: Path, problem: dict[str, str], every: float) -> None:
        self.path = path
        self.problem = problem
        self.every = every
        self._written = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def write(self, sums: Sequence[Statistics | None], done: int) -> None:
        """Replace the file; if that fails, the one before stays as it was."""
        content = [None if one is None else packed(one) for one in sums]
        io.write(self.path, {"problem": self.problem, "done": done, "sums": content, "digest": _digest(content, done)})
        self._written = time.monotonic()

    def read(self) -> tuple[list[Packed | None], int]:
        """The sums, and how many batches are in them; anything but a whole file of this problem is an error."""
        try:
            content = io.read(self.path)
            problem, sums, done = content["problem"], content["sums"], content["done"]
            whole = content["digest"] == _digest(sums, done)
        except (RaffiaError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise RaffiaError(f"{self.path} is not a checkpoint, or it is damaged: delete it to start from the first batch.")
        differs = [
            f"{name} was {problem.get(name, 'absent')} and is {value}"
            for name, value in self.problem.items()
            if problem.get(name) != value
        ]
        if differs:
            raise RaffiaError(
                f"{self.path} is the checkpoint of another problem: {'; '.join(differs)}. Delete it, or pass another checkpoint."
            )
        return sums, done

    def remove(self) -> None:
        """Remove the file, and what a kill in the middle of a write may have left beside it."""
        self.path.unlink(missing_ok=True)
        for left in self.path.parent.glob(f".{escape(self.path.name)}.*{escape(self.path.suffix)}"):
            left.unlink(missing_ok=True)


class _Reader:
    """The batches of a source, in order, and what is known of them; those already done are not read again where that can be."""

    def __init__(self, source: Pairs | Iterable[Batch], batch_size: int | None, folds: int) -> None:
        self.n: int | None = None
        self.size: int | None = None
        self.after: Callable[[int], Iterator[Batch]]
        """The batches from this number on, once the first has been read."""
        if isinstance(source, Pairs):
            size = _batch_size(source, folds) if batch_size is None else batch_size
            self.n, self.size, self.total = len(source), size, math.ceil(len(source) / size)
            self.after = lambda done: source.batches(size, done * size)
            batches = source.batches(size)
        elif batch_size is None:
            self.total = operator.length_hint(source)
            batches = map(_pair, source)
            self.after = lambda done: islice(batches, done - 1, None)
        else:
            raise RaffiaError(
                "batch_size is for sources that read any part of their pairs; an iterable of batches has its own."
            )
        first = next(iter(batches), None)
        if first is None:
            raise RaffiaError("source holds no pairs: it gave no batch.")
        self.first: Batch = first


def _problem(model: Model, reader: _Reader, folds: int) -> dict[str, str]:
    """What the sums depend on, by name."""
    tensors: dict[str, Tensor] = {}
    parameters = model.get_params(deep=False) | {"device": str(model.device)}
    settings = {name: json.dumps(io.encode(value, tensors)) for name, value in parameters.items()}
    a, y = reader.first
    hashed = hashlib.sha256()
    for values in (*tensors.values(), torch.as_tensor(a), torch.as_tensor(y)):
        hashed.update(_bytes(values))
    return settings | {
        "the number of pairs": "unknown" if reader.n is None else str(reader.n),
        "the size of batches": "that of the source" if reader.size is None else str(reader.size),
        "folds": str(folds),
        "a": f"{a.dtype} of shape {tuple(a.shape[1:])}",
        "y": f"{y.dtype} of shape {tuple(y.shape[1:])}",
        "the hash of the first batch": hashed.hexdigest()[:16],
    }


def _digest(sums: Sequence[Packed | None], done: int) -> str:
    """A hash that no damaged file has."""
    hashed = hashlib.sha256(str(done).encode())
    for one in sums:
        for name, value in ({} if one is None else one).items():
            hashed.update(name.encode())
            hashed.update(_bytes(torch.as_tensor(value)) if isinstance(value, (np.ndarray, Tensor)) else str(value).encode())
    return hashed.hexdigest()


def _bytes(values: Tensor) -> memoryview:
    return values.detach().cpu().contiguous().reshape(-1).numpy().data


def _batch_size(source: Pairs, folds: int) -> int:
    one = next(iter(source.batches(1)), None)
    if one is None:
        raise RaffiaError("source holds no pairs.")
    return default_size(len(source), sum(math.prod(values.shape[1:]) for values in one), folds)


def default_size(n: int, numbers: int, folds: int) -> int:
    """How many pairs, of so many numbers each, to read at once: 64 MiB of them, or less if there would be fewer batches than folds."""
    return max(1, min(BATCH_BYTES // (8 * numbers), math.ceil(n / folds)))


def _pair(batch: object) -> Batch:
    if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
        raise RaffiaError(f"source must give batches (a, y), two arrays each; got {type(batch).__name__}.")
    return batch[0], batch[1]


def _check_domain(model: Model, domain: Any) -> None:
    """A source that says where its inputs live must say what the model says; a length of 1 is what is said where nothing is known."""
    trained = model.feature_map.domain
    both = isinstance(domain, Domain) and isinstance(trained, Domain)
    alike = both and (domain.dim, domain.periodic) == (trained.dim, trained.periodic) and set(domain.extents) == {1.0}
    if domain is not None and domain != trained and not alike:
        raise RaffiaError(
            f"the inputs of the source are in {domain}, those of the model in {trained}: pass feature_map=…(domain=…)."
        )


def _check_arguments(batch_size: int | None, checkpoint_every: float, folds: int, ridge: float | str) -> None:
    if batch_size is not None:
        check_count("batch_size", batch_size)
    check_count("folds", folds)
    if ridge == "auto" and folds < 2:
        raise RaffiaError(f"folds must be 2 or more for ridge='auto', which holds one out at a time; got {folds}.")
    if not checkpoint_every >= 0:
        raise RaffiaError(f"checkpoint_every must be a number of seconds >= 0; got {checkpoint_every!r}.")
