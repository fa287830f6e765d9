"""How to draw one function, whatever it lives on: a curve, bars, an image, a triangulation or points."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.ticker import MaxNLocator
from matplotlib.tri import Triangulation
from scipy.spatial import Delaunay, QhullError, cKDTree

from raffia.errors import RaffiaError
from raffia.spaces import Domain, Mesh, Space, Vectors

SLICES, MOST_BARS, LONGEST_SIDE = 3, 40, 4
NAMES = ("x₁", "x₂", "x₃", "x₄", "x₅", "x₆", "x₇", "x₈", "x₉")


class View(ABC):
    """One way to look at a function: `pick` what is seen of its values, `frame` the axes."""

    where: str = ""
    """Which part of the function is seen, where it is not the whole."""

    @property
    def ratio(self) -> float:
        """How high the panel is, for its width."""
        return 0.9

    @abstractmethod
    def pick(self, values: np.ndarray) -> np.ndarray:
        """The values that are seen."""

    @abstractmethod
    def frame(self, axes: Axes) -> None:
        """Label the axes."""


class Line(View):
    """Values against one coordinate, so that several functions share a panel."""

    @abstractmethod
    def draw(self, axes: Axes, values: np.ndarray, place: tuple[int, int], **style: Any) -> None:
        """Add a function; `place` is its number and how many there will be."""


class Field(View):
    """Values as colours, so that each function has a panel and a bar."""

    @abstractmethod
    def draw(self, axes: Axes, values: np.ndarray, limits: tuple[float, float], colours: str) -> ScalarMappable:
        """Show a function in the colours between the limits."""


@dataclass(frozen=True)
class Curve(Line):
    """Values against x, from left to right."""

    x: np.ndarray
    name: str = "x"

    def pick(self, values: np.ndarray) -> np.ndarray:
        """All, in the order of x."""
        return values.reshape(-1)[np.argsort(self.x, kind="stable")]

    def draw(self, axes: Axes, values: np.ndarray, place: tuple[int, int], **style: Any) -> None:
        """A line."""
        axes.plot(np.sort(self.x), self.pick(values), **({"marker": "o"} if len(self.x) == 1 else {}) | style)

    def frame(self, axes: Axes) -> None:
        """Label the axes."""
        axes.set_xlabel(self.name)


@dataclass(frozen=True)
class Bars(Line):
    """A bar for each component, side by side with those of other vectors."""

    size: int

    def pick(self, values: np.ndarray) -> np.ndarray:
        """All."""
        return values.reshape(-1)

    def draw(self, axes: Axes, values: np.ndarray, place: tuple[int, int], **style: Any) -> None:
        """Bars, with their numbers above if these are few."""
        number, count = place
        width = 0.8 / count
        x = np.arange(self.size) + (number - (count - 1) / 2) * width
        bars = axes.bar(x, self.pick(values), width, color=style.get("color"), label=style.get("label"))
        axes.axhline(0, color="black", lw=0.6)
        if self.size * count <= 4:
            axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
            axes.margins(y=0.15)

    def frame(self, axes: Axes) -> None:
        """Number the components."""
        if self.size == 1:
            axes.set_xticks([])
            axes.set_xlim(-1, 1)
        else:
            axes.set_xlabel("component")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))


class Plane(Field):
    """A field in two of its coordinates."""

    names: tuple[str, str]
    box: tuple[float, float, float, float]

    @property
    def ratio(self) -> float:
        """That of the lengths, unless one is many times the other."""
        left, right, bottom, top = self.box
        ratio = (top - bottom) / (right - left)
        return ratio if 1 / LONGEST_SIDE <= ratio <= LONGEST_SIDE else 0.9

    def frame(self, axes: Axes) -> None:
        """Label the axes, with lengths as they are."""
        left, right, bottom, top = self.box
        axes.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(left, right), ylim=(bottom, top))
        axes.locator_params(nbins=5)
        axes.set_box_aspect(self.ratio)


@dataclass(frozen=True)
class Image(Plane):
    """The values on a grid, the axes other than two held in the middle."""

    index: tuple[int | slice, ...]
    box: tuple[float, float, float, float]
    names: tuple[str, str] = ("x₁", "x₂")
    where: str = ""

    def pick(self, values: np.ndarray) -> np.ndarray:
        """The slice, (points along the first, points along the second)."""
        return values[self.index]

    def draw(self, axes: Axes, values: np.ndarray, limits: tuple[float, float], colours: str) -> ScalarMappable:
        """An image, its first axis to the right."""
        low, high = limits
        return axes.imshow(
            self.pick(values).T, origin="lower", extent=self.box, cmap=colours, vmin=low, vmax=high, aspect="auto"
        )


@dataclass(frozen=True)
class Triangles(Plane):
    """Values at the corners of triangles."""

    triangulation: Triangulation
    box: tuple[float, float, float, float]
    names: tuple[str, str] = ("x₁", "x₂")

    def pick(self, values: np.ndarray) -> np.ndarray:
        """All."""
        return values.reshape(-1)

    def draw(self, axes: Axes, values: np.ndarray, limits: tuple[float, float], colours: str) -> ScalarMappable:
        """Shaded from corner to corner."""
        low, high = limits
        return axes.tripcolor(self.triangulation, self.pick(values), shading="gouraud", cmap=colours, vmin=low, vmax=high)


@dataclass(frozen=True)
class Dots(Plane):
    """Values at points; those near a plane, where there are three coordinates."""

    x: np.ndarray
    y: np.ndarray
    index: np.ndarray
    box: tuple[float, float, float, float]
    names: tuple[str, str] = ("x₁", "x₂")
    where: str = ""

    def pick(self, values: np.ndarray) -> np.ndarray:
        """Those at the points."""
        return values.reshape(-1)[self.index]

    def draw(self, axes: Axes, values: np.ndarray, limits: tuple[float, float], colours: str) -> ScalarMappable:
        """A dot each, smaller where there are many."""
        low, high = limits
        size = float(np.clip(9000 / len(self.x), 2, 60))
        return axes.scatter(self.x, self.y, size, self.pick(values), cmap=colours, vmin=low, vmax=high, linewidths=0)


def views(space: Space, shape: tuple[int, ...]) -> list[View]:
    """The ways to look at one channel of a function on this space, given by an array of this shape."""
    if isinstance(space, Mesh):
        return _mesh_views(space)
    if isinstance(space, Vectors) or (isinstance(space, Domain) and space.dim == 0):
        size = int(np.prod(shape))
        return [Bars(size) if size <= MOST_BARS else Curve(np.arange(size), "component")]
    if not isinstance(space, Domain):
        raise RaffiaError(f"a picture can be made of functions on a Domain or a Mesh, their Channels, or Vectors; got {space}.")
    grid = space.grid(*shape)
    if space.dim == 1:
        return [Curve(grid.axes()[0].numpy())]
    middle = [points // 2 for points in shape]
    found: list[View] = []
    for i, j in islice(combinations(range(space.dim), 2), SLICES):
        index = tuple(slice(None) if axis in (i, j) else middle[axis] for axis in range(space.dim))
        held = [f"{_name(k)} = {float(grid.axes()[k][middle[k]]):.3g}" for k in range(space.dim) if k not in (i, j)]
        box = (0.0, space.extents[i], 0.0, space.extents[j])
        found.append(Image(index, box, (_name(i), _name(j)), ", ".join(held)))
    return found


def _mesh_views(mesh: Mesh) -> list[View]:
    nodes = mesh.nodes.numpy()
    low, high = nodes.min(0), nodes.max(0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    if nodes.shape[1] == 1:
        return [Curve(nodes[:, 0])]
    if nodes.shape[1] == 2:
        box = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
        triangulation = _triangulation(nodes)
        if triangulation is None:
            return [Dots(nodes[:, 0], nodes[:, 1], np.arange(len(nodes)), box)]
        return [Triangles(triangulation, box)]
    found: list[View] = []
    for k in (2, 1, 0):
        i, j = (axis for axis in range(3) if axis != k)
        middle = float(low[k] + high[k]) / 2
        index = np.sort(np.argsort(np.abs(nodes[:, k] - middle), kind="stable")[: max(60, int(2 * len(nodes) ** (2 / 3)))])
        box = (float(low[i]), float(high[i]), float(low[j]), float(high[j]))
        names = (_name(i), _name(j))
        found.append(Dots(nodes[index, i], nodes[index, j], index, box, names, f"near {_name(k)} = {middle:.3g}"))
    return found


def _triangulation(nodes: np.ndarray) -> Triangulation | None:
    """Of the nodes, less the triangles that span a hole or a bay; None if those cannot be told from the others."""
    try:
        corners = Delaunay(nodes).simplices
    except QhullError:
        return None
    near = cKDTree(nodes).query(nodes, k=min(4, len(nodes)))[0][:, -1]
    sides = np.linalg.norm(nodes[corners] - nodes[np.roll(corners, 1, axis=1)], axis=2)
    long = sides.max(1) > 3 * near[corners].max(1)  # against the nodes around its corners: meshes may be graded
    if long.mean() > 0.25:
        return None
    return Triangulation(nodes[:, 0], nodes[:, 1], corners, mask=long)


def _name(axis: int) -> str:
    return NAMES[axis] if axis < len(NAMES) else f"x[{axis}]"
