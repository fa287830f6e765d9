"""Fields of several files on one mesh: meshes that are equal are told to be, and fields on others are brought to a common one.

`together` takes the variables of each file, and gives them as they are on the common mesh, one sample a file: fields (points,) or
(points, components), the nodes and cells of all files being those of the first, or of a `Target`. `onto` does so for one file, whose
samples stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import torch
from scipy.spatial import Delaunay, cKDTree

from raffia.data.formats.meshes.content import CELLS, NODES, PART, WEIGHTS
from raffia.data.formats.variable import Rows, Variable
from raffia.errors import RaffiaError
from raffia.spaces.simplices import Between, between, spread

CLOSE = 1e-9  # of the size of a mesh: nodes that near are the same

Head = dict[str, Variable]
"""The variables of a file, by name."""


@dataclass(frozen=True, eq=False)
class Target:
    """A mesh to bring fields to: nodes, and cells or weights."""

    nodes: np.ndarray
    cells: np.ndarray | None = None
    weights: np.ndarray | None = None

    def thinned(self, count: int) -> "Target":
        """So many of the nodes, each as far from those before as can be; they share the weights of the others, by the nearest."""
        if not 2 <= count <= len(self.nodes):
            raise RaffiaError(f"a mesh of {len(self.nodes)} nodes can be thinned to 2 to {len(self.nodes)}; got {count}.")
        chosen, far = [0], np.linalg.norm(self.nodes - self.nodes[0], axis=1)
        while len(chosen) < count:
            chosen.append(int(far.argmax()))
            far = np.minimum(far, np.linalg.norm(self.nodes - self.nodes[chosen[-1]], axis=1))
        weights = self.weights
        if weights is None and self.cells is not None:
            weights = spread(torch.from_numpy(self.nodes), torch.from_numpy(self.cells)).numpy()
        kept = self.nodes[np.sort(chosen)]
        near = cKDTree(kept).query(self.nodes)[1]
        return Target(kept, None, None if weights is None else np.bincount(near, weights, count))

    def equals(self, other: "Target") -> bool:
        """Whether nodes are equal but for rounding, and cells equal."""
        if self.nodes.shape != other.nodes.shape or (self.cells is None) != (other.cells is None):
            return False
        near = np.abs(self.nodes - other.nodes).max() <= CLOSE * np.ptp(self.nodes, axis=0).max()
        return bool(near) and (self.cells is None or np.array_equal(self.cells, np.asarray(other.cells)))


def mesh_of(head: Head, field: str) -> Target | None:
    """The mesh that a field of a file is given on; None where it is on a grid, or no field."""
    parts = _parts(head, field)
    if NODES not in parts:
        return None
    arrays = [parts[key].glance() if key in parts else None for key in (NODES, CELLS, WEIGHTS)]
    return Target(np.asarray(arrays[0]), arrays[1], arrays[2])


def together(heads: Sequence[Head], target: Target | None = None) -> tuple[list[Head], list[str]]:
    """The variables of files of a sample each, all on the mesh of the first file, or on `target`; and what to say of it.

    Fields whose meshes have the same nodes in another order are put into that of the first. On other meshes they are interpolated
    linearly within their cells, and where there are none take the value of the nearest node; those in cells that of the nearest cell.
    """
    found: list[Head] = [dict(head) for head in heads]
    groups: dict[str, list[str]] = {}
    for name in heads[0]:
        if NODES in (parts := _parts(heads[0], name)):
            groups.setdefault(parts[NODES].name, []).append(name)
    notes = []
    for names in groups.values():
        in_cells = WEIGHTS in _parts(heads[0], names[0])
        notes += _brought(heads, found, names, None if in_cells else target)  # a target is for values at nodes
    return [{name: _one_sample(v) for name, v in head.items()} for head in found], notes


def onto(head: Head, fields: Sequence[str], target: Target) -> tuple[Head, list[str]]:
    """The variables of one file, or of a folder, with these fields on a given mesh, as that of a model; and what to say of it."""
    on_mesh = [name for name in fields if NODES in _parts(head, name)]
    found = dict(head)
    return found, _brought([head], [found], on_mesh, target) if on_mesh else []


def _parts(head: Head, field: str) -> Head:
    """The variables of nodes, cells and weights that a field names, by the attributes that name them."""
    told = head[field].attributes if field in head else {}
    parts = {key: head[told[key]] for key in (NODES, CELLS, WEIGHTS) if str(told.get(key)) in head}
    return {key: part for key, part in parts.items() if part.attributes.get(PART) is True}


def _brought(heads: Sequence[Head], found: list[Head], names: list[str], target: Target | None) -> list[str]:
    """Bring fields that share their nodes to one mesh, in `found`; notes."""
    first = _parts(heads[0], names[0])
    common = mesh_of(heads[0], names[0])
    assert common is not None
    if target is not None:
        common, first = target, _held(first, target)
    places = {key: part.name for key, part in first.items()}
    different: list[str] = []
    for head, mine in zip(heads, found, strict=True):
        own = mesh_of(head, names[0])
        if own is None:
            continue  # the file lacks the field, and the reader of folders says so
        for part in _parts(head, names[0]).values():
            mine.pop(part.name, None)
        mine |= {part.name: part for part in first.values()}
        way = None if own.equals(common) else _Way(head, names[0], common.nodes)
        if way is not None:
            different.append(_said(head[names[0]], own, common, way))
        for name in names:
            if name in head:
                mine[name] = _placed(head[name], places, way)
    return _summary(different, heads[0][names[0]].path.name if target is None else None, len(heads))


def _held(first: Head, target: Target) -> Head:
    """Variables of a target, by the attributes that fields name them by, with names as in the file."""
    arrays = {NODES: ("points", target.nodes), CELLS: ("cells", target.cells), WEIGHTS: ("weights", target.weights)}
    made = {}
    for key, (usual, array) in arrays.items():
        if array is not None:
            name, load = first[key].name if key in first else usual, partial(_rows, array)
            made[key] = Variable(
                name, array.shape, array.dtype.str, None, {PART: True}, first[NODES].path, load, block=len(array)
            )
    return made


@dataclass(frozen=True, eq=False)
class _Way:
    """From the mesh of a file, which is read when it is needed, to other nodes."""

    head: Head
    field: str
    nodes: np.ndarray


@lru_cache(maxsize=8)
def _shares(way: _Way) -> Between:
    """The nodes of a file that each of the others takes its value from: itself where they are the same, else several with shares."""
    own = mesh_of(way.head, way.field)
    assert own is not None
    if own.nodes.shape[1] != way.nodes.shape[1]:
        raise RaffiaError(
            f"{way.head[way.field].path}: its nodes have {own.nodes.shape[1]} coordinates that vary, those of the common mesh "
            f"{way.nodes.shape[1]}. Give files of one dimension."
        )
    distance, nearest = cKDTree(own.nodes).query(way.nodes)
    same = len(own.nodes) == len(way.nodes) == len(np.unique(nearest))
    if own.weights is not None or (same and distance.max() <= CLOSE * np.ptp(way.nodes, axis=0).max()):
        return Between(nearest[:, None], np.ones((len(nearest), 1)), np.empty(0, np.int64))
    cells = Delaunay(own.nodes).simplices if own.cells is None else own.cells
    return between(own.nodes, cells.astype(np.int64), way.nodes)


def _placed(field: Variable, places: dict[str, str], way: _Way | None) -> Variable:
    """A field (samples, points[, components]) on the common nodes."""
    told = {key: value for key, value in field.attributes.items() if key not in (NODES, CELLS, WEIGHTS)} | places
    if way is None:
        return replace(field, attributes=told)
    shape = (field.shape[0], len(way.nodes), *field.shape[2:])
    dtype = np.result_type(np.dtype(field.dtype), np.float32).str
    return replace(field, shape=shape, dtype=dtype, attributes=told, load=partial(_carried, field, way, dtype))


def _carried(field: Variable, way: _Way, dtype: str, rows: Rows) -> np.ndarray:
    values = _shares(way)(np.moveaxis(field.read(rows), 1, -1))
    return np.moveaxis(values, -1, 1).astype(dtype)


def _said(field: Variable, own: Target, common: Target, way: _Way) -> str:
    """How the fields of a file are brought to the common mesh."""
    shares = _shares(way)
    if own.weights is not None:
        return f"{field.path.name} has {len(own.nodes)} cells, of which the nearest are taken."
    if shares.nodes.shape[1] == 1:
        return f"{field.path.name} has the same nodes in another order, and is put into that."
    outside = len(shares.outside)
    lost = f"; {outside} of them lie in no cell, and take the value of the nearest node" if outside else ""
    return f"{field.path.name} has {len(own.nodes)} nodes, and is interpolated linearly to {len(common.nodes)}{lost}."


def _summary(different: list[str], first: str | None, count: int) -> list[str]:
    if not different:
        return []
    if count == 1:
        return [f"its mesh is not the one that is wanted: {different[0]}"]
    whose = "the one that is wanted" if first is None else f"that of {first}"
    others = "" if len(different) == 1 else " So it is with the others."
    return [f"the meshes of {len(different)} of {count} files are not {whose}: {different[0]}{others}"]


def _one_sample(v: Variable) -> Variable:
    """A variable of one sample, without the axis that counts samples."""
    if v.dims is None or v.dims[0] != "sample" or v.shape[0] != 1:
        return v
    return replace(v, shape=v.shape[1:], dims=v.dims[1:], load=partial(_inner, v), block=v.shape[1])


def _inner(v: Variable, rows: Rows) -> np.ndarray:
    values = v.read()[0]
    return values if rows is None else values[rows]


def _rows(array: np.ndarray, rows: Rows) -> np.ndarray:
    return array.copy() if rows is None else array[rows].copy()
