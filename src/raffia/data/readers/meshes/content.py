"""What a file of a mesh holds, as variables: nodes, cells, and fields with one sample each, or one at each time.

Fields name by their attributes the arrays of nodes and cells that they are given on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from raffia.data.readers.damage import Damaged, damaged_if
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.variable import Rows, Variable, check_count
from raffia.spaces.simplices import volumes

GHOSTS = "vtkGhostType"  # the array that marks cells of neighbours, in files of pieces
NODES, CELLS, WEIGHTS, PART, NOTES = "mesh nodes", "mesh cells", "mesh weights", "mesh part", "mesh notes"
"""Attributes of fields: the variables of their nodes, cells and weights, and notes; and of those variables: that they are such."""

Fields = dict[str, np.ndarray]
Series = Mapping[str, Variable]
"""Fields (times, points) or (times, points, components)."""


@dataclass(frozen=True)
class Content:
    """A mesh as it is in a file: all points (points, 3), cells of any kinds, and values at points and in cells."""

    suffixes: ClassVar[tuple[str, ...]] = (".vtk", ".vtu")
    """What files it can be written to."""

    points: np.ndarray
    cells: Cells
    point_data: Fields = field(default_factory=dict)
    cell_data: Fields = field(default_factory=dict)

    @cached_property
    def geometry(self) -> "Geometry":
        """The nodes and cells that count."""
        return Geometry.of(self.points, self.cells)

    @property
    def counts(self) -> tuple[int, int]:
        """How many points and cells it has."""
        return len(self.points), len(self.cells)

    def variables(self, path: Path, beside: tuple[Path, ...] = ()) -> dict[str, Variable]:
        """The arrays of the mesh, with fields as one sample."""
        series = [
            {name: Variable.of_array(name, values[None], None, {}, path) for name, values in data.items()}
            for data in (self.point_data, self.cell_data)
        ]
        return described(path, self, series, beside=beside)


def joined(parts: Sequence[Any]) -> Any:
    """One mesh of several, or of grids; those of lower dimension, as boundaries, are left out, and so are ghost cells.

    Fields are those that all parts have. A part alone stays as it is.
    """
    if len(parts) == 1 and GHOSTS not in parts[0].cell_data:
        return parts[0]
    meshes = [_without_ghosts(part if type(part) is Content else part.as_mesh()) for part in parts]
    dim = max(mesh.cells.dim for mesh in meshes)
    meshes = [mesh for mesh in meshes if mesh.cells.dim == dim]
    before = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    cells = Cells.joined(mesh.cells.moved(int(start)) for mesh, start in zip(meshes, before, strict=False))
    fields = (
        {name: np.concatenate([part[name] for part in data]) for name in common(data) if name != GHOSTS}
        for data in ([mesh.point_data for mesh in meshes], [mesh.cell_data for mesh in meshes])
    )
    return Content(np.concatenate([mesh.points for mesh in meshes]), cells, *fields)


def common(parts: Sequence[Fields]) -> list[str]:
    """The names of the fields that all parts have, with as many components."""
    return [name for name in parts[0] if len({part[name].shape[1:] if name in part else None for part in parts}) == 1]


def _without_ghosts(mesh: Content) -> Content:
    """A mesh without the cells that it has of its neighbours."""
    if GHOSTS not in mesh.cell_data or any(len(values) != len(mesh.cells) for values in mesh.cell_data.values()):
        return mesh
    own = mesh.cell_data[GHOSTS].reshape(-1) == 0
    return Content(
        mesh.points, mesh.cells.chosen(own), mesh.point_data, {name: values[own] for name, values in mesh.cell_data.items()}
    )


@dataclass(frozen=True)
class Geometry:
    """The nodes of a mesh that count, in as many coordinates as vary, and its cells as simplices.

    `kept` are the indices of these nodes in the file, `cells` those of its cells; `owner` is the cell that a simplex is part of.
    """

    nodes: np.ndarray
    simplices: np.ndarray
    kept: np.ndarray
    cells: np.ndarray
    owner: np.ndarray
    notes: tuple[str, ...]

    @classmethod
    def of(cls, points: np.ndarray, cells: Cells) -> "Geometry":
        """Points in no cell are left out, as they may lie anywhere, and so are coordinates that do not vary; both are noted."""
        notes = []
        damaged_if(not len(points) or not np.isfinite(points).all(), "it has no points, or their coordinates are missing")
        simplices, owner, indices = cells.divided(len(points))
        kept = np.unique(simplices) if len(simplices) else np.arange(len(points))
        if len(kept) < len(points):
            notes.append(f"{len(points) - len(kept)} of {len(points)} points are in no cell, and are left out.")
        nodes = points[kept].astype(np.float64)
        extent = np.ptp(nodes, axis=0)
        varying = extent > 1e-9 * extent.max()
        damaged_if(not varying.any(), "all its points coincide")
        if not varying.all():
            flat = " and ".join(name for name, varies in zip("xyz", varying, strict=False) if not varies)
            notes.append(f"{flat} does not vary, and is left out.")
        return cls(nodes[:, varying], np.searchsorted(kept, simplices), kept, indices, owner, tuple(notes))

    @cached_property
    def centres(self) -> tuple[np.ndarray, np.ndarray]:
        """The centres and the volumes of cells."""
        sizes = volumes(torch.from_numpy(self.nodes), torch.from_numpy(self.simplices)).numpy()
        middles = self.nodes[self.simplices].mean(1) * sizes[:, None]
        total = np.bincount(self.owner, sizes, len(self.cells))
        damaged_if((total <= 0).any(), "it has cells without a volume")
        return np.stack([np.bincount(self.owner, along, len(self.cells)) / total for along in middles.T], 1), total


def described(
    path: Path, mesh: Content, series: Sequence[Series], times: np.ndarray | None = None, beside: tuple[Path, ...] = ()
) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times, and the fields at points and in cells of this mesh.

    Where there are values in cells, also the centres and the volumes of those. Fields keep their names, and nothing else has them.
    """
    at_points, in_cells = series
    geometry, names = mesh.geometry, {*at_points, *in_cells}
    arrays: dict[str, Variable] = {}

    def add(name: str, values: np.ndarray, dims: tuple[str, ...], attributes: dict[str, Any]) -> str:
        name = unlike(name, names)
        arrays[name] = Variable.of_array(name, values, dims, attributes, path, block=len(values), beside=beside)
        return name

    places: dict[str, Any] = {NOTES: geometry.notes, NODES: add("points", geometry.nodes, ("point", "axis"), {PART: True})}
    if len(geometry.simplices):
        places[CELLS] = add("cells", geometry.simplices, ("cell", "corner"), {PART: True})
    sections = [(at_points, geometry.kept, len(mesh.points), "point", places)]
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
            load = partial(_chosen, v, chosen, shape[1:], dtype)
            arrays[name] = Variable(name, shape, dtype, dims, attributes, path, load, beside=beside)
    return arrays


def _chosen(v: Variable, places: np.ndarray, shape: tuple[int, ...], dtype: str, rows: Rows) -> np.ndarray:
    values = v.read(rows)[:, places]
    return values.reshape(len(values), *shape).astype(dtype, copy=False)


def unlike(name: str, fields: Collection[str]) -> str:
    """The name of nodes, cells or coordinates; with a word more where a field has it, as fields keep their names."""
    while name in fields:
        name = f"mesh {name}"
    return name


def free_name(name: str, taken: Collection[str]) -> str:
    """The name of a field; that in cells has words more where one at points has it too."""
    name = name or "field"
    while name in taken:
        name = f"{name} in cells"
    return name
