"""Where values lie: channels and axes of a grid, coordinates along them, or nodes of a mesh; and both in one order and direction."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from raffia.data.infer import names
from raffia.data.infer.guess import Confidence, Guesses
from raffia.data.infer.names import CELLS, COORDINATES, Variables, contents, shown, word
from raffia.data.options import FLAGS
from raffia.data.parts import part_of
from raffia.data.readers import Variable
from raffia.data.readers.meshes.content import CELLS as CELLS_KEY
from raffia.data.readers.meshes.content import NODES, NOTES, PART, WEIGHTS
from raffia.data.row_reader import RowReader
from raffia.data.schema import AxisLabel, Frame
from raffia.errors import RaffiaError
from raffia.spaces import Mesh
from raffia.spaces.axes import equispaced

PARTS = ("node", "coord", "point", "pts", "vert", "grid", "mesh", "loc", "pos", "where")
LETTER = re.compile(r"x(y|yz|s)?([_\d]\w*)?")  # x, xy, x_test1, but not xlimits or extra
CHANNELS = 16  # at most so many, where an axis is not named
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

    @property
    def known(self) -> bool:
        """Whether coordinates or nodes are known."""
        return self.nodes is not None or any(x is not None for x in self.axes)

    @property
    def frame(self) -> Frame:
        """The label of each axis, or of each coordinate of nodes."""
        lines = self.axes if self.nodes is None else tuple(np.sort(x)[[0, -1]] for x in self.nodes.T)
        names, units = (words or ("",) * len(lines) for words in (self.names, self.units))
        ends = [(None, None) if x is None else (float(x[0]), float(x[-1])) for x in lines]
        return tuple(AxisLabel(name, unit, *end) for name, unit, end in zip(names, units, ends, strict=True))


def reader_of(v: Variable, samples: int | None, pool: Variables, guesses: Guesses, shape: tuple[int, ...] = ()) -> RowReader:
    """Return a reader of an array with samples along an axis, which are reshaped to `shape`; `pool` has the coordinates of the file."""
    part = RowReader(v, samples)
    if 1 in v.shape[1:] and len(v.shape) > 2:
        guesses.note(f"{v.name}: an axis with a single entry is left out")
    if shape and part.axes == (math.prod(shape),):
        part.shape = shape
    else:
        part.channel = _channel(part, lengths(pool))
        if shape and part.channel is not None and part.grid == (math.prod(shape),):
            part.shape = (part.count, *shape) if part.channel == 0 else (*shape, part.count)
            part.channel = 0 if part.channel == 0 else len(shape)
        elif part.channel is not None:
            guesses.note(f"{v.name}: the axis of {part.count} is taken for channels, the others for the grid")
    if part.shape:
        guesses.note(f"{v.name}: values along one axis are reshaped to {shown(shape)}, as asked for", "reshape", shape)
    return part


def check_reshaped(parts: Sequence[RowReader], shape: tuple[int, ...]) -> None:
    """Refuse a shape that no array has as many values for."""
    if shape and not any(part.shape for part in parts):
        came = ", ".join(f"{part.variable.name} {shown(part.axes)}" for part in parts)
        raise RaffiaError(
            f"reshape={shape} ({FLAGS['reshape']}) needs samples of {math.prod(shape)} values along one axis; they have {came}."
        )


def _channel(part: RowReader, known: dict[str, int]) -> int | None:
    """Return the channel axis: one called channels, else a short first or last axis without coordinates, else None."""
    axes, dims = part.axes, part.dims
    if len(axes) < 2 or (not any(dims or ()) and Counter(axes) <= Counter(known.values())):
        return None
    if dims and (by_name := [axis for axis, dim in enumerate(dims) if dim.lower() in names.CHANNELS]):
        return by_name[0]
    for axis, others in ((len(axes) - 1, axes[:-1]), (0, axes[1:])):
        if 2 <= axes[axis] <= CHANNELS and 2 * axes[axis] <= min(others) and not (dims and dims[axis] in known):
            return axis
    return None


def places_of(path: object, part: RowReader, pool: Variables, chosen: list[Variable], guesses: Guesses) -> Places:
    """Return coordinates for a function's values, as far as `chosen` arrays, or else those of the file, give them."""
    if not chosen and (places := _mesh_in_file(part.variable, pool, guesses)):
        return places
    if len(part.grid) == 1 and (places := _nodes(part.grid[0], len(part), chosen, pool, guesses)):
        return places
    along = _lines_along(path, part, chosen, pool)
    axes = tuple(None if v is None else v.glance().astype(np.float64).reshape(-1) for v in along)
    for axis, (v, x) in enumerate(zip(along, axes, strict=True), 1):
        if v is not None and x is not None:
            if not np.isfinite(x).all():
                raise RaffiaError(
                    f"{path}: the coordinates {v.name} have missing values. Pass {FLAGS['coordinates']} with others."
                )
            guesses.note(f"{v.name} gives the coordinates along axis {axis} of {part.variable.name}", "coordinates", v.name)
    dims = part.grid_dims or ("",) * len(axes)
    return Places(
        axes=axes,
        names=tuple(dim if v is None else v.name for v, dim in zip(along, dims, strict=True)),
        units=tuple(names.text(v, "units") for v in along),
        used=tuple(v for v in along if v is not None),
    )


