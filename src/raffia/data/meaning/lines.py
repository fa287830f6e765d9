"""Which arrays are the coordinates along the axes of a grid: by the names of the axes, as given, or by usual names and lengths."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from raffia.data.formats.variable import LOOKED_AT, Variable
from raffia.data.meaning.attributes import word
from raffia.data.meaning.columns import Column
from raffia.data.meaning.names import COORDINATES, FLAGS, Variables, shown
from raffia.data.meaning.slices import part_of
from raffia.errors import RaffiaError

PLACES = ("node", "coord", "point", "pts", "vert", "grid", "mesh", "loc", "pos", "where")
LETTER = re.compile(r"x(y|yz|s)?([_\d]\w*)?")  # x, xy, x_test1, but not xlimits or extra
FEW = 8  # so many numbers a sample are a vector, unless coordinates of their own say that they are a function


def lines_along(path: object, column: Column, chosen: list[Variable], pool: Variables) -> list[Variable | None]:
    """The coordinates along each axis of a grid, None where there are none."""
    numeric = [v for v in chosen or pool.values() if v.numeric]
    lines = {v.name: v for v in numeric if max(v.shape, default=0) == _entries(v) > 1}
    if not chosen:
        usual = [v for v in lines.values() if word(v.name) in COORDINATES or v.dims == (v.name,) or _column(v, len(column))]
        lines = {v.name: v for v in sorted(usual, key=_rank) if _entries(v) > FEW or goes_one_way(v)}
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
    """Return the lengths of the coordinates along axes that a file has, by their names."""
    lines = {name: v for name, v in pool.items() if v.numeric and max(v.shape, default=0) == _entries(v) > 1}
    return {
        name: _entries(v)
        for name, v in lines.items()
        if v.dims == (name,) or (word(name) in COORDINATES and _entries(v) <= LOOKED_AT and goes_one_way(v))
    }


def like_coordinates(v: Variable) -> bool:
    """Whether the name of an array suggests places; of whole numbers they would be cells."""
    called = word(v.name)
    return np.dtype(v.dtype).kind not in "iu" and bool(LETTER.fullmatch(called) or any(part in called for part in PLACES))


def _column(v: Variable, n: int) -> bool:
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
