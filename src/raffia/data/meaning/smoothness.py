"""Along which axes of an array neighbours are alike: values of a function and states in time are, samples mostly are not."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raffia.data.pace import UNRELATED, neighbour_ratio
from raffia.data.readers import LOOKED_AT, Variable, decode

ROWS = 64  # that are read
TELLING = 8  # consecutive entries that are enough to tell


def spread(v: Variable, most: int, each: int = TELLING) -> list[slice]:
    """Return blocks of `most` rows in all: spread over the array if all of it can be read on opening, else its first rows."""
    n = v.shape[0]
    if v.cost(n) > 16 * LOOKED_AT or v.affordable(n) < n:
        return [slice(0, v.affordable(min(n, most)))]
    return blocks(n, most, each)


def blocks(n: int, most: int, each: int = TELLING) -> list[slice]:
    """Return blocks of `each` consecutive entries, about `most` of n in all, from the first entry to the last."""
    if n <= most:
        return [slice(0, n)]
    each = min(most, each)
    return [slice(start, start + each) for start in np.linspace(0, n - each, most // each, dtype=int).tolist()]


@dataclass(frozen=True)
class Look:
    """A first look at an array: some of its rows are read once, when they are asked for."""

    variable: Variable

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.variable.shape

    @cached_property
    def values(self) -> np.ndarray:
        """Blocks of consecutive rows, (blocks, rows, …)."""
        rows = max(TELLING, LOOKED_AT // math.prod(self.shape[1:]))
        parts = [self.variable.read(block) for block in spread(self.variable, min(ROWS, rows))]
        return np.stack([decode(self.variable, part).astype(np.float64) for part in parts])

    @cached_property
    def ratios(self) -> tuple[float, ...]:
        """Von Neumann's ratio along each axis: 1 if entries are in no order, near 0 if neighbours are alike, NaN if nothing varies."""
        return tuple(neighbour_ratio(self.values, 1 + axis) for axis in range(len(self.shape)))

    @cached_property
    def alike(self) -> tuple[bool | None, ...]:
        """Whether neighbours are alike, along each axis; None where there are too few to tell."""
        sizes = self.values.shape[1:]
        return tuple(
            ratio < UNRELATED if size >= TELLING and not np.isnan(ratio) else None
            for size, ratio in zip(sizes, self.ratios, strict=True)
        )

    def growth(self, axis: int) -> float:
        """Return |log(s₁ / s₀)| of the sizes of values, about their mean, at the two ends of an axis: large where they grow or decay."""
        values = self.values.reshape(-1, *self.shape[1:]) if axis == 0 else self.values
        u = np.moveaxis(values, axis if axis == 0 else 1 + axis, 0)
        u = u - u.mean()
        first, last = (float(np.square(u[end]).mean()) for end in (0, -1))
        return abs(math.log(last / first)) / 2 if first > 0 and last > 0 else math.inf


def against(looks: Sequence[Look], axes: Sequence[int]) -> bool:
    """Return whether values speak against samples along these axes: alike there, unlike at the other end, and in no array the reverse."""
    verdicts = {
        (look.alike[axis], look.alike[-1 if axis == 0 else 0])
        for look, axis in zip(looks, axes, strict=True)
        if len(look.shape) > 1
    }
    return (True, False) in verdicts and (False, True) not in verdicts
