"""The axis that counts samples: as given, by the names of axes, or by lengths, coordinates and values.

Neighbours along an axis of space or time are alike, and unrelated samples are not: that is what values tell.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from raffia.data.infer import names
from raffia.data.infer.coordinates import lengths, node_counts
from raffia.data.infer.guess import Confidence, Guess, Guesses
from raffia.data.infer.names import Variables, shapes, unpaired
from raffia.data.options import FLAGS, SamplesAxis
from raffia.data.pace import UNRELATED, neighbour_ratio
from raffia.data.readers.variable import LOOKED_AT, Variable, decode
from raffia.data.row_reader import spread
from raffia.errors import RaffiaError

ONE = "none"  # how it is said that arrays are one sample
ROWS = 64  # that are read
TELLING = 8  # consecutive entries that are enough to tell
ENOUGH = 3  # of what speaks for last axes, more than for the first, for them to be taken
Axes = tuple[int | None, ...]


@dataclass(frozen=True)
class Look:
    """A first look at an array: some of its rows are read once, when they are asked for."""

    variable: Variable

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.variable.shape

    @cached_property
    def values(self) -> np.ndarray:
        """Blocks of consecutive rows, (blocks, rows, …)."""
        rows = max(TELLING, LOOKED_AT // math.prod(self.shape[1:]))
        parts = [self.variable.read(block) for block in spread(self.variable, min(ROWS, rows), TELLING)]
        return np.stack([decode(self.variable, part).astype(np.float64) for part in parts])

    @cached_property
    def ratios(self) -> tuple[float, ...]:
        """Von Neumann's ratio along each axis: 1 if entries are in no order, near 0 if neighbours are alike, NaN if nothing varies."""
        return tuple(neighbour_ratio(self.values, 1 + axis) for axis in range(len(self.shape)))

    def smooth(self, axis: int) -> bool | None:
        """Return whether values vary smoothly along an axis, or None if it has too few points."""
        known = self.values.shape[1:][axis] >= TELLING and not np.isnan(self.ratios[axis])
        return self.ratios[axis] < UNRELATED if known else None

    def against(self, axis: int) -> int:
        """Return 1 if values speak against samples along one end of the array and for the other, −1 for the reverse, else 0."""
        here, there = self.smooth(axis), self.smooth(-1 if axis == 0 else 0)
        known = len(self.shape) > 1 and here is not None and there is not None
        return int(bool(here)) - int(bool(there)) if known else 0


def samples_axes(
    ins: Sequence[Variable], outs: Sequence[Variable], pool: Variables, guesses: Guesses, asked: SamplesAxis = None
) -> Axes:
    """Return the index of the sample axis of each input and output, or None for an array that is a single sample.

    Axes are found by their names, then by their lengths. `pool` holds the other arrays of the file, and `asked` is the user's choice.
    """
    both = (*ins, *outs)
    for v in both:
        if not v.shape or 0 in v.shape:
            raise RaffiaError(f"{v.name} must hold at least one sample; it has shape {v.shape}.")
    if asked is not None:
        return _as_asked(both, asked, guesses)
    return by_names(both, pool, guesses) or _by_lengths(both, pool, guesses, unpaired(ins, outs))


def axes_asked(asked: SamplesAxis) -> list[int | None]:
    """Return the axes given as "0", "0,1" or (0, 1), with None for an array that is one sample; empty for other text."""
    words = [word.strip() for word in str(asked).strip("()[]").removesuffix(",").split(",")]
    try:
        return [None if word == ONE else int(word) for word in words]
    except ValueError:
        return []


def _as_asked(both: Sequence[Variable], asked: SamplesAxis, guesses: Guesses) -> Axes:
    axes = axes_asked(asked)
    axes = axes * len(both) if len(axes) == 1 else axes
    fits = len(axes) == len(both) and all(
        a is None or -len(v.shape) <= a < len(v.shape) for a, v in zip(axes, both, strict=True)
    )
    found = tuple(a if a is None else a % len(v.shape) for a, v in zip(axes, both, strict=True)) if fits else ()
    counts = [1 if a is None else v.shape[a] for a, v in zip(found, both, strict=fits)]
    if len(set(counts)) != 1:
        came = f", with {' and '.join(map(str, counts))} samples" if counts else ""
        raise RaffiaError(
            f"samples_axis=… ({FLAGS['samples_axis']}) must be the number of an axis, from 0, for all of {shapes(both)}, or one for each "
            f"with commas between them, along which they pair up; or {ONE} where they are one sample. Got {asked!r}{came}."
        )
    one = "the arrays are one sample, as asked for"
    guesses.note(one if found[0] is None else "samples are along the axis that was asked for", "samples_axis", asked)
    return found


def check_values(both: Sequence[Variable], axes: Sequence[int | None]) -> None:
    """Refuse samples along axes along which values are alike, and not along others."""
    known = [axis for axis in axes if axis is not None]
    if len(known) == len(both) and _against(both, known) > 0:
        raise RaffiaError(
            f"{shapes(both)}: samples are along axis {', '.join(map(str, dict.fromkeys(known)))} in training, but here neighbours along it "
            "are alike, as values of one function are. Pass a file that is laid out like that of the training."
        )


