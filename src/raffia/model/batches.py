"""Fit data larger than memory: statistics add batch by batch, and an interrupted run continues from its checkpoint.

ridge="auto" needs held-out data, and no data are stored. So batch i belongs to fold i mod `folds`, and each fold has its own statistics.
The ridge minimises the k-fold error, see `best_ridge`:

    error(λ)² = Σ_k ‖y − F(a; α_k(λ))‖² over fold k / Σ ‖y‖²,     α_k trained on all folds but k.
"""

import hashlib
import math
import operator
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from raffia.data import Array, Batch, Pairs, elements_of
from raffia.errors import RaffiaError
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import coefficients_of
from raffia.model.model_defaults import DEFAULTS
from raffia.model.preprocessing import Scalings, prepare
from raffia.model.settings import Settings, identity_of
from raffia.model.trained import FOLDS, Trained
from raffia.progress import Progress
from raffia.regression import Packed, Statistics, unpacked
from raffia.spaces import Domain, Space, bytes_of, digest_of
from raffia.storage import archive, destination
from raffia.storage.atomic import remove_leftovers
from raffia.validation import check_count


def fit_batches(
    settings: Settings,
    source: Pairs | Iterable[Batch],
    *,
    batch_size: int | None = None,
    checkpoint: archive.Path | None = None,
    checkpoint_every: float = 30.0,
    folds: int = 5,
    verbose: bool = False,
) -> Trained:
    """Train on pairs that are read a batch at a time. Memory holds one batch and the statistics.

    The first batch fixes the preprocessing, as in `partial_fit`. With ridge="auto" the ridge minimises the k-fold error (relative, in the
    mean-square sense), which is in `fold_error_`. Sums of squares cancel, so this error is not below 1e-8.

    Parameters
    ----------
    source
        `Pairs`, such as an open file, or any iterable of batches (a, y).
    batch_size
        Pairs to read at once from `Pairs`; None is 64 MiB, or less if there would be fewer batches than folds.
    checkpoint
        A file for the statistics so far. The same call after an interruption continues from it, with the same coefficients bit for bit. It
        is written after the first batch and then every `checkpoint_every` seconds, and removed when the model is trained.
    folds
        The number of parts that ridge="auto" holds out in turn.
    verbose
        Show a bar with the time left.
    """
    check_folds(settings, folds)
    if not checkpoint_every >= 0:
        raise RaffiaError(f"checkpoint_every must be a number of seconds >= 0; got {checkpoint_every!r}.")
    _check_domain(settings.feature_map.domain, getattr(source, "domain", None))
    count = folds if settings.ridge == "auto" else 1
    reader = _reader(source, batch_size, count)
    first = begin(settings, *reader.first)
    empty, done, file, batches = first.empty(), 1, None, reader.after(1)
    sums: list[Statistics | None] = [first.total] + [None] * (count - 1)
    if checkpoint is not None:
        file = Checkpoint(Path(checkpoint), _problem(settings, reader, count), checkpoint_every)
        sums, done, batches = _resumed(file, reader, sums, first.total.rhs.device)
    with Progress("training", reader.count, verbose and reader.count > 0) as bar:
        bar.step(count=done)
        for a, y in batches:
            new, before = empty.add(a, y).total, sums[done % count]
            sums[done % count] = new if before is None else before + new
            done += 1
            bar.step()
            if file is not None:
                file.add(a, y)
                if file.due:
                    file.write(sums, done)
    trained = finish(settings, [replace(empty, statistics=one) for one in sums if one is not None])
    if file is not None:
        file.remove()
    return trained


def _resumed(
    file: "Checkpoint", reader: "_Reader", sums: list[Statistics | None], device: torch.device
) -> tuple[list[Statistics | None], int, Iterator[Batch]]:
    """The sums in the file, the number of their batches, and the batches that follow. A file that does not exist is written."""
    file.add(*reader.first)
    if not file.path.exists():
        file.write(sums, 1)
        return sums, 1, reader.after(1)
    content, done, check = file.read()
    batches = reader.after(done if reader.stamp else 1)
    if not reader.stamp:  # nothing but the batches tells these pairs from others
        for a, y in islice(batches, done - 1):
            file.add(a, y)
        if file.check != check:
            raise RaffiaError(f"the pairs have changed since {file.path} was written: delete it to start from the first batch.")
    file.check = check
    return [None if one is None else unpacked(one, device) for one in content], done, batches


def begin(settings: Settings, a: object, y: object, scalings: Scalings | None = None) -> Accumulator:
    """The first batch, which fixes the frame and the form of statistics. `scalings` replaces the normalisation by this batch."""
    numeric = replace(settings, ridge=0.0 if settings.ridge == "auto" else settings.ridge)
    first = Accumulator(numeric).take(prepare(numeric, a, y, scalings=scalings))
    if not first.total.portable:
        raise RaffiaError(
            f"solver={settings.solver!r} needs several passes over the pairs, and here they are read once. Pass solver=None, "
            "Cholesky(), Pseudoinverse() or NystromPCG()."
        )
    return first


def finish(settings: Settings, folds: Sequence[Accumulator]) -> Trained:
    """Solve for all folds together; with ridge="auto", choose the ridge of the least k-fold error first."""
    total = sum(folds[1:], start=folds[0])
    if settings.ridge != "auto":
        return replace(total, settings=settings).finish()
    choice = coefficients_of(settings).choose_ridge_by_folds([fold.total for fold in folds])
    trained = replace(total, settings=replace(settings, ridge=choice.ridge)).finish()
    return replace(trained, settings=replace(trained.settings, ridge="auto")).with_error(FOLDS, choice.error)


