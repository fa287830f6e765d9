"""Grids in files: coordinates along the axes, or points in rows. Equispaced ones are grids here, others meshes."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from raffia.data.formats.meshes.content import (
    PART,
    Content,
    Fields,
    Piece,
    Pieces,
    flattened,
    free_name,
    unlike,
)
from raffia.data.formats.meshes.kinds import Block

LINE, QUAD, HEXAHEDRON = 3, 9, 12


@dataclass(frozen=True)
class Lattice:
    """A grid as it is in a file: coordinates along x, y and z, and values listed with x running fastest."""

    noun: ClassVar[str] = "grid"
    suffixes: ClassVar[tuple[str, ...]] = (".vtk", ".vti")
    """What files it can be written to."""

    axes: tuple[np.ndarray, ...]
    point_data: Fields = field(default_factory=dict)
    cell_data: Fields = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many points there are along x, y and z."""
        return tuple(len(x) for x in self.axes)

    @property
    def counts(self) -> tuple[int, int]:
        """How many points and cells it has."""
        return math.prod(self.shape), math.prod(max(1, size - 1) for size in self.shape)

    def pieces(self) -> Pieces:
        """The arrays of the grid, with fields as one sample; where it is not equispaced, those of a mesh."""
        shape, fields = self.shape, {*self.point_data, *self.cell_data}
        check_fields(shape, self.point_data, self.cell_data)
        long = [axis for axis, size in enumerate(shape) if size > 1]
        if len(long) > 1 and not all(_equispaced(self.axes[axis]) for axis in long):
            points = np.stack([x.reshape(-1) for x in np.meshgrid(*self.axes[::-1], indexing="ij")][::-1], axis=1)
            return Content(points, cells_of(shape), self.point_data, self.cell_data).pieces()
        pieces: Pieces = {}
        for data, less, word in ((self.point_data, 0, ""), (self.cell_data, 1, " centre")):
            names = [unlike(f"{'xyz'[axis]}{word}", fields) for axis in long]
            for name, axis in zip(names, long if data else (), strict=False):
                x = self.axes[axis].astype(np.float64)
                pieces[name] = Piece((x[1:] + x[:-1]) / 2 if less else x, (name,), {PART: True})
            for name, values in data.items():
                array = along_axes(flattened(values), tuple(max(1, size - less) for size in shape))
                dims = ("sample", *names, *("component",) * (array.ndim - len(long)))
                pieces[free_name(name, pieces)] = Piece(array[None], dims, {})
        return pieces


def along_axes(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Values that are listed with x running fastest, (points[, components]), along the axes of more than one point."""
    inner = values.shape[1:]
    array = values.reshape(*shape[::-1], *inner).transpose(2, 1, 0, *range(3, 3 + len(inner)))
    return np.ascontiguousarray(array).reshape(*(size for size in shape if size > 1), *inner)


def listed(values: np.ndarray, dim: int) -> np.ndarray:
    """The inverse: values along `dim` axes, and components, listed with x running fastest."""
    return values.transpose(*range(dim)[::-1], *range(dim, values.ndim)).reshape(-1, *values.shape[dim:])


def check_fields(shape: tuple[int, ...], point_data: Fields, cell_data: Fields) -> None:
    """Refuse a grid without values, which may claim any size, and values of another number than it has."""
    if min(shape) < 1 or not (point_data or cell_data):
        raise ValueError(f"its grid of {shape} points has no values")
    for data, less in ((point_data, 0), (cell_data, 1)):
        count = math.prod(max(1, size - less) for size in shape)
        for name, values in data.items():
            if len(values) != count:
                raise ValueError(f"{name} has {len(values)} values where the grid has {count}")


def cells_of(shape: tuple[int, ...]) -> tuple[Block, ...]:
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