def _nodes(points: int, n: int, chosen: list[Variable], pool: Variables, guesses: Guesses) -> Places | None:
    """Nodes (points, dim), from one array of that shape or from arrays x, y and z. Few numbers are no nodes, unless they are `chosen`."""
    if points <= FEW and not chosen:
        return None
    for v in chosen or pool.values():
        likely = v.numeric and (bool(chosen) or like_coordinates(v))
        in_rows, in_columns = (
            likely and v.shape in shapes for shapes in (((points, 2), (points, 3)), ((2, points), (3, points)))
        )
        if in_rows or in_columns:
            nodes = v.glance().astype(np.float64)
            guesses.note(
                f"{v.name} gives the {points} nodes of a mesh{'' if in_rows else ', in columns'}",
                "coordinates",
                v.name,
                Confidence.LIKELY,
            )
            dim = min(nodes.shape) if not in_rows else nodes.shape[1]
            unit = (names.text(v, "units"),) * dim
            return Places(nodes if in_rows else nodes.T.copy(), names=tuple("xyz"[:dim]), units=unit, used=(v,))
    lower = {v.name.lower(): v for v in pool.values() if v.numeric}
    several = chosen if len(chosen) > 1 else [] if chosen else [lower[name] for name in "xyz" if name in lower]
    lines = [line for v in several if (line := _line(v, points, n)) is not None]
    if len(lines) < 2 or len(lines) < len(several):
        return None
    used = tuple(v.name for v in several)
    guesses.note(f"{', '.join(used)} give the {points} nodes of a mesh", "coordinates", used)
    moving = any(sorted(v.shape) == sorted((points, n)) and n > 1 for v in several)
    if moving:
        guesses.note(
            "The nodes move from sample to sample: their mean positions are taken, and values are compared node by node"
        )
    units = tuple(names.text(v, "units") for v in several)
    return Places(np.stack(lines, axis=-1), names=used, units=units, used=tuple(several), moving=moving)


def _line(v: Variable, points: int, n: int) -> np.ndarray | None:
    """Return one coordinate of all points, averaged over samples if it differs between them."""
    axes = tuple(size for size in v.shape if size != 1)
    if axes not in ((points,), (points, n), (n, points)):
        return None
    x = v.glance().astype(np.float64).reshape(axes)
    return x if len(axes) == 1 else x.mean(1 if axes == (points, n) else 0)