def default_size(n: int, elements: int, folds: int) -> int:
    """The number of pairs with `elements` values each to read at once: 64 MiB, or less if there would be fewer batches than folds."""
    return max(1, min(DEFAULTS.batch_bytes // (8 * elements), math.ceil(n / folds)))


def check_folds(settings: Settings, folds: int) -> None:
    """Refuse too few folds for ridge="auto"."""
    check_count("folds", folds)
    if settings.ridge == "auto" and folds < 2:
        raise RaffiaError(f"folds must be 2 or more for ridge='auto', which holds one out at a time; got {folds}.")


@dataclass(frozen=True, kw_only=True)
class _Reader:
    """The batches of a source in order."""

    first: Batch
    after: Callable[[int], Iterator[Batch]]
    """The batches from this index on, which is at least 1."""
    count: int
    """The number of batches; 0 is unknown."""
    pairs: str = "unknown"
    size: str = "that of the source"
    stamp: str = ""
    """A text that identifies the pairs, if the source has one."""


def _reader(source: Pairs | Iterable[Batch], batch_size: int | None, folds: int) -> _Reader:
    if batch_size is not None:
        check_count("batch_size", batch_size)
    if isinstance(source, Pairs):
        n, size = len(source), batch_size or default_size(len(source), elements_of(source), folds)
        first = _first(source.batches(size))
        return _Reader(
            first=first,
            after=lambda done: source.batches(size, done * size),
            count=math.ceil(n / size),
            pairs=str(n),
            size=str(size),
            stamp=str(getattr(source, "stamp", "")),
        )
    if not isinstance(source, Iterable):
        raise RaffiaError(
            f"without y, a must be a path, a Source or an iterable of batches (a, y); got {type(source).__name__}. Pass fit(a, y)."
        )
    if batch_size is not None:
        raise RaffiaError("batch_size is for sources that read any part of their pairs; an iterable of batches has its own.")
    batches = map(_pair, source)
    first = _first(batches)
    return _Reader(first=first, after=lambda done: islice(batches, done - 1, None), count=operator.length_hint(source))


def _first(batches: Iterator[Batch]) -> Batch:
    first = next(batches, None)
    if first is None:
        raise RaffiaError("source holds no pairs: it gave no batch.")
    return first


def _problem(settings: Settings, reader: _Reader, folds: int) -> dict[str, str]:
    """Everything that the sums depend on, by name."""
    a, y = (torch.as_tensor(values) for values in reader.first)
    return {name: identity_of(value) for name, value in settings.arguments.items()} | {
        "the number of pairs": reader.pairs,
        "the size of batches": reader.size,
        "folds": str(folds),
        "a": f"{a.dtype} of shape {tuple(a.shape[1:])}",
        "y": f"{y.dtype} of shape {tuple(y.shape[1:])}",
        "the hash of the first batch": digest_of(a, y)[:16],
        "the version of the pairs": reader.stamp,
    }


def _pair(batch: object) -> Batch:
    if not (isinstance(batch, (tuple, list)) and len(batch) == 2):
        raise RaffiaError(f"source must give batches (a, y), two arrays each; got {type(batch).__name__}.")
    return batch[0], batch[1]


def _check_domain(trained: Space, domain: Space | None) -> None:
    """Refuse a source whose domain is not that of the model; a length of 1 also stands for an unknown length."""
    same_but_length = isinstance(trained, Domain) and domain == replace(trained, extent=1.0)
    if domain is not None and domain != trained and not same_but_length:
        raise RaffiaError(
            f"the inputs of the source are in {domain}, those of the model in {trained}: pass feature_map=…(domain=…)."
        )


class Checkpoint:
    """The statistics of the finished batches, one sum for each fold, written at most every `every` seconds."""

    def __init__(self, path: Path, problem: dict[str, str], every: float) -> None:
        destination(path)  # fails early if the folder cannot be written to
        self.path = path
        self.problem = problem
        self.every = every
        self.check = 0
        """The checksum of the finished batches."""
        self._written = time.monotonic()

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.every

    def add(self, a: Array, y: Array) -> None:
        """Add a batch to the checksum."""
        self.check = zlib.crc32(bytes_of(torch.as_tensor(y)), zlib.crc32(bytes_of(torch.as_tensor(a)), self.check))

    def write(self, sums: Sequence[Statistics | None], done: int) -> None:
        """Replace the file; if that fails, the old one stays."""
        content = [None if one is None else one.packed() for one in sums]
        state = {"problem": self.problem, "done": done, "check": self.check, "sums": content}
        archive.write(self.path, state | {"digest": _digest(content, done, self.check)})
        self._written = time.monotonic()

    def read(self) -> tuple[list[Packed | None], int, int]:
        """The sums, the number of their batches and their checksum. Refuses damaged files and those of other problems."""
        try:
            content = archive.read(self.path)
            problem, sums, done, check = (content[name] for name in ("problem", "sums", "done", "check"))
            intact = content["digest"] == _digest(sums, done, check)
        except (RaffiaError, KeyError, TypeError, AttributeError):
            intact = False
        if not intact:
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
        return sums, done, check

    def remove(self) -> None:
        """Remove the file and temporary files of killed processes; files that another run is writing stay."""
        target = destination(self.path)
        target.unlink(missing_ok=True)
        remove_leftovers(target)


def _digest(sums: Sequence[Packed | None], done: int, check: int) -> str:
    """A hash that detects damage."""
    hashed = hashlib.sha256(f"{done} {check}".encode())
    for one in sums:
        for name, value in ({} if one is None else one).items():
            hashed.update(name.encode())
            array = isinstance(value, (np.ndarray, Tensor))
            hashed.update(bytes_of(torch.as_tensor(value)) if array else str(value).encode())
    return hashed.hexdigest()
