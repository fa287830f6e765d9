"""Where the values of functions lie: nodes and cells of a mesh, or coordinates along the axes of a grid."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from raffia.data.meaning import attributes
from raffia.data.meaning.attributes import word
from raffia.data.meaning.columns import Column
from raffia.data.meaning.names import CELLS, COORDINATES, Variables, contents, shown
from raffia.data.meaning.slices import part_of
from raffia.data.options import FLAGS
from raffia.data.readers import Variable
from raffia.data.readers.meshes.content import CELLS as CELLS_KEY
from raffia.data.readers.meshes.content import NODES, NOTES, PART, WEIGHTS
from raffia.data.schema import AxisLabel, Frame
from raffia.errors import RaffiaError
from raffia.spaces import Mesh
from raffia.spaces.axes import equispaced

PLACES = ("node", "coord", "point", "pts", "vert", "grid", "mesh", "loc", "pos", "where")
LETTER = re.compile(r"x(y|yz|s)?([_\d]\w*)?")  # x, xy, x_test1, but not xlimits or extra
FEW = 8  # so many numbers a sample are a vector, unless coordinates of their own say that they are a function


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
    if not chosen and (told := _mesh_in_file(column.variable, pool)):
        mesh, notes, used = told
        return Places(nodes=mesh.nodes.numpy(), names=tuple("xyz"[: mesh.dim]), used=used, mesh=mesh, notes=notes)
    if len(column.grid) == 1 and (found := _nodes(column.grid[0], len(column), chosen, pool)):
        return found
    along = _lines_along(path, column, chosen, pool)
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
    for v in cells or [v for v in pool.values() if word(v.name) in CELLS]:
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


def _lines_along(path: object, column: Column, chosen: list[Variable], pool: Variables) -> list[Variable | None]:
    """The coordinates along each axis of a grid, None where there are none."""
    numeric = [v for v in chosen or pool.values() if v.numeric]
    lines = {v.name: v for v in numeric if max(v.shape, default=0) == _entries(v) > 1}
    if not chosen:
        usual = [v for v in lines.values() if v.name in lengths(lines) or _is_column(v, len(column))]
        lines = {v.name: v for v in sorted(usual, key=_rank)}
    full = [v for v in numeric if len(v.shape) > 1 and v.shape == column.grid and (chosen or word(v.name) in COORDINATES)]
    everywhere = dict(_on_grid(v, column.grid) for v in full)
    along: list[Variable | None] = []
    for axis, size in enumerate(column.grid):
        by_dim = lines.get(column.grid_dims[axis]) if column.grid_dims else None
        as_long = [v for v in lines.values() if _entries(v) == size and v not in along]
        if len(as_long) > 1 and not chosen and column.grid_dims is None:
            _check_alike(path, column, as_long, axis)
        by_length = as_long[0] if as_long and (column.grid_dims is None or chosen) else None
        along.append(by_dim if by_dim and _entries(by_dim) == size else by_length or everywhere.get(axis))
    return along


def lengths(pool: Variables) -> dict[str, int]:
    """Return the lengths of the coordinates along axes that a file has, by their names; a few numbers must go up, or down."""
    lines = {name: v for name, v in pool.items() if v.numeric and max(v.shape, default=0) == _entries(v) > 1}
    usual = {name: v for name, v in lines.items() if word(name) in COORDINATES or v.dims == (name,)}
    return {name: _entries(v) for name, v in usual.items() if _entries(v) > FEW or goes_one_way(v)}


def like_coordinates(v: Variable) -> bool:
    """Whether the name of an array suggests places; of whole numbers they would be cells."""
    called = word(v.name)
    return np.dtype(v.dtype).kind not in "iu" and bool(LETTER.fullmatch(called) or any(part in called for part in PLACES))


def _is_column(v: Variable, n: int) -> bool:
    """A column that looks like coordinates by its name, and has not just an entry for each of n samples."""
    return v.shape[1:] == (1,) and v.shape[0] not in (n, *range(FEW + 1)) and like_coordinates(v)


def _rank(v: Variable) -> int:
    return COORDINATES.index(word(v.name)) if word(v.name) in COORDINATES else len(COORDINATES)


def goes_one_way(v: Variable) -> bool:
    """Whether numbers go up, or down, all the way."""
    steps = np.diff(v.glance().astype(np.float64).reshape(-1))
    return bool((steps > 0).all() or (steps < 0).all())


def _on_grid(v: Variable, grid: tuple[int, ...]) -> tuple[int, Variable | None]:
    """The axis along which coordinates at all nodes of a grid vary, and those along it; −1 and None where it is not one axis."""
    values = v.glance().astype(np.float64)
    for axis in range(len(grid)):
        place = tuple(slice(None) if other == axis else slice(1) for other in range(len(grid)))
        if np.ptp(values) > 0 and np.allclose(values, values[place], rtol=0, atol=1e-9 * float(np.abs(values).max())):
            text = ",".join(":" if other == axis else "0" for other in range(len(grid)))
            return axis, replace(part_of(v, f"[{text}]", FLAGS["coordinates"]), name=v.name)
    return -1, None


def _check_alike(path: object, column: Column, lines: Sequence[Variable], axis: int) -> None:
    """Refuse to choose between coordinates of one length that are not the same."""
    first, *others = (v.glance().astype(np.float64).reshape(-1) for v in lines)
    if len(column.grid) > 1 and not all(np.array_equal(first, x) for x in others):
        names = [v.name for v in lines]
        flags = " ".join(f"{FLAGS['coordinates']} {name}" for name in reversed(names))
        raise RaffiaError(
            f"{path}: which of {' and '.join(names)} goes along axis {axis + 1} of {column.variable.name} {shown(column.grid)}? They "
            f"have as many entries. Pass {flags} (coordinates=…), or the other way round: in the order of the axes."
        )


def _entries(v: Variable) -> int:
    return math.prod(v.shape) if v.shape else 0


def _mesh_in_file(field: Variable, pool: dict[str, Variable]) -> tuple[Mesh, list[str], tuple[Variable, ...]] | None:
    """The mesh of a field, what to say of it, and the variables that tell; None where its file does not."""
    parts = [pool.get(str(field.attributes.get(key))) for key in (NODES, CELLS_KEY, WEIGHTS)]
    if parts[0] is None or not all(part is None or part.attributes.get(PART) is True for part in parts):
        return None
    nodes, cells, weights = (None if part is None else part.glance() for part in parts)
    assert nodes is not None
    notes = [
        f"{parts[0].name} gives the {len(nodes)} nodes of a mesh{_cells_in_words(cells, nodes)}.",
        *field.attributes[NOTES],
    ]
    tensors = [None if part is None else torch.from_numpy(part) for part in (weights, cells)]
    try:
        return (
            Mesh(torch.from_numpy(nodes.astype(np.float64)), tensors[0], cells=tensors[1]),
            notes,
            tuple(part for part in parts if part is not None),
        )
    except RaffiaError as error:
        raise RaffiaError(f"{field.path}: {error}") from None


def _cells_in_words(cells: np.ndarray | None, nodes: np.ndarray) -> str:
    if cells is None:
        return ""
    shape = {2: "intervals", 3: "triangles", 4: "tetrahedra"}[cells.shape[1]]
    return f", divided into {len(cells)} {shape}" + (" of a curve or surface" if cells.shape[1] <= nodes.shape[1] else "")
