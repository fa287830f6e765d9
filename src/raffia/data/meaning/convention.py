"""Which nodes an axis has, periodic or a box, with which of its ends: by the values of functions and by coordinates."""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from raffia.data.meaning.attributes import word
from raffia.spaces.robust_sizes import average, largest


class Ends(StrEnum):
    """What the two ends of an axis look like. The first five are kinds of axes."""

    PERIODIC = "periodic"
    BOX = "box"
    CELLS = "cells"
    LEFT = "left"
    RIGHT = "right"
    REPEATED = "repeated"
    FIXED = "fixed"
    UNCLEAR = "unclear"


Verdict = tuple[Ends, str]
LED = 0.3  # of the values next to an end that was left out: what lines may miss zero by there
ENOUGH = 8  # values at an end, for it to be no chance that all lines lead to zero
KINK = 4.0  # times a usual bend: what the bend across the ends of a periodic axis may be
ROUND = ("lon", "longitude", "theta", "phi")
STRAIGHT = ("t", "time", "ts", "times", "lat", "latitude")
"""Names of coordinates that go around where they span 360 or 2π, and of those that never do."""


def by_values(f: Tensor, axis: int) -> Verdict:
    """Return what samples (n, …) show of the two ends of an axis, and the reason; a fiftieth of the samples may be faulty.

    On a periodic axis the last point and the first differ as neighbours do. If functions vanish at one end, and lines lead them to zero
    one step beyond the other, the grid leaves that other end out.
    """
    first, last = f.select(axis, 0), f.select(axis, -1)
    scale = largest(f) or 1.0
    typical, jump = average(f.diff(dim=axis)), average(first - last)
    rounding = (1e-9 if f.dtype == torch.float64 else 2e-5) * scale
    if typical <= 1e-9 * scale:
        return Ends.UNCLEAR, "the functions are constant"
    if typical > 0.5 * average(f - f.roll(f.shape[axis] // 2, axis)):
        return Ends.UNCLEAR, "neighbours differ as much as points far apart do"
    if largest(first - last) <= rounding:
        if largest(first - first.median()) <= 1e-6 * scale:
            return Ends.FIXED, "all functions have one value at both ends"
        return Ends.REPEATED, "the last point repeats the first"
    for kind, zero, where in ((Ends.LEFT, first, ("first", "last")), (Ends.RIGHT, last, ("last", "first"))):
        if largest(zero) <= rounding and first.numel() >= ENOUGH and _led_to_zero(f, axis, kind):
            return kind, f"all functions vanish at the {where[0]} point, and would one step beyond the {where[1]}"
    if jump <= 2 * typical:
        return Ends.PERIODIC, f"from the last point to the first is {jump / typical:.1f} times a usual step"
    return Ends.BOX, f"from the last point to the first is {jump / typical:.0f} times a usual step"


def by_coordinates(x: np.ndarray, name: str = "") -> Verdict:
    """What equispaced coordinates say: a round length from end to end, or one step further, and where it begins."""
    step = float(abs(x[-1] - x[0])) / (len(x) - 1)
    low, high = float(min(x[0], x[-1])), float(max(x[0], x[-1]))
    span, around, near = step * (len(x) - 1), step * len(x), 1e-3 * step
    rounder = _digits(around) < _digits(span)
    if abs(low - step / 2) < near or (abs(low + high) < near and rounder):
        return Ends.CELLS, "the coordinates are the centres of cells"
    if _digits(span) < _digits(around):
        return Ends.BOX, f"the coordinates span {span:.6g}, with both ends"
    if rounder and abs(low - step) < near:
        counted = abs(step - 1) < near
        return (
            (Ends.UNCLEAR, "the coordinates count points")
            if counted
            else (Ends.RIGHT, "the coordinates begin one step after 0")
        )
    if rounder:
        stop = f"the coordinates stop one step before {around:.6g}"
        return Ends.LEFT if word(name) in STRAIGHT else Ends.PERIODIC, stop
    return Ends.UNCLEAR, "the coordinates may go either way"


def of_axis(samples: Sequence[Tensor], axis: int, lines: Sequence[tuple[np.ndarray, str]]) -> Verdict:
    """Return the ends of an axis of samples, and the reason; `lines` are coordinates along it, with their names.

    An angle that goes once around is periodic, times and latitudes never are. Else coordinates decide before values, which show whether
    functions are periodic.
    """
    for x, name in lines:
        around = float(abs(x[-1] - x[0])) / (len(x) - 1) * len(x)
        if word(name) in ROUND and any(abs(around - turn) < 1e-3 * around / len(x) for turn in (360.0, 2 * math.pi)):
            return Ends.PERIODIC, f"{name} goes once around, to one step before {around:.6g}"
    values = together([by_values(f, axis) for f in samples])
    coordinates = together([by_coordinates(x, name) for x, name in lines]) if lines else (Ends.UNCLEAR, "")
    verdict = _joint(values, coordinates, wraps(samples, axis))
    straight = [name for _, name in lines if word(name) in STRAIGHT]
    if straight and verdict[0] in (Ends.PERIODIC, Ends.REPEATED, Ends.UNCLEAR):
        return Ends.BOX, f"{straight[0]} does not go around"
    return verdict


def wraps(samples: Sequence[Tensor], axis: int) -> bool:
    """Return whether functions bend from the last point to the first no more than elsewhere, and do not merely have equal ends."""
    telling = [f for f in samples if by_values(f, axis)[0] is not Ends.UNCLEAR]
    return bool(telling) and all(_bends_alike(f, axis) for f in telling)


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One for all: an end left out if anything says so, then cells, a box, repeated ends, fixed ones, and periodic."""
    for kind in (Ends.LEFT, Ends.RIGHT, Ends.CELLS, Ends.BOX, Ends.REPEATED, Ends.FIXED, Ends.PERIODIC):
        for verdict in verdicts:
            if verdict[0] is kind:
                return verdict
    return verdicts[0]


def _joint(values: Verdict, coordinates: Verdict, smooth: bool) -> Verdict:
    """Return the verdict of values and coordinates together; `smooth` is whether functions are periodic without a kink."""
    if values[0] is Ends.REPEATED or coordinates[0] is Ends.UNCLEAR:
        return values
    if coordinates[0] is Ends.PERIODIC and values[0] in (Ends.LEFT, Ends.RIGHT):
        return values
    if coordinates[0] is Ends.PERIODIC and values[0] is Ends.BOX:
        return Ends.LEFT, f"{coordinates[1]}, and {values[1]}"
    if coordinates[0] is Ends.CELLS and values[0] is Ends.PERIODIC and smooth:
        return Ends.PERIODIC, f"{coordinates[1]}, and functions go on smoothly from the last to the first"
    return values if values[0] is coordinates[0] is Ends.BOX else coordinates


def _bends_alike(f: Tensor, axis: int) -> bool:
    if f.shape[axis] < 4:
        return False
    bends = f.roll(1, axis) - 2 * f + f.roll(-1, axis)
    across = torch.stack([bends.select(axis, 0), bends.select(axis, -1)], 1)
    return average(across) <= KINK * average(bends.narrow(axis, 1, f.shape[axis] - 2))


def _led_to_zero(f: Tensor, axis: int, kind: Ends) -> bool:
    """Return whether lines through the last two points, or the first two, meet zero one step beyond."""
    if f.shape[axis] < 4:
        return False
    near, inner = (f.select(axis, place) for place in ((-1, -2) if kind is Ends.LEFT else (0, 1)))
    return average(2 * near - inner) <= LED * average(near)


def _digits(length: float) -> int:
    """How many digits write a length, alone or times π: people choose round lengths."""
    for digits in range(4):
        if any(math.isclose(length, float(f"{length / unit:.{digits}e}") * unit, rel_tol=2e-6) for unit in (1.0, math.pi)):
            return digits
    return 4
