"""Pairs of trajectories: some states in a row and those that follow, with what is fixed along the way."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from raffia.data.meaning.names import Variables, likely, shown
from raffia.data.meaning.times import is_time, of_each
from raffia.data.options import FLAGS
from raffia.data.readers import Rows, Variable
from raffia.errors import RaffiaError

EACH = "states of a trajectory"  # the attribute of arrays that are made of trajectories


@dataclass(frozen=True)
class Steps:
    """How pairs are made of trajectories.

    `name` is the array of trajectories, `ndim` how many axes it has, `axis` that of time, `samples` that which counts trajectories, None
    where it is one. An input is `window` states, the oldest first, an output the `horizon` states that follow, all of them
    `stride` steps apart. States have the arrays `beside`, of the same shape, as further channels; the arrays `fixed` hold numbers for each
    trajectory, which are the last channels of its inputs.
    """

    name: str
    ndim: int
    axis: int
    stride: int = 1
    window: int = 1
    horizon: int = 1
    beside: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    samples: int | None = 0

    def __post_init__(self) -> None:
        axes = [self.axis] if self.samples is None else [self.axis, self.samples]
        if not all(0 <= axis < self.ndim for axis in axes) or min(self.stride, self.window, self.horizon) < 1:
            raise RaffiaError(
                f"{self} must have axes of time and of trajectories within the array, and a stride, window and horizon of 1 or more."
            )
        if self.samples == self.axis:
            raise RaffiaError(
                f"{FLAGS['samples_axis']} (samples_axis=…) counts trajectories, and {FLAGS['time']} (time=…) their states: {self.name} has "
                f"both along axis {self.axis}. Say another for one of them, or {FLAGS['samples_axis']} none for one trajectory."
            )

    @property
    def inputs(self) -> list[str]:
        """The names of the arrays of a window, and of what is fixed."""
        return [*(self._after(name, step) for step in range(self.window) for name in self._moving), *self.fixed]

    @property
    def outputs(self) -> list[str]:
        """The names of the arrays of the states that follow."""
        return [self._after(name, self.window + step) for step in range(self.horizon) for name in self._moving]

    @property
    def in_words(self) -> str:
        """What a pair is."""
        past = "a state" if self.window == 1 else f"{self.window} states in a row"
        steps = f"{self.stride} step{'s' if self.stride > 1 else ''}"
        if self.horizon > 1:
            return f"a pair is {past} and the {self.horizon} that follow, {steps} apart"
        return f"a pair is {past} and the one {steps} later" + (f", all {steps} apart" if self.window > 1 < self.stride else "")

    def found(self, arrays: Variables) -> Variable | None:
        """The trajectories, or states, of a file, by their name or as its only array; None where it has neither."""
        alone = [v for v in likely(arrays) if not any(of_each(v, other.shape) for other in arrays.values())]
        return _called(arrays, self.name) or (alone[0] if len(alone) == 1 else None)

    def called(self, path: object, names: Sequence[str]) -> "Steps":
        """The same of arrays with other names: those of states, or what is fixed after them too."""
        own, all_of = len(self._moving), len(self.arrays)
        if len(names) == len(self.inputs) != all_of:
            return self  # single states, an array for each of a window
        if len(names) not in (own, all_of):
            fixed = f", or {all_of} with {', '.join(self.fixed)}" if self.fixed else ""
            raise RaffiaError(
                f"{path}: {FLAGS['input']} (input=…) must name {own} array{'s' if own > 1 else ''} of states, for "
                f"{', '.join(self._moving)} of the training{fixed}; got {', '.join(names)}."
            )
        return replace(self, name=names[0], beside=tuple(names[1:own]), fixed=tuple(names[own:]) or self.fixed)

    def stepped(self, arrays: Variables, first: bool = False) -> Variables:
        """The arrays, with states in place of trajectories, and the states that are reached; with `first`, what trajectories begin with."""
        v = self.found(arrays)
        assert v is not None
        length = v.shape[self.axis]
        times = {name for name, t in arrays.items() if (is_time(t) and max(t.shape) - length in (0, 1)) or of_each(t, v.shape)}
        arrays = {name: other for name, other in arrays.items() if name not in times}
        arrays = {name: other for name, other in arrays.items() if other is not v}
        needed = 1 + (self.window - 1 + (0 if first else self.horizon)) * self.stride
        if length < needed:
            raise RaffiaError(
                f"{v.path}: {v.name} {shown(v.shape)} has {length} states along axis {self.axis}, and "
                f"{'a window needs' if first else 'pairs need'} {needed} or more, with window={self.window} ({FLAGS['window']}), "
                f"horizon={self.horizon} ({FLAGS['horizon']}) and stride={self.stride} ({FLAGS['stride']}): make one of these smaller."
            )
        each = 1 if first else length - needed + 1
        names = self.inputs[: len(self.inputs) - len(self.fixed)] + ([] if first else self.outputs)
        moving = [v, *(self._there(v, arrays, name) for name in self.beside)]
        found = {
            name: self._states(moving[i % len(moving)], name, i // len(moving) * self.stride, each)
            for i, name in enumerate(names)
        }
        return arrays | found | {name: self._held(v, self._there(v, arrays, name), each) for name in self.fixed}

    def check_states(self, arrays: Variables) -> None:
        """Refuse single states, where a model takes several in a row, or what is fixed beside them."""
        v, missing = self.found(arrays), [name for name in self.fixed if name not in arrays]
        axes = self.ndim - (1 if self.samples is None else 2)
        if v is not None and 0 < len(v.shape) == axes:
            raise RaffiaError(
                f"{v.path}: {v.name} {shown(v.shape)} is one state alone, and several are taken, along a first axis. Write it as one of 1, "
                f"1×{shown(v.shape)}: {v.name}[None] in NumPy."
            )
        if v is None or len(v.shape) != axes + 1 or (self.window == 1 and not missing):
            return
        needed = 1 + (self.window - 1) * self.stride
        more = f"{self.window} in a row" if self.window > 1 else f"{', '.join(missing)} beside them"
        then = f"trajectories of {needed} states or more" if self.window > 1 else f"a file that holds {', '.join(missing)} too"
        raise RaffiaError(
            f"{v.path}: {v.name} {shown(v.shape)} holds single states, and the model takes {more}. Pass {then}, as in the training."
        )

    def count(self, v: Variable) -> int:
        """How many trajectories an array holds."""
        return 1 if self.samples is None else v.shape[self.samples]

    def state(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a state in an array of trajectories."""
        return tuple(size for axis, size in enumerate(shape) if axis not in (self.axis, self.samples))

    @property
    def arrays(self) -> tuple[str, ...]:
        """The names of the arrays in a file."""
        return (*self._moving, *self.fixed)

    @property
    def _moving(self) -> tuple[str, ...]:
        return (self.name, *self.beside)

    def _after(self, name: str, step: int) -> str:
        return f"{name} after {step * self.stride}" if step else name

    def _there(self, v: Variable, arrays: Variables, name: str) -> Variable:
        """An array that goes with the trajectories: of their shape, or with numbers for each of them."""
        other, n = _called(arrays, name), self.count(v)
        shapes = [v.shape] if name in self.beside else [(n,), *([other.shape] if other and other.shape[:1] == (n,) else [])]
        if other is None or other.shape not in shapes:
            came = "it is not there" if other is None else f"it has shape {shown(other.shape)}"
            raise RaffiaError(
                f"{v.path}: {name} must go with the trajectories {v.name} {shown(v.shape)}, as in the training, with shape "
                f"{shown(shapes[0])}{'' if name in self.beside else f' or {n}×numbers'}; {came}."
            )
        return other

    def _states(self, v: Variable, name: str, offset: int, each: int) -> Variable:
        """The states of all trajectories from step `offset` on, so many of each, one after the other."""
        given = v.dims or ("",) * len(v.shape)
        dims = ("sample", *(dim for axis, dim in enumerate(given) if axis not in (self.axis, self.samples)))
        n, in_rows = self.count(v) * each, self.samples is None and self.axis == 0
        load = partial(_rows, v, offset, each) if in_rows else partial(_read, v, self.axis, self.samples, offset, each)
        block = max(1, v.block) * (1 if in_rows else each) if in_rows or self.samples == 0 else n
        facts = v.attributes | {EACH: each}
        return replace(v, name=name, shape=(n, *self.state(v.shape)), dims=dims, attributes=facts, load=load, block=block)

    def _held(self, v: Variable, fixed: Variable, each: int) -> Variable:
        """Numbers of each trajectory, once for each of its pairs."""
        dims = ("sample", *(fixed.dims or ("",) * len(fixed.shape))[1:])
        shape = (self.count(v) * each, *fixed.shape[1:])
        return replace(fixed, shape=shape, dims=dims, load=partial(_repeated, fixed, each), block=max(1, fixed.block) * each)


