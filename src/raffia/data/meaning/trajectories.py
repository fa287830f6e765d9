"""Which arrays of a file are trajectories: an axis of time, told by names, times or values, and what is fixed along it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from raffia.data.formats.variable import LOOKED_AT, Variable
from raffia.data.meaning.columns import CHANNELS
from raffia.data.meaning.convention import Ends, by_values
from raffia.data.meaning.names import COORDINATES, FLAGS, Variables, likely, shapes, shown
from raffia.data.meaning.pace import even, steady
from raffia.data.meaning.steps import TIMES, Steps, is_time
from raffia.errors import RaffiaError

GLANCE = 8  # trajectories that are looked at to tell time from space
ALIKE = 64  # trajectories among which two with the same parameters are looked for


@dataclass(frozen=True)
class Wanted:
    """What the caller says of trajectories: the axis of time, and what a pair is."""

    time: int | None = None
    stride: int | None = None
    window: int | None = None
    horizon: int = 1

    def __post_init__(self) -> None:
        for name in ("stride", "window", "horizon"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise RaffiaError(f"{FLAGS[name]} ({name}=…) must be 1 or more; got {getattr(self, name)}.")

    @property
    def flags(self) -> list[str]:
        """What was said, as the command line has it."""
        said = [] if self.time is None else [FLAGS["time"]]
        return said + [FLAGS[name] for name in ("stride", "window", "horizon") if (getattr(self, name) or 1) > 1]


def trajectories_in(path: object, arrays: Variables, names: Sequence[str], wanted: Wanted) -> tuple[Steps | None, list[str]]:
    """How a file that holds trajectories is read, and why; None where it does not, with what there is to say of it."""
    known = [arrays[name] for name in names if name in arrays] if names else likely(arrays)
    moving = [v for v in known if v.shape == max(known, key=lambda v: len(v.shape)).shape]
    if not moving or len(known) < len(names) or (len(moving) > 1 and not names):
        if wanted.flags:
            raise RaffiaError(
                f"{path}: {wanted.flags[0]} is for one array of trajectories; name it with {FLAGS['input']} NAME, several of one shape are "
                f"channels. It holds {shapes(likely(arrays)) or 'no such array'}."
            )
        return None, [] if names or len(moving) != len(known) else _maybe(known, arrays)
    v, others = moving[0], [v for v in known if v not in moving]
    axis, reason = _said(path, v, wanted.time) if wanted.time is not None else _told(v, arrays)
    if axis is None:
        if len(v.shape) < 3 or (others and not (names or wanted.flags)):
            return _no_axis(path, v, wanted)
        axis, reason = _seen(path, v)
    alone = axis == len(v.shape) - 1 and _all_places(v, axis, arrays)
    if len(v.shape) == 2 and axis and not (alone or wanted.flags):
        return None, []  # curves, and not the paths of numbers
    first = 1 if alone or axis == 0 else v.shape[0]
    fixed = [other for other in others if _numbers(other, first)]
    if others and not (names or wanted.flags) and (len(fixed) < len(others) or _functions_of(fixed, v, axis)):
        return None, _maybe([v, *fixed], arrays)
    if names and len(fixed) < len(others):
        raise RaffiaError(
            f"{path}: arrays beside the trajectories {v.name} {shown(v.shape)} must have their shape, as channels, or be numbers that hold "
            f"for a whole trajectory, {first} or {first}×numbers; got {shapes(other for other in others if other not in fixed)}."
        )
    beside = tuple(one.name for one in moving[1:])
    steps = Steps(
        v.name, len(v.shape), axis, 1, wanted.window or 1, wanted.horizon, beside, tuple(f.name for f in fixed), alone
    )
    stride, pace = steady(v, steps, wanted.stride)
    steps = replace(steps, stride=stride)
    return steps, [*_notes(v, steps, reason), *even(path, v, axis, arrays), *pace]


def _notes(v: Variable, steps: Steps, reason: str) -> list[str]:
    n = steps.count(v)
    held = f"{', '.join([steps.name, *steps.beside])} hold{'' if steps.beside else 's'} {n} {'trajectory' if n == 1 else 'trajectories'}"
    notes = [f"{held} of {v.shape[steps.axis]} states, time along axis {steps.axis}, {reason}: {steps.in_words}."]
    if steps.fixed:
        few = len(steps.fixed) == 1
        notes.append(
            f"{', '.join(steps.fixed)} {'is' if few else 'are'} fixed along a trajectory, and {'goes' if few else 'go'} with its states "
            f"into every pair; {FLAGS['input']} {steps.name} leaves {'it' if few else 'them'} out."
        )
    return notes


def _said(path: object, v: Variable, time: int) -> tuple[int, str]:
    if not -len(v.shape) <= time < len(v.shape):
        raise RaffiaError(f"{path}: {FLAGS['time']} (time=…) must be an axis of {v.name} {shown(v.shape)}; got {time}.")
    return range(len(v.shape))[time], "as was said"


def _told(v: Variable, arrays: Variables) -> tuple[int | None, str]:
    """The axis of time, by the names of axes or by an array of times."""
    if v.dims:
        named = [axis for axis, dim in enumerate(v.dims) if dim.rpartition("/")[2].lower() in TIMES]
        if len(named) == 1:
            return named[0], f"which is called {v.dims[named[0]]}"
    for t in filter(is_time, arrays.values()):
        fitting = [axis for axis, size in enumerate(v.shape) if size == max(t.shape)]
        if len(fitting) == 1:
            return fitting[0], f"as long as {t.name}"
    return None, ""


def _seen(path: object, v: Variable) -> tuple[int, str]:
    """The axis of time as the one that is unlike the others, by lengths or by values."""
    inner = v.shape[1:]
    if len(inner) >= 3:
        odd = [axis for axis, size in enumerate(inner, 1) if inner.count(size) == 1]
        if len(odd) == 1 and odd[0] in (1, len(inner)):
            return odd[0], "the only one of another length"
    if len(inner) == 2 and min(inner) > 2 and v.affordable(GLANCE):
        some = v.read(slice(0, min(GLANCE, v.shape[0]))).astype(np.float64)[:, None]
        around = [by_values(some, axis)[0] in (Ends.PERIODIC, Ends.FIXED, Ends.REPEATED) for axis in (2, 3)]
        if around[0] != around[1]:
            return 1 + around.index(False), "as the other axis goes around, or has fixed ends"
    short = " Along an axis of a single entry there are no steps, as pairs need two states or more." if 1 in inner else ""
    raise RaffiaError(
        f"{path}: {v.name} {shown(v.shape)} is the only array, so it holds trajectories, or inputs without outputs. If time is along axis "
        f"1 pass {FLAGS['time']} 1, along the last one {FLAGS['time']} {len(v.shape) - 1} (time=…); else pass {FLAGS['input']} and "
        f"{FLAGS['output']}, or {FLAGS['output_path']} FILE.{short}"
    )


def _no_axis(path: object, v: Variable, wanted: Wanted) -> tuple[None, list[str]]:
    if wanted.flags:
        raise RaffiaError(
            f"{path}: {wanted.flags[0]} is for trajectories, and nothing tells the axis of time of {v.name} {shown(v.shape)}. "
            f"Pass {FLAGS['time']} AXIS (time=…), counted from 0."
        )
    return None, []


def _all_places(v: Variable, axis: int, arrays: Variables) -> bool:
    """Whether every axis but that of time has coordinates, so that none counts trajectories."""
    named = [(dim.rpartition("/")[2].lower() in COORDINATES) for dim in v.dims or ()]
    if named and all(named):
        return True
    lines = [o for o in arrays.values() if o.numeric and o.name.lower() in COORDINATES and not is_time(o) and len(o.shape) == 1]
    lengths, sizes = sorted(o.shape[0] for o in lines), sorted(size for i, size in enumerate(v.shape) if i != axis)
    return lengths == sizes


def _numbers(v: Variable, n: int) -> bool:
    """Whether an array holds some numbers for each of n trajectories."""
    return v.shape == (n,) or (len(v.shape) == 2 and v.shape[0] == n and v.shape[1] <= CHANNELS)


def _functions_of(fixed: Sequence[Variable], v: Variable, axis: int) -> bool:
    """Whether trajectories may be functions of their parameters alone: none of the first have the same, and begin differently."""
    n = v.affordable(max(1, min(ALIKE, v.shape[0], 4 * LOOKED_AT // max(1, math.prod(v.shape[1:]))))) if axis else 1
    rows = np.concatenate([f.read(slice(0, n)).reshape(n, -1).astype(np.float64) for f in fixed], axis=1)
    _, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for one in range(n):
        for other in np.flatnonzero(which[:one] == which[one])[:1]:
            begin = np.take(v.read(slice(0, one + 1)), 0, axis=axis).astype(np.float64)
            return bool(np.abs(begin[one] - begin[other]).max() <= 1e-6 * np.abs(begin).max())
    return True


def _maybe(known: Sequence[Variable], arrays: Variables) -> list[str]:
    """What to say where arrays are read as pairs, and might be trajectories."""
    axis = _told(known[0], arrays)[0] if len(known) > 1 and len(known[0].shape) > 2 else None
    if axis is None:
        return []
    words = " ".join(f"{FLAGS['input']} {v.name}" for v in known)
    return [
        f"{known[0].name} has an axis of time, {axis}, and is not taken for trajectories; for a model of one step pass {words}."
    ]
