"""Tasks side by side in threads of one process: torch releases the interpreter's lock, and each worker has one thread of torch.

Results do not depend on the number of workers: each task computes with one thread, and results come in the order of the tasks. Tasks may
have tasks of their own, since whoever waits works on them too.
"""

import contextvars
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Job:
    """A function to be called with each of these items, and what came of it."""

    function: Callable[[Any], Any]
    items: Sequence[Any]
    begun: int = 0
    results: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, BaseException] = field(default_factory=dict)

    @property
    def waiting(self) -> bool:
        """Whether there are items that nobody has begun."""
        return self.begun < len(self.items)

    @property
    def done(self) -> bool:
        """Whether all items are finished."""
        return len(self.results) + len(self.failures) == len(self.items)


class _Workers:
    """Threads that take items of jobs, the newest job first, since older ones wait for it."""

    def __init__(self) -> None:
        self.jobs: list[_Job] = []
        self.changed = threading.Condition()
        self.closed = False

    def run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The results, in order; the first failure is raised when all have ended."""
        job = _Job(function, items)
        with self.changed:
            self.jobs.append(job)
            self.changed.notify_all()
        while self._step(job):
            pass
        with self.changed:
            self.changed.wait_for(lambda: job.done)
            self.jobs.remove(job)
        if job.failures:
            raise job.failures[min(job.failures)]
        return [job.results[index] for index in range(len(items))]

    def help(self) -> None:
        """Take items as long as there may be some."""
        torch.set_num_threads(1)
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.closed or any(job.waiting for job in self.jobs))
                if self.closed:
                    return
                job = next((job for job in reversed(self.jobs) if job.waiting), None)
            if job is not None:
                self._step(job)

    def _step(self, job: _Job) -> bool:
        """Take one item of a job, if any waits."""
        with self.changed:
            if not job.waiting:
                return False
            index, job.begun = job.begun, job.begun + 1
        try:
            result, kept = job.function(job.items[index]), job.results
        except BaseException as failure:  # raised where the job was begun
            result, kept = failure, job.failures
        with self.changed:
            kept[index] = result
            self.changed.notify_all()
        return True


_CURRENT: contextvars.ContextVar[_Workers | None] = contextvars.ContextVar("workers", default=None)


@contextmanager
def working(count: int) -> Iterator[None]:
    """In the block, `side_by_side` has so many workers, the caller among them, each with one thread of torch."""
    threads, workers = torch.get_num_threads(), _Workers()
    if _CURRENT.get() is not None:  # those that there are serve
        yield
        return
    token = _CURRENT.set(workers)
    helpers = [
        threading.Thread(target=contextvars.copy_context().run, args=(workers.help,), daemon=True) for _ in range(count - 1)
    ]
    try:
        for helper in helpers:
            helper.start()
        torch.set_num_threads(1)
        yield
    finally:
        with workers.changed:
            workers.closed = True
            workers.changed.notify_all()
        for helper in helpers:
            helper.join()
        _CURRENT.reset(token)
        torch.set_num_threads(threads)


def side_by_side(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`[function(item) for item in items]`, by the workers of the `working` block around it, if there is one."""
    workers = _CURRENT.get()
    if workers is None or len(items) < 2:
        return [function(item) for item in items]
    return workers.run(function, items)
