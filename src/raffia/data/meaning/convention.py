"""Periodic or box: whether the right end of a grid belongs to it, by the values of functions and by coordinates."""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np


class Ends(StrEnum):
    """What the two ends of an axis look like."""

    PERIODIC = "periodic"
    BOX = "box"
    REPEATED = "repeated"
    FIXED = "fixed"
    UNCLEAR = "unclear"


ROUGH = "neighbours differ as much as points far apart do"


def by_values(f: np.ndarray, axis: int) -> tuple[Ends, str]:
    """What samples (n, …) say about one of their axes, and the reason.

    Around a circle, the last point and the first are neighbours, and differ as neighbours do.
    """
    first, last = np.take(f, 0, axis), np.take(f, -1, axis)
    steps = np.abs(np.diff(f, axis=axis))
    scale = float(np.abs(f).max()) or 1.0
    typical, jump = float(steps.mean()), float(np.abs(first - last).mean())
    if typical <= 1e-9 * scale:
        return Ends.UNCLEAR, "the functions are constant"
    if typical > 0.5 * float(np.abs(f - np.roll(f, f.shape[axis] // 2, axis)).mean()):
        return Ends.UNCLEAR, ROUGH
    if float(np.abs(first - last).max()) <= (1e-9 if f.dtype == np.float64 else 2e-5) * scale:
        if float(np.ptp(first)) <= 1e-6 * scale:
            return Ends.FIXED, "all functions have one value at both ends"
        return Ends.REPEATED, "the last point repeats the first"
    if jump <= 2 * typical:
        return Ends.PERIODIC, f"from the last point to the first is {jump / typical:.1f} times a usual step"
    return Ends.BOX, f"from the last point to the first is {jump / typical:.0f} times a usual step"


def by_coordinates(x: np.ndarray) -> tuple[Ends, str]:
    """What equispaced coordinates say: a round length from end to end, or one step further."""
    step = float(abs(x[-1] - x[0])) / (len(x) - 1)
    span, around = step * (len(x) - 1), step * len(x)
    if abs(float(min(x[0], x[-1])) - step / 2) < 1e-3 * step:
        return Ends.UNCLEAR, "the coordinates are the centres of cells"
    if _digits(span) < _digits(around):
        return Ends.BOX, f"the coordinates span {span:.6g}, with both ends"
    if _digits(around) < _digits(span):
        return Ends.PERIODIC, f"the coordinates stop one step before {around:.6g}"
    return Ends.UNCLEAR, "the coordinates may go either way"


def equispaced(x: np.ndarray) -> bool:
    """Whether coordinates have one spacing, to the precision of single numbers."""
    steps = np.diff(np.asarray(x, dtype=np.float64))
    mean = float(steps.mean())
    return bool(np.abs(steps - mean).max() <= 1e-3 * abs(mean) + 4e-7 * float(np.abs(x).max())) and mean != 0


def together(verdicts: Sequence[tuple[Ends, str]]) -> tuple[Ends, str]:
    """One for all: a box if anything says so, then repeated ends, then fixed ones, then periodic."""
    for kind in (Ends.BOX, Ends.REPEATED, Ends.FIXED, Ends.PERIODIC):
        for verdict in verdicts:
            if verdict[0] is kind:
                return verdict
    return verdicts[0]


def _digits(length: float) -> int:
    """How many digits write a length, alone or times π: people choose round lengths."""
    for digits in range(4):
        if any(math.isclose(length, float(f"{length / unit:.{digits}e}") * unit, rel_tol=2e-6) for unit in (1.0, math.pi)):
            return digits
    return 4
