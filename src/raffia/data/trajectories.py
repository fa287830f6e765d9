"""Trajectories in files and in memory, and pairs made from them: the input is one or several states, the output the next one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from raffia.data.infer.names import Variables, is_times, likely, shown, times_of_each
from raffia.data.options import FLAGS
from raffia.data.pace import STATES, pace_notes, step_of
from raffia.data.readers.variable import LOOKED_AT, Rows, Variable
from raffia.data.row_reader import PER_TRAJECTORY, RowReader, read_rows, spread
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Space, Vectors
from raffia.validation import as_tensor, check_count

SOME = 8  # trajectories that are read for notes on their steps
NAME, FIXED = "u", "parameters"  # what arrays in memory are called, as the arguments of `Dataset.of_trajectories` are


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
    def moving(self) -> tuple[str, ...]:
        """The names of the arrays that change along trajectories."""
        return (self.name, *self.beside)

    @property
    def inputs(self) -> list[str]:
        """The names of the arrays of a window, and of what is fixed."""
        return [*(self._after(name, step) for step in range(self.window) for name in self.moving), *self.fixed]

    @property
    def outputs(self) -> list[str]:
        """The names of the arrays of the states that follow."""
        return [self._after(name, self.window + step) for step in range(self.horizon) for name in self.moving]

    @property
    def several(self) -> "Steps":
        """The same of several trajectories along a first axis, where the training had one."""
        return replace(self, ndim=self.ndim + 1, axis=self.axis + 1, samples=0)

    def _after(self, name: str, step: int) -> str:
        return f"{name} after {step * self.stride}" if step else name

    @property
    def in_words(self) -> str:
        """What a pair is."""
        past = "a state" if self.window == 1 else f"{self.window} states in a row"
        steps = f"{self.stride} step{'s' if self.stride > 1 else ''}"
        if self.horizon > 1:
            return f"a pair is {past} and the {self.horizon} that follow, {steps} apart"
        return f"a pair is {past} and the one {steps} later" + (f", all {steps} apart" if self.window > 1 < self.stride else "")

    def trajectories_in(self, arrays: Variables) -> Variable | None:
        """Return the trajectories, or states, of a file, by their name or as its only array; None where it has neither."""
        alone = [v for v in likely(arrays) if not any(times_of_each(v, other.shape) for other in arrays.values())]
        return _called(arrays, self.name) or (alone[0] if len(alone) == 1 else None)

    def renamed(self, path: object, names: Sequence[str]) -> "Steps":
        """Return the same of arrays with other names: those of states, or what is fixed after them too."""
        own, whole = len(self.moving), len(self.moving) + len(self.fixed)
        if len(names) == len(self.inputs) != whole:
            return self  # single states, an array for each of a window
        if len(names) not in (own, whole):
            of, counts = ", ".join((*self.moving, *self.fixed)), " or ".join(map(str, sorted({own, whole})))
            raise RaffiaError(
                f"{path}: {FLAGS['input']} (input=…) must name {counts} of the arrays of the training, {of}; got {', '.join(names)}."
            )
        return replace(self, name=names[0], beside=tuple(names[1:own]), fixed=tuple(names[own:]) or self.fixed)

    def pairs_in(self, arrays: Variables, first: bool = False) -> Variables:
        """Return the arrays with states in place of trajectories; with `first`, only those that trajectories begin with."""
        v = self.trajectories_in(arrays)
        assert v is not None
        length = v.shape[self.axis]
        times = {
            name for name, t in arrays.items() if (is_times(t) and max(t.shape) - length in (0, 1)) or times_of_each(t, v.shape)
        }
        others = {name: other for name, other in arrays.items() if name not in times and other is not v}
        needed = 1 + (self.window - 1 + (0 if first else self.horizon)) * self.stride
        if length < needed:
            raise RaffiaError(
                f"{v.path}: {v.name} {shown(v.shape)} has {length} state{'' if length == 1 else 's'} along axis {self.axis}, and "
                f"{'a window needs' if first else 'pairs need'} {needed} or more, with window={self.window} ({FLAGS['window']}), "
                f"horizon={self.horizon} ({FLAGS['horizon']}) and stride={self.stride} ({FLAGS['stride']}): make one of these smaller."
            )
        each = 1 if first else length - needed + 1
        names = self.inputs[: len(self.inputs) - len(self.fixed)] + ([] if first else self.outputs)
        moving = [v, *(self._with_trajectories(v, others, name) for name in self.beside)]
        states = {
            name: self._states(moving[i % len(moving)], name, i // len(moving) * self.stride, each)
            for i, name in enumerate(names)
        }
        return (
            others | states | {name: self._constant(v, self._with_trajectories(v, others, name), each) for name in self.fixed}
        )

    def check_states(self, arrays: Variables) -> None:
        """Raise an error for single states if the model needs several in a row, or other arrays as well."""
        v, missing = self.trajectories_in(arrays), [name for name in self.fixed if name not in arrays]
        axes = self.ndim - (1 if self.samples is None else 2)
        if v is not None and 0 < len(v.shape) == axes:
            raise RaffiaError(
                f"{v.path}: {v.name} {shown(v.shape)} is one state alone: write {v.name}[None] in NumPy, 1×{shown(v.shape)}."
            )
        if v is None or len(v.shape) != axes + 1 or (self.window == 1 and not missing):
            return
        more = f"{self.window} in a row" if self.window > 1 else f"{', '.join(missing)} beside them"
        raise RaffiaError(
            f"{v.path}: {v.name} {shown(v.shape)} holds single states, and the model takes {more}. Pass a file like that of the training."
        )

    def count(self, v: Variable) -> int:
        """Return how many trajectories an array holds."""
        return 1 if self.samples is None else v.shape[self.samples]

    def state(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a state in an array of trajectories."""
        return tuple(size for axis, size in enumerate(shape) if axis not in (self.axis, self.samples))

    def in_order(self, u: np.ndarray) -> np.ndarray:
        """Return trajectories as (n, states, …)."""
        return np.moveaxis(u, self.axis, 0)[None] if self.samples is None else np.moveaxis(u, (self.samples, self.axis), (0, 1))

    def _with_trajectories(self, v: Variable, arrays: Variables, name: str) -> Variable:
        """An array that goes with the trajectories: of their shape, or with numbers for each of them."""
        other, n = _called(arrays, name), self.count(v)
        moves = name in self.beside
        if other is None or (other.shape != v.shape if moves else other.shape[:1] != (n,)):
            came = "it is not there" if other is None else f"it has shape {shown(other.shape)}"
            raise RaffiaError(
                f"{v.path}: {name} must go with the trajectories {v.name} {shown(v.shape)}, as in the training, with shape "
                f"{shown(v.shape) if moves else f'{n} or {n}×numbers'}; {came}."
            )
        return other

    def _states(self, v: Variable, name: str, offset: int, each: int) -> Variable:
        """The states of all trajectories from step `offset` on, so many of each, one after the other."""
        given = v.dims or ("",) * len(v.shape)
        dims = ("sample", *(dim for axis, dim in enumerate(given) if axis not in (self.axis, self.samples)))
        n, in_rows = self.count(v) * each, self.samples is None and self.axis == 0
        load = partial(_rows, v, offset, each) if in_rows else partial(_read, v, self, offset, each)
        block = max(1, v.block) * (1 if in_rows else each) if in_rows or self.samples == 0 else n
        facts = v.attributes | {PER_TRAJECTORY: each}
        return replace(v, name=name, shape=(n, *self.state(v.shape)), dims=dims, attributes=facts, load=load, block=block)

    def _constant(self, v: Variable, fixed: Variable, each: int) -> Variable:
        """Numbers of each trajectory, once for each of its pairs."""
        dims = ("sample", *(fixed.dims or ("",) * len(fixed.shape))[1:])
        shape = (self.count(v) * each, *fixed.shape[1:])
        return replace(fixed, shape=shape, dims=dims, load=partial(_repeated, fixed, each), block=max(1, fixed.block) * each)


