"""Fit data larger than one machine, with Dask: each block of samples becomes statistics where it lies, and statistics add in a tree.

θ never travels: each worker draws it from the seed, once. Tasks are pure and the tree is fixed by the numbers of the blocks, so
neither which worker did what nor a worker that dies changes the sums. The first block sets the model up, and block i belongs to
fold i mod `folds` where the ridge is to be found, as in `raffia.streaming`, whose results these are to rounding.
"""

import math
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from sklearn.base import clone

from raffia.checks import Array, as_tensor, check_count
from raffia.errors import RaffiaError
from raffia.scaling import Moments
from raffia.streaming import Batch, Model, Packed, default_size, nothing_like, packed, set_up, settle, unpacked, with_batch

Path = str | os.PathLike[str]
CONNECTING = 60.0  # seconds to wait for a scheduler and its first worker
HEAVY = ("equations_", "_pairs", "_drawn", "_trained", "_posterior_of")  # what a model that goes elsewhere leaves behind

_at_work: dict[str, Model] = {}  # of this process: the model of the last run, with its θ


class Source(Protocol):
    """Pairs in a file, any of which can be read."""

    def __len__(self) -> int:
        """How many there are."""

    def read(self, rows: slice) -> Batch:
        """Some of them."""


@dataclass(frozen=True)
class Rows:
    """A part of a source that whoever calls it opens and reads."""

    opened: Callable[[], Source]
    start: int
    stop: int

    def __call__(self) -> Batch:
        """The pairs."""
        return self.opened().read(slice(self.start, self.stop))


def fit(model: Model, a: Any, y: Any, client: Any = None, *, split_every: int = 4, folds: int = 5) -> Model:
    """Train on Dask arrays (n, *grid), each block of samples where it lies; the coefficients are those of `model.fit`.

    `a` and `y` are Dask arrays, xarray DataArrays that hold them, or paths of Zarr arrays. Blocks are those of `a` along the first
    axis; other axes are not split. With ridge="auto" the ridge is found by k-fold errors, see `raffia.streaming.fit_batches`.

    Parameters
    ----------
    client
        A `distributed.Client`; None is the current one, or threads of this process if there is none.
    split_every
        How many statistics to add in one task: sums go up a tree of this fan-in.
    folds
        How many parts ridge="auto" holds out in turn.
    """
    a, y = _dask_array("a", a), _dask_array("y", y)
    if len(a) != len(y):
        raise RaffiaError(f"a and y must pair up; got {len(a)} inputs and {len(y)} outputs.")
    a = a.rechunk(dict.fromkeys(range(1, a.ndim), -1))
    y = y.rechunk({0: a.chunks[0], **dict.fromkeys(range(1, y.ndim), -1)})
    blocks = list(zip(a.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))
    return _fit(model, blocks, client, split_every, folds)


def fit_source(
    model: Model,
    opened: Callable[[], Source],
    scheduler: str,
    *,
    stop: int | None = None,
    block_size: int | None = None,
    split_every: int = 4,
    folds: int = 5,
) -> Model:
    """Train on a file that every worker can open, on the cluster of the scheduler at this address, such as tcp://10.0.0.1:8786.

    `opened` opens it, for example `functools.partial(raffia.data.open_source, path)`; workers call it and read `block_size` pairs at
    a time, so that no data go through this process. None is 64 MiB of them, or less if there would be fewer blocks than folds.
    `stop` leaves out the pairs from this number on.
    """
    if block_size is not None:
        check_count("block_size", block_size)
    with _connected(scheduler) as client:
        n, numbers = client.submit(_extent, opened, pure=False).result()
        n = n if stop is None else min(n, stop)
        size = block_size or default_size(n, numbers, folds)
        blocks = [Rows(opened, start, min(start + size, n)) for start in range(0, n, size)]
        return _fit(model, blocks, client, split_every, folds)


def predict(model: Model, a: Any, client: Any = None) -> Any:
    """F(a; α) block by block, as a Dask array; with a client, it is computed there and kept there."""
    dask = _dask()
    blocks = _dask_array("a", a)
    blocks = blocks.rechunk(dict.fromkeys(range(1, blocks.ndim), -1))
    one = model.predict(np.zeros((1, *blocks.shape[1:]), dtype=blocks.dtype))
    assert isinstance(one, np.ndarray)
    sent, run = dask.delayed(_light(model), traverse=False), uuid.uuid4().hex
    parts = [
        dask.array.from_delayed(dask.delayed(_predicted)(run, sent, block), (rows, *one.shape[1:]), one.dtype)
        for block, rows in zip(blocks.to_delayed().ravel(), blocks.chunks[0], strict=True)
    ]
    whole = dask.array.concatenate(parts)
    return whole if client is None else client.persist(whole)


def _fit(model: Model, blocks: Sequence[object], client: Any, split_every: int, folds: int) -> Model:
    """Statistics of every block, added up by folds; the solution is found here."""
    for name, value, least in (("split_every", split_every, 2), ("folds", folds, 2)):
        if value < least:
            raise RaffiaError(f"{name} must be {least} or more; got {value!r}.")
    dask = _dask()
    run, count = uuid.uuid4().hex, folds if model.ridge == "auto" else 1
    sent = dask.delayed(clone(model), traverse=False)
    moments = [dask.delayed(_moments)(sent, block) for block in blocks] if model.normalize else []
    total = _tree(dask.delayed(_sum_of_moments), moments, split_every) if moments else None
    start = dask.delayed(_first, nout=2)(run, sent, blocks[0], total)
    ready, first = start[0], start[1]
    statistics = [first] + [dask.delayed(_statistics)(run, ready, block) for block in blocks[1:]]
    sums = [_tree(dask.delayed(_sum), statistics[fold::count], split_every) for fold in range(min(count, len(blocks)))]
    part, *totals = _computed([ready, *sums], client)
    device = _available(model.device)
    part.set_params(device=model.device)
    settle(model, part, [unpacked(total, device or "cpu") for total in totals])
    return model


