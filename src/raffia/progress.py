"""A progress bar with the best value so far, and a table of candidates, on stderr and only when asked for."""

import math
from types import TracebackType
from typing import Any, Self


class Live:
    """What is shown while something runs, on stderr; nothing, and no dependency, if it is None."""

    shown: Any = None

    def __enter__(self) -> Self:
        if self.shown is not None:
            self.shown.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.shown is not None:
            self.shown.stop()


class Progress(Live):
    """A bar of `total` steps, with the best value so far; silent unless `shown`."""

    def __init__(self, label: str, total: int, shown: bool) -> None:
        self.best = math.inf
        if shown:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            text = TextColumn("{task.description}", markup=False)
            columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
            self.shown = Bar(*columns, console=Console(stderr=True), transient=True)
            self._label, self._task = label, self.shown.add_task(label, total=total)

    def step(self, value: float | None = None, count: int = 1) -> None:
        """One step further; `value` is an error that may be the best so far."""
        if value is not None:
            self.best = min(self.best, value)
        if self.shown is not None:
            best = f", best {self.best:.4g}" if math.isfinite(self.best) else ""
            self.shown.update(self._task, advance=count, description=self._label + best)


class Standings(Live):
    """A live table of candidates, with the state, the error so far and the seconds of each; silent unless `shown`."""

    def __init__(self, title: str, shown: bool) -> None:
        self.title = title
        self._rows: dict[str, tuple[str, float, float]] = {}
        if shown:
            from rich.console import Console
            from rich.live import Live as LiveTable

            self.shown = LiveTable(
                console=Console(stderr=True), transient=True, refresh_per_second=4, get_renderable=self._table
            )

    def update(self, name: str, state: str, error: float = math.inf, seconds: float = 0.0) -> None:
        """The state of a candidate."""
        self._rows[name] = (state, error, seconds)

    def _table(self) -> Any:
        from rich.table import Table

        table = Table("features", "state", "error", "seconds", title=self.title)
        for name, (state, error, seconds) in list(self._rows.items()):
            table.add_row(name, state, f"{error:.3g}" if math.isfinite(error) else "", f"{seconds:.1f}" if seconds else "")
        return table
