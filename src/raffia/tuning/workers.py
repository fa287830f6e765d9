"""Tasks side by side in threads of one process: torch releases the interpreter's lock, and each worker has one thread of torch.

Results do not depend on the number of workers: each task computes with one thread, and results come in the order of the tasks. Tasks may
have tasks of their own: a worker that waits for tasks begins those of them that no other has begun.
"""

import contextvars
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from queue import LifoQueue
from threading import Thread
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
Tasks = LifoQueue[Callable[[], None] | None]
"""Tasks that nobody has begun, the newest first, since older ones wait for them; None ends a worker."""
_TASKS: contextvars.ContextVar[Tasks | None] = contextvars.ContextVar("tasks", default=None)


@contextmanager
def working(count: int) -> Iterator[None]:
    """In the block, `side_by_side` has so many workers, the caller among them, each with one thread of torch."""
    if _TASKS.get() is not None:  # the workers that there are serve
        yield
        return
    threads, tasks = torch.get_num_threads(), Tasks()
    token = _TASKS.set(tasks)
    helpers = [Thread(target=contextvars.copy_context().run, args=(_help, tasks), daemon=True) for _ in range(count - 1)]
    try:
        for helper in helpers:
            helper.start()
        torch.set_num_threads(1)
        yield
    finally:
        for _ in helpers:
            tasks.put(None)
        for helper in helpers:
            helper.join()
        _TASKS.reset(token)
        torch.set_num_threads(threads)


def _help(tasks: Tasks) -> None:
    torch.set_num_threads(1)
    while (task := tasks.get()) is not None:
        task()


def side_by_side(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`[function(item) for item in items]`, by the workers of the `working` block around it, if there is one.

    The first failure is raised when all tasks that were begun have ended.
    """
    tasks = _TASKS.get()
    if tasks is None or len(items) < 2:
        return [function(item) for item in items]
    futures: list[Future[Result]] = [Future() for _ in items]
    for future, item in reversed(list(zip(futures, items, strict=True))):
        tasks.put(partial(_carry_out, future, function, item))
    try:
        return [function(item) if future.cancel() else future.result() for future, item in zip(futures, items, strict=True)]
    finally:
        wait([future for future in futures if not future.cancel()])


def _carry_out(future: Future[Result], function: Callable[[Item], Result], item: Item) -> None:
    """Compute a result, unless the worker that waits for it has begun to."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function(item))
    except BaseException as failure:  # raised where the result is waited for
        future.set_exception(failure)
