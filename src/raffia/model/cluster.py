"""Fit data larger than one machine with Dask: workers compute the statistics of blocks of samples, which are added in a tree.

θ is not sent: each worker draws it from the seed, once. Tasks are pure and the tree is fixed by the indices of the blocks, so the sums do
not depend on which worker computed what, nor on workers that die. As in `batches.py`, the first block fixes the preprocessing, and with
ridge="auto" block i belongs to fold i mod `folds`. The results are equal up to rounding.
"""

import asyncio
import concurrent.futures
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from raffia.data import Batch, Readable
from raffia.errors import RaffiaError
from raffia.model.accumulator import Accumulator
from raffia.model.batches import begin, check_folds, default_size, finish
from raffia.model.model_defaults import DEFAULTS
from raffia.model.preprocessing import Moments, output_space
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import Packed, unpacked
from raffia.spaces import POINT
from raffia.validation import as_tensor, check_count


@dataclass(frozen=True)
class Rows:
    """A range of pairs of a file; calling it opens the file and reads them."""

    opened: Callable[[], Readable]
    start: int
    stop: int
    stamp: str

    def __call__(self) -> Batch:
        """Read the pairs; refuse if the file has changed."""
        source = self.opened()
        if source.stamp != self.stamp:
            raise RaffiaError("the file of the pairs changed while it was read: fit again when it is complete.")
        return source.read(slice(self.start, self.stop))


def fit_arrays(
    settings: Settings, a: Any, y: Any, *, client: Any = None, folds: int = 5, patience: float = DEFAULTS.patience
) -> Trained:
    """Train on Dask arrays (n, *grid), each block of samples on its worker. The coefficients are those of a fit in memory.

    `a` and `y` are Dask arrays or xarray DataArrays that hold them. Blocks are those of `a` along the first axis; other axes are not
    split. With ridge="auto" the ridge minimises the k-fold error, see `batches.fit_batches`.

    Parameters
    ----------
    client
        A `distributed.Client`; None is the current one, or threads of this process if there is none.
    folds
        The number of parts that ridge="auto" holds out in turn.
    patience
        Seconds to wait for workers if there are none.
    """
    check_folds(settings, folds)
    a, y = dask_array("a", a), dask_array("y", y)
    if len(a) != len(y):
        raise RaffiaError(f"a and y must pair up; got {len(a)} inputs and {len(y)} outputs.")
    a = a.rechunk(dict.fromkeys(range(1, a.ndim), -1))
    y = y.rechunk({0: a.chunks[0], **dict.fromkeys(range(1, y.ndim), -1)})
    blocks = list(zip(a.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))
    return _fit(settings, blocks, client, folds, patience)


def fit_file(
    settings: Settings,
    opened: Callable[[], Readable],
    *,
    scheduler: str,
    stop: int | None = None,
    block_size: int | None = None,
    folds: int = 5,
    patience: float = DEFAULTS.patience,
) -> Trained:
    """Train on a file that every worker can open. No data go through this process.

    Parameters
    ----------
    opened
        Opens the file on a worker, for example `functools.partial(raffia.data.open_source, path)`.
    scheduler
        The address of the scheduler, such as tcp://10.0.0.1:8786.
    stop
        Use the pairs before this index only.
    block_size
        Pairs to read at a time; None is 64 MiB, or less if there would be fewer blocks than folds.
    folds, patience
        As in `fit_arrays`. A scheduler that does not answer for `patience` seconds is an error too.
    """
    _dask()
    import distributed

    check_folds(settings, folds)
    if block_size is not None:
        check_count("block_size", block_size)
    try:
        client = distributed.Client(scheduler, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RaffiaError(f"no Dask scheduler answers at {scheduler} ({error}): start one with `dask scheduler`.") from None
    with client:
        ((n, elements, stamp),) = _gathered(client, [client.submit(_extent, opened, pure=False)], patience)
        n = n if stop is None else min(n, stop)
        size = block_size or default_size(n, elements, folds)
        blocks = [Rows(opened, start, min(start + size, n), stamp) for start in range(0, n, size)]
        return _fit(settings, blocks, client, folds, patience)


def predict_blocks(predict: Callable[[np.ndarray], torch.Tensor], a: Any) -> Any:
    """Predictions block by block, as a Dask array. `predict` is sent to the workers."""
    dask = _dask()
    blocks = dask_array("a", a)
    blocks = blocks.rechunk(dict.fromkeys(range(1, blocks.ndim), -1))
    one = _called(predict, np.zeros((1, *blocks.shape[1:]), dtype=blocks.dtype))
    sent = dask.delayed(predict, traverse=False)
    parts = [
        dask.array.from_delayed(dask.delayed(_called)(sent, block), (rows, *one.shape[1:]), one.dtype)
        for block, rows in zip(blocks.to_delayed().ravel(), blocks.chunks[0], strict=True)
    ]
    return dask.array.concatenate(parts)


def _fit(settings: Settings, blocks: Sequence[object], client: Any, folds: int, patience: float) -> Trained:
    """Add the statistics of all blocks by folds, and solve in this process."""
    dask = _dask()
    count = folds if settings.ridge == "auto" else 1
    sent = dask.delayed(settings, traverse=False)
    moments = [dask.delayed(_moments)(sent, block) for block in blocks] if settings.normalize else []
    total = _tree(dask.delayed(_sum_of_moments), moments) if moments else None
    start = dask.delayed(_first, nout=2)(sent, blocks[0], total)
    empty, first = start[0], start[1]
    statistics = [first] + [dask.delayed(_statistics)(empty, block) for block in blocks[1:]]
    sums = [_tree(dask.delayed(_sum), statistics[fold::count]) for fold in range(min(count, len(blocks)))]
    none, *totals = _computed([empty, *sums], client, patience)
    device = _here(settings).device or "cpu"
    return finish(settings, [replace(none, statistics=unpacked(total, device)) for total in totals])


def _tree(add: Any, parts: list[Any]) -> Any:
    """The sum of neighbours, then of neighbouring sums, and so on, in the order of the list."""
    step = DEFAULTS.added_at_once
    while len(parts) > 1:
        parts = [add(parts[i : i + step]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), step)]
    return parts[0]


