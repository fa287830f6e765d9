"""The axis of time, and that of trajectories: as given, by names, times and coordinates, or by values.

States in time change little from one to the next; unrelated trajectories do not. Of axes that are smooth, those of space are periodic or
have fixed ends, and along time each state determines the next.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import torch

from raffia.data.infer import names
from raffia.data.infer.axis_kind import Ends, by_values
from raffia.data.infer.coordinates import CHANNELS, goes_one_way, lengths, node_counts
from raffia.data.infer.guess import Confidence, Guess, Guesses
from raffia.data.infer.names import COORDINATES, TIMES, Variables, is_times, likely, shapes, shown, times_of_each, word
from raffia.data.infer.sample_axis import ONE, Look, axes_asked
from raffia.data.options import FLAGS, ReadingOptions
from raffia.data.pace import UNRELATED, pace_notes, step_of
from raffia.data.readers.variable import LOOKED_AT, Variable
from raffia.data.trajectories import Steps, first_states
from raffia.errors import RaffiaError

FEW = 4  # entries along an axis: so many are channels of a state, where nothing else decides
ALL = slice(None)
REACH, ENOUGH = 2, 20_000  # nodes on either side of a place, and places, by which the next state is fitted
UNPREDICTED, PREDICTED = 0.01, 0.1  # unexplained along space, more than that; along time, less than this part of it
COMPARED = 64  # trajectories among which two with the same parameters are looked for


def trajectories_in(
    path: object, arrays: Variables, given: Sequence[str], options: ReadingOptions, guesses: Guesses
) -> tuple[Steps | None, str]:
    """Return how a file of trajectories is read; None for pairs, with what to add if those cannot be read either.

    `given` are the inputs that the user names. Axes are as the user says, else by names, times and coordinates, else by values.
    """
    known = [arrays[name] for name in given if name in arrays] if given else likely(arrays)
    longest = max(known, key=lambda v: len(v.shape)).shape if known else ()
    known = known if given else [v for v in known if times_of_each(v, longest) is None]
    moving, beside = [v for v in known if v.shape == longest], [v for v in known if v.shape != longest]
    asked, free = options.of_trajectories, not (given or options.of_trajectories)
    if not moving or len(known) < len(given) or (len(moving) > 1 and not given):
        if asked:
            raise RaffiaError(
                f"{path}: {asked[0]} is for one array of trajectories. Name it with {FLAGS['input']} NAME; several "
                f"of one shape are channels. It holds {shapes(likely(arrays)) or 'no such array'}."
            )
        time = time_by_names(known[0], arrays)[0] if len(moving) == len(known) > 1 and len(longest) > 2 and not given else None
        if time is not None:
            _note_time(known, time, guesses)
        return None, ""
    v, found = moving[0], Guesses()
    if 0 in v.shape:
        raise RaffiaError(f"{path}: {v.name} must hold values; it has shape {v.shape}. Write a file that has some.")
    look, several = Look(v), len(v.shape) > 2
    given_samples = _given_samples(path, v, options, bool(asked) or (several and not beside), found)
    if options.time is not None and not -len(v.shape) <= options.time < len(v.shape):
        raise RaffiaError(f"{path}: {FLAGS['time']} (time=…) must be an axis of {v.name} {shown(v.shape)}; got {options.time}.")
    time, reason = time_by_names(v, arrays) if options.time is None else (options.time % len(v.shape), "as asked for")
    if given_samples and options.time is None and time == given_samples[0]:
        time = None
    samples = given_samples[0] if given_samples else _samples_axis(look, time, arrays, beside, found)
    n = 1 if samples is None else v.shape[samples]
    fixed = [other for other in beside if _parameters(other, n)]
    if beside and free and (len(fixed) < len(beside) or not _begin_differently(fixed, v, samples)):
        if time is not None and several:
            _note_time([v, *fixed], time, guesses)
        return None, ""
    if time is not None:
        found.note(f"time along axis {time}, {reason}", "time", time)
    elif several or samples is None:
        time, reason = _time_by_values(look, samples, arrays)
        if time is not None:
            what = f"time along axis {time}, {reason}: the axis of time is a guess by lengths or values"
            found.note(what, "time", time, Confidence.LIKELY)
    if time is None and (asked or (several and not (beside and free))):
        _ask_for_time(path, v, samples)
    if time is None or (len(v.shape) == 2 and (samples, time) == (0, 1) and not asked):
        if not beside:
            guesses += found
        elif several:
            _note_time([v, *fixed], time, guesses)
        return None, _offer(v) if len(v.shape) == 2 and not beside else ""
    if given and len(fixed) < len(beside):
        raise RaffiaError(
            f"{path}: arrays beside the trajectories {v.name} {shown(v.shape)} must have their shape, as channels, or be numbers that hold "
            f"for a whole trajectory, {n} or {n}×numbers; got {shapes(other for other in beside if other not in fixed)}."
        )
    steps = Steps(
        name=v.name,
        ndim=len(v.shape),
        axis=time,
        stride=int(options.stride or 1),
        window=int(options.window or 1),
        horizon=int(options.horizon),
        beside=tuple(one.name for one in moving[1:]),
        fixed=tuple(one.name for one in fixed),
        samples=samples,
    )
    states = first_states(v, steps)
    pace = [] if states is None else pace_notes(states, steps.stride)
    _note_steps(v, steps, found, guesses)
    for text in (*_step_notes(path, v, time, arrays), *pace):
        guesses.note(text)
    return steps, ""


def _given_samples(path: object, v: Variable, options: ReadingOptions, needed: bool, guesses: Guesses) -> list[int | None]:
    """Return the sample axis given by the user, as a list, with None for one trajectory; an empty list if none is given."""
    if options.samples_axis is None:
        return []
    axes = axes_asked(options.samples_axis)
    if len(axes) == 1 and (axes[0] is None or -len(v.shape) <= axes[0] < len(v.shape)):
        samples = None if axes[0] is None else axes[0] % len(v.shape)
        what = f"{v.name} is one trajectory" if samples is None else f"trajectories are along axis {samples}"
        guesses.note(f"{what}, as asked for", "samples_axis", options.samples_axis)
        return [samples]
    if needed:
        raise RaffiaError(
            f"{path}: {FLAGS['samples_axis']} (samples_axis=…) must be the axis of {v.name} {shown(v.shape)} that counts trajectories, "
            f"from 0, or {ONE} where they are one; got {options.samples_axis!r}."
        )
    return []


def _ask_for_time(path: object, v: Variable, samples: int | None) -> None:
    Guesses().take(
        f"{path}: nothing tells which axis of {v.name} {shown(v.shape)} is time, along which there are two states or more. "
        f"{FLAGS['samples_axis']} AXIS (samples_axis=…) says which counts trajectories, or {ONE} where they are one. For pairs name "
        f"{FLAGS['input']} and {FLAGS['output']}, or {FLAGS['output_path']} FILE.",
        [Guess("time", axis, "", Confidence.OPEN) for axis in range(len(v.shape)) if axis != samples or axis == 0],
    )


def time_by_names(v: Variable, arrays: Variables) -> tuple[int | None, str]:
    """Return the time axis and the reason, by axis names or an array of times, or None if these do not decide."""
    if (axis := _called_time(v)) is not None:
        return axis, f"which is called {(v.dims or ())[axis]}"
    for t in arrays.values():
        if (axis := times_of_each(t, v.shape)) is not None:
            return axis, f"as {t.name} has times for each trajectory"
    for more in (0, 1):  # one more is what files with the ends of steps have
        for t in filter(is_times, arrays.values()):
            fitting = [axis for axis, size in enumerate(v.shape) if size + more == max(t.shape) and (axis or not more)]
            if len(fitting) == 1 and t is not v:
                return fitting[0], f"as long as {t.name}" if not more else f"one shorter than {t.name}"
    return None, ""


def _called_time(v: Variable) -> int | None:
    """Return the one axis that is called time."""
    named = [axis for axis, dim in enumerate(v.dims or ()) if word(dim) in TIMES]
    return named[0] if len(named) == 1 else None


def _samples_axis(look: Look, time: int | None, arrays: Variables, beside: Sequence[Variable], guesses: Guesses) -> int | None:
    """Return the axis that counts trajectories; None for one trajectory.

    It has no coordinates, and entries along it have little in common. States along `time`, if that is known, and values along an axis
    of space are like their neighbours. Where values do not tell, trajectories are along the first axis.
    """
    v, last = look.variable, len(look.shape) - 1
    places = [axis for axis in range(len(v.shape)) if axis != time]
    named = [axis for axis in places if v.dims and names.counts_samples(v.dims[axis], arrays.get(v.dims[axis]))]
    bare = _without_coordinates(v, places, arrays)
    if time is not None and not bare and not named:
        return None
    as_long = [axis for axis in bare if any(other.shape[:1] == (v.shape[axis],) for other in beside)]
    several = [axis for axis in bare if v.shape[axis] > FEW]
    unlike = sorted((axis for axis in several if look.ratios[axis] > UNRELATED), key=lambda axis: -look.ratios[axis])
    smooth = 0 not in bare or (0 in several and 0 not in unlike)
    inside = time is not None and (0 < time < last or (last == 1 and bool(bare)))
    by_sign = (
        (named if len(named) == 1 else [], f"which is called {(v.dims or ('',))[named[0]] if named else ''}"),
        (as_long if len(as_long) == 1 else [], "as the arrays beside it are as long"),
        (bare if time == 0 and several == bare and len(bare) == 1 < len(places) else [], "as the others have coordinates"),
        (unlike if 0 not in unlike else [], "as neighbours along it have little in common"),
        ([0] if time != 0 and (inside or not smooth) else [], ""),
    )
    axis, reason = next(((axes[0], reason) for axes, reason in by_sign if axes), (None, ""))
    if axis:
        guesses.note(f"trajectories are along axis {axis}, {reason}", "samples_axis", axis, Confidence.LIKELY)
    others = [axis for axis in bare if time is not None or axis not in several]
    if axis is None and others:
        ways = " or ".join(f"{FLAGS['samples_axis']} {axis} (samples_axis={axis})" for axis in others)
        guesses.note(f"{v.name} is taken for one trajectory; {ways} says which axis counts several")
    return axis


def _time_by_values(look: Look, samples: int | None, arrays: Variables) -> tuple[int | None, str]:
    """Return the time axis and the reason, by coordinates, lengths and values, or None if these do not decide."""
    bare = _without_coordinates(look.variable, [axis for axis in range(len(look.shape)) if axis != samples], arrays)
    smooth = [axis for axis in bare if look.shape[axis] > FEW and look.ratios[axis] <= UNRELATED]
    sizes = [look.shape[axis] for axis in smooth]
    odd = [axis for axis, size in zip(smooth, sizes, strict=True) if sizes.count(size) == 1]
    if len(smooth) > 2 and len(odd) == 1 and odd[0] in (smooth[0], smooth[-1]):
        return odd[0], "the only one of another length"
    bounded = [axis for axis in smooth if not _is_periodic(look, axis, samples)]
    if len(bounded) == 1:
        return bounded[0], "the only one that is left" if len(
            smooth
        ) == 1 else "as the other axis is periodic, or has fixed ends"
    left = sorted((_unexplained(look, axis, [other for other in smooth if other != axis]), axis) for axis in bounded)
    if len(left) > 1 and left[1][0] > UNPREDICTED and left[0][0] < PREDICTED * left[1][0]:
        return left[0][1], "as along it each state determines the next, at every place alike"
    return None, ""


def _unexplained(look: Look, axis: int, places: Sequence[int]) -> float:
    """Return which share of the changes along an axis no quadratic function of the values next to a place, the same everywhere, gives.

    It is small along time: ∂u/∂t is a function of u and its derivatives. Along space it is not, where the equation is of second order.
    """
    u = look.values
    inner = [ALL] * u.ndim
    for place in places:
        inner[1 + place] = slice(REACH, -REACH)
    change = np.diff(u, axis=1 + axis)[tuple(inner)]
    inner[1 + axis] = slice(-1)
    here = u[tuple(inner)]
    near = [np.roll(u, shift, 1 + place)[tuple(inner)] for place in places for shift in range(-REACH, REACH + 1) if shift]
    every = max(1, here.size // ENOUGH)
    columns = [f.reshape(-1)[::every] for f in (np.ones_like(here), here, here**2, *near, *(here * f for f in near))]
    wanted = change.reshape(-1)[::every]
    size, fit = float(np.square(wanted).sum()), np.linalg.lstsq(np.stack(columns, 1), wanted, rcond=1e-10)[0]
    return float(np.square(wanted - np.stack(columns, 1) @ fit).sum()) / size if size else 1.0


def _is_periodic(look: Look, axis: int, samples: int | None) -> bool:
    """Return whether an axis is periodic, or has the same value at both ends in all functions, as time hardly has."""
    rows = look.values.reshape(-1, *look.shape[1:])
    f = rows[None] if samples is None else np.moveaxis(rows, samples, 0)
    place = 1 + axis if samples is None or axis < samples else axis
    ends = by_values(torch.from_numpy(np.ascontiguousarray(f)), place)[0]
    return ends in (Ends.PERIODIC, Ends.FIXED, Ends.REPEATED)


def _without_coordinates(v: Variable, places: Sequence[int], arrays: Variables) -> list[int]:
    """Return the axes that have neither coordinates nor a name of a place or of channels; all of them, where lengths do not tell."""
    left = [axis for axis in places if not (v.dims and v.dims[axis] and _is_place(v.dims[axis], arrays))]
    if v.dims and all(v.dims) and len(left) < len(places):
        return left
    lines = {name: size for name, size in lengths(arrays).items() if not is_times(arrays[name]) and goes_one_way(arrays[name])}
    sizes = sorted([*lines.values(), *node_counts(arrays)])
    if sizes == sorted(v.shape[axis] for axis in left):
        return []
    unnamed = left
    for length in sizes:
        as_long = [axis for axis in left if v.shape[axis] == length]
        if len(as_long) > sizes.count(length):
            return unnamed
        left = [axis for axis in left if axis not in as_long[:1]]
    return left


def _is_place(dim: str, arrays: Variables) -> bool:
    x = arrays.get(dim)
    line = x is not None and x.dims == (dim,)
    return line or names.is_place(dim, x) or word(dim) in COORDINATES or dim.lower() in names.CHANNELS


def axes_in(
    path: object, v: Variable, arrays: Variables, trained: Steps, state: tuple[int, ...] | None, guesses: Guesses
) -> Steps:
    """Return how trajectories lie in another file, with states of the same shape as in the training.

    Names and times count most, then the layout of the training, unless values along both of its axes speak for another.
    """
    look, (named, reason) = Look(v), time_by_names(v, arrays)
    pairs = [(None, axis) for axis in range(trained.ndim)] if trained.samples is None else permutations(range(trained.ndim), 2)
    ways = [replace(trained, samples=samples, axis=axis) for samples, axis in pairs]
    ways = [way for way in ways if state is None or way.state(v.shape) == state] or [trained]

    def signs(way: Steps) -> int:
        """What speaks for a layout: time by its name or times 8, the layout of the training 3, values along each axis 2."""
        long = [axis for axis in (way.samples, way.axis) if axis is not None and v.shape[axis] > FEW]
        alike = [(look.ratios[axis] <= UNRELATED) == (axis == way.axis) for axis in long]
        return 8 * (way.axis == named) + 3 * (way == trained) + 2 * sum(alike)

    best = max(ways, key=signs)
    if best.axis != named and best.axis != trained.axis and not look.ratios[best.axis] <= UNRELATED:
        raise RaffiaError(
            f"{path}: {v.name} {shown(v.shape)} must have time along axis {trained.axis}, as in the training; states of "
            f"{shown(state or ())}, as there, it has only with time along axis {best.axis}. Pass a file that is laid out like that of "
            f"the training, or one with times: an array t beside {v.name}, or an axis that is called time."
        )
    if best != trained:
        along = "" if best.samples in (trained.samples, None) else f" and trajectories along axis {best.samples}"
        why = reason if best.axis == named else "as states along it are like their neighbours"
        guesses.note(f"{v.name} has time along axis {best.axis}{along}, {why}; in the training it was axis {trained.axis}")
    return best


def _note_steps(v: Variable, steps: Steps, axes: Guesses, guesses: Guesses) -> None:
    n = steps.count(v)
    held = f"{', '.join(steps.moving)} hold{'' if steps.beside else 's'} {n} {'trajectory' if n == 1 else 'trajectories'}"
    guesses.note(f"{held} of {v.shape[steps.axis]} states: {steps.in_words}")
    guesses += axes
    if steps.fixed:
        guesses.note(
            f"fixed along a trajectory, and a part of every input: {', '.join(steps.fixed)}; {FLAGS['input']} {steps.name} leaves this out"
        )


def _step_notes(path: object, v: Variable, axis: int, arrays: Variables) -> list[str]:
    """Return notes on the steps of times in a file; steps of unequal length are refused."""
    states = v.shape[axis]
    if states < 2:
        return []
    for more, t in product((0, 1), arrays.values()):  # one more is what files with the ends of steps have
        each = times_of_each(t, v.shape) == axis
        if each or (is_times(t) and max(t.shape) == states + more):
            rows = t.glance().astype(np.float64).reshape(-1, t.shape[1] if each else states + more)
            try:
                step = step_of(t.name, rows, v.name)
            except RaffiaError as error:
                raise RaffiaError(f"{path}: {error}") from None
            units = names.text(t, "units")
            back = ": times go down, so a model goes back in time" if step < 0 else ""
            first = [f"{t.name} has {states + 1} entries for {states} states: the first {states} are taken for theirs."]
            return [f"a step is {step:.6g}{units and f' {units}'} of {t.name}{back}.", *(first if more else [])]
    return []


def _offer(v: Variable) -> str:
    """How an array of two axes is read as trajectories."""
    n, m = v.shape
    return (
        f"If {v.name} {shown(v.shape)} holds trajectories, pass {FLAGS['time']} AXIS (time=…), the axis of time: {FLAGS['time']} 0 for "
        f"one of {n} states, {FLAGS['time']} 1 for {n} of {m} numbers each, and with {FLAGS['samples_axis']} none for one of {m} states."
    )


def _parameters(v: Variable, n: int) -> bool:
    """Return whether an array holds parameters for each of n trajectories."""
    return v.shape == (n,) or (len(v.shape) == 2 and v.shape[0] == n and v.shape[1] <= CHANNELS)


def _begin_differently(fixed: Sequence[Variable], v: Variable, samples: int | None) -> bool:
    """Return whether trajectories with equal parameters begin differently, so that parameters do not determine them."""
    if samples is None:
        return False
    each, rows = math.prod(v.shape) // max(1, v.shape[samples]), v.shape[0]
    n = max(1, min(COMPARED, v.shape[samples], 4 * LOOKED_AT // max(1, each)))
    n = v.affordable(n) if samples == 0 else n if v.affordable(rows) == rows else 1
    given = np.concatenate([f.read(slice(0, n)).reshape(n, -1).astype(np.float64) for f in fixed], axis=1)
    _, first, which = np.unique(given, axis=0, return_index=True, return_inverse=True)
    again = next((i for i, one in enumerate(which.reshape(-1)) if first[one] != i), None)
    if again is None:
        return False
    u = np.moveaxis(v.read(slice(0, n) if samples == 0 else None), samples, 0).astype(np.float64)
    return bool(np.abs(u[again] - u[first[which.reshape(-1)[again]]]).max() > 1e-6 * np.abs(u[again]).max())


def _note_time(known: Sequence[Variable], time: int | None, guesses: Guesses) -> None:
    """Note that arrays are read as pairs, and how they are read as trajectories."""
    flags = " ".join(f"{FLAGS['input']} {v.name}" for v in known)
    axis = f"{FLAGS['time']} AXIS" if time is None else f"{FLAGS['time']} {time}"
    guesses.note(f"{known[0].name} is not taken for trajectories; for a model of one step pass {flags} {axis}")
