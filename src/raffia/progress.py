"""A progress bar with the best value so far, on stderr and only when asked for."""

import math
from types import TracebackType
from typing import Any


class Progress:
    """A bar of `total` steps; silent and without dependencies unless `shown`."""

    def __init__(self, label: str, total: int, shown: bool) -> None:
        self.best = math.inf
        self._bar: Any = None
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._label = label
            self._task = self._bar.add_task(label, total=total)

    def step(self, value: float | None = None, count: int = 1) -> None:
        """One step further; `value` is an error that may be the best so far."""
        if value is not None:
            self.best = min(self.best, value)
        if self._bar is not None:
            best = f", best {self.best:.4g}" if math.isfinite(self.best) else ""
            self._bar.update(self._task, advance=count, description=self._label + best)

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