def _called(arrays: Variables, name: str) -> Variable | None:
    """The array of a name, which may be that of a part of an array, as in u[:,3:]."""
    return arrays.get(name) or next((v for v in arrays.values() if v.name == name), None)


def _trajectories_of(rows: Rows, n: int, each: int) -> tuple[slice, slice]:
    """The trajectories that pairs of these indices are of, and their indices among the pairs of those."""
    start, stop, _ = (rows or slice(None)).indices(n * each)
    first, last = start // each, max(start // each + 1, -(-stop // each))
    return slice(first, last), slice(start - first * each, stop - first * each)


def _read(v: Variable, steps: Steps, offset: int, each: int, rows: Rows) -> np.ndarray:
    """States by their indices: of trajectory i, i·each to (i + 1)·each."""
    some, places = _trajectories_of(rows, steps.count(v), each)
    u = steps.in_order(v.read(some if steps.samples == 0 else None))
    states = (u if steps.samples == 0 else u[some])[:, offset : offset + each]
    return states.reshape(-1, *states.shape[2:])[places]


def _rows(v: Variable, offset: int, each: int, rows: Rows) -> np.ndarray:
    """States of one trajectory whose times are the rows of the array."""
    start, stop, _ = (rows or slice(None)).indices(each)
    return v.read(slice(offset + start, offset + stop))


