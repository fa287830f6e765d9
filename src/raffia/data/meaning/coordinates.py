"""Where the values of functions lie: nodes and cells of a mesh, or coordinates along the axes of a grid."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch

from raffia.data.formats.variable import Variable
from raffia.data.meaning.columns import Column
from raffia.data.meaning.convention import equispaced
from raffia.data.meaning.names import CELLS, COORDINATES, FLAGS, Names, Variables, contents, pick, shown
from raffia.data.meaning.told_mesh import told_mesh
from raffia.errors import RaffiaError
from raffia.spaces import Mesh

PLACES = ("x", "node", "coord", "point", "vert", "grid", "mesh", "loc", "pos", "where")


@dataclass
class Places:
    """What a file tells of the nodes of its functions: a mesh, or coordinates along each axis where there are any."""

    mesh: Mesh | None = None
    axes: tuple[np.ndarray | None, ...] = ()
    names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def locate(path: object, column: Column, pool: Variables, given: Names | None, cells: str | None) -> Places | None:
    """The places of a function's values; None where `given` coordinates are not for it."""
    if given is None and cells is None and (told := told_mesh(column.variable, pool)):
        return Places(told[0], notes=told[1])
    grid, n = column.grid, len(column)
    chosen = pick(path, pool, given, "coordinates") if given is not None else []
    if len(grid) == 1 and (nodes := _nodes(grid[0], n, chosen, pool)):
        return _mesh(path, *nodes, pool, cells)
    axes, names = _axes(column, chosen, pool)
    if chosen and not names:
        return None
    places = Places(axes=axes, names=tuple(names))
    for axis, (x, name) in enumerate(zip(axes, names, strict=False)):
        if x is None or not len(x):
            continue
        if not np.isfinite(x).all():
            raise RaffiaError(f"{path}: the coordinates {name} have missing values. Pass {FLAGS['coordinates']} with others.")
        if equispaced(x):
            places.notes.append(f"{name} gives the coordinates along axis {axis + 1} of {column.variable.name}.")
        elif len(grid) == 1:
            note = f"{name} gives the coordinates, not equispaced: the functions live on a mesh of the line."
            return Places(Mesh(torch.from_numpy(x[:, None])), notes=[note])
        else:
            raise RaffiaError(
                f"{path}: the coordinates {name} are not equispaced, and raffia's grids are. Interpolate {column.variable.name} to "
                f"equispaced points along axis {axis + 1}, or give its values as (samples, points) with coordinates (points, {len(grid)})."
            )
    return places


def named_axes(arrays: Variables) -> set[str]:
    """The names of axes that have coordinates in the file."""
    return {name for name, v in arrays.items() if v.dims == (name,) and v.numeric}


def _nodes(points: int, n: int, chosen: list[Variable], pool: Variables) -> tuple[np.ndarray, list[str]] | None:
    """Nodes (points, dim), from one array of that shape or from arrays x, y and z; and notes."""
    for v in chosen or pool.values():
        certain = bool(chosen) or _like_coordinates(v)
        if v.numeric and certain and len(v.shape) == 2 and v.shape[0] == points and v.shape[1] in (2, 3):
            return v.glance().astype(np.float64), [f"{v.name} gives the {points} nodes of a mesh."]
        if chosen and len(chosen) == 1 and len(v.shape) == 2 and v.shape[1] == points and v.shape[0] in (2, 3):
            return v.glance().astype(np.float64).T.copy(), [f"{v.name} gives the {points} nodes of a mesh, in columns."]
    lower = {v.name.lower(): v for v in pool.values() if v.numeric}
    several = chosen if len(chosen) > 1 else [] if chosen else [lower[name] for name in "xyz" if name in lower]
    lines = [_line(v, points, n) for v in several]
    if len(lines) < 2 or any(line is None for line in lines):
        return None
    notes = [f"{', '.join(v.name for v in several)} give the {points} nodes of a mesh."]
    if any(sorted(v.shape) == sorted((points, n)) and n > 1 for v in several):
        notes.append(
            "The nodes move from sample to sample: their mean positions are taken, and values are compared node by node."
        )
    return np.stack([line for line in lines if line is not None], axis=-1), notes


def _line(v: Variable, points: int, n: int) -> np.ndarray | None:
    """One coordinate of all points; the mean over samples where it changes from one to the next."""
    axes = tuple(size for size in v.shape if size != 1)
    if axes not in ((points,), (points, n), (n, points)):
        return None
    x = v.glance().astype(np.float64).reshape(axes)
    return x if len(axes) == 1 else x.mean(1 if axes == (points, n) else 0)


def _mesh(path: object, nodes: np.ndarray, notes: list[str], pool: Variables, cells: str | None) -> Places:
    corners = nodes.shape[1] + 1
    listed_cells = pick(path, pool, cells, "cells") if cells else [v for v in pool.values() if v.name.lower() in CELLS]
    for v in listed_cells:
        if len(v.shape) == 2 and corners in v.shape and (cells or _whole(v)):
            array = v.glance()
            array = array.astype(np.int64) if array.shape[1] == corners else array.astype(np.int64).T
            if array.min() == 1 and array.max() == len(nodes):
                array, notes = array - 1, [*notes, f"{v.name} counts nodes from 1."]
            mesh = Mesh.of_cells(torch.from_numpy(nodes), torch.from_numpy(array.copy()))
            return Places(mesh, notes=[*notes, f"{v.name} gives its {len(array)} cells."])
        if cells:
            raise RaffiaError(
                f"cells={cells!r} must be numbers of nodes (cells, {corners}); got {shown(v.shape)}. {contents(pool)}"
            )
    return Places(Mesh(torch.from_numpy(nodes)), notes=notes)


def _axes(column: Column, chosen: list[Variable], pool: Variables) -> tuple[tuple[np.ndarray | None, ...], list[str]]:
    """Coordinates along each axis of the grid: by the names of the axes, as given, or by usual names and lengths."""
    lines = {v.name: v for v in chosen or pool.values() if v.numeric and max(v.shape, default=0) == _entries(v) > 1}
    if not chosen:
        usual = {name for name, v in lines.items() if v.name.lower() in COORDINATES or v.dims == (name,)}
        usual |= {
            name for name, v in lines.items() if v.shape[1:] == (1,) and len(column) != v.shape[0] and _like_coordinates(v)
        }
        lines = {name: v for name, v in lines.items() if name in usual}
    along: list[Variable | None] = []
    for axis, size in enumerate(column.grid):
        by_dim = lines.get(column.grid_dims[axis]) if column.grid_dims else None
        as_long = [v for v in lines.values() if _entries(v) == size and v not in along]
        by_length = as_long[0] if as_long and (column.grid_dims is None or chosen) else None
        along.append(by_dim if by_dim and _entries(by_dim) == size else by_length)
    axes = tuple(None if v is None else v.glance().astype(np.float64).reshape(-1) for v in along)
    return axes, ["" if v is None else v.name for v in along] if any(along) else []


def _like_coordinates(v: Variable) -> bool:
    """Whether the name of an array suggests places; of whole numbers they would be cells."""
    return not _whole(v) and any(word in v.name.lower() for word in PLACES)


def _entries(v: Variable) -> int:
    return math.prod(v.shape) if v.shape else 0


def _whole(v: Variable) -> bool:
    return np.dtype(v.dtype).kind in "iu"