def _mesh_in_file(field: Variable, pool: Variables, guesses: Guesses) -> Places | None:
    """Return the mesh of a field, or None if its file has none."""
    parts = [pool.get(str(field.attributes.get(key))) for key in (NODES, CELLS_KEY, WEIGHTS)]
    if parts[0] is None or not all(part is None or part.attributes.get(PART) is True for part in parts):
        return None
    nodes, cells, weights = (None if part is None else part.glance() for part in parts)
    assert nodes is not None
    kinds = {2: "intervals", 3: "triangles", 4: "tetrahedra"}
    divided = "" if cells is None else f", divided into {len(cells)} {kinds[cells.shape[1]]}"
    guesses.note(f"{parts[0].name} gives the {len(nodes)} nodes of a mesh{divided}")
    for text in field.attributes[NOTES]:
        guesses.note(text)
    tensors = [None if part is None else torch.from_numpy(part) for part in (weights, cells)]
    try:
        mesh = Mesh(torch.from_numpy(nodes.astype(np.float64)), tensors[0], cells=tensors[1])
    except RaffiaError as error:
        raise RaffiaError(f"{field.path}: {error}") from None
    used = tuple(part for part in parts if part is not None)
    return Places(mesh.nodes.numpy(), names=tuple("xyz"[: mesh.dim]), used=used, mesh=mesh)


def on_mesh(path: object, part: RowReader, places: Places, pool: Variables, cells: list[Variable], guesses: Guesses) -> Places:
    """Return the same places, with a mesh if nodes are scattered or a line is not equispaced."""
    if places.mesh is not None and not cells:
        return places
    if places.nodes is not None:
        return _mesh(places.nodes, places, pool, cells, guesses)
    for axis, (x, name) in enumerate(zip(places.axes, places.names, strict=True), 1):
        if x is None or len(x) < 2 or equispaced(x):
            continue
        if len(part.grid) == 1:
            guesses.note(f"{name} gives the coordinates, not equispaced: the functions live on a mesh of the line")
            return replace(places, nodes=x[:, None], mesh=Mesh(torch.from_numpy(x[:, None].copy())))
        raise RaffiaError(
            f"{path}: the coordinates {name} are not equispaced, and raffia's grids are. Interpolate {part.variable.name} to "
            f"equispaced points along axis {axis}, or give its values as (samples, points) with nodes (points, {len(part.grid)})."
        )
    return places


def _mesh(nodes: np.ndarray, places: Places, pool: Variables, cells: list[Variable], guesses: Guesses) -> Places:
    varies = [axis for axis in range(nodes.shape[1]) if np.ptp(nodes[:, axis]) > 0]
    if 1 < len(varies) < nodes.shape[1]:
        flat = ", ".join(name for axis, name in enumerate(places.names) if axis not in varies)
        guesses.note(f"the coordinate {flat} does not vary, and is left out")
        left, units = (tuple(words[axis] for axis in varies) for words in (places.names, places.units))
        places, nodes = replace(places, names=left, units=units), np.ascontiguousarray(nodes[:, varies])
    corners = nodes.shape[1] + 1
    for v in cells or [v for v in pool.values() if word(v.name) in CELLS and np.dtype(v.dtype).kind in "iu"]:
        if len(v.shape) == 2 and corners in v.shape:
            array = v.glance()
            array = array.astype(np.int64) if array.shape[1] == corners else array.astype(np.int64).T
            if array.min() == 1 and array.max() == len(nodes):
                array = array - 1
                guesses.note(f"{v.name} counts nodes from 1")
            guesses.note(f"{v.name} gives its {len(array)} cells", "cells", v.name)
            mesh = Mesh(torch.from_numpy(nodes), cells=torch.from_numpy(array.copy()))
            return replace(places, nodes=nodes, mesh=mesh, beside=(v,))
        if cells:
            raise RaffiaError(
                f"cells={v.name!r} must be numbers of nodes (cells, {corners}); got {shown(v.shape)}. {contents(pool)}"
            )
    return replace(places, nodes=nodes, mesh=Mesh(torch.from_numpy(nodes)))


