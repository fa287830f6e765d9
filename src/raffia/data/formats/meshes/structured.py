"""Grids in files: coordinates along the axes, or points in rows. Equispaced ones are grids here, others meshes."""

import math

import numpy as np

from raffia.data.formats.meshes.content import (
    PART,
    Content,
    Fields,
    Piece,
    Pieces,
    flattened,
    free_name,
    mesh_pieces,
    unlike,
)
from raffia.data.formats.meshes.kinds import Block

LINE, QUAD, HEXAHEDRON = 3, 9, 12


def grid_pieces(axes: tuple[np.ndarray, ...], point_data: Fields, cell_data: Fields) -> Pieces:
    """The arrays of a grid with these coordinates along x, y and z, whose values are listed with x running fastest."""
    shape = tuple(len(x) for x in axes)
    check_fields(shape, point_data, cell_data)
    long = [axis for axis, size in enumerate(shape) if size > 1]
    if len(long) > 1 and not all(_equispaced(axes[axis]) for axis in long):
        points = np.stack([x.reshape(-1) for x in np.meshgrid(*axes[::-1], indexing="ij")][::-1], axis=1)
        return mesh_pieces(Content(points, lattice(shape), point_data, cell_data))
    pieces: Pieces = {}
    fields = {*point_data, *cell_data}
    for data, less, word in ((point_data, 0, ""), (cell_data, 1, " centre")):
        sizes = [max(1, size - less) for size in shape]
        names = [unlike(f"{'xyz'[axis]}{word}", fields) for axis in long]
        for name, axis in zip(names, long if data else (), strict=False):
            x = axes[axis].astype(np.float64)
            pieces[name] = Piece((x[1:] + x[:-1]) / 2 if less else x, (name,), {PART: True})
        for name, values in data.items():
            flat = flattened(values)
            array = flat.reshape(*sizes[::-1], *flat.shape[1:]).transpose(2, 1, 0, *range(3, flat.ndim + 2))
            array = np.ascontiguousarray(array).reshape(1, *(sizes[axis] for axis in long), *flat.shape[1:])
            dims = ("sample", *names, *("component",) * (flat.ndim - 1))
            pieces[free_name(name, pieces)] = Piece(array, dims, {})
    return pieces


def check_fields(shape: tuple[int, ...], point_data: Fields, cell_data: Fields) -> None:
    """Refuse a grid without values, which may claim any size, and values of another number than it has."""
    if min(shape) < 1 or not (point_data or cell_data):
        raise ValueError(f"its grid of {shape} points has no values")
    for data, less in ((point_data, 0), (cell_data, 1)):
        count = math.prod(max(1, size - less) for size in shape)
        for name, values in data.items():
            if len(values) != count:
                raise ValueError(f"{name} has {len(values)} values where the grid has {count}")


def lattice(shape: tuple[int, ...]) -> tuple[Block, ...]:
    """The lines, quadrilaterals or hexahedra of a grid whose points are listed with x running fastest."""
    numbers = np.arange(math.prod(shape)).reshape(shape[::-1])
    long = [axis for axis, size in enumerate(shape[::-1]) if size > 1]
    if not long:
        return ()
    around = {1: ((0,), (1,)), 2: ((0, 0), (0, 1), (1, 1), (1, 0))}
    flat = around.get(len(long), tuple((z, *one) for z in (0, 1) for one in around[2]))
    corners = []
    for corner in flat:
        chosen: list[slice] = [slice(None)] * 3
        for axis, step in zip(long, corner, strict=True):
            chosen[axis] = slice(step, numbers.shape[axis] - 1 + step)
        corners.append(numbers[tuple(chosen)].reshape(-1))
    cells = np.stack(corners, axis=1)
    return (Block((LINE, QUAD, HEXAHEDRON)[len(long) - 1], cells, np.arange(len(cells))),)


def line_of(origin: float, spacing: float, first: int, last: int) -> np.ndarray:
    """Equispaced coordinates from point number `first` to `last`."""
    return origin + spacing * np.arange(first, last + 1, dtype=np.float64)


def _equispaced(x: np.ndarray) -> bool:
    steps = np.diff(x.astype(np.float64))
    return bool(np.abs(steps - steps.mean()).max() <= 1e-5 * np.abs(steps.mean()) + 4e-7 * np.abs(x).max())