def _called(arrays: Variables, name: str) -> Variable | None:
    """The array of a name, which may be that of a part of an array, as in u[:,3:]."""
    return arrays.get(name) or next((v for v in arrays.values() if v.name == name), None)


def in_order(u: np.ndarray, axis: int, samples: int | None) -> np.ndarray:
    """Trajectories as (n, states, …)."""
    return np.moveaxis(u, axis, 0)[None] if samples is None else np.moveaxis(u, (samples, axis), (0, 1))


def _read(v: Variable, axis: int, samples: int | None, offset: int, each: int, rows: Rows) -> np.ndarray:
    """States by their numbers: of trajectory i, numbers i·each to (i + 1)·each."""
    start, stop, _ = (rows or slice(None)).indices((1 if samples is None else v.shape[samples]) * each)
    first, last = start // each, max(start // each + 1, -(-stop // each))
    some = in_order(v.read(slice(first, last) if samples == 0 else None), axis, samples)
    states = some[:, offset : offset + each] if samples == 0 else some[first:last, offset : offset + each]
    return states.reshape(-1, *states.shape[2:])[start - first * each : stop - first * each]


def _rows(v: Variable, offset: int, each: int, rows: Rows) -> np.ndarray:
    """States of one trajectory whose times are the rows of the array."""
    start, stop, _ = (rows or slice(None)).indices(each)
    return v.read(slice(offset + start, offset + stop))


def _repeated(fixed: Variable, each: int, rows: Rows) -> np.ndarray:
    start, stop, _ = (rows or slice(None)).indices(fixed.shape[0] * each)
    first, last = start // each, max(start // each + 1, -(-stop // each))
    return np.repeat(fixed.read(slice(first, last)), each, axis=0)[start - first * each : stop - first * each]


def each_of(v: Variable) -> int:
    """How many pairs a trajectory has in an array that was made of some; 0 for other arrays."""
    each = v.attributes.get(EACH, 0)
    return each if type(each) is int and each > 0 else 0