def _lines_along(path: object, part: RowReader, chosen: list[Variable], pool: Variables) -> list[Variable | None]:
    """Return the coordinates along each axis of a grid, or None for an axis without."""
    numeric = [v for v in chosen or pool.values() if v.numeric]
    lines = {v.name: v for v in numeric if max(v.shape, default=0) == _entries(v) > 1}
    if not chosen:
        usual = [v for v in lines.values() if v.name in lengths(lines) or _is_column(v, len(part))]
        lines = {v.name: v for v in sorted(usual, key=_rank)}
    full = [v for v in numeric if len(v.shape) > 1 and v.shape == part.grid and (chosen or word(v.name) in COORDINATES)]
    everywhere = dict(_on_grid(v, part.grid) for v in full)
    along: list[Variable | None] = []
    for axis, size in enumerate(part.grid):
        by_dim = lines.get(part.grid_dims[axis]) if part.grid_dims else None
        as_long = [v for v in lines.values() if _entries(v) == size and v not in along]
        if len(as_long) > 1 and not chosen and part.grid_dims is None:
            _check_equal(path, part, as_long, axis)
        by_length = as_long[0] if as_long and (part.grid_dims is None or chosen) else None
        along.append(by_dim if by_dim and _entries(by_dim) == size else by_length or everywhere.get(axis))
    return along


def lengths(pool: Variables) -> dict[str, int]:
    """Return the lengths of the coordinates along axes that a file has, by their names; a few numbers must go up, or down."""
    lines = {name: v for name, v in pool.items() if v.numeric and max(v.shape, default=0) == _entries(v) > 1}
    usual = {name: v for name, v in lines.items() if word(name) in COORDINATES or v.dims == (name,)}
    return {name: _entries(v) for name, v in usual.items() if _entries(v) > FEW or goes_one_way(v)}


def node_counts(pool: Variables) -> list[int]:
    """Return how many nodes each array that looks like the nodes of a mesh has, in rows or in columns."""
    tables = [sorted(v.shape) for v in pool.values() if v.numeric and len(v.shape) == 2 and like_coordinates(v)]
    return [count for dim, count in tables if dim in (2, 3)]


def like_coordinates(v: Variable) -> bool:
    """Return whether the name of an array suggests coordinates. Integers would be cells instead."""
    called = word(v.name)
    return np.dtype(v.dtype).kind not in "iu" and bool(LETTER.fullmatch(called) or any(part in called for part in PARTS))


def _is_column(v: Variable, n: int) -> bool:
    """A column that looks like coordinates by its name, and has not just an entry for each of n samples."""
    return v.shape[1:] == (1,) and v.shape[0] not in (n, *range(FEW + 1)) and like_coordinates(v)


def _rank(v: Variable) -> int:
    return COORDINATES.index(word(v.name)) if word(v.name) in COORDINATES else len(COORDINATES)


def _entries(v: Variable) -> int:
    return math.prod(v.shape) if v.shape else 0


def goes_one_way(v: Variable) -> bool:
    """Return whether numbers increase strictly, or decrease strictly."""
    steps = np.diff(v.glance().astype(np.float64).reshape(-1))
    return bool((steps > 0).all() or (steps < 0).all())


def _on_grid(v: Variable, grid: tuple[int, ...]) -> tuple[int, Variable | None]:
    """Return the axis along which coordinates at all grid nodes vary and their values along it; −1 and None if there is no such axis."""
    values = v.glance().astype(np.float64)
    for axis in range(len(grid)):
        place = tuple(slice(None) if other == axis else slice(1) for other in range(len(grid)))
        if np.ptp(values) > 0 and np.allclose(values, values[place], rtol=0, atol=1e-9 * float(np.abs(values).max())):
            text = ",".join(":" if other == axis else "0" for other in range(len(grid)))
            return axis, replace(part_of(v, f"[{text}]", FLAGS["coordinates"]), name=v.name)
    return -1, None


def _check_equal(path: object, part: RowReader, lines: Sequence[Variable], axis: int) -> None:
    """Raise an error for several coordinates of one length that differ."""
    first, *others = (v.glance().astype(np.float64).reshape(-1) for v in lines)
    if len(part.grid) > 1 and not all(np.array_equal(first, x) for x in others):
        several = [v.name for v in lines]
        flags = " ".join(f"{FLAGS['coordinates']} {name}" for name in reversed(several))
        raise RaffiaError(
            f"{path}: which of {' and '.join(several)} goes along axis {axis + 1} of {part.variable.name} {shown(part.grid)}? They "
            f"have as many entries. Pass {flags} (coordinates=…), or the other way round: in the order of the axes."
        )
