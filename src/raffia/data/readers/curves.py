"""Curves on points of their own, brought to points that all of them have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from raffia.data.readers.layout import Layout
from raffia.errors import RaffiaError

MOST = 256  # points, unless more are asked for


@dataclass(frozen=True)
class Curves:
    """The coordinates of each curve, sorted, and the points that values are interpolated to; None where all are equal.

    The values of curves come in other orders, if `orders` are given, that sort them.
    """

    name: str
    lines: tuple[np.ndarray, ...]
    grid: np.ndarray | None
    note: str = ""
    orders: tuple[np.ndarray, ...] = ()

    @property
    def points(self) -> np.ndarray:
        """The points of all curves."""
        return self.lines[0] if self.grid is None else self.grid

    def values(self, curve: int, values: np.ndarray) -> np.ndarray:
        """One curve at these points."""
        ordered = values[self.orders[curve]] if self.orders else values
        return ordered if self.grid is None else np.interp(self.grid, self.lines[curve], ordered)

    def in_other_files(self, layout: Layout) -> Layout:
        """The layout that brings the curves of another file to the same points."""
        if self.grid is None:
            return layout
        return replace(layout, first=float(self.grid[0]), last=float(self.grid[-1]), points=len(self.grid))


def common(path: Path, name: str, lines: Sequence[np.ndarray], asked: Layout) -> Curves:
    """Curves with these coordinates, each sorted: as they are if all have the same, else on points that they share."""
    for line in lines:
        if not np.isfinite(line).all():
            raise RaffiaError(f"{path}: the coordinates {name} have missing values. Leave those rows out.")
    if asked.points is None and _equal(lines):
        return Curves(name, tuple(lines), None)
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
    return Curves(name, tuple(lines), np.linspace(first, last, points), note)


def _equal(lines: Sequence[np.ndarray]) -> bool:
    size = float(np.ptp(lines[0])) or 1.0
    return all(len(line) == len(lines[0]) and np.abs(line - lines[0]).max() <= 1e-9 * size for line in lines)
