"""Functions of two coordinates, or slices in two of more, as colours: images, triangles and dots."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.tri import Triangulation

from raffia.plotting.style import limits
from raffia.spaces.simplices import Between

LONGEST_SIDE = 4


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """Values as colours in the plane of two coordinates, so that each function has a panel and a bar."""

    titles = ("truth y", "prediction F(a)", "pointwise error |F(a) − y|")
    """What the panels that compare a prediction with the truth show."""
    box: tuple[float, float, float, float]
    """Left, right, bottom and top."""
    names: tuple[str, str] = ("x₁", "x₂")
    where: str = ""
    """Which part of the function is seen, where it is not the whole."""

    @abstractmethod
    def pick(self, values: np.ndarray) -> np.ndarray:
        """The values that are seen."""

    @abstractmethod
    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """Show a function in the colours `cmap`, from `vmin` to `vmax`."""

    @property
    def ratio(self) -> float:
        """How high the panel is, for its width: as the lengths are, unless one is many times the other."""
        left, right, bottom, top = self.box
        ratio = (top - bottom) / (right - left)
        return ratio if 1 / LONGEST_SIDE <= ratio <= LONGEST_SIDE else 0.9

    def show(self, axes: Axes, values: np.ndarray, colours: str, ends: tuple[float, float] | None = None) -> None:
        """One function with its bar of colours, between its own least and greatest value unless told."""
        low, high = limits(self.pick(values)) if ends is None else ends
        shown = self.draw(axes, values, cmap=colours, vmin=low, vmax=high)
        axes.set(xlabel=self.names[0], ylabel=self.names[1], xlim=self.box[:2], ylim=self.box[2:])
        axes.locator_params(nbins=5)
        axes.set_box_aspect(self.ratio)
        axes.figure.colorbar(shown, cax=axes.inset_axes((1.04, 0, 0.05, 1)))  # inset: as high as the panel

    def compare(self, panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray) -> None:
        """A panel for each of `titles`; truth and prediction share a scale of colours."""
        error, shared = np.abs(guess - truth), limits(self.pick(truth), self.pick(guess))
        self.show(panels[0], truth, "viridis", shared)
        self.show(panels[1], guess, "viridis", shared)
        self.show(panels[2], error, "magma", (0.0, limits(self.pick(error))[1]))


@dataclass(frozen=True)
class Image(Field):
    """The values on a grid, the axes other than two held in the middle."""

    index: tuple[int | slice, ...]

    def pick(self, values: np.ndarray) -> np.ndarray:
        """The slice, (points along the first, points along the second)."""
        return values[self.index]

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """An image, its first axis to the right."""
        return axes.imshow(self.pick(values).T, origin="lower", extent=self.box, aspect="auto", **colours)


@dataclass(frozen=True)
class Triangles(Field):
    """Values at the corners of triangles."""

    triangulation: Triangulation

    def pick(self, values: np.ndarray) -> np.ndarray:
        """All."""
        return values.reshape(-1)

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """Shaded from corner to corner."""
        return axes.tripcolor(self.triangulation, self.pick(values), shading="gouraud", **colours)


@dataclass(frozen=True)
class Dots(Field):
    """Values at points; those near a plane, where there are three coordinates."""

    x: np.ndarray
    y: np.ndarray
    index: np.ndarray

    def pick(self, values: np.ndarray) -> np.ndarray:
        """Those at the points."""
        return values.reshape(-1)[self.index]

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """A dot each, smaller where there are many."""
        size = float(np.clip(9000 / len(self.x), 2, 60))
        return axes.scatter(self.x, self.y, size, self.pick(values), linewidths=0, **colours)


@dataclass(frozen=True)
class Cut(Field):
    """Values on a plane through the cells of a mesh in space, at the points of a lattice; nothing where there is no cell."""

    shape: tuple[int, int]
    values_at: Between

    def pick(self, values: np.ndarray) -> np.ndarray:
        """The values on the plane, (points along the first, points along the second)."""
        found = np.array(self.values_at(values.reshape(-1)), dtype=np.float64)
        found[self.values_at.outside] = np.nan
        return found.reshape(self.shape)

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """An image, its first axis to the right."""
        return axes.imshow(self.pick(values).T, origin="lower", extent=self.box, aspect="auto", **colours)
