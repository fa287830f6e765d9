"""Fields of several files on one mesh: that of the first file. Fields on other meshes are interpolated to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.spatial import Delaunay, cKDTree

from raffia.data.readers.meshes.content import CELLS, NODES, PART, WEIGHTS
from raffia.data.readers.variable import Rows, Variable, rows_of
from raffia.errors import RaffiaError
from raffia.spaces.simplices import Between, between

CLOSE = 1e-9  # of the size of a mesh: nodes that near are the same

Head = dict[str, Variable]
"""The variables of a file, by name."""


def together(heads: Sequence[Head]) -> tuple[list[Head], list[str]]:
    """The variables of files of a sample each, all on the mesh of the first file, and notes on what was done.

    Fields whose meshes have the same nodes in another order are put into that of the first. On other meshes they are interpolated
    linearly within their cells, and where there are none take the value of the nearest node; those in cells that of the nearest cell.
    """
    placed: list[Head] = [dict(head) for head in heads]
    groups: dict[str, list[str]] = {}
    for name in heads[0]:
        if NODES in (parts := _parts(heads[0], name)):
            groups.setdefault(parts[NODES].name, []).append(name)
    notes = [note for names in groups.values() for note in _place(heads, placed, names)]
    return [{name: _one_sample(v) for name, v in head.items()} for head in placed], notes


def _parts(head: Head, field: str) -> Head:
    """The variables of nodes, cells and weights that a field names, by the attributes that name them."""
    attributes = head[field].attributes if field in head else {}
    parts = {key: head[attributes[key]] for key in (NODES, CELLS, WEIGHTS) if str(attributes.get(key)) in head}
    return {key: part for key, part in parts.items() if part.attributes.get(PART) is True}


def _arrays(parts: Head) -> dict[str, np.ndarray]:
    return {key: part.glance() for key, part in parts.items()}


def _equal(mesh: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    """Whether nodes are equal but for rounding, and cells equal."""
    nodes, others = mesh[NODES], other[NODES]
    if nodes.shape != others.shape or not np.array_equal(mesh.get(CELLS, ()), other.get(CELLS, ())):
        return False
    return bool(np.abs(nodes - others).max() <= CLOSE * np.ptp(nodes, axis=0).max())


def _place(heads: Sequence[Head], placed: list[Head], names: list[str]) -> list[str]:
    """Put fields that share their nodes onto the mesh of the first file, in `placed`; notes."""
    first = _parts(heads[0], names[0])
    common, different = _arrays(first), list[str]()
    for head, mine in zip(heads, placed, strict=True):
        parts = _parts(head, names[0])
        if NODES not in parts:
            continue  # the file lacks the field, and the reader of folders says so
        for part in parts.values():
            mine.pop(part.name, None)
        mine |= {part.name: part for part in first.values()}
        way = None if _equal(_arrays(parts), common) else _Way(head, names[0], common[NODES])
        if way is not None:
            different.append(way.note)
        for name in names:
            if name in head:
                mine[name] = _on_nodes(head[name], {key: part.name for key, part in first.items()}, way)
    others = "" if len(different) == 1 else " So it is with the others."
    start = f"the meshes of {len(different)} of {len(heads)} files are not that of {heads[0][names[0]].path.name}"
    return [f"{start}: {different[0]}{others}"] if different else []


@dataclass(frozen=True, eq=False)
class _Way:
    """From the mesh of a file, which is read when it is needed, to other nodes."""

    head: Head
    field: str
    nodes: np.ndarray

    @lru_cache(maxsize=8)  # noqa: B019
    def shares(self) -> Between:
        """The nodes of the file that each of the others takes its value from: itself where they are the same, else several with shares."""
        own, path = _arrays(_parts(self.head, self.field)), self.head[self.field].path
        nodes = own[NODES]
        if nodes.shape[1] != self.nodes.shape[1]:
            raise RaffiaError(
                f"{path}: its nodes have {nodes.shape[1]} coordinates that vary, those of the common mesh {self.nodes.shape[1]}. "
                "Give files of one dimension."
            )
        distance, nearest = cKDTree(nodes).query(self.nodes)
        same = len(nodes) == len(self.nodes) == len(np.unique(nearest))
        if WEIGHTS in own or (same and distance.max() <= CLOSE * np.ptp(self.nodes, axis=0).max()):
            return Between(nearest[:, None], np.ones((len(nearest), 1)), np.empty(0, np.int64))
        cells = own[CELLS] if CELLS in own else Delaunay(nodes).simplices
        return between(nodes, cells.astype(np.int64), self.nodes)

    @property
    def note(self) -> str:
        """How the fields of the file are brought to the common mesh."""
        parts, shares, name = _parts(self.head, self.field), self.shares(), self.head[self.field].path.name
        count, outside = parts[NODES].shape[0], len(shares.outside)
        if WEIGHTS in parts:
            return f"{name} has {count} cells, of which the nearest are taken."
        if shares.nodes.shape[1] == 1:
            return f"{name} has the same nodes in another order, and is put into that."
        lost = f"; {outside} of them lie in no cell, and take the value of the nearest node" if outside else ""
        return f"{name} has {count} nodes, and is interpolated linearly to {len(self.nodes)}{lost}."


def _on_nodes(field: Variable, places: dict[str, str], way: _Way | None) -> Variable:
    """A field (samples, points[, components]) on the common nodes."""
    attributes = {key: value for key, value in field.attributes.items() if key not in (NODES, CELLS, WEIGHTS)} | places
    if way is None:
        return replace(field, attributes=attributes)
    dtype = np.result_type(np.dtype(field.dtype), np.float32).str

    def interpolated(rows: Rows) -> np.ndarray:
        values = way.shares()(np.moveaxis(field.read(rows), 1, -1))
        return np.moveaxis(values, -1, 1).astype(dtype)

    shape = (field.shape[0], len(way.nodes), *field.shape[2:])
    return replace(field, shape=shape, dtype=dtype, attributes=attributes, load=interpolated)


def _one_sample(v: Variable) -> Variable:
    """A variable of one sample, without the axis that counts samples."""
    if v.dims is None or v.dims[0] != "sample" or v.shape[0] != 1:
        return v
    return replace(v, shape=v.shape[1:], dims=v.dims[1:], load=lambda rows: rows_of(v.read()[0], rows), block=v.shape[1])
