"""Where the values of functions lie: nodes and cells of a mesh, or coordinates along the axes of a grid."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch

from raffia.data.formats.variable import Variable
from raffia.data.meaning import attributes
from raffia.data.meaning.columns import Column
from raffia.data.meaning.layout import AxisLabel, Frame
from raffia.data.meaning.lines import FEW, like_coordinates, lines_along
from raffia.data.meaning.names import CELLS, FLAGS, Variables, contents, shown
from raffia.data.meaning.told_mesh import told_mesh
from raffia.errors import RaffiaError
from raffia.spaces import Mesh
from raffia.spaces.axes import equispaced


@dataclass(frozen=True)
class Places:
    """What a file tells of the nodes of its functions: those of a mesh, or coordinates along each axis where there are any.

    `names` are those of the axes, and `units` theirs; `used` are the arrays that told, `beside` those of cells and masks. Nodes that are
    `moving` are at their mean positions.
    """

    nodes: np.ndarray | None = None
    axes: tuple[np.ndarray | None, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    used: tuple[Variable, ...] = ()
    beside: tuple[Variable, ...] = ()
    moving: bool = False
    mesh: Mesh | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def known(self) -> bool:
        """Whether anything is known of where values lie."""
        return self.nodes is not None or any(x is not None for x in self.axes)

    @property
    def frame(self) -> Frame:
        """The label of each axis, or of each coordinate of nodes."""
        lines = self.axes if self.nodes is None else tuple(np.sort(x)[[0, -1]] for x in self.nodes.T)
        names, units = (words or ("",) * len(lines) for words in (self.names, self.units))
        ends = [(None, None) if x is None else (float(x[0]), float(x[-1])) for x in lines]
        return tuple(AxisLabel(name, unit, *end) for name, unit, end in zip(names, units, ends, strict=True))

    def ordered(self, order: tuple[int, ...]) -> "Places":
        """The same, with the axes in another order."""
        names, units = (tuple(words[i] for i in order) for words in (self.names, self.units))
        return replace(self, axes=tuple(self.axes[i] for i in order), names=names, units=units)


def places_of(path: object, column: Column, pool: Variables, chosen: list[Variable]) -> Places:
    """Coordinates for a function's values, as far as `chosen` arrays, or else those of the file, give them."""
    if not chosen and (told := told_mesh(column.variable, pool)):
        mesh, notes, used = told
        return Places(nodes=mesh.nodes.numpy(), names=tuple("xyz"[: mesh.dim]), used=used, mesh=mesh, notes=notes)
    if len(column.grid) == 1 and (found := _nodes(column.grid[0], len(column), chosen, pool)):
        return found
    along = lines_along(path, column, chosen, pool)
    axes = tuple(None if v is None else v.glance().astype(np.float64).reshape(-1) for v in along)
    for v, x in zip(along, axes, strict=True):
        if v is not None and x is not None and not np.isfinite(x).all():
            raise RaffiaError(f"{path}: the coordinates {v.name} have missing values. Pass {FLAGS['coordinates']} with others.")
    dims = column.grid_dims or ("",) * len(axes)
    names = tuple(dim if v is None else v.name for v, dim in zip(along, dims, strict=True))
    units = tuple("" if v is None else attributes.units(v) for v in along)
    used = tuple(v for v in along if v is not None)
    notes = [
        f"{v.name} gives the coordinates along axis {axis} of {column.variable.name}."
        for axis, v in enumerate(along, 1)
        if v is not None
    ]
    return Places(axes=axes, names=names, units=units, used=used, notes=notes)


def on_mesh(path: object, column: Column, places: Places, pool: Variables, cells: list[Variable]) -> Places:
    """The same places, on a mesh where nodes are scattered or those of a line are not equispaced."""
    if places.mesh is not None and not cells:
        return places
    if places.nodes is not None:
        return _mesh(path, places, pool, cells)
    for axis, (x, name) in enumerate(zip(places.axes, places.names, strict=True)):
        if x is None or len(x) < 2 or equispaced(x):
            continue
        if len(column.grid) == 1:
            note = f"{name} gives the coordinates, not equispaced: the functions live on a mesh of the line."
            return replace(places, nodes=x[:, None], mesh=Mesh(torch.from_numpy(x[:, None].copy())), notes=[note])
        raise RaffiaError(
            f"{path}: the coordinates {name} are not equispaced, and raffia's grids are. Interpolate {column.variable.name} to "
            f"equispaced points along axis {axis + 1}, or give its values as (samples, points) with nodes (points, {len(column.grid)})."
        )
    return places


