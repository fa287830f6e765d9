"""Which arrays of a file are trajectories, along which axes, and which parameters are fixed along them."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from raffia.data.meaning.columns import CHANNELS
from raffia.data.meaning.names import Variables, likely, shapes, shown
from raffia.data.meaning.smoothness import Look, spread
from raffia.data.meaning.steps import Steps, in_order
from raffia.data.meaning.times import against, even, of_each, told
from raffia.data.meaning.trajectory_axes import asked, check_asked, samples_axis, time_axis
from raffia.data.options import FLAGS, ReadingOptions
from raffia.data.pace import STATES, pace_notes
from raffia.data.readers import LOOKED_AT, Variable
from raffia.errors import RaffiaError

SOME = 8  # trajectories that are looked at for the length of steps
ALIKE = 64  # trajectories among which two with the same parameters are looked for


class Found(NamedTuple):
    """How a file of trajectories is read, with notes; None for pairs, with what to add if those cannot be read either."""

    steps: Steps | None
    notes: list[str]
    otherwise: str = ""


def trajectories_in(path: object, arrays: Variables, names: Sequence[str], options: ReadingOptions) -> Found:
    """Return how a file of trajectories is read; None in it for pairs.

    `names` are the inputs that the caller names. Axes are as the caller says, else by names, times and coordinates, else by values.
    """
    known = [arrays[name] for name in names if name in arrays] if names else likely(arrays)
    longest = max(known, key=lambda v: len(v.shape)).shape if known else ()
    known = known if names else [v for v in known if of_each(v, longest) is None]
    moving = [v for v in known if v.shape == longest]
    if not moving or len(known) < len(names) or (len(moving) > 1 and not names):
        if options.of_trajectories:
            raise RaffiaError(
                f"{path}: {options.of_trajectories[0]} is for one array of trajectories. Name it with {FLAGS['input']} NAME; several "
                f"of one shape are channels. It holds {shapes(likely(arrays)) or 'no such array'}."
            )
        return Found(None, [] if names or len(moving) != len(known) else _maybe(known, arrays))
    v, others = moving[0], [v for v in known if v not in moving]
    if 0 in v.shape:
        raise RaffiaError(f"{path}: {v.name} must hold values; it has shape {v.shape}. Write a file that has some.")
    free, look = not (names or options.of_trajectories), Look(v)
    given, samples, counted = asked(v, options.samples_axis)
    if options.of_trajectories or (len(v.shape) > 2 and not others):
        check_asked(path, v, options.samples_axis, given)
    axis, reason, doubts = _axis(path, v, arrays, options, samples if given else 0)
    if axis is None:
        differ = bool(others) and free and len(v.shape) > 2 and _differ(others, v)
        pairs = bool(others) and free and not differ
        if not given:
            samples, counted = (0, list[str]()) if differ or pairs else samples_axis(look, None, arrays, others)
        guess = time_axis(look, samples, arrays) if not pairs and (len(v.shape) > 2 or samples is None) else None
        if guess is None and (options.of_trajectories or (len(v.shape) > 2 and not (others and free))):
            raise _question(path, v, samples)
        if guess is None:
            return Found(None, _unexplained(v, others) if differ else [], "" if others or len(v.shape) != 2 else _offer(v))
        axis, reason = guess
        doubts = [_guessed(v, axis, samples)]
    elif not given:
        samples, counted = samples_axis(look, axis, arrays, others)
    if len(v.shape) == 2 and axis and samples == 0 and not options.of_trajectories:
        return Found(None, [], _offer(v))  # curves, and not the paths of numbers
    n = 1 if samples is None else v.shape[samples]
    fixed = [other for other in others if _numbers(other, n)]
    if others and free and (len(fixed) < len(others) or _functions_of(fixed, v, axis, samples)):
        return Found(None, _maybe([v, *fixed], arrays))
    if names and len(fixed) < len(others):
        raise RaffiaError(
            f"{path}: arrays beside the trajectories {v.name} {shown(v.shape)} must have their shape, as channels, or be numbers that hold "
            f"for a whole trajectory, {n} or {n}×numbers; got {shapes(other for other in others if other not in fixed)}."
        )
    check_asked(path, v, options.samples_axis, given)
    stride, window, horizon = int(options.stride or 1), int(options.window or 1), int(options.horizon)
    steps = Steps(
        v.name, len(v.shape), axis, stride, window, horizon, tuple(one.name for one in moving[1:]),
        tuple(f.name for f in fixed), samples,
    )  # fmt: skip
    states = _some(v, steps)
    pace = [] if states is None else pace_notes(states, steps.stride)
    return Found(steps, [*_notes(v, steps, reason), *doubts, *counted, *even(path, v, axis, arrays), *pace])


def _axis(
    path: object, v: Variable, arrays: Variables, options: ReadingOptions, samples: int | None
) -> tuple[int | None, str, list[str]]:
    """Return the axis of time, the reason and notes: as the caller says, or by names and times; None where they do not tell."""
    if options.time is None:
        axis, reason = told(v, arrays)
        return (None, "", []) if axis == samples != 0 else (axis, reason, [])
    if not -len(v.shape) <= options.time < len(v.shape):
        raise RaffiaError(f"{path}: {FLAGS['time']} (time=…) must be an axis of {v.name} {shown(v.shape)}; got {options.time}.")
    axis = range(len(v.shape))[options.time]
    return axis, "as was said", against(v, axis, arrays)


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


def _guessed(v: Variable, axis: int, samples: int | None) -> str:
    ways = " or ".join(f"{FLAGS['time']} {other}" for other in range(len(v.shape)) if other not in (axis, samples))
    return f"the axis of time is a guess by lengths or values; {ways} (time=…) says otherwise."


def _question(path: object, v: Variable, samples: int | None) -> RaffiaError:
    """Return the question which axis is time."""
    ways = " or ".join(f"{FLAGS['time']} {axis}" for axis in range(len(v.shape)) if axis != samples or axis == 0)
    return RaffiaError(
        f"{path}: nothing tells which axis of {v.name} {shown(v.shape)} is time, if it holds trajectories. Pass {ways} (time=…), along "
        f"which there are two states or more, and {FLAGS['samples_axis']} AXIS (samples_axis=…), which counts trajectories, or "
        f"{FLAGS['samples_axis']} none for one. For pairs pass {FLAGS['input']} and {FLAGS['output']}, or {FLAGS['output_path']} FILE."
    )


def _some(v: Variable, steps: Steps) -> np.ndarray | None:
    """Return the first states of trajectories spread over all, (n, states, values); None where they are too large, or not finite."""
    each = math.prod(v.shape[1:])
    rows = min(STATES if steps.axis == 0 else SOME if steps.samples == 0 else v.shape[0], v.shape[0])
    rows = min(rows, max(1, LOOKED_AT // max(1, each))) if 0 in (steps.axis, steps.samples) else rows
    if rows * each > 4 * LOOKED_AT or v.affordable(rows) < rows:
        return None
    parts = spread(v, rows) if steps.samples == 0 else [slice(0, rows)]
    u = in_order(np.concatenate([v.read(part) for part in parts]), steps.axis, steps.samples)
    u = u[:: -(-len(u) // SOME), :STATES]
    u = u.reshape(*u.shape[:2], -1).astype(np.float64)
    return u if u.size and np.isfinite(u).all() else None


def _unexplained(v: Variable, others: Sequence[Variable]) -> list[str]:
    return [
        f"{v.name} is another where {', '.join(o.name for o in others)} are the same, as of trajectories that begin differently; for a "
        f"model of one step pass {FLAGS['time']} AXIS (time=…), counted from 0."
    ]


def _offer(v: Variable) -> str:
    """How an array of two axes is read as trajectories."""
    n, m = v.shape
    return (
        f"If {v.name} {shown(v.shape)} holds trajectories, pass {FLAGS['time']} AXIS (time=…), the axis of time: {FLAGS['time']} 0 for "
        f"one of {n} states, {FLAGS['time']} 1 for {n} of {m} numbers each, and with {FLAGS['samples_axis']} none for one of {m} states."
    )


def _numbers(v: Variable, n: int) -> bool:
    """Whether an array holds some numbers for each of n trajectories."""
    return v.shape == (n,) or (len(v.shape) == 2 and v.shape[0] == n and v.shape[1] <= CHANNELS)


def _differ(others: Sequence[Variable], v: Variable) -> bool:
    """Whether rows of an array are different where the numbers beside them are the same."""
    return all(_numbers(other, v.shape[0]) for other in others) and not _functions_of(others, v, None, 0)


def _functions_of(fixed: Sequence[Variable], v: Variable, axis: int | None, samples: int | None) -> bool:
    """Whether trajectories may be functions of their parameters alone: none of the first have the same, and begin differently."""
    if samples is None:
        return True
    each, rows = math.prod(v.shape) // max(1, v.shape[samples]), v.shape[0]
    n = max(1, min(ALIKE, v.shape[samples], 4 * LOOKED_AT // max(1, each)))
    n = v.affordable(n) if samples == 0 else n if v.affordable(rows) == rows else 1
    given = np.concatenate([f.read(slice(0, n)).reshape(n, -1).astype(np.float64) for f in fixed], axis=1)
    _, which = np.unique(given, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for one in range(n):
        for other in np.flatnonzero(which[:one] == which[one])[:1]:
            u = np.moveaxis(v.read(slice(0, one + 1) if samples == 0 else None), samples, 0)
            place = axis if axis is None or axis > samples else axis + 1
            begin = (u if place is None else np.take(u, 0, axis=place)).astype(np.float64)
            return bool(np.abs(begin[one] - begin[other]).max() <= 1e-6 * np.abs(begin).max())
    return True


def _maybe(known: Sequence[Variable], arrays: Variables) -> list[str]:
    """What to say where arrays are read as pairs, and might be trajectories."""
    axis = told(known[0], arrays)[0] if len(known) > 1 and len(known[0].shape) > 2 else None
    if axis is None:
        return []
    words = " ".join(f"{FLAGS['input']} {v.name}" for v in known)
    return [
        f"{known[0].name} has an axis of time, {axis}, and is not taken for trajectories; for a model of one step pass {words}."
    ]
