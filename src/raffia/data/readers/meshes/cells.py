"""Kinds of cells, by VTK's numbers, and how each is divided into intervals, triangles or tetrahedra."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from raffia.data.readers.damage import damaged_if
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
class Cells:
    """Cells as VTK lists them: the `kinds` of all, where each `ends` in the list of nodes of all, and these `nodes`."""

    kinds: np.ndarray
    ends: np.ndarray
    nodes: np.ndarray

    @classmethod
    def of(cls, kinds: np.ndarray, ends: np.ndarray, nodes: np.ndarray) -> "Cells":
        """Cells of any kinds in a file, which must add up."""
        ends, last = ends.astype(np.int64), int(ends[-1]) if len(ends) else 0
        wrong = len(kinds) != len(ends) or (np.diff(ends, prepend=0) < 0).any() or last > len(nodes)
        damaged_if(wrong or (len(kinds) and not 0 <= kinds.min() <= kinds.max() <= 255), "its cells do not add up")
        return cls(kinds.astype(np.int64), ends, nodes[:last].astype(np.int64))

    @classmethod
    def alike(cls, kind: int, corners: np.ndarray) -> "Cells":
        """Cells of one kind, with nodes (cells, size)."""
        count, size = corners.shape
        return cls(np.full(count, kind), size * np.arange(1, count + 1), corners.reshape(-1).astype(np.int64))

    @classmethod
    def joined(cls, parts: Iterable["Cells"]) -> "Cells":
        """All cells of several lists, which name the same nodes."""
        every, before = [cls(*[np.empty(0, np.int64)] * 3), *parts], 0
        ends = []
        for part in every:
            ends.append(part.ends + before)
            before += len(part.nodes)
        return cls(np.concatenate([p.kinds for p in every]), np.concatenate(ends), np.concatenate([p.nodes for p in every]))

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def sizes(self) -> np.ndarray:
        """How many nodes each has."""
        return np.diff(self.ends, prepend=0)

    @property
    def dim(self) -> int:
        """That of the cells of the highest dimension."""
        return max((kind.dim for kind, _ in self.groups), default=0)

    def chosen(self, which: np.ndarray) -> "Cells":
        """The cells for which this is true."""
        return Cells(self.kinds[which], np.cumsum(self.sizes[which]), self.nodes[np.repeat(which, self.sizes)])

    @cached_property
    def groups(self) -> list[tuple[Kind, np.ndarray]]:
        """The indices of the cells of each kind; those without nodes are none."""
        keys, groups = 256 * self.sizes + self.kinds, [np.arange(len(self))]
        if len(keys) and keys.min() < keys.max():
            order = keys.argsort(kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
        found = [(int(keys[numbers[0]]), numbers) for numbers in groups if len(numbers)]
        return [(kind_of(key % 256, key // 256), numbers) for key, numbers in found if key >= 256]

    def divided(self, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Simplices (m, corners) of the cells of the highest dimension, the cell that each comes from, and the indices of those cells.

        A file of triangles has the edges of its boundary too, as cells; they are left out.
        """
        dim, starts = self.dim, self.ends - self.sizes
        simplices, owners, cells = [np.empty((0, dim + 1), np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for kind, numbers in self.groups:
            if kind.dim == dim > 0:
                corners = self.nodes[starts[numbers][:, None] + np.arange(kind.size)]
                damaged_if(
                    corners.min() < 0 or corners.max() >= points, f"its cells name nodes that are not among its {points}"
                )
                simplices.append(corners[:, list(kind.simplices)].reshape(-1, dim + 1))
                owners.append(np.repeat(numbers, len(kind.simplices)))
                cells.append(numbers)
        owner, every = np.concatenate(owners), np.sort(np.concatenate(cells))
        order = owner.argsort(kind="stable")
        return np.concatenate(simplices)[order], np.searchsorted(every, owner[order]), every