def by_names(both: Sequence[Variable], pool: Variables, guesses: Guesses) -> Axes | None:
    """Return the sample axes if axis names, or coordinates with these names, identify them, else None."""
    if not all(v.dims for v in both):
        return None
    shared = [dim for dim in both[0].dims or () if all(dim in (v.dims or ()) for v in both)]
    tests: tuple[tuple[Callable[[str, Variable | None], bool], str], ...] = (
        (names.counts_samples, "its name says so"),
        (lambda dim, x: not names.is_place(dim, x), "no other axis that all arrays have counts anything but places"),
    )
    for test, reason in tests:
        named = [dim for dim in shared if test(dim, pool.get(dim))]
        if len(named) == 1 or any(names.is_time(dim, pool.get(dim)) for dim in named):
            times = [dim for dim in shared if dim not in named and names.is_time(dim, pool.get(dim))]
            beside = f", and not along {times[0]}" if times else ""
            ways: dict[Axes, str] = {
                tuple((v.dims or ()).index(dim) for v in both): f"samples are along the axis {dim}, as {reason}{beside}"
                for dim in named
            }
            sure = Confidence.SURE if len(named) == 1 else Confidence.OPEN
            return _taken(f"samples may be along {' or '.join(named)}: {shapes(both)}.", ways, sure, guesses)
    if shared and all(names.is_place(dim, pool.get(dim)) for dim in shared) and len(shared) == len(both[0].dims or ()):
        raise RaffiaError(
            f"no axis counts samples: {shapes(both)} have the axes {', '.join(shared)}, which are places. If the file is one sample, pass "
            f"{FLAGS['samples_axis']} {ONE} (samples_axis={ONE!r}); a model needs several, for example one file each."
        )
    return None


def _by_lengths(both: Sequence[Variable], pool: Variables, guesses: Guesses, unequal: str) -> Axes:
    """Return first or last axes of one length; first axes are taken unless coordinates or values speak for others."""
    rows, columns = (0,) * len(both), tuple(len(v.shape) - 1 for v in both)
    every = product(*(sorted({0, last}) for last in columns))
    ways = [axes for axes in every if len({v.shape[axis] for v, axis in zip(both, axes, strict=True)}) == 1]
    in_columns = columns in ways and 0 not in columns
    if rows in ways:
        ways = [rows, columns] if in_columns else [rows]
    ways = [axes for axes in ways if both[0].shape[axes[0]] not in _lengths(pool)] or ways if rows not in ways else ways
    if not ways:
        raise RaffiaError(unequal)
    scores = {axes: _score(both, axes, pool) + 0.5 * (axes == rows) for axes in ways}
    best = max(ways, key=lambda axes: scores[axes])
    if best == rows or (rows in ways and scores[best] - scores[rows] >= ENOUGH):
        sure = True
    else:
        sure = rows not in ways and len(ways) == 1 and scores[best] >= int(in_columns)
    if sure:
        reason = _reason(both, best, rows in ways)
        return _taken("", {best: reason}, Confidence.LIKELY if reason and best == rows else Confidence.SURE, guesses)
    counts = " or ".join(f"along axis {_typed(axes)} ({both[0].shape[axes[0]]} of them)" for axes in ways)
    why = "neighbours there are alike, as values of one function are" if len(ways) == 1 else "values do not tell"
    question = f"samples may be {counts}, but {why}: {shapes(both)}."
    return _taken(question if rows in ways else f"{unequal} {question}", dict.fromkeys(ways, ""), Confidence.OPEN, guesses)


def _taken(question: str, ways: Mapping[Axes, str], sure: Confidence, guesses: Guesses) -> Axes:
    """Return the axes that are taken of several, each with a reason."""
    typed = {_typed(axes): axes for axes in ways}
    return typed[guesses.take(question, [Guess("samples_axis", value, ways[axes], sure) for value, axes in typed.items()])]


def _typed(axes: Axes) -> int | str | None:
    """Return axes as they are typed on the command line."""
    return axes[0] if len(set(axes)) == 1 else ",".join(map(str, axes))


def _reason(both: Sequence[Variable], axes: Axes, in_rows: bool) -> str:
    """Return the reason for the sample axes, or an empty string if the first axis is not in doubt."""
    if not any(axes):
        alike = any(Look(v).smooth(0) for v in both if len(v.shape) > 1)
        return "samples, along the first axis, are like those next to them" if alike else ""
    why = "as coordinates go along the first" if in_rows else "where lengths agree"
    return f"{', '.join(v.name for v, axis in zip(both, axes, strict=True) if axis)}: samples are along the last axis, {why}"


def _score(both: Sequence[Variable], axes: Axes, pool: Variables) -> int:
    """Return the evidence for samples along these axes: 2 for coordinates along the other ends, 1 for times and 1 for values."""
    timeless = {name: v for name, v in pool.items() if not names.is_time(name, v)}
    pinned = len(set(axes)) > 1 and any(len(v.shape) < 3 and min(v.shape) < TELLING for v in both)
    return sum(_marks(both, axes, known) for known in (pool, timeless)) - (0 if pinned else _against(both, axes))


def _marks(both: Sequence[Variable], axes: Axes, pool: Variables) -> int:
    """Return 1 if the file has coordinates as long as the other ends of arrays, −1 if as long as these axes, so that they count points."""
    known = _lengths(pool)
    ends = [(v.shape[axis or 0], v.shape[0 if axis else -1]) for v, axis in zip(both, axes, strict=True) if len(v.shape) > 1]
    here, there = (any(two[i] in known and two[0] != two[1] for two in ends) for i in (0, 1))
    return int(there) - int(here)


def _against(both: Sequence[Variable], axes: Sequence[int | None]) -> int:
    """Return 1 if values speak against samples along these axes and not for them, −1 for the reverse, else 0."""
    verdicts = {Look(v).against(axis or 0) for v, axis in zip(both, axes, strict=True)}
    return int(1 in verdicts and -1 not in verdicts) - int(-1 in verdicts and 1 not in verdicts)


def _lengths(pool: Variables) -> set[int]:
    """Return the lengths of the coordinates in a file, along axes and of nodes."""
    return {*lengths(pool).values(), *(count for count in node_counts(pool) if count > TELLING)}
