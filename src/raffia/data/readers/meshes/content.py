"""What a file of a mesh or a grid holds, as variables: nodes, cells, and fields with one sample each, or one at each time.

Fields name by their attributes the arrays of nodes and cells that they are given on. Equispaced grids are grids here, others meshes.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np
import torch

from raffia.data.readers.damage import Damaged, damaged_if
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.variable import Rows, Variable, check_count
from raffia.errors import RaffiaError
from raffia.spaces.simplices import volumes

NODES, CELLS, WEIGHTS, PART, NOTES = "mesh nodes", "mesh cells", "mesh weights", "mesh part", "mesh notes"
"""Attributes of fields: the variables of their nodes, cells and weights, and notes; and of those variables: that they are such."""

Fields = dict[str, np.ndarray]
Series = Mapping[str, Variable]
"""Fields (times, points) or (times, points, components)."""


@dataclass(frozen=True)
class Content:
    """A mesh as it is in a file: all points (points, 3), cells of any kinds, and values at points and in cells."""

    points: np.ndarray
    cells: Cells
    point_data: Fields = field(default_factory=dict)
    cell_data: Fields = field(default_factory=dict)

    @cached_property
    def geometry(self) -> "Geometry":
        """The nodes and cells that count."""
        return Geometry.of(self.points, self.cells)

    def variables(self, path: Path) -> dict[str, Variable]:
        """The arrays of the mesh, with fields as one sample."""
        series = [
            {name: Variable.of_array(path, name, values[None]) for name, values in data.items()}
            for data in (self.point_data, self.cell_data)
        ]
        return described(path, self, series)


@dataclass(frozen=True)
class Geometry:
    """The nodes of a mesh that count, in as many coordinates as vary, and its cells as simplices.

    `used` are the indices of these nodes in the file, `cells` those of its cells; `owner` is the cell that a simplex is part of.
    """

    nodes: np.ndarray
    simplices: np.ndarray
    used: np.ndarray
    cells: np.ndarray
    owner: np.ndarray
    notes: tuple[str, ...]

    @classmethod
    def of(cls, points: np.ndarray, cells: Cells) -> "Geometry":
        """Points in no cell are left out, as they may lie anywhere, and so are coordinates that do not vary; both are noted."""
        notes = []
        damaged_if(not len(points) or not np.isfinite(points).all(), "it has no points, or their coordinates are missing")
        simplices, owner, indices = cells.divided(len(points))
        inside = np.bincount(simplices.reshape(-1), minlength=len(points)) > 0
        used = np.flatnonzero(inside) if len(simplices) else np.arange(len(points))
        if len(used) < len(points):
            notes.append(f"{len(points) - len(used)} of {len(points)} points are in no cell, and are left out.")
        nodes = points[used].astype(np.float64)
        extent = np.ptp(nodes, axis=0)
        varying = extent > 1e-9 * extent.max()
        damaged_if(not varying.any(), "all its points coincide")
        if not varying.all():
            flat = " and ".join(name for name, varies in zip("xyz", varying, strict=False) if not varies)
            notes.append(f"{flat} does not vary, and is left out.")
        return cls(nodes[:, varying], (np.cumsum(inside) - 1)[simplices], used, indices, owner, tuple(notes))

    @cached_property
    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        """The centres and the volumes of cells."""
        sizes = volumes(torch.from_numpy(self.nodes), torch.from_numpy(self.simplices)).numpy()
        middles = self.nodes[self.simplices].mean(1) * sizes[:, None]
        total = np.bincount(self.owner, sizes, len(self.cells))
        damaged_if((total <= 0).any(), "it has cells without a volume")
        return np.stack([np.bincount(self.owner, along, len(self.cells)) / total for along in middles.T], 1), total


def described(path: Path, mesh: Content, series: Sequence[Series], times: np.ndarray | None = None) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times, and the fields at points and in cells of this mesh.

    Where there are values in cells, also the centres and the volumes of those. Fields keep their names, and nothing else has them.
    """
    at_points, in_cells = series
    geometry, names = mesh.geometry, {*at_points, *in_cells}
    arrays: dict[str, Variable] = {}

    def add(name: str, values: np.ndarray, dims: tuple[str, ...], attributes: dict[str, Any]) -> str:
        name = unlike(name, names)
        arrays[name] = Variable.of_array(path, name, values, dims, attributes=attributes)
        return name

    places: dict[str, Any] = {NOTES: geometry.notes, NODES: add("points", geometry.nodes, ("point", "axis"), {PART: True})}
    if len(geometry.simplices):
        places[CELLS] = add("cells", geometry.simplices, ("cell", "corner"), {PART: True})
    sections = [(at_points, geometry.used, len(mesh.points), "point", places)]
    if in_cells and len(geometry.simplices):
        note = "values in cells are taken at the centres of the cells, with their volumes as weights."
        centres, sizes = geometry.centres
        middles = {NOTES: (note, *geometry.notes), NODES: add("cell centres", centres, ("cell", "axis"), {PART: True})}
        middles[WEIGHTS] = add("cell volumes", sizes, ("cell",), {PART: True})
        sections.append((in_cells, geometry.cells, len(mesh.cells), "cell", middles))
    if times is not None:
        add("time", times, ("time",), {})
    for fields, chosen, total, dim, attributes in sections:
        check_count(path, len(fields))
        for name, v in fields.items():
            if v.shape[1] != total:
                raise Damaged(f"{name} has {v.shape[1]} values for {total} {dim}s")
            inner, dtype, name = int(np.prod(v.shape[2:])), np.dtype(v.dtype).newbyteorder("=").str, free_name(name, arrays)
            shape = (v.shape[0], len(chosen), inner)[: 2 + (inner > 1)]
            dims = ("time" if v.shape[0] > 1 else "sample", dim, "component")[: len(shape)]
            load = partial(_chosen, v, chosen, shape[1:])
            arrays[name] = Variable(path, name, shape, dtype, load, dims=dims, attributes=attributes)
    return arrays


