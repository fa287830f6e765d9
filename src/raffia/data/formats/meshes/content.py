"""What a file of a mesh or a grid holds, as variables: nodes, cells, and fields with one sample each, or one at each time.

Fields say by their attributes on which nodes they are given, so that nobody has to guess.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from raffia.data.formats.meshes.kinds import Block, divided
from raffia.data.formats.variable import Rows, Variable, check_count, guarded
from raffia.errors import RaffiaError
from raffia.spaces.simplices import volumes

NODES, CELLS, WEIGHTS, PART, NOTES = "mesh nodes", "mesh cells", "mesh weights", "mesh part", "mesh notes"
"""Attributes of fields: the variables of their nodes, cells and weights, and notes; and of those variables: that they are such."""

Fields = dict[str, np.ndarray]


@dataclass(frozen=True)
class Content:
    """A mesh as it is in a file: all points (points, 3), cells in blocks, and values at points and in cells."""

    noun: ClassVar[str] = "mesh"
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
                    raise ValueError(f"{name} has {len(values)} values for {total} {dim}s")
                array = flattened(values)[places][None]
                dims = ("sample", dim, "component")[: array.ndim]
                pieces[free_name(name, pieces)] = Piece(array, dims, geometry.attributes(names, dim == "cell"))
        return pieces


@dataclass(frozen=True)
class Piece:
    """An array of a file: its values, the names of its axes, and what else is known."""

    array: np.ndarray
    dims: tuple[str, ...]
    attributes: dict[str, Any]


Pieces = dict[str, Piece]
Parse = Callable[[Path], Pieces]


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
            raise ValueError("it has no points, or their coordinates are missing")
        simplices, owner, cells = divided(blocks, len(points))
        kept = np.unique(simplices) if len(simplices) else np.arange(len(points))
        if len(kept) < len(points):
            notes.append(f"{len(points) - len(kept)} of {len(points)} points are in no cell, and are left out.")
        nodes = points[kept].astype(np.float64)
        extent = np.ptp(nodes, axis=0)
        varying = extent > 1e-9 * extent.max()
        if not varying.any():
            raise ValueError("all its points coincide")
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
                raise ValueError("it has cells without a volume")
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


def variables(path: Path, parse: Parse) -> dict[str, Variable]:
    """The arrays of a file that is read as a whole, again whenever values are asked for; those of two files are kept, not of all."""
    found: dict[str, Variable] = {}
    with guarded(path):
        pieces = _pieces(parse, path, _stamp(path))
        check_count(path, len(pieces))
        for name, piece in pieces.items():
            array, load = piece.array, partial(_load, parse, path, name)
            shape = tuple(array.shape)
            found[name] = Variable(name, shape, array.dtype.str, piece.dims, piece.attributes, path, load, block=len(array))
    return found


def _load(parse: Parse, path: Path, name: str, rows: Rows) -> np.ndarray:
    with guarded(path):
        pieces = _pieces(parse, path, _stamp(path))
        if name not in pieces:
            raise RaffiaError(f"{path} has changed: it holds no {name} any more. Open it again.")
        array = pieces[name].array
        return array.copy() if rows is None else array[rows].copy()


@lru_cache(maxsize=2)
def _pieces(parse: Parse, path: Path, stamp: tuple[int, int]) -> Pieces:
    return parse(path)


def _stamp(path: Path) -> tuple[int, int]:
    told = path.stat()
    return told.st_size, told.st_mtime_ns
