"""How to look at a function, whatever it lives on: as a curve, bars, an image, a triangulation or points."""

from collections.abc import Sequence
from functools import singledispatch
from itertools import combinations, islice

import numpy as np
from matplotlib.tri import Triangulation
from scipy.spatial import Delaunay, QhullError, cKDTree
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.plotting.field import Cut, Dots, Field, Image, Triangles
from raffia.plotting.line import Bars, Curve, Line
from raffia.plotting.ruler import Labels, rulers
from raffia.spaces import Domain, Mesh, Space, Vectors
from raffia.spaces.simplices import Between, between

SLICES, MOST_BARS, ACROSS = 3, 40, 128

View = Line | Field
"""One way to look at a function: `show` it alone, or `compare` a prediction with the truth in as many panels as there are `titles`."""


def looks(space: Space, shape: tuple[int, ...], labels: Labels = (), names: Sequence[str] | None = None) -> list[View]:
    """The ways to look at one channel, in true coordinates where `labels` has them; `names` are those of the components of vectors."""
    known = rulers(space, shape, labels)
    return [view.labelled(known, names) for view in views(space, shape)]


@singledispatch
def views(space: Space, shape: tuple[int, ...]) -> list[View]:
    """The ways to look at one channel of a function on this space, given by an array of this shape."""
    raise RaffiaError(f"a picture can be made of functions on a Domain or a Mesh, their Channels, or Vectors; got {space}.")


@views.register
def _(space: Vectors, shape: tuple[int, ...]) -> list[View]:
    return _components(shape)


@views.register
def _(space: Domain, shape: tuple[int, ...]) -> list[View]:
    if space.dim == 0:
        return _components(shape)
    grid = space.grid(*shape)
    if space.dim == 1:
        return [Curve(grid.axes()[0].numpy())]
    slices: list[View] = []
    for i, j in islice(combinations(range(space.dim), 2), SLICES):
        middle = {axis: points // 2 for axis, points in enumerate(shape) if axis not in (i, j)}
        index = tuple(middle.get(axis, slice(None)) for axis in range(space.dim))
        held = tuple((k, float(grid.axes()[k][place])) for k, place in middle.items())
        box = (0.0, space.extents[i], 0.0, space.extents[j])
        slices.append(Image(index, box=box, shown=(i, j), held=held))
    return slices


@views.register
def _(space: Mesh, shape: tuple[int, ...]) -> list[View]:
    nodes = space.nodes.numpy()
    low, high = nodes.min(0), nodes.max(0)
    margin = 0.03 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    if nodes.shape[1] == 1:
        return [Curve(nodes[:, 0])]
    if nodes.shape[1] == 2:
        box = (float(low[0]), float(high[0]), float(low[1]), float(high[1]))
        triangulation = _triangulation(nodes, space.cells)
        if triangulation is None:
            return [Dots(nodes[:, 0], nodes[:, 1], np.arange(len(nodes)), box=box)]
        return [Triangles(triangulation, box=box)]
    slices: list[View] = []
    for k in (2, 1, 0):
        i, j = (axis for axis in range(3) if axis != k)
        middle = float(low[k] + high[k]) / 2
        box = (float(low[i]), float(high[i]), float(low[j]), float(high[j]))
        if space.cells is not None and space.cells.shape[1] == 4:
            at = _plane(nodes, space.cells.numpy(), box, (i, j, k), middle)
            slices.append(Cut((ACROSS, ACROSS), at, box=box, shown=(i, j), held=((k, middle),)))
            continue
        index = np.sort(np.argsort(np.abs(nodes[:, k] - middle), kind="stable")[: max(60, int(2 * len(nodes) ** (2 / 3)))])
        slices.append(Dots(nodes[index, i], nodes[index, j], index, box=box, shown=(i, j), held=((k, middle),)))
    return slices


def _plane(
    nodes: np.ndarray, cells: np.ndarray, box: tuple[float, float, float, float], axes: tuple[int, int, int], middle: float
) -> Between:
    """Values on the plane where the last of these axes has one value, within a box of the other two, in the middle of pixels."""
    left, right, bottom, top = box
    steps = (np.arange(ACROSS) + 0.5) / ACROSS
    points = np.empty((ACROSS, ACROSS, 3))
    points[..., axes[0]] = (left + (right - left) * steps)[:, None]
    points[..., axes[1]] = bottom + (top - bottom) * steps
    points[..., axes[2]] = middle
    near = cells[(nodes[cells, axes[2]].min(1) <= middle) & (nodes[cells, axes[2]].max(1) >= middle)]
    return between(nodes, near if len(near) else cells[:1], points.reshape(-1, 3))


def _components(shape: tuple[int, ...]) -> list[View]:
    size = int(np.prod(shape))
    return [Bars(size) if size <= MOST_BARS else Curve(np.arange(size), "component")]


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
