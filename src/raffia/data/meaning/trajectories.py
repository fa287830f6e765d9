"""Trajectories: an array with an axis of time, read as pairs of a state and the state some steps later."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from raffia.data.formats.variable import Rows, Variable
from raffia.data.meaning import attributes
from raffia.data.meaning.convention import Ends, by_values, equispaced
from raffia.data.meaning.names import FLAGS, Variables, likely, shown
from raffia.errors import RaffiaError

TIMES = ("t", "time", "times", "ts", "step", "steps")
EACH = "states of a trajectory"  # the attribute of arrays that are made of trajectories
GLANCE = 8  # trajectories that are looked at to tell time from space


@dataclass(frozen=True)
class Steps:
    """How pairs are made of trajectories: the array, how many axes it has, which is that of time, and the steps of a pair."""

    name: str
    ndim: int
    axis: int
    stride: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.axis < self.ndim or self.stride < 1:
            raise RaffiaError(f"{self} must have an axis of time within the array, and a stride of 1 or more.")

    @property
    def later(self) -> str:
        """The name of the states that are reached."""
        return f"{self.name} after {self.stride}"

    def fit(self, arrays: Variables) -> bool:
        """Whether a file has such trajectories, and not single states."""
        return self.name in arrays and len(arrays[self.name].shape) == self.ndim

    def stepped(self, arrays: Variables, first: bool = False) -> Variables:
        """The arrays, with states in place of trajectories, and the states that are reached; with `first`, those that they begin with."""
        v = arrays[self.name]
        arrays = {name: other for name, other in arrays.items() if not is_time(other) or max(other.shape) != v.shape[self.axis]}
        if first:
            return arrays | {self.name: self._states(v, self.name, 0, 1)}
        each = v.shape[self.axis] - self.stride
        if each < 1:
            raise RaffiaError(
                f"{v.path}: {v.name} {shown(v.shape)} has {v.shape[self.axis]} states along axis {self.axis}, and pairs need "
                f"{self.stride + 1} or more."
            )
        return arrays | {
            self.name: self._states(v, self.name, 0, each),
            self.later: self._states(v, self.later, self.stride, each),
        }

    def _states(self, v: Variable, name: str, offset: int, each: int) -> Variable:
        """The states of all trajectories from step `offset` on, so many of each, one after the other."""
        n = v.shape[0] if self.axis else 1
        grid = tuple(size for axis, size in enumerate(v.shape) if axis not in (0, self.axis))
        given = v.dims or ("",) * len(v.shape)
        dims = ("sample", *(dim for axis, dim in enumerate(given) if axis not in (0, self.axis)))
        load = partial(_read, v, self.axis, offset, each)
        facts = v.attributes | {EACH: each}
        return replace(
            v, name=name, shape=(n * each, *grid), dims=dims, attributes=facts, load=load, block=max(1, v.block) * each
        )


def _read(v: Variable, axis: int, offset: int, each: int, rows: Rows) -> np.ndarray:
    """States by their numbers: of trajectory i, numbers i·each to (i + 1)·each."""
    n = v.shape[0] if axis else 1
    start, stop, _ = (rows or slice(None)).indices(n * each)
    first, last = start // each, max(start // each + 1, -(-stop // each))
    some = np.moveaxis(v.read(slice(first, last)), axis, 1) if axis else v.read()[None]
    states = some[:, offset : offset + each]
    return states.reshape(-1, *states.shape[2:])[start - first * each : stop - first * each]


def trajectories_in(
    path: object, arrays: Variables, names: Sequence[str], time: int | None, stride: int
) -> tuple[Steps, list[str]] | None:
    """How a file that holds trajectories is read, and why; None where it does not."""
    known = [arrays[name] for name in names if name in arrays] or likely(arrays)
    if time is None and (names or len(known) != 1 or len(known[0].shape) < 3):
        return None
    if len(known) != 1:
        raise RaffiaError(
            f"{path}: {FLAGS['time']} (time=…) is for one array of trajectories; name it with {FLAGS['input']} NAME. "
            f"It holds {', '.join(f'{v.name} {shown(v.shape)}' for v in known)}."
        )
    v, reason = known[0], ""
    if time is not None:
        axis = range(len(v.shape))[time] if -len(v.shape) <= time < len(v.shape) else None
        if axis is None:
            raise RaffiaError(f"{path}: {FLAGS['time']} (time=…) must be an axis of {v.name} {shown(v.shape)}; got {time}.")
        reason = "as was said"
    else:
        axis, reason = _axis(path, v, arrays)
    if axis is None:
        return None
    steps = Steps(v.name, len(v.shape), axis, stride)
    n = v.shape[0] if axis else 1
    note = (
        f"{v.name} holds {n} {'trajectory' if n == 1 else 'trajectories'} of {v.shape[axis]} states, time along axis {axis}, {reason}: "
        f"a pair is a state and the one {stride} step{'s' if stride > 1 else ''} later."
    )
    return steps, [note, *_even(path, v, axis, arrays)]


def _axis(path: object, v: Variable, arrays: Variables) -> tuple[int | None, str]:
    """The axis of time of an array, by the names of its axes, by an array of times, or as the axis that is unlike the others."""
    if v.dims:
        named = [axis for axis, dim in enumerate(v.dims) if dim.rpartition("/")[2].lower() in TIMES]
        if len(named) == 1:
            return named[0], f"which is called {v.dims[named[0]]}"
    for t in filter(is_time, arrays.values()):
        fitting = [axis for axis, size in enumerate(v.shape) if size == max(t.shape)]
        if len(fitting) == 1:
            return fitting[0], f"as long as {t.name}"
    inner = v.shape[1:]
    if len(inner) >= 3:
        odd = [axis for axis, size in enumerate(inner, 1) if inner.count(size) == 1]
        if len(odd) == 1 and odd[0] in (1, len(inner)):
            return odd[0], "the only one of another length"
    if len(inner) == 2 and v.affordable(GLANCE):
        some = v.read(slice(0, min(GLANCE, v.shape[0]))).astype(np.float64)[:, None]
        around = [by_values(some, axis)[0] in (Ends.PERIODIC, Ends.FIXED, Ends.REPEATED) for axis in (2, 3)]
        if around[0] != around[1]:
            return 1 + around.index(False), "as the other axis goes around, or has fixed ends"
    raise RaffiaError(
        f"{path}: {v.name} {shown(v.shape)} is the only array, so it holds trajectories, or inputs without outputs. If time is along axis "
        f"1 pass {FLAGS['time']} 1, along the last one {FLAGS['time']} {len(v.shape) - 1} (time=…); else pass {FLAGS['input']} and "
        f"{FLAGS['output']}, or {FLAGS['output_path']} FILE."
    )


def _even(path: object, v: Variable, axis: int, arrays: Variables) -> list[str]:
    """What times say of the steps; steps of unequal length are refused."""
    for t in filter(is_time, arrays.values()):
        if max(t.shape) != v.shape[axis] or max(t.shape) < 2:
            continue
        x = t.glance().astype(np.float64).reshape(-1)
        if not np.isfinite(x).all() or not equispaced(x):
            steps = np.diff(x)
            raise RaffiaError(
                f"{path}: the times {t.name} must be one after the other in equal steps; they are {steps.min():.3g} to "
                f"{steps.max():.3g} apart. Interpolate {v.name} in time, or take the parts of it that have equal steps."
            )
        units = attributes.units(t)
        return [f"a step is {float(x[1] - x[0]):.6g}{units and f' {units}'} of {t.name}."]
    return []


def is_time(v: Variable) -> bool:
    """Whether an array is of times, by its name: numbers along one axis."""
    return v.numeric and v.name.rpartition("/")[2].lower() in TIMES and len(v.shape) - v.shape.count(1) == 1
