"""Requests that wait for the same thing are computed together: a batch takes little longer than one input."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

MOST = 256  # requests of a batch

Function = Callable[..., np.ndarray]
Call = tuple[tuple[np.ndarray, ...], "asyncio.Future[np.ndarray]"]


class Gatherer:
    """Computes in one thread, which also keeps models from being used by two at once. Nobody waits for a batch to fill: what has come
    while the last one was computed is the next. Another thread reads and writes messages in the meantime."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="raffia-serve")
        self._waiting: dict[Function, list[Call]] = {}
        self._worker: asyncio.Task[None] | None = None

    async def rows(self, function: Function, *vectors: np.ndarray) -> np.ndarray:
        """function(*vectors), where `function` takes batches of each: that of this call is computed with others of the same function."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[np.ndarray] = loop.create_future()
        self._waiting.setdefault(function, []).append((vectors, future))
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        return await future

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments), in the thread of all computations."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(function, *arguments))

    async def _work(self) -> None:
        while self._waiting:
            function = next(iter(self._waiting))  # the one that has waited longest: whoever comes later is put last
            calls = self._waiting.pop(function)
            if len(calls) > MOST:
                self._waiting[function] = calls[MOST:]
            calls = calls[:MOST]
            rows = await self.run(computed, function, [vectors for vectors, _ in calls])
            for (_, future), row in zip(calls, rows, strict=True):
                if future.cancelled():
                    continue
                if isinstance(row, Exception):
                    future.set_exception(row)
                else:
                    future.set_result(row)
        self._worker = None

    def close(self) -> None:
        """Forget what waits; what is being computed is finished."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def computed(function: Function, calls: Sequence[tuple[np.ndarray, ...]]) -> Sequence[np.ndarray | Exception]:
    """A row for each call; where the batch fails, each by itself, so that nobody has the error of another."""
    try:
        return list(function(*map(np.stack, zip(*calls, strict=True))))
    except Exception as error:  # whatever it is, it belongs to the requests, and the server goes on
        return [error] if len(calls) == 1 else [computed(function, [call])[0] for call in calls]
