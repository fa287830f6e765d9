"""How to look at a function, whatever it lives on: as a curve, bars, an image, a triangulation or points."""

import math
from collections.abc import Callable, Sequence
from functools import singledispatch
from itertools import combinations, islice
from operator import itemgetter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.tri import Triangulation
from scipy.spatial import Delaunay, QhullError, cKDTree
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.plotting.field import Field
from raffia.plotting.line import Bars, Curve
from raffia.plotting.ruler import Labels, Ruler, rulers
from raffia.spaces import Domain, Mesh, Space, Vectors
from raffia.spaces.simplices import between

SLICES, MOST_BARS, ACROSS, LONGEST_SIDE = 3, 40, 128, 4

View = Curve | Field
"""One way to look at a function: `show` it alone, or `compare` a prediction with the truth in as many panels as there are `titles`."""


@singledispatch
def views(space: Space, shape: tuple[int, ...], labels: Labels = (), names: Sequence[str] = ()) -> Sequence[View]:
    """The ways to look at one channel of a function on this space, given by an array of this shape.

    Coordinates are true ones where `labels` has them; `names` are those of the components of vectors.
    """
    raise RaffiaError(f"a picture can be made of functions on a Domain or a Mesh, their Channels, or Vectors; got {space}.")


@views.register
def _(space: Vectors, shape: tuple[int, ...], labels: Labels = (), names: Sequence[str] = ()) -> Sequence[View]:
    size = math.prod(shape)
    if size > MOST_BARS:
        return [Curve(np.arange(size), "component")]
    return [Bars(np.arange(size), names=names if len(names) == size else ())]


@views.register
def _(space: Domain, shape: tuple[int, ...], labels: Labels = (), names: Sequence[str] = ()) -> Sequence[View]:
    if space.dim == 0:
        return views(Vectors(), shape, labels, names)
    known, coordinates = rulers(space, shape, labels), [x.numpy() for x in space.grid(*shape).axes()]
    if space.dim == 1:
        return [Curve(known[0](coordinates[0]), known[0].label if labels else "x")]
    slices = []
    for i, j in islice(combinations(range(space.dim), 2), SLICES):
        middle = {axis: points // 2 for axis, points in enumerate(shape) if axis not in (i, j)}
        index = tuple(middle.get(axis, slice(None)) for axis in range(space.dim))
        plane = Plane(i, j, known, [(0.0, extent) for extent in space.extents])
        where = ", ".join(known[k].at(coordinates[k][place]) for k, place in middle.items())
        slices.append(plane.image(itemgetter(index), where))
    return slices


@views.register
def _(space: Mesh, shape: tuple[int, ...], labels: Labels = (), names: Sequence[str] = ()) -> Sequence[View]:
    nodes, cells, known = space.nodes.numpy(), space.cells, rulers(space, shape, labels)
    if nodes.shape[1] == 1:
        return [Curve(nodes[:, 0], known[0].label if labels else "x")]
    low, high = nodes.min(0), nodes.max(0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    ends = list(zip((low - margin).tolist(), (high + margin).tolist(), strict=True))
    if nodes.shape[1] == 2:
        plane = Plane(0, 1, known, ends)
        triangulation = _triangulation(nodes[:, [plane.right, plane.up]], cells)
        return [plane.dots(nodes, np.arange(len(nodes))) if triangulation is None else plane.triangles(triangulation)]
    slices = []
    for k in (2, 1, 0):
        i, j = (axis for axis in range(3) if axis != k)
        plane = Plane(i, j, known, ends)
        middle = sum(ends[k]) / 2
        if cells is not None and cells.shape[1] == 4:
            slices.append(plane.image(_cut(nodes, cells.numpy(), plane, k), known[k].at(middle)))
            continue
        near = np.sort(np.argsort(np.abs(nodes[:, k] - middle), kind="stable")[: max(60, int(2 * len(nodes) ** (2 / 3)))])
        slices.append(plane.dots(nodes, near, f"near {known[k].at(middle)}"))
    return slices


class Plane:
    """The plane of two coordinates, i < j, and the fields that are drawn in it; what is expected upward is upward."""

    def __init__(self, i: int, j: int, rulers: Sequence[Ruler], ends: Sequence[tuple[float, float]]) -> None:
        turned = rulers[i].upward and not rulers[j].upward
        self.right, self.up = (j, i) if turned else (i, j)
        self.ends = ends
        right, up = rulers[self.right], rulers[self.up]
        left, far = (float(x) for x in right(np.array(ends[self.right])))
        bottom, top = (float(x) for x in up(np.array(ends[self.up])))
        ratio = abs((top - bottom) / (far - left))
        comparable = right.scale == up.scale and 1 / LONGEST_SIDE <= ratio <= LONGEST_SIDE
        self.facts: dict[str, Any] = {
            "box": (left, far, bottom, top),
            "labels": (right.label, up.label),
            "ratio": ratio if comparable else 0.9,
        }

    def image(self, pick: Callable[[np.ndarray], np.ndarray], where: str) -> Field:
        """Return a field that `pick` takes from the values as an array of pixels, (points along i, points along j)."""

        def paint(axes: Axes, pixels: np.ndarray, **colours: Any) -> ScalarMappable:
            pixels = pixels.T if self.right < self.up else pixels
            return axes.imshow(pixels, origin="lower", extent=self.facts["box"], aspect="auto", **colours)

        return Field(pick=pick, paint=paint, where=where, **self.facts)

    def triangles(self, triangulation: Triangulation) -> Field:
        """Values at the corners of triangles, shaded from corner to corner."""

        def paint(axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
            return axes.tripcolor(triangulation, values, shading="gouraud", **colours)

        return Field(pick=np.ravel, paint=paint, triangulation=triangulation, **self.facts)

    def dots(self, nodes: np.ndarray, index: np.ndarray, where: str = "") -> Field:
        """Return a field that is drawn as a dot at each node of `index`; dots are smaller if there are many."""
        x, y, size = nodes[index, self.right], nodes[index, self.up], float(np.clip(9000 / len(index), 2, 60))

        def paint(axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
            return axes.scatter(x, y, size, values, linewidths=0, **colours)

        return Field(pick=lambda values: values.reshape(-1)[index], paint=paint, where=where, **self.facts)


def _cut(nodes: np.ndarray, cells: np.ndarray, plane: Plane, k: int) -> Callable[[np.ndarray], np.ndarray]:
    """Values on a lattice in the plane through the middle of coordinate k, in the middle of pixels; NaN where there is no cell."""
    steps, middle = (np.arange(ACROSS) + 0.5) / ACROSS, sum(plane.ends[k]) / 2
    lines = [np.array([middle]) if axis == k else low + (high - low) * steps for axis, (low, high) in enumerate(plane.ends)]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), -1).reshape(-1, 3)
    near = cells[(nodes[cells, k].min(1) <= middle) & (nodes[cells, k].max(1) >= middle)]
    values_at = between(nodes, near if len(near) else cells[:1], points)

    def pick(values: np.ndarray) -> np.ndarray:
        on_plane = np.array(values_at(values.reshape(-1)), dtype=np.float64)
        on_plane[values_at.outside] = np.nan
        return on_plane.reshape(ACROSS, ACROSS)

    return pick


def _triangulation(nodes: np.ndarray, cells: Tensor | None) -> Triangulation | None:
    """The cells of the mesh. Without any, a triangulation of the nodes, less the triangles that span a hole or a bay; None if many
    triangles are long, and for the cells of a curve."""
    if cells is not None:
        return Triangulation(nodes[:, 0], nodes[:, 1], cells.numpy()) if cells.shape[1] == 3 else None
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
