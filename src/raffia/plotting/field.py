"""Functions of two coordinates, or slices in two of more, as colours: images, triangles and dots."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.tri import Triangulation

from raffia.plotting.layout import Width, limits, short_numbers
from raffia.plotting.ruler import Ruler, axis_name, to_turn
from raffia.spaces.simplices import Between

LONGEST_SIDE = 4
MOST_TRIANGLES = 20_000  # more are a black field


@dataclass(frozen=True, kw_only=True)
class Field(ABC):
    """Values as colours in the plane of two coordinates, so that each function has a panel and a bar."""

    titles = ("truth y", "prediction F(a)", "pointwise error |F(a) − y|")
    """What the panels that compare a prediction with the truth show."""
    box: tuple[float, float, float, float]
    """Left, right, bottom and top; a side may be the larger one, where coordinates descend."""
    shown: tuple[int, int] = (0, 1)
    """Which coordinates are to the right and upward."""
    held: tuple[tuple[int, float], ...] = ()
    """The other coordinates, and where they are held."""
    rulers: Sequence[Ruler] = ()
    """The true axes, where they are known."""

    @property
    def where(self) -> str:
        """Which part of the function is shown, if it is not the whole."""
        return ", ".join(f"{self.name(axis, short=True)} = {self.at(axis, place)}" for axis, place in self.held)

    def labelled(self, rulers: Sequence[Ruler], names: Sequence[str] | None = None) -> "Field":
        """The same with true axes, and what is expected upward drawn so."""
        if not rulers:
            return self
        field = replace(self, rulers=rulers, box=self.placed(rulers))
        return field.turned() if to_turn(self.shown, rulers) else field

    def placed(self, rulers: Sequence[Ruler]) -> tuple[float, float, float, float]:
        """The box in true coordinates, which those of meshes are already."""
        return self.box

    def turned(self) -> "Field":
        """The same with its two coordinates exchanged."""
        left, right, bottom, top = self.box
        return replace(self, box=(bottom, top, left, right), shown=self.shown[::-1])

    def upright(self, pixels: np.ndarray) -> np.ndarray:
        """Values (points along the first axis, points along the second) as an image has them, from below to above."""
        return pixels.T if self.shown[0] < self.shown[1] else pixels

    def name(self, axis: int, short: bool = False) -> str:
        """What a coordinate is called, with its units unless that is to be short."""
        if not self.rulers:
            return axis_name(axis)
        return self.rulers[axis].name or axis_name(axis) if short else self.rulers[axis].label

    def at(self, axis: int, place: float) -> str:
        """A place along a coordinate, in its true units."""
        if not self.rulers:
            return f"{place:.3g}"
        ruler = self.rulers[axis]
        return f"{float(ruler(np.array([place]))[0]):.3g}{ruler.units and f' {ruler.units}'}"

    @abstractmethod
    def pick(self, values: np.ndarray) -> np.ndarray:
        """The values that are shown."""

    @abstractmethod
    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """Show a function in the colours `cmap`, from `vmin` to `vmax`."""

    @property
    def ratio(self) -> float:
        """How high the panel is, for its width: as the lengths are, unless one is many times the other or in other units."""
        left, right, bottom, top = self.box
        ratio = abs((top - bottom) / (right - left))
        alike = not self.rulers or len({self.rulers[axis].scale for axis in self.shown}) == 1
        return ratio if alike and 1 / LONGEST_SIDE <= ratio <= LONGEST_SIDE else 0.9

    def show(self, axes: Axes, values: np.ndarray, colours: str, ends: tuple[float, float] | None = None) -> None:
        """One function with its bar of colours, between its least and greatest value unless `ends` is given."""
        low, high = limits(self.pick(values)) if ends is None else ends
        shown = self.draw(axes, values, cmap=colours, vmin=low, vmax=high)
        across, up = (self.name(axis) for axis in self.shown)
        axes.set(xlabel=across, ylabel=up, xlim=sorted(self.box[:2]), ylim=sorted(self.box[2:]))
        axes.locator_params(nbins=5)
        axes.set_box_aspect(self.ratio)
        bar = axes.inset_axes((1.04, 0, 0.05, 1))  # as high as the panel
        axes.figure.colorbar(shown, cax=bar)
        bar.tick_params(labelsize=8)
        short_numbers(bar)

    def outline(self, axes: Axes) -> None:
        """Show where values are given, where that is no grid."""
        return

    def compare(self, panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray, width: Width = None) -> None:
        """A panel for each of `titles`; truth and prediction share a scale of colours. A band has no place in it."""
        error, shared = np.abs(guess - truth), limits(self.pick(truth), self.pick(guess))
        self.show(panels[0], truth, "viridis", shared)
        self.show(panels[1], guess, "viridis", shared)
        self.show(panels[2], error, "magma", (0.0, limits(self.pick(error))[1]))


@dataclass(frozen=True)
class Image(Field):
    """The values on a grid, the axes other than two held in the middle."""

    index: tuple[int | slice, ...]

    def placed(self, rulers: Sequence[Ruler]) -> tuple[float, float, float, float]:
        """The box in true coordinates."""
        (left, right), (bottom, top) = (
            rulers[axis](np.array(ends)).tolist() for axis, ends in zip(self.shown, (self.box[:2], self.box[2:]), strict=True)
        )
        return left, right, bottom, top

    def pick(self, values: np.ndarray) -> np.ndarray:
        """The slice, (points along the first, points along the second)."""
        return values[self.index]

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """An image, its first axis to the right unless that is turned upward."""
        return axes.imshow(self.upright(self.pick(values)), origin="lower", extent=self.box, aspect="auto", **colours)


@dataclass(frozen=True)
class Triangles(Field):
    """Values at the corners of triangles."""

    triangulation: Triangulation

    def turned(self) -> Field:
        """The triangles of the corners with their coordinates exchanged."""
        old = self.triangulation
        new = Triangulation(old.y, old.x, old.triangles[:, ::-1], mask=old.mask)
        return replace(super().turned(), triangulation=new)  # type: ignore[call-arg]  # of this class still

    def outline(self, axes: Axes) -> None:
        """The triangles, unless there are too many to tell them apart."""
        if len(self.triangulation.triangles) <= MOST_TRIANGLES:
            axes.triplot(self.triangulation, color="black", lw=0.2, alpha=0.5)

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

    @property
    def where(self) -> str:
        """The plane near which the points are."""
        return f"near {super().where}" if self.held else ""

    def turned(self) -> Field:
        """The dots with their coordinates exchanged."""
        return replace(super().turned(), x=self.y, y=self.x)  # type: ignore[call-arg]  # of this class still

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
        plane = np.array(self.values_at(values.reshape(-1)), dtype=np.float64)
        plane[self.values_at.outside] = np.nan
        return plane.reshape(self.shape)

    def draw(self, axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        """An image, its first axis to the right unless that is turned upward."""
        return axes.imshow(self.upright(self.pick(values)), origin="lower", extent=self.box, aspect="auto", **colours)
