"""Times in files: which arrays hold them, which axis they go along, and whether their steps are equal."""

from itertools import product

import numpy as np

from raffia.data.meaning import attributes
from raffia.data.meaning.attributes import word
from raffia.data.meaning.names import Variables, shown
from raffia.data.options import FLAGS
from raffia.data.pace import unequal
from raffia.data.readers import Variable
from raffia.errors import RaffiaError
from raffia.spaces.axes import equispaced

TIMES = ("t", "time", "times", "ts", "step", "steps")
ALIKE = 1e-3  # of a step: how far the steps of trajectories may be apart


def is_time(v: Variable) -> bool:
    """Whether an array is of times, by its name: numbers along one axis."""
    return _named(v) and len(v.shape) - v.shape.count(1) == 1


def of_each(t: Variable, shape: tuple[int, ...]) -> int | None:
    """The axis of time, where an array has times for each trajectory, (n, states); None where it does not."""
    if not _named(t) or len(t.shape) != 2 or 1 in t.shape or len(shape) < 3:
        return None
    fits = [axis for axis, size in enumerate(shape[1:], 1) if t.shape == (shape[0], size)]
    return fits[0] if len(fits) == 1 else None


def told(v: Variable, arrays: Variables) -> tuple[int | None, str]:
    """The axis of time, by the names of axes or by an array of times."""
    if (axis := by_name(v)) is not None:
        return axis, f"which is called {(v.dims or ())[axis]}"
    for t in arrays.values():
        if (axis := of_each(t, v.shape)) is not None:
            return axis, f"as {t.name} has times for each trajectory"
    for more in (0, 1):  # one more is what files with the ends of steps have
        for t in filter(is_time, arrays.values()):
            fitting = [axis for axis, size in enumerate(v.shape) if size + more == max(t.shape) and (axis or not more)]
            if len(fitting) == 1 and t is not v:
                return fitting[0], f"as long as {t.name}" if not more else f"one shorter than {t.name}"
    return None, ""


def by_name(v: Variable) -> int | None:
    """The one axis that is called time."""
    named = [axis for axis, dim in enumerate(v.dims or ()) if word(dim) in TIMES]
    return named[0] if len(named) == 1 else None


def against(v: Variable, axis: int, arrays: Variables) -> list[str]:
    """What to say where an axis was said to be time, and names or times tell another."""
    other, reason = told(v, arrays)
    if other is None or other == axis or (by_name(v) is None and v.shape[axis] == v.shape[other]):
        return []
    return [
        f"time is along axis {axis}, as was said, though it looks as along axis {other}, {reason}; {FLAGS['time']} {other} takes that."
    ]


def even(path: object, v: Variable, axis: int, arrays: Variables) -> list[str]:
    """Return notes on the steps of times in a file; steps of unequal length are refused."""
    states = v.shape[axis]
    if states < 2:
        return []
    for more, t in product((0, 1), arrays.values()):  # one more is what files with the ends of steps have
        each = of_each(t, v.shape) == axis
        if each or (is_time(t) and max(t.shape) == states + more):
            rows = t.glance().astype(np.float64).reshape(-1, t.shape[1] if each else states + more)
            first = [f"{t.name} has {states + 1} entries for {states} states: the first {states} are taken for theirs."]
            return [_step(path, v, t, rows), *(first if more else [])]
    return [
        f"{t.name} {shown(t.shape)} does not fit the {states} states of {v.name}, so that nothing tells the length of a step."
        for t in filter(is_time, arrays.values())
    ]


def _step(path: object, v: Variable, t: Variable, rows: np.ndarray) -> str:
    """Return a note on the step that the times of all trajectories have."""
    bad = next((i for i, row in enumerate(rows) if not np.isfinite(row).all() or not equispaced(row)), None)
    if bad is not None:
        which = t.name if len(rows) == 1 else f"{t.name}, those of trajectory {bad}"
        raise RaffiaError(f"{path}: {unequal(which, rows[bad], v.name)}")
    steps = (rows[:, -1] - rows[:, 0]) / (rows.shape[1] - 1)
    if np.ptp(steps) > ALIKE * float(np.abs(steps).max()):
        raise RaffiaError(
            f"{path}: a step must be as long in all trajectories; those of {t.name} are {steps.min():.6g} to "
            f"{steps.max():.6g}. Interpolate {v.name} to times in equal steps, or write a file for each."
        )
    units, step = attributes.units(t), float(steps[0])
    back = ": times go down, so a model goes back in time" if step < 0 else ""
    return f"a step is {step:.6g}{units and f' {units}'} of {t.name}{back}."


def _named(v: Variable) -> bool:
    return v.numeric and word(v.name) in TIMES