def _chosen(v: Variable, places: np.ndarray, shape: tuple[int, ...], rows: Rows) -> np.ndarray:
    values = v.read(rows)[:, places]
    return values.reshape(len(values), *shape)


def unlike(name: str, fields: Collection[str]) -> str:
    """The name of nodes, cells or coordinates; with a word more where a field has it, as fields keep their names."""
    while name in fields:
        name = f"mesh {name}"
    return name


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a field, with "in cells" appended until it differs from the names `taken`."""
    name = name or "field"
    while name in taken:
        name = f"{name} in cells"
    return name


GHOSTS = "vtkGhostType"  # the array that marks cells of neighbours, in files of pieces
SIMPLE = (1, 3, 9, 12)  # VTK's numbers of vertices, lines, quadrilaterals and hexahedra
LEFT_OUT = (0, 1)  # how many fewer values there are along an axis than points, at points and in cells

Numbers = np.ndarray | None
Spans = Sequence[tuple[int, int]]
"""The indices of the first and the last point along x, y and z."""


def sizes_of(shape: Sequence[int], less: int) -> tuple[int, ...]:
    """How many points there are along each axis, or with one less, cells."""
    return tuple(max(1, size - less) for size in shape)


@final
@dataclass(frozen=True)
class Lattice:
    """A grid as it is in a file: coordinates along x, y and z, and values listed with x running fastest."""

    axes: tuple[np.ndarray, ...]
    point_data: Fields = field(default_factory=dict)
    cell_data: Fields = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many points there are along x, y and z."""
        return tuple(len(x) for x in self.axes)

    def as_mesh(self) -> Content:
        """Its points and cells, as a mesh."""
        points = np.stack([x.reshape(-1) for x in np.meshgrid(*self.axes[::-1], indexing="ij")][::-1], axis=1)
        return Content(points, cells_of(self.shape), self.point_data, self.cell_data)

    def variables(self, path: Path) -> dict[str, Variable]:
        """The arrays of the grid, with fields as one sample; where it is not equispaced, those of a mesh."""
        shape, fields = self.shape, {*self.point_data, *self.cell_data}
        check_fields(shape, self.point_data, self.cell_data)
        long = [axis for axis, size in enumerate(shape) if size > 1]
        if len(long) > 1 and not all(_equispaced(self.axes[axis]) for axis in long):
            return self.as_mesh().variables(path)
        arrays: dict[str, Variable] = {}
        for data, less, word in zip((self.point_data, self.cell_data), LEFT_OUT, ("", " centre"), strict=True):
            names = [unlike(f"{'xyz'[axis]}{word}", fields) for axis in long]
            for name, axis in zip(names, long if data else (), strict=False):
                x = self.axes[axis].astype(np.float64)
                arrays[name] = Variable.of_array(
                    path, name, (x[1:] + x[:-1]) / 2 if less else x, (name,), attributes={PART: True}
                )
            for name, values in data.items():
                array = along_axes(values, sizes_of(shape, less))
                dims, name = ("sample", *names, *("component",) * (array.ndim - len(long))), free_name(name, arrays)
                arrays[name] = Variable.of_array(path, name, array[None], dims)
        return arrays