def _repeated(fixed: Variable, each: int, rows: Rows) -> np.ndarray:
    some, places = _trajectories_of(rows, fixed.shape[0], each)
    return np.repeat(fixed.read(some), each, axis=0)[places]


@dataclass(frozen=True, eq=False)
class Along:
    """The index of the trajectory that each pair is of, and that of the first state of its input, counted from 0.

    An input is `window` states, the oldest first, then as many numbers as are `fixed` along a trajectory; an output is the `horizon` states
    that follow, all of them `stride` steps apart. `said` tells whether the window was asked for; `notes` are what was noticed, or chosen.
    """

    trajectory: Int[Tensor, "n"]
    first: Int[Tensor, "n"]
    stride: int = 1
    window: int = 1
    horizon: int = 1
    fixed: int = 0
    said: bool = True
    notes: tuple[str, ...] = ()

    @classmethod
    def all_of(cls, each: int, rows: Sequence[int], steps: Steps | None = None, fixed: int = 0, **more: Any) -> "Along":
        """Where pairs of these indices lie, if every trajectory has so many, one after the other."""
        pairs = torch.as_tensor(list(rows))
        if steps is not None:
            more |= {"stride": steps.stride, "window": steps.window, "horizon": steps.horizon, "fixed": fixed}
        return cls(pairs // each, pairs % each, **more)

    def __len__(self) -> int:
        return len(self.trajectory)

    @property
    def count(self) -> int:
        """How many trajectories there are."""
        return len(self.trajectory.unique())

    @property
    def each(self) -> int:
        """How many pairs a trajectory has, at most."""
        return int(self.trajectory.unique(return_counts=True)[1].max()) if len(self) else 0

    @property
    def starts(self) -> Int[Tensor, "trajectories"]:
        """The first pair of each trajectory."""
        rows = np.lexsort((self.first.numpy(force=True), self.trajectory.numpy(force=True)))
        return torch.from_numpy(rows[np.unique(self.trajectory.numpy(force=True)[rows], return_index=True)[1]])

    def part(self, rows: Sequence[int] | Tensor) -> "Along":
        """Where some of the pairs lie."""
        return replace(self, trajectory=self.trajectory[rows], first=self.first[rows])

    def preceded(self) -> tuple[list[int], list[int]]:
        """The pairs that have another a stride before them, and those others."""
        places = {(int(t), int(k)): row for row, (t, k) in enumerate(zip(self.trajectory, self.first, strict=True))}
        pairs = [(row, places[t, k - self.stride]) for (t, k), row in places.items() if (t, k - self.stride) in places]
        return [row for row, _ in pairs], [before for _, before in pairs]

    def runs(self, rows: Sequence[int]) -> list[list[int]]:
        """These pairs in runs of such as follow one another step by step, each along one trajectory."""
        places = sorted((int(self.trajectory[row]), int(self.first[row]), row) for row in rows)
        breaks = [i for i, (one, other) in enumerate(pairwise(places), 1) if other[:2] != (one[0], one[1] + 1)]
        return [[row for _, _, row in places[start:stop]] for start, stop in pairwise([0, *breaks, len(places)])]


def pairs_in_memory(
    u: Any, space: Any, stride: Any, window: Any, horizon: Any, parameters: Any, times: Any
) -> tuple[Tensor, Tensor, Space, Space, Along]:
    """Return inputs and outputs of trajectories (n, states, *state), their spaces, and where they lie; see `Dataset.of_trajectories`."""
    for name, count in (("stride", stride), ("window", 1 if window is None else window), ("horizon", horizon)):
        check_count(name, count)
    values = _values("u", u)
    _check_states(values, space)
    arrays = {NAME: values.numpy(force=True)}
    if parameters is not None:
        arrays[FIXED] = _fixed(parameters, len(values)).to(values).numpy(force=True)
    fixed = tuple(arrays)[1:]
    step = [] if times is None else [_even(times, values.shape[1])]
    whole = Steps(NAME, values.ndim, 1, int(stride), int(window or 1), int(horizon), fixed=fixed)
    held = {name: Variable.of_array(Path(NAME), name, f) for name, f in arrays.items()}
    states, some = whole.pairs_in(held), first_states(held[NAME], whole)
    notes = [] if some is None else pace_notes(some, int(stride))
    channel = 0 if space.has_components and not space.tabular else None
    sides = [[RowReader(states[name], plain=True, channel=channel if name not in fixed else None) for name in side]
             for side in (whole.inputs, whole.outputs)]  # fmt: skip
    n, count = len(sides[0][0]), arrays[FIXED].shape[1] if fixed else 0
    own = values.shape[2] if space.has_components else 1
    spaces = _space(space, own * whole.window + count), _space(space, own * whole.horizon)
    a, y = (read_rows(side, one, range(n)).to(values.device) for side, one in zip(sides, spaces, strict=True))
    along = Along.all_of(n // len(values), range(n), whole, count, said=window is not None, notes=(*step, *notes))
    return a, y, spaces[0], spaces[1], along


def widened(a: Tensor, space: Space, along: Along) -> tuple[Tensor, Space, Along]:
    """Return inputs of the pairs that have another a stride before them, with its oldest state before theirs, their space and place."""
    rows, before = along.preceded()
    whole = a if space.has_components else a[:, None]
    channels = (whole.shape[1] - along.fixed) // along.window
    wide = torch.cat([whole[before, :channels], whole[rows]], 1)
    return wide, _space(space, wide.shape[1]), replace(along.part(before), window=along.window + 1, said=True)


def _space(states: Space, count: int) -> Space:
    """Where so many channels of such states live."""
    if states.tabular:
        return Vectors()
    return states.one_channel if count == 1 and not states.has_components else Channels(states.one_channel, count)


def _values(name: str, values: Any) -> Tensor:
    """Numbers as a tensor: lists of them too, and arrays in any order of bytes."""
    try:
        array = np.asarray(values) if type(values) is list else values
    except ValueError:
        array = values
    if type(array) is np.ndarray and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return as_tensor(name, array)


def _check_states(u: Tensor, space: Any) -> None:
    """Refuse what is no array of trajectories, states, and what a state has."""
    if not isinstance(space, Space) or space.ndim == 0:
        raise RaffiaError(
            f"domain must be the space of a state, such as Domain(1), or Vectors() for numbers, with u[..., None]; got {space!r}."
        )
    wanted = f"(trajectories, states, {', '.join(space.axes_in_words)})"
    if u.ndim != 2 + space.ndim or 0 in u.shape:
        raise RaffiaError(
            f"u must have shape {wanted}, with one state or more; got {tuple(u.shape)}. One trajectory is u[None]; where axis 2 counts "
            "channels, domain is Channels(Domain(…), count)."
        )
    try:
        space.grid_of(u[0])
    except RaffiaError as error:
        raise RaffiaError(f"u must hold states of {space} along its last axes, {wanted}: {error}") from None


def _fixed(parameters: Any, n: int) -> Tensor:
    values = _values("parameters", parameters)
    if values.ndim not in (1, 2) or len(values) != n:
        raise RaffiaError(
            f"parameters must hold for whole trajectories, shape ({n},) or ({n}, numbers); got {tuple(values.shape)}."
        )
    return values.reshape(n, -1)


def _even(times: Any, states: int) -> str:
    """What times say of the steps; steps of unequal length are refused."""
    try:
        t = np.asarray(times, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        t = np.empty(0)
    if len(t) != states:
        raise RaffiaError(f"times must be numbers, one for each of {states} states, along axis 1 of u; got {times!r}.")
    return f"a step is {step_of('times', t[None], 'u'):.6g}." if states > 1 else "there is one time."


def first_states(v: Variable, steps: Steps) -> np.ndarray | None:
    """Return the first states of some trajectories (n, states, values), as far as opening may read them; None where that is too much."""
    each = math.prod(v.shape[1:])
    rows = min(STATES if steps.axis == 0 else SOME if steps.samples == 0 else v.shape[0], v.shape[0])
    rows = min(rows, max(1, LOOKED_AT // max(1, each))) if 0 in (steps.axis, steps.samples) else rows
    if rows * each > 4 * LOOKED_AT or v.affordable(rows) < rows:
        return None
    parts = spread(v, rows, 1) if steps.samples == 0 else [slice(0, rows)]
    u = steps.in_order(np.concatenate([v.read(part) for part in parts]))
    u = u[:: -(-len(u) // SOME), :STATES]
    u = u.reshape(*u.shape[:2], -1).astype(np.float64)
    return u if u.size and np.isfinite(u).all() else None
