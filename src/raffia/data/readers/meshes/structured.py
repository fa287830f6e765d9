"""Grids in files: coordinates along the axes, or points in rows. Equispaced ones are grids here, others meshes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import PART, Content, Fields, common, free_name, unlike
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

KINDS = (1, 3, 9, 12)  # VTK's numbers of vertices, lines, quadrilaterals and hexahedra
LEFT_OUT = (0, 1)  # how many fewer values there are along an axis than points, at points and in cells

Numbers = np.ndarray | None
Spans = Sequence[tuple[int, int]]
"""The indices of the first and the last point along x, y and z."""


def sizes_of(shape: Sequence[int], less: int) -> tuple[int, ...]:
    """How many points there are along each axis, or with one less, cells."""
    return tuple(max(1, size - less) for size in shape)


@dataclass(frozen=True)
class Lattice:
    """A grid as it is in a file: coordinates along x, y and z, and values listed with x running fastest."""

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
    def counts(self) -> tuple[int, ...]:
        """How many points and cells it has."""
        return tuple(math.prod(sizes_of(self.shape, less)) for less in LEFT_OUT)

    def as_mesh(self) -> Content:
        """Its points and cells, as a mesh."""
        points = np.stack([x.reshape(-1) for x in np.meshgrid(*self.axes[::-1], indexing="ij")][::-1], axis=1)
        return Content(points, cells_of(self.shape), self.point_data, self.cell_data)

    def variables(self, path: Path, beside: tuple[Path, ...] = ()) -> dict[str, Variable]:
        """The arrays of the grid, with fields as one sample; where it is not equispaced, those of a mesh."""
        shape, fields = self.shape, {*self.point_data, *self.cell_data}
        check_fields(shape, self.point_data, self.cell_data)
        long = [axis for axis, size in enumerate(shape) if size > 1]
        if len(long) > 1 and not all(_equispaced(self.axes[axis]) for axis in long):
            return self.as_mesh().variables(path, beside)
        of_array, arrays = partial(Variable.of_array, path=path, beside=beside), dict[str, Variable]()
        for data, less, word in zip((self.point_data, self.cell_data), LEFT_OUT, ("", " centre"), strict=True):
            names = [unlike(f"{'xyz'[axis]}{word}", fields) for axis in long]
            for name, axis in zip(names, long if data else (), strict=False):
                x = self.axes[axis].astype(np.float64)
                arrays[name] = of_array(name, (x[1:] + x[:-1]) / 2 if less else x, (name,), {PART: True})
            for name, values in data.items():
                array = along_axes(values, sizes_of(shape, less))
                dims, name = ("sample", *names, *("component",) * (array.ndim - len(long))), free_name(name, arrays)
                arrays[name] = of_array(name, array[None], dims, {})
        return arrays


def along_axes(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Values that are listed with x running fastest, (points[, components]), along the axes of more than one point."""
    many = math.prod(values.shape[1:])
    inner = (many,) if many > 1 else ()
    array = values.reshape(*shape[::-1], *inner).transpose(2, 1, 0, *range(3, 3 + len(inner)))
    array = array.reshape(*(size for size in shape if size > 1), *inner)
    return np.ascontiguousarray(array, values.dtype.newbyteorder("="))


def listed(values: np.ndarray, dim: int) -> np.ndarray:
    """The inverse: values along `dim` axes, and components, listed with x running fastest."""
    return values.transpose(*range(dim)[::-1], *range(dim, values.ndim)).reshape(-1, *values.shape[dim:])


def check_fields(shape: tuple[int, ...], *fields: Fields) -> None:
    """Refuse a grid without values, which may claim any size, and values of another number than it has."""
    damaged_if(len(shape) != 3 or min(shape) < 1 or not any(fields), f"its grid of {shape} points has no values")
    for data, less in zip(fields, LEFT_OUT, strict=True):
        count = math.prod(sizes_of(shape, less))
        for name, values in data.items():
            damaged_if(len(values) != count, f"{name} has {len(values)} values where the grid has {count}")


def assembled(spans: Spans, pieces: Sequence[Spans], parts: Sequence[Fields], less: int) -> Fields:
    """Fields of a grid from those of its pieces, which lie in `spans` of points; values of cells are one `less` along each axis."""
    shape = sizes_of([last - first + 1 for first, last in spans[::-1]], less)
    whole = {name: np.empty((*shape, *parts[0][name].shape[1:]), parts[0][name].dtype) for name in common(parts)}
    filled = np.zeros(shape, bool)
    for piece, part in zip(pieces, parts, strict=True):
        lines = list(zip(piece, spans, strict=True))[::-1]
        if any(first < start or last > stop for (first, last), (start, stop) in lines):
            raise Damaged("a piece of the grid lies outside of it")
        place = tuple(slice(first - start, max(first + 1, last + 1 - less) - start) for (first, last), (start, _) in lines)
        filled[place] = True
        for name, values in whole.items():
            values[place] = part[name].reshape(values[place].shape)
    damaged_if(not filled.all(), f"its pieces leave out points of the grid of {shape[::-1]}")
    return {name: values.reshape(-1, *values.shape[3:]) for name, values in whole.items()}


def cells_of(shape: tuple[int, ...]) -> Cells:
    """The lines, quadrilaterals or hexahedra of a grid whose points are listed with x running fastest."""
    corners = [0]
    for step in (math.prod(shape[:axis]) for axis in range(3) if shape[axis] > 1):
        further = [corner + step for corner in corners]
        corners += further[::-1] if len(corners) == 2 else further  # a quadrilateral goes around
    numbers = np.arange(math.prod(shape)).reshape(shape[::-1])
    first = numbers[tuple(slice(max(1, size - 1)) for size in shape[::-1])].reshape(-1, 1)
    return Cells.alike(KINDS[len(corners).bit_length() - 1], first + np.array(corners))


def lines_of(origin: Numbers, spacing: Numbers, spans: Spans, direction: Numbers = None) -> tuple[np.ndarray, ...]:
    """Equispaced coordinates along x, y and z, each from the index of one point to another; axes may not be turned."""
    if origin is None or spacing is None or not len(origin) == len(spacing) == len(spans):
        raise Damaged("its grid has no origin, or no spacing")
    if direction is not None and not np.array_equal(direction, np.eye(3).reshape(-1)):
        raise RaffiaError("its axes are turned (Direction). Resample it along the coordinates, for example with ParaView.")
    lines = zip(origin, spacing, spans, strict=True)
    return tuple(start + step * np.arange(first, last + 1, dtype=np.float64) for start, step, (first, last) in lines)


def _equispaced(x: np.ndarray) -> bool:
    steps = np.diff(x.astype(np.float64))
    return bool(np.abs(steps - steps.mean()).max() <= 1e-5 * np.abs(steps.mean()) + 4e-7 * np.abs(x).max())