def along_axes(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Reshape values (points[, components]), listed with x running fastest, to the grid axes. Axes of one point are dropped."""
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


def joined(parts: Sequence[Content | Lattice]) -> Content | Lattice:
    """One grid of several that fill it, else one mesh; parts of lower dimension, as boundaries, are left out, and so are ghost cells.

    Fields are those that all parts have. A part alone stays as it is.
    """
    if len(parts) == 1 and GHOSTS not in parts[0].cell_data:
        return parts[0]
    grids = [part for part in parts if type(part) is Lattice]
    grid = _tiled(grids) if len(grids) == len(parts) else None
    meshes = [_without_ghosts(part.as_mesh() if type(part) is Lattice else part) for part in parts]
    return _joined(meshes) if grid is None else grid


def _joined(meshes: Sequence[Content]) -> Content:
    """One mesh of those of the highest dimension."""
    dim = max(mesh.cells.dim for mesh in meshes)
    meshes = [mesh for mesh in meshes if mesh.cells.dim == dim]
    before = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    cells = Cells.joined(
        replace(mesh.cells, nodes=mesh.cells.nodes + start) for mesh, start in zip(meshes, before, strict=False)
    )
    fields = (
        {name: np.concatenate([part[name] for part in data]) for name in _common(data)}
        for data in ([mesh.point_data for mesh in meshes], [mesh.cell_data for mesh in meshes])
    )
    return Content(np.concatenate([mesh.points for mesh in meshes]), cells, *fields)


def _tiled(parts: Sequence[Lattice]) -> Lattice | None:
    """The grid that others fill, which may share points and cells; None if they leave out some."""
    axes = tuple(np.unique(np.concatenate(lines)) for lines in zip(*(part.axes for part in parts), strict=True))
    begins = [[int(np.searchsorted(axis, line[0])) for axis, line in zip(axes, part.axes, strict=True)] for part in parts]
    fields: list[Fields] = []
    for data, less in (([part.point_data for part in parts], 0), ([part.cell_data for part in parts], 1)):
        filled = np.zeros(sizes_of([len(axis) for axis in axes], less)[::-1], bool)
        whole = {name: np.empty((*filled.shape, *data[0][name].shape[1:]), data[0][name].dtype) for name in _common(data)}
        for part, values, begin in zip(parts, data, begins, strict=True):
            if not all(
                np.array_equal(x[at : at + len(line)], line) for x, at, line in zip(axes, begin, part.axes, strict=True)
            ):
                return None
            place = tuple(slice(at, at + size) for at, size in zip(begin, sizes_of(part.shape, less), strict=True))[::-1]
            filled[place] = True
            for name, array in whole.items():
                array[place] = values[name].reshape(array[place].shape)
        if not filled.all():
            return None
        fields.append({name: array.reshape(-1, *array.shape[3:]) for name, array in whole.items()})
    return Lattice(axes, *fields)


def _common(parts: Sequence[Fields]) -> list[str]:
    """The names of the fields that all parts have, with as many components."""
    names = [name for name in parts[0] if name != GHOSTS]
    return [name for name in names if len({part[name].shape[1:] if name in part else None for part in parts}) == 1]


def _without_ghosts(mesh: Content) -> Content:
    """A mesh without the cells that it has of its neighbours."""
    if GHOSTS not in mesh.cell_data or any(len(values) != len(mesh.cells) for values in mesh.cell_data.values()):
        return mesh
    own = mesh.cell_data[GHOSTS].reshape(-1) == 0
    in_cells = {name: values[own] for name, values in mesh.cell_data.items()}
    return Content(mesh.points, mesh.cells.chosen(own), mesh.point_data, in_cells)


def cells_of(shape: tuple[int, ...]) -> Cells:
    """The lines, quadrilaterals or hexahedra of a grid whose points are listed with x running fastest."""
    corners = [0]
    for step in (math.prod(shape[:axis]) for axis in range(3) if shape[axis] > 1):
        further = [corner + step for corner in corners]
        corners += further[::-1] if len(corners) == 2 else further  # a quadrilateral goes around
    numbers = np.arange(math.prod(shape)).reshape(shape[::-1])
    first = numbers[tuple(slice(max(1, size - 1)) for size in shape[::-1])].reshape(-1, 1)
    return Cells.alike(SIMPLE[len(corners).bit_length() - 1], first + np.array(corners))


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