# The following functions run on workers.


def _moments(settings: Settings, block: object) -> tuple[Moments, Moments]:
    """Of the inputs and of the outputs."""
    a, y = (as_tensor(name, values) for name, values in zip("ay", _pair(block), strict=True))
    domain = settings.feature_map.domain
    numbers = settings.feature_map.values_on(domain.grid_of(a)) == POINT
    space = settings.output or output_space(domain, y, numbers)
    return Moments.of(a, domain), Moments.of(y, space, settings.normalize == "function")


def _sum_of_moments(parts: Sequence[tuple[Moments, Moments]]) -> tuple[Moments, Moments]:
    inputs, outputs = zip(*parts, strict=True)
    return sum(inputs[1:], start=inputs[0]), sum(outputs[1:], start=outputs[0])


def _first(settings: Settings, block: object, moments: tuple[Moments, Moments] | None) -> tuple[Accumulator, Packed]:
    """The frame and the form of statistics for the other blocks, and the statistics of the first one."""
    scalings = None if moments is None else (moments[0].scaling, moments[1].scaling)
    first = begin(_here(settings), *_pair(block), scalings)
    return replace(first.empty(), settings=replace(first.settings, device=settings.device)), first.total.packed()


def _statistics(empty: Accumulator, block: object) -> Packed:
    return replace(empty, settings=_here(empty.settings)).add(*_pair(block)).total.packed()


def _sum(parts: Sequence[Packed]) -> Packed:
    total = unpacked(parts[0])
    for part in parts[1:]:
        total = total + unpacked(part)
    return total.packed()


def _called(predict: Callable[[np.ndarray], torch.Tensor], a: np.ndarray) -> np.ndarray:
    return predict(a).numpy(force=True)


def _extent(opened: Callable[[], Readable]) -> tuple[int, int, str]:
    """The number of pairs, the number of values in each, and a stamp of the version of the file."""
    source = opened()
    return len(source), sum(math.prod(v.shape[1:]) for v in source.read(slice(0, 1))), source.stamp


def _pair(block: Any) -> Batch:
    return block() if callable(block) else block


def _here(settings: Settings) -> Settings:
    """The requested device if it exists on this worker, else that of the data."""
    return replace(settings, device=settings.device if torch.cuda.is_available() else None)


# The following functions handle Dask itself.


def _dask() -> Any:
    try:
        import dask
        import dask.array
        import distributed  # noqa: F401 (asked for here, so that one message names the remedy)
    except ImportError:
        raise RaffiaError("fits on a cluster need Dask: pip install raffia[distributed].") from None
    return dask


def dask_array(name: str, values: Any) -> Any:
    """A Dask array from one, or from an xarray DataArray that holds one."""
    dask = _dask()
    values = values.data if hasattr(values, "dims") else values
    if not isinstance(values, dask.array.Array):
        raise RaffiaError(
            f"{name} must be a Dask array, such as dask.array.from_zarr(path), or an xarray DataArray of one; got "
            f"{type(values).__name__}. Arrays in memory are for model.fit(a, y) without further arguments."
        )
    if any(math.isnan(size) for size in values.shape):
        raise RaffiaError(f"{name} must have known block sizes: call {name}.compute_chunk_sizes() first.")
    return values


def _computed(tasks: list[Any], client: Any, patience: float) -> list[Any]:
    """Compute with the client, else with the current one, else with threads of this process."""
    dask = _dask()
    import distributed

    if client is None and dask.config.get("scheduler", None) == "dask.distributed":
        client = distributed.default_client()
    if client is None:
        return list(dask.compute(*tasks))
    versions = client.get_versions(packages=["raffia"])
    here = versions["client"]["packages"]["raffia"]
    for address, worker in versions["workers"].items():
        if (there := worker["packages"]["raffia"]) != here:  # its features may differ
            raise RaffiaError(
                f"all workers must have raffia {here}, as here; {address} has {there}. Install the same version there."
            )
    return _gathered(client, client.compute(tasks), patience)


def _gathered(client: Any, futures: list[Any], patience: float) -> list[Any]:
    """The results of workers. It is an error if there are no workers for `patience` seconds, or if the scheduler dies."""
    import distributed

    last_alive = time.monotonic()
    try:
        while True:
            with suppress(TimeoutError), client.as_current():
                distributed.wait(futures, timeout=min(DEFAULTS.interval, patience))
                return list(client.gather(futures))
            if client.nthreads():
                last_alive = time.monotonic()
            elif time.monotonic() >= last_alive + patience:
                raise RaffiaError(
                    f"the cluster has had no workers for {patience:g} seconds: they died, most often of memory, or none has come. "
                    "Start some with `dask worker`, and fit again; patience=… waits longer."
                )
    except distributed.KilledWorker as error:
        raise RaffiaError(
            f"a task was given up, because every worker that tried it died ({error.last_worker.address} was the last): most often they ran "
            "out of memory. Use smaller blocks, fewer n_features or workers with more memory."
        ) from None
    except (distributed.comm.CommClosedError, concurrent.futures.CancelledError, asyncio.CancelledError):
        raise RaffiaError(
            "the connection to the Dask scheduler is lost: start it again, and its workers, and fit again."
        ) from None
