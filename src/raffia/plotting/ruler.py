"""True axes: the names, units and coordinates that a file gives to the axes of a grid, whose domain begins at 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from raffia.data import AxisLabel
from raffia.spaces import Domain, Space

UPWARD = ("y", "z", "height", "altitude", "elevation", "level")
"""Axes that are drawn from below to above, with all that begin with lat."""
SHORT = {
    "degrees_north": "°N",
    "degrees_east": "°E",
    "degree_north": "°N",
    "degree_east": "°E",
    "degrees": "°",
}
"""Units as labels have them."""

Labels = Sequence[AxisLabel]


@dataclass(frozen=True)
class Ruler:
    """An axis, and x ↦ start + slope · x, the true coordinate of a place in the domain."""

    name: str
    units: str
    start: float
    slope: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """True coordinates."""
        return self.start + self.slope * x

    @property
    def label(self) -> str:
        """Its name and its units."""
        return f"{self.name} ({SHORT.get(self.units, self.units)})" if self.units else self.name

    def at(self, x: float) -> str:
        """Where a slice is."""
        return f"{self.name} = {self.start + self.slope * x:.3g}{self.units and f' {self.units}'}"

    @property
    def scale(self) -> str:
        """What lengths along it compare with: those along axes of the same units, degrees in whatever direction."""
        return "degrees" if self.units.lower().startswith("degree") else self.units

    @property
    def upward(self) -> bool:
        """Whether one expects it from below to above."""
        return self.name.lower() in UPWARD or self.name.lower().startswith("lat")


def rulers(space: Space, shape: tuple[int, ...], labels: Labels) -> list[Ruler]:
    """One for each axis of a grid, or for each coordinate of a mesh, whose nodes have true coordinates."""
    known = labels if len(labels) == space.dim else [AxisLabel()] * space.dim
    ends = [(0.0, 0.0)] * space.dim
    if space.gridded:
        ends = [(float(x[0]), float(x[-1])) for x in cast(Domain, space).grid(*shape).axes()]
    return [_ruler(label, axis, *ends[axis]) for axis, label in enumerate(known)]


def _ruler(label: AxisLabel, axis: int, first: float, last: float) -> Ruler:
    name = label.name or (f"x{'₁₂₃₄₅₆₇₈₉'[axis]}" if axis < 9 else f"x[{axis}]")
    if label.first is None or label.last is None or first == last:
        return Ruler(name, label.units, 0.0, 1.0)
    slope = (label.last - label.first) / (last - first)
    return Ruler(name, label.units, label.first - slope * first, slope)
