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


class Standings:
    """A live table of candidates, with the state, the error so far and the seconds of each; silent unless `shown`."""

    def __init__(self, title: str, shown: bool) -> None:
        self.title = title
        self._rows: dict[str, tuple[str, float, float]] = {}
        self._live: Any = None
        if shown:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True, refresh_per_second=4, get_renderable=self._table)

    def update(self, name: str, state: str, error: float = math.inf, seconds: float = 0.0) -> None:
        """The state of a candidate."""
        self._rows[name] = (state, error, seconds)

    def _table(self) -> Any:
        from rich.table import Table

        table = Table("features", "state", "error", "seconds", title=self.title)
        for name, (state, error, seconds) in list(self._rows.items()):
            table.add_row(name, state, f"{error:.3g}" if math.isfinite(error) else "", f"{seconds:.1f}" if seconds else "")
        return table

    def __enter__(self) -> "Standings":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
