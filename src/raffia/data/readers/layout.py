"""Where samples are in tables and folders, as the caller says or as it was recognised; and curves brought to common points."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from raffia.errors import RaffiaError

WIDE, LONG, COLUMNS, POINTS = "wide", "long", "columns", "points"
SAMPLES, PARTS = "samples", "parts"
TABLES = (".csv", ".tsv", ".txt", ".dat", ".tab", ".asc")
MOST = 256  # points of curves, unless more are asked for


@dataclass(frozen=True)
class Layout:
    """Where samples are in a table or a folder; what is empty is for the reader to find.

    A `table` is "wide" (a row is a sample), "long" (a row is a point of a sample), "columns" (a column is a sample, rows are
    points) or "points" (the rows are the points of one sample). In a long one, the columns `samples` name the sample, and
    `coordinates` the place in it. Curves on different points are resampled to `points` points from `first` to `last`. The `files`
    of a folder are "samples", each one of them, or "parts" of the samples. The columns `parameters` are numbers of a sample,
    `functions` are none, even where they are constant, and the arrays `wanted` have a row for each; the `numbers` at these places
    in the names of files are inputs.
    """

    table: str = ""
    samples: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()
    first: float | None = None
    last: float | None = None
    points: int | None = None
    files: str = ""
    parameters: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.table not in ("", WIDE, LONG, COLUMNS, POINTS):
            raise RaffiaError(f"table=… (--table) must be {WIDE}, {LONG} or {COLUMNS}; got {self.table!r}.")
        if self.files not in ("", SAMPLES, PARTS):
            raise RaffiaError(f"files=… (--files) must be {SAMPLES} or {PARTS}; got {self.files!r}.")
        if self.points is not None and not 2 <= self.points <= 2**20:
            raise RaffiaError(f"resample=… (--resample) must be at least 2 points, and no more than 2^20; got {self.points}.")


def resampling(text: str | int | None) -> tuple[float | None, float | None, int | None]:
    """First and last coordinate and the number of points, from "200" or "0:0.44:200"."""
    parts = [] if text is None else str(text).split(":")
    try:
        if len(parts) == 3 and float(parts[0]) < float(parts[1]):
            return float(parts[0]), float(parts[1]), int(parts[2])
        return None, None, int(parts[0]) if len(parts) == 1 else None if not parts else int("")
    except ValueError:
        raise RaffiaError(
            f"resample=… (--resample) must be a number of points, or FIRST:LAST:POINTS as in 0:0.44:200; got {text!r}."
        ) from None


@dataclass(frozen=True)
class Curves:
    """The coordinates of each curve, sorted, the orders that sort them, and the points of all curves.

    Values are interpolated to these points if they are `resampled`, as curves have other coordinates.
    """

    name: str
    lines: tuple[np.ndarray, ...]
    orders: tuple[np.ndarray, ...]
    points: np.ndarray
    resampled: bool
    notes: tuple[str, ...]

    def values(self, curve: int, values: np.ndarray) -> np.ndarray:
        """One curve at these points."""
        ordered = values[self.orders[curve]]
        return np.interp(self.points, self.lines[curve], ordered) if self.resampled else ordered

    def in_other_files(self, layout: Layout) -> Layout:
        """The layout that brings the curves of another file to the same points."""
        if not self.resampled:
            return layout
        return replace(layout, first=float(self.points[0]), last=float(self.points[-1]), points=len(self.points))


def common(path: Path, name: str, coordinates: Sequence[np.ndarray], asked: Layout) -> Curves:
    """Curves with these coordinates, sorted by them: on these if all have the same, else on points that they share."""
    orders = tuple(np.argsort(x, kind="stable") for x in coordinates)
    lines = tuple(x[order] for x, order in zip(coordinates, orders, strict=True))
    if not all(np.isfinite(line).all() for line in lines):
        raise RaffiaError(f"{path}: the coordinates {name} have missing values. Leave those rows out.")
    moved = sum(bool((np.diff(order) != 1).any()) for order in orders)
    notes = (f"the values of {moved} of {len(lines)} curves are sorted by {name}.",) if moved else ()
    if asked.points is None and _equal(lines):
        return Curves(name, lines, orders, lines[0], False, notes)
    first = max(float(line[0]) for line in lines) if asked.first is None else asked.first
    last = min(float(line[-1]) for line in lines) if asked.last is None else asked.last
    points = min(MOST, max(2, int(np.median([len(line) for line in lines])))) if asked.points is None else asked.points
    if first >= last:
        raise RaffiaError(
            f"{path}: the curves have no common range of {name}: one begins at {first:g}, another ends at {last:g}. Leave those out."
        )
    step = (last - first) / (points - 1)
    short = [i for i, line in enumerate(lines) if line[0] > first + step or line[-1] < last - step]
    if short:
        line = lines[short[0]]
        raise RaffiaError(
            f"{path}: {len(short)} of {len(lines)} curves do not reach from {first:g} to {last:g}, the range of {name} to resample to: "
            f"sample {short[0]} has {line[0]:g} to {line[-1]:g}. Leave them out, or pass resample=… (--resample FIRST:LAST:POINTS)."
        )
    beyond = sum(bool(line[0] > first or line[-1] < last) for line in lines)
    held = f"; {beyond} of them miss an end by less than a step, and keep their end value there" if beyond else ""
    note = (
        f"{len(lines)} curves of {min(map(len, lines))} to {max(map(len, lines))} points are resampled linearly to {points} points of "
        f"{name} from {first:g} to {last:g}{held}; --resample FIRST:LAST:POINTS says otherwise."
    )
    return Curves(name, lines, orders, np.linspace(first, last, points), True, (*notes, note))


def _equal(lines: Sequence[np.ndarray]) -> bool:
    size = float(np.ptp(lines[0])) or 1.0
    return all(len(line) == len(lines[0]) and np.abs(line - lines[0]).max() <= 1e-9 * size for line in lines)
