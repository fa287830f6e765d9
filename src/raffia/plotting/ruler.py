"""True axes: the names, units and coordinates that a file gives to the axes of a grid, whose domain begins at 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np

from raffia.spaces import Domain, Space

UPWARD = (
    "y",
    "z",
    "height",
    "altitude",
    "elevation",
    "level",
)  # and all that begin with lat: they are drawn from below to above

SHORT = {
    "degrees_north": "°N",
    "degrees_east": "°E",
    "degree_north": "°N",
    "degree_east": "°E",
    "degrees": "°",
}  # as labels have them


@runtime_checkable
class Labelled(Protocol):
    """What is known of an axis: its name and units, empty where unknown, and the coordinates of its first and last node, or None."""

    @property
    def name(self) -> str | None:
        """Such as latitude."""

    @property
    def units(self) -> str | None:
        """Such as degrees_north."""

    @property
    def first(self) -> float | None:
        """The coordinate of the first node."""

    @property
    def last(self) -> float | None:
        """That of the last."""


Labels = Sequence[Labelled]


@dataclass(frozen=True)
class Ruler:
    """An axis: its label, and x ↦ start + slope · x, the true coordinate of a place in the domain."""

    label: str
    name: str = ""
    units: str = ""
    start: float = 0.0
    slope: float = 1.0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """True coordinates."""
        return self.start + self.slope * x

    @property
    def scale(self) -> str:
        """What lengths along it compare with: those along axes of the same units, degrees in whatever direction."""
        return "degrees" if self.units.lower().startswith("degree") else self.units

    @property
    def upward(self) -> bool:
        """Whether one expects it from below to above."""
        return self.name.lower() in UPWARD or self.name.lower().startswith("lat")


def to_turn(shown: tuple[int, int], rulers: Sequence[Ruler]) -> bool:
    """Whether the first of two coordinates is expected upward, and the second is not."""
    return rulers[shown[0]].upward and not rulers[shown[1]].upward


def rulers(space: Space, shape: tuple[int, ...], labels: Labels) -> list[Ruler]:
    """One for each axis of a grid, or for each coordinate of a mesh; none where nothing is known of them."""
    if len(labels) != space.dim or not labels:
        return []
    places = cast(Domain, space).grid(*shape).axes() if space.gridded else [None] * space.dim
    return [_ruler(label, axis, place) for axis, (label, place) in enumerate(zip(labels, places, strict=True))]


def _ruler(label: Labelled, axis: int, place: object) -> Ruler:
    name, units = label.name or "", label.units or ""
    words = f"{name or axis_name(axis)}{f' ({SHORT.get(units, units)})' if units else ''}"
    ends = () if place is None else (float(place[0]), float(place[-1]))  # type: ignore[index]
    if label.first is None or label.last is None or len(ends) < 2 or ends[0] == ends[1]:
        return Ruler(words, name, units)
    slope = (label.last - label.first) / (ends[1] - ends[0])
    return Ruler(words, name, units, label.first - slope * ends[0], slope)


def axis_name(axis: int) -> str:
    """What an axis without a name is called."""
    return f"x{'₁₂₃₄₅₆₇₈₉'[axis]}" if axis < 9 else f"x[{axis}]"
