"""What a file of a mesh or a grid holds, as variables: nodes, cells, and fields with one sample each, or one at each time.

Fields say by their attributes on which nodes they are given, so that nobody has to guess.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from raffia.data.readers.damage import Damaged
from raffia.data.readers.meshes.kinds import Block, divided
from raffia.data.readers.variable import Rows, Variable, check_count, rows_of
from raffia.errors import RaffiaError
from raffia.spaces.simplices import volumes

GHOSTS = "vtkGhostType"  # the array that marks cells of neighbours, in files of pieces
NODES, CELLS, WEIGHTS, PART, NOTES = "mesh nodes", "mesh cells", "mesh weights", "mesh part", "mesh notes"
"""Attributes of fields: the variables of their nodes, cells and weights, and notes; and of those variables: that they are such."""

Fields = dict[str, np.ndarray]


@dataclass(frozen=True)
class Content:
    """A mesh as it is in a file: all points (points, 3), cells in blocks, and values at points and in cells."""

    suffixes: ClassVar[tuple[str, ...]] = (".vtk", ".vtu")
    """What files it can be written to."""

    points: np.ndarray
    blocks: tuple[Block, ...]
    point_data: Fields = field(default_factory=dict)
    cell_data: Fields = field(default_factory=dict)

    @cached_property
    def geometry(self) -> "Geometry":
        """The nodes and cells that count."""
        return Geometry.of(self.points, self.blocks)

    @property
    def cells(self) -> int:
        """How many cells it has, of all kinds."""
        return sum(len(block.numbers) for block in self.blocks)

    @property
    def counts(self) -> tuple[int, int]:
        """How many points and cells it has."""
        return len(self.points), self.cells

    def pieces(self) -> "Pieces":
        """The arrays of the mesh, with fields as one sample."""
        geometry, names = self.geometry, {*self.point_data, *self.cell_data}
        pieces = geometry.pieces(names, bool(self.cell_data))
        for data, places, total, dim in (
            (self.point_data, geometry.kept, len(self.points), "point"),
            (self.cell_data, geometry.cells, self.cells, "cell"),
        ):
            for name, values in data.items() if len(places) else ():
                if len(values) != total:
                    raise Damaged(f"{name} has {len(values)} values for {total} {dim}s")
                array = flattened(values)[places][None]
                dims = ("sample", dim, "component")[: array.ndim]
                pieces[free_name(name, pieces)] = Piece(array, dims, geometry.attributes(names, dim == "cell"))
        return pieces


def joined(parts: Sequence[Any]) -> Any:
    """One mesh of several, or of grids; those of lower dimension, as boundaries, are left out, and so are ghost cells.

    Fields are those that all parts have. A part alone stays as it is.
    """
    if len(parts) == 1 and GHOSTS not in parts[0].cell_data:
        return parts[0]
    meshes = [_without_ghosts(part if type(part) is Content else part.as_mesh()) for part in parts]
    dims = [max((block.kind.dim for block in mesh.blocks), default=0) for mesh in meshes]
    meshes = [mesh for mesh, dim in zip(meshes, dims, strict=True) if dim == max(dims)]
    blocks, points, cells = list[Block](), 0, 0
    for mesh in meshes:
        blocks += [block.moved(points, cells) for block in mesh.blocks]
        points, cells = points + len(mesh.points), cells + mesh.cells
    data = [[mesh.point_data for mesh in meshes], [mesh.cell_data for mesh in meshes]]
    fields = [
        {name: np.concatenate([part[name] for part in parts]) for name in common(parts) if name != GHOSTS} for parts in data
    ]
    return Content(np.concatenate([mesh.points for mesh in meshes]), tuple(blocks), *fields)


def common(parts: Sequence[Fields]) -> list[str]:
    """The names of the fields that all parts have, with as many components."""
    return [name for name in parts[0] if len({part[name].shape[1:] if name in part else None for part in parts}) == 1]


def _without_ghosts(mesh: Content) -> Content:
    """A mesh without the cells that it has of its neighbours."""
    if GHOSTS not in mesh.cell_data or any(len(values) != mesh.cells for values in mesh.cell_data.values()):
        return mesh
    own, blocks = mesh.cell_data[GHOSTS].reshape(-1) == 0, []
    for block in mesh.blocks:
        inside = own[block.numbers]
        blocks.append(Block(block.vtk, block.corners[inside], (np.cumsum(own) - 1)[block.numbers[inside]]))
    return Content(mesh.points, tuple(blocks), mesh.point_data, {name: values[own] for name, values in mesh.cell_data.items()})


@dataclass(frozen=True)
class Piece:
    """An array of a file: its values, the names of its axes, and what else is known."""

    array: np.ndarray
    dims: tuple[str, ...]
    attributes: dict[str, Any]

    def variable(self, name: str, path: Path, beside: tuple[Path, ...]) -> Variable:
        """It as a variable, which stays in memory."""
        return Variable.of_array(name, self.array, self.dims, self.attributes, path, block=len(self.array), beside=beside)


Pieces = dict[str, Piece]
Read = Callable[[Path], Any]
"""Reads a mesh or a grid."""


@dataclass(frozen=True)
class Geometry:
    """The nodes of a mesh that count, in as many coordinates as vary, and its cells as simplices.

    `kept` are the numbers of these nodes in the file, `cells` those of its cells; `owner` says which of them a simplex is part of.
    """

    nodes: np.ndarray
    simplices: np.ndarray
    kept: np.ndarray
    cells: np.ndarray
    owner: np.ndarray
    notes: tuple[str, ...]

    @classmethod
    def of(cls, points: np.ndarray, blocks: tuple[Block, ...]) -> "Geometry":
        """Points in no cell are left out, as they may lie anywhere, and so are coordinates that do not vary; both are noted."""
        notes = []
        if not len(points) or not np.isfinite(points).all():
            raise Damaged("it has no points, or their coordinates are missing")
        simplices, owner, cells = divided(blocks, len(points))
        kept = np.unique(simplices) if len(simplices) else np.arange(len(points))
        if len(kept) < len(points):
            notes.append(f"{len(points) - len(kept)} of {len(points)} points are in no cell, and are left out.")
        nodes = points[kept].astype(np.float64)
        extent = np.ptp(nodes, axis=0)
        varying = extent > 1e-9 * extent.max()
        if not varying.any():
            raise Damaged("all its points coincide")
        if not varying.all():
            flat = " and ".join(name for name, varies in zip("xyz", varying, strict=False) if not varies)
            notes.append(f"{flat} does not vary, and is left out.")
        return cls(nodes[:, varying], np.searchsorted(kept, simplices), kept, cells, owner, tuple(notes))

    def pieces(self, fields: Collection[str], centres: bool) -> Pieces:
        """Nodes and cells, and where there are values in cells, the centres and volumes of those; none has the name of a field."""
        part = {PART: True}
        found = {unlike("points", fields): Piece(self.nodes, ("point", "axis"), part)}
        if len(self.simplices):
            found[unlike("cells", fields)] = Piece(self.simplices, ("cell", "corner"), part)
        if centres and len(self.simplices):
            sizes = volumes(torch.from_numpy(self.nodes), torch.from_numpy(self.simplices)).numpy()
            middles = self.nodes[self.simplices].mean(1) * sizes[:, None]
            total = np.bincount(self.owner, sizes, len(self.cells))
            if (total <= 0).any():
                raise Damaged("it has cells without a volume")
            middle = np.stack([np.bincount(self.owner, along, len(self.cells)) / total for along in middles.T], 1)
            found[unlike("cell centres", fields)] = Piece(middle, ("cell", "axis"), part)
            found[unlike("cell volumes", fields)] = Piece(total, ("cell",), part)
        return found

    def attributes(self, fields: Collection[str], in_cells: bool) -> dict[str, Any]:
        """What fields at the points, or in the cells, say of their places."""
        if in_cells:
            note = "values in cells are taken at the centres of the cells, with their volumes as weights."
            places = {NODES: unlike("cell centres", fields), WEIGHTS: unlike("cell volumes", fields)}
            return places | {NOTES: (note, *self.notes)}
        places = {NODES: unlike("points", fields)} | ({CELLS: unlike("cells", fields)} if len(self.simplices) else {})
        return places | {NOTES: self.notes}


def flattened(values: np.ndarray) -> np.ndarray:
    """Values (points,) or (points, components), in the byte order of this machine."""
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    flat = values.reshape(len(values), -1)
    return flat[:, 0] if flat.shape[1] == 1 else flat


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


def variables(path: Path, read: Read, named_files: Callable[[Path], list[Path]] = lambda path: []) -> dict[str, Variable]:
    """The arrays of a file that is read as a whole, and of those that it names, again whenever values are asked for.

    Those of two files are kept, not of all.
    """
    arrays: dict[str, Variable] = {}
    beside = tuple(named_files(path))
    pieces = _pieces(read, path, stamp(path, *beside))
    check_count(path, len(pieces) + len(beside))
    for name, piece in pieces.items():
        arrays[name] = replace(piece.variable(name, path, beside), load=partial(_load, read, path, beside, name))
    return arrays


def _load(read: Read, path: Path, beside: tuple[Path, ...], name: str, rows: Rows) -> np.ndarray:
    pieces = _pieces(read, path, stamp(path, *beside))
    if name not in pieces:
        raise RaffiaError(f"{path} has changed: it holds no {name} any more. Open it again.")
    return rows_of(pieces[name].array, rows)


@lru_cache(maxsize=2)
def _pieces(read: Read, path: Path, stamps: tuple[int, ...]) -> Pieces:
    return read(path).pieces()


def stamp(*paths: Path) -> tuple[int, ...]:
    """Sizes and times of files, which change with their content."""
    facts = [path.stat() for path in paths]
    return tuple(number for fact in facts for number in (fact.st_size, fact.st_mtime_ns))