def _tree(add: Any, parts: list[Any], split_every: int) -> Any:
    """The sum of neighbours, then of neighbouring sums, and so on: the order is that of the list, whoever computes it."""
    while len(parts) > 1:
        parts = [add(parts[i : i + split_every]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), split_every)]
    return parts[0]


def applies(values: Any) -> bool:
    """Whether values are a collection of Dask or xarray."""
    held = getattr(values, "data", values) if type(values).__module__.startswith("xarray") else values
    return type(held).__module__.split(".")[0] == "dask"


# What follows runs on workers.


def _moments(model: Model, block: object) -> tuple[Moments, Moments]:
    """Of the inputs and of the outputs."""
    a, y = (as_tensor(name, values) for name, values in zip("ay", _pair(block), strict=True))
    return Moments.of(a, model.feature_map.domain), Moments.of(y, model._output_space(a, y))


def _sum_of_moments(parts: Sequence[tuple[Moments, Moments]]) -> tuple[Moments, Moments]:
    inputs, outputs = zip(*parts, strict=True)
    return sum(inputs[1:], start=inputs[0]), sum(outputs[1:], start=outputs[0])


def _first(run: str, model: Model, block: object, moments: tuple[Moments, Moments] | None) -> tuple[Model, Packed]:
    """The model that the first block has set up, without θ and statistics; and these statistics."""
    scalings = None if moments is None else (moments[0].scaling, moments[1].scaling)
    part = set_up(_here(model), *_pair(block), scalings)
    content = packed(part.equations_)
    part.equations_ = nothing_like(part.equations_, "cpu")
    ready = _light(part)
    ready.equations_ = part.equations_
    _keep(run, part)
    return ready, content


def _statistics(run: str, ready: Model, block: object) -> Packed:
    part = _here(_at_work.get(run, ready))
    content = packed(with_batch(part, None, *_pair(block)))
    part.equations_ = ready.equations_
    _keep(run, part)
    return content


def _sum(parts: Sequence[Packed]) -> Packed:
    total = unpacked(parts[0])
    for part in parts[1:]:
        total = total + unpacked(part)
    return packed(total)


def _predicted(run: str, model: Model, a: Array) -> Array:
    here = _here(_at_work.get(run, model))
    prediction = here.predict(a)
    _keep(run, here)
    assert not isinstance(prediction, tuple)
    return prediction


def _extent(opened: Callable[[], Source]) -> tuple[int, int]:
    """How many pairs there are, and how many numbers each has."""
    source = opened()
    return len(source), sum(math.prod(values.shape[1:]) for values in source.read(slice(0, 1)))


def _pair(block: Any) -> Batch:
    return block() if isinstance(block, Rows) else block


def _available(device: str | torch.device | None) -> str | None:
    """The device that was asked for, where it is there; None elsewhere."""
    return str(device) if device is not None and torch.cuda.is_available() else None


def _here(model: Model) -> Model:
    """A shallow copy that computes on what this worker has; threads share its θ, but not its statistics."""
    other = object.__new__(type(model))
    other.__dict__.update(vars(model) | {"device": _available(model.device)})
    return other


def _keep(run: str, model: Model) -> None:
    """Keep the model and its θ for the next task of this run, and nothing of the runs before."""
    _at_work.clear()
    _at_work[run] = model


def _light(model: Model) -> Model:
    """A copy without data, statistics and θ, which follows from the seed."""
    other = object.__new__(type(model))
    other.__dict__.update({name: value for name, value in vars(model).items() if name not in HEAVY})
    return other


# Dask itself.


def _dask() -> Any:
    try:
        import dask
        import dask.array
        import distributed  # noqa: F401 (asked for here, so that one message names the remedy)
    except ImportError:
        raise RaffiaError("raffia.distributed needs Dask: pip install raffia[distributed].") from None
    return dask


def _dask_array(name: str, values: Any) -> Any:
    """A Dask array from one, from an xarray DataArray that holds one, or from the path of a Zarr array."""
    dask = _dask()
    if isinstance(values, (str, os.PathLike)):
        try:
            values = dask.array.from_zarr(os.fspath(values))
        except Exception as error:  # Zarr has many
            raise RaffiaError(f"{name} must be a Zarr array at {os.fspath(values)}; it cannot be opened ({error}).") from None
    if hasattr(values, "dims"):
        values = values.data
    if not isinstance(values, dask.array.Array):
        raise RaffiaError(
            f"{name} must be a Dask array, an xarray DataArray of one, or the path of a Zarr array; got {type(values).__name__}. "
            "What fits into memory is for model.fit."
        )
    if any(math.isnan(size) for size in values.shape):
        raise RaffiaError(f"{name} must have known block sizes: call {name}.compute_chunk_sizes() first.")
    return values


def _computed(wanted: list[Any], client: Any) -> list[Any]:
    dask = _dask()
    import distributed

    try:
        return list(dask.compute(*wanted) if client is None else client.gather(client.compute(wanted)))
    except distributed.KilledWorker as error:
        raise RaffiaError(
            f"a task was given up, because every worker that tried it died ({error.last_worker.address} was the last): most often they ran "
            "out of memory. Use smaller blocks, fewer n_features or workers with more memory."
        ) from None


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    _dask()
    import distributed

    try:
        client = distributed.Client(scheduler, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RaffiaError(f"no Dask scheduler answers at {scheduler} ({error}): start one with `dask scheduler`.") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECTING)
        except TimeoutError:
            raise RaffiaError(
                f"the scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`."
            ) from None
        yield client
