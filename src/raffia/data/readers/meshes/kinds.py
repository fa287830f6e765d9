"""Kinds of cells, by VTK's numbers, and how each is divided into intervals, triangles or tetrahedra."""

from dataclasses import dataclass

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if
from raffia.errors import RaffiaError

POLYGON, STRIP, POLY_LINE, POLY_VERTEX, WEDGE = 7, 6, 4, 2, 13
CHAINS = {STRIP: 3, POLY_LINE: 2, POLY_VERTEX: 1}
"""How many nodes in a row are a simplex, in strips of triangles, lines of several nodes and lists of vertices."""
HEXAHEDRON = ((0, 1, 2, 6), (0, 2, 3, 6), (0, 3, 7, 6), (0, 7, 4, 6), (0, 4, 5, 6), (0, 5, 1, 6))
TETRA10 = ((0, 4, 6, 7), (1, 5, 4, 8), (2, 6, 5, 9), (3, 8, 7, 9), (4, 9, 5, 6), (4, 9, 6, 7), (4, 9, 7, 8), (4, 9, 8, 5))
VOXEL = (0, 1, 3, 2, 4, 5, 7, 6)  # counts along x, y and z, where a hexahedron goes around


@dataclass(frozen=True)
class Kind:
    """A kind of cell: how many nodes it has, and the simplices that it is divided into."""

    name: str
    size: int
    simplices: tuple[tuple[int, ...], ...]

    @property
    def dim(self) -> int:
        """That of the cell: 1 for lines, 2 for surfaces, 3 for volumes."""
        return len(self.simplices[0]) - 1


KINDS = {
    1: Kind("vertex", 1, ((0,),)),
    3: Kind("line", 2, ((0, 1),)),
    5: Kind("triangle", 3, ((0, 1, 2),)),
    8: Kind("pixel", 4, ((0, 1, 3), (0, 3, 2))),
    9: Kind("quad", 4, ((0, 1, 2), (0, 2, 3))),
    10: Kind("tetra", 4, ((0, 1, 2, 3),)),
    11: Kind("voxel", 8, tuple(tuple(VOXEL[k] for k in four) for four in HEXAHEDRON)),
    12: Kind("hexahedron", 8, HEXAHEDRON),
    13: Kind("wedge", 6, ((0, 1, 2, 5), (0, 1, 5, 4), (0, 4, 5, 3))),
    14: Kind("pyramid", 5, ((0, 1, 2, 4), (0, 2, 3, 4))),
    21: Kind("line3", 3, ((0, 2), (2, 1))),
    22: Kind("triangle6", 6, ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5))),
    23: Kind("quad8", 8, ((0, 4, 7), (4, 1, 5), (5, 2, 6), (7, 6, 3), (4, 5, 6), (4, 6, 7))),
    24: Kind("tetra10", 10, TETRA10),
    28: Kind("quad9", 9, ((0, 4, 8), (0, 8, 7), (4, 1, 5), (4, 5, 8), (8, 5, 2), (8, 2, 6), (7, 8, 6), (7, 6, 3))),
}
"""Those with as many nodes each, by VTK's numbers."""


def kind_of(number: int, size: int) -> Kind:
    """The kind of cells of VTK's number with so many nodes."""
    if number in KINDS and KINDS[number].size == size:
        return KINDS[number]
    if number == POLYGON and size >= 3:
        return Kind("polygon", size, tuple((0, k, k + 1) for k in range(1, size - 1)))
    if (each := CHAINS.get(number, size + 1)) <= size:
        return Kind("chain", size, tuple(tuple(range(k, k + each)) for k in range(size - each + 1)))
    names = ", ".join(kind.name for kind in KINDS.values())
    raise RaffiaError(
        f"cells of VTK's kind {number} with {size} nodes cannot be divided into triangles or tetrahedra. raffia reads {names} and "
        "polygons: write the mesh with linear cells."
    )


@dataclass(frozen=True)
class Block:
    """Cells of one kind: nodes (cells, size), and the numbers that the cells have in the file."""

    vtk: int
    corners: np.ndarray
    numbers: np.ndarray

    @property
    def kind(self) -> Kind:
        """What its cells are."""
        return kind_of(self.vtk, self.corners.shape[1])

    def moved(self, points: int, cells: int) -> "Block":
        """These cells, after so many points and cells of others."""
        return Block(self.vtk, self.corners + points, self.numbers + cells)


def blocks_of(kinds: np.ndarray, ends: np.ndarray, nodes: np.ndarray) -> tuple[Block, ...]:
    """Cells of any kinds, one after the other: VTK's number of each, and where it ends in the list of all their nodes."""
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    sizes = ends.astype(np.int64) - starts
    damaged_if(len(kinds) != len(ends) or (sizes < 0).any() or (len(ends) and ends[-1] > len(nodes)), "its cells do not add up")
    if not len(kinds):
        return ()
    if kinds.min() < 0 or kinds.max() > 255:
        raise Damaged(f"its cells are of kinds {kinds.min()} to {kinds.max()}")
    keys, which, counts = np.unique(256 * sizes + kinds, return_inverse=True, return_counts=True)
    groups = np.split(which.reshape(-1).argsort(kind="stable"), counts.cumsum()[:-1])
    return tuple(
        Block(key % 256, nodes[starts[numbers][:, None] + np.arange(key // 256)].astype(np.int64), numbers)
        for key, numbers in zip(keys.tolist(), groups, strict=True)
        if key >= 256
    )


def divided(blocks: tuple[Block, ...], points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simplices (m, corners) of the cells of the highest dimension, the cell that each comes from, and the numbers of those cells.

    A file of triangles has the edges of its boundary too, as cells; they are left out.
    """
    dim = max((block.kind.dim for block in blocks), default=0)
    most = [block for block in blocks if block.kind.dim == dim > 0 and len(block.corners)]
    if not most:
        return np.empty((0, 1), np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    if any(block.corners.min() < 0 or block.corners.max() >= points for block in most):
        raise Damaged(f"its cells name nodes that are not among its {points}")
    simplices = [block.corners[:, list(block.kind.simplices)].reshape(-1, dim + 1) for block in most]
    numbers = np.concatenate([block.numbers for block in most])
    owner = np.concatenate([np.repeat(block.numbers, len(block.kind.simplices)) for block in most])
    order, cells = owner.argsort(kind="stable"), np.sort(numbers)
    return np.concatenate(simplices)[order], np.searchsorted(cells, owner[order]), cells