def _nodes(points: int, n: int, chosen: list[Variable], pool: Variables) -> Places | None:
    """Nodes (points, dim), from one array of that shape or from arrays x, y and z. Few numbers are no nodes, unless they are `chosen`."""
    if points <= FEW and not chosen:
        return None
    for v in chosen or pool.values():
        certain = bool(chosen) or like_coordinates(v)
        if v.numeric and certain and len(v.shape) == 2 and v.shape[0] == points and v.shape[1] in (2, 3):
            return _of_array(v, v.glance().astype(np.float64), [f"{v.name} gives the {points} nodes of a mesh."])
        if len(chosen) == 1 and len(v.shape) == 2 and v.shape[1] == points and v.shape[0] in (2, 3):
            nodes = v.glance().astype(np.float64).T.copy()
            return _of_array(v, nodes, [f"{v.name} gives the {points} nodes of a mesh, in columns."])
    lower = {v.name.lower(): v for v in pool.values() if v.numeric}
    several = chosen if len(chosen) > 1 else [] if chosen else [lower[name] for name in "xyz" if name in lower]
    lines = [_line(v, points, n) for v in several]
    if len(lines) < 2 or any(line is None for line in lines):
        return None
    notes = [f"{', '.join(v.name for v in several)} give the {points} nodes of a mesh."]
    moving = any(sorted(v.shape) == sorted((points, n)) and n > 1 for v in several)
    if moving:
        notes.append(
            "The nodes move from sample to sample: their mean positions are taken, and values are compared node by node."
        )
    nodes = np.stack([line for line in lines if line is not None], axis=-1)
    names, units = tuple(v.name for v in several), tuple(attributes.units(v) for v in several)
    return Places(nodes, names=names, units=units, used=tuple(several), moving=moving, notes=notes)


def _of_array(v: Variable, nodes: np.ndarray, notes: list[str]) -> Places:
    dim = nodes.shape[1]
    return Places(nodes, names=tuple("xyz"[:dim]), units=(attributes.units(v),) * dim, used=(v,), notes=notes)


def _line(v: Variable, points: int, n: int) -> np.ndarray | None:
    """One coordinate of all points; the mean over samples where it changes from one to the next."""
    axes = tuple(size for size in v.shape if size != 1)
    if axes not in ((points,), (points, n), (n, points)):
        return None
    x = v.glance().astype(np.float64).reshape(axes)
    return x if len(axes) == 1 else x.mean(1 if axes == (points, n) else 0)


def _mesh(path: object, places: Places, pool: Variables, cells: list[Variable]) -> Places:
    assert places.nodes is not None
    nodes, notes = places.nodes, list(places.notes)
    varies = [axis for axis in range(nodes.shape[1]) if np.ptp(nodes[:, axis]) > 0]
    if 1 < len(varies) < nodes.shape[1]:
        flat = ", ".join(name for axis, name in enumerate(places.names) if axis not in varies)
        notes.append(f"the coordinate {flat} does not vary, and is left out.")
        names, units = (tuple(words[axis] for axis in varies) for words in (places.names, places.units))
        places, nodes = replace(places, names=names, units=units), np.ascontiguousarray(nodes[:, varies])
    corners = nodes.shape[1] + 1
    for v in cells or [v for v in pool.values() if attributes.word(v.name) in CELLS]:
        if len(v.shape) == 2 and corners in v.shape and (cells or _whole(v)):
            array = v.glance()
            array = array.astype(np.int64) if array.shape[1] == corners else array.astype(np.int64).T
            if array.min() == 1 and array.max() == len(nodes):
                array, notes = array - 1, [*notes, f"{v.name} counts nodes from 1."]
            mesh = Mesh.of_cells(torch.from_numpy(nodes), torch.from_numpy(array.copy()))
            notes.append(f"{v.name} gives its {len(array)} cells.")
            return replace(places, nodes=nodes, mesh=mesh, notes=notes, beside=(v,))
        if cells:
            raise RaffiaError(
                f"cells={v.name!r} must be numbers of nodes (cells, {corners}); got {shown(v.shape)}. {contents(pool)}"
            )
    return replace(places, nodes=nodes, mesh=Mesh(torch.from_numpy(nodes)), notes=notes)


def _whole(v: Variable) -> bool:
    return np.dtype(v.dtype).kind in "iu"
