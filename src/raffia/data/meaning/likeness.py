"""Along which axes of an array neighbours are alike, as values of a function are and samples mostly are not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raffia.data.formats.missing import decode
from raffia.data.formats.variable import LOOKED_AT, Variable

GLANCE = 64  # rows that are read
TELLING = 8  # entries along an axis that are enough to tell
ALIKE = 0.4  # of the difference of values half an axis apart: below it, neighbours along the axis are alike


@dataclass(frozen=True)
class Look:
    """A first look at an array: a few of its rows are read once, when they are asked for."""

    variable: Variable

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.variable.shape

    @cached_property
    def alike(self) -> tuple[bool | None, ...]:
        """Whether neighbours are alike, along each axis; None where there are too few to tell."""
        few = max(TELLING, LOOKED_AT // math.prod(self.shape[1:]))
        wanted = min(GLANCE, self.shape[0], few)
        rows = min(wanted, self.variable.affordable(wanted))
        values = decode(self.variable, self.variable.read(slice(0, rows)))
        return tuple(_alike(values, axis) if size >= TELLING else None for axis, size in enumerate(values.shape))


def against(looks: Sequence[Look], axes: Sequence[int]) -> bool:
    """Whether values speak against samples along these axes: alike there and not at the other end of the array, and none the other way."""
    verdicts = {
        (look.alike[axis], look.alike[-1 if axis == 0 else 0])
        for look, axis in zip(looks, axes, strict=True)
        if len(look.shape) > 1
    }
    return (True, False) in verdicts and (False, True) not in verdicts


def one_function(looks: Sequence[Look]) -> bool:
    """Whether arrays may be one sample each: on several axes, along all of which values are alike."""
    shape = looks[0].shape
    square = len({look.shape for look in looks}) == 1 and len(shape) == 2 and shape[0] == shape[1]
    several = square or all(len(look.shape) > 2 for look in looks)
    return several and all(look.alike[0] and False not in look.alike for look in looks)


def _alike(values: np.ndarray, axis: int) -> bool | None:
    steps, far = np.abs(np.diff(values, axis=axis)), np.abs(values - np.roll(values, values.shape[axis] // 2, axis))
    if not np.isfinite(steps).any() or not np.isfinite(far).any():
        return None
    return bool(np.nanmean(steps) < ALIKE * np.nanmean(far))
