"""Fields of several files on one mesh: that of the first file. Fields on other meshes are interpolated to it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
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
        if NODES in (mesh := _mesh(heads[0], name)):
            groups.setdefault(mesh[NODES].name, []).append(name)
    notes = [note for names in groups.values() for note in _place(heads, placed, names)]
    return [{name: _one_sample(v) for name, v in head.items()} for head in placed], notes


def _mesh(head: Head, field: str) -> Head:
    """The variables of nodes, cells and weights that a field names, by the attributes that name them."""
    attributes = head[field].attributes if field in head else {}
    parts = {key: head[attributes[key]] for key in (NODES, CELLS, WEIGHTS) if str(attributes.get(key)) in head}
    return {key: part for key, part in parts.items() if part.attributes.get(PART) is True}


def _place(heads: Sequence[Head], placed: list[Head], names: list[str]) -> list[str]:
    """Put fields that share their nodes onto the mesh of the first file, in `placed`; notes."""
    first = _mesh(heads[0], names[0])
    nodes, cells = _values(first, NODES), _values(first, CELLS)
    size, different = CLOSE * np.ptp(nodes, axis=0).max(), list[Head]()
    for head, mine in zip(heads, placed, strict=True):
        mesh = _mesh(head, names[0])
        if NODES not in mesh:
            continue  # the file lacks the field, and the reader of folders says so
        for part in mesh.values():
            mine.pop(part.name, None)
        mine |= {part.name: part for part in first.values()}
        own, shapes = _values(mesh, NODES), (mesh[NODES].shape, nodes.shape)
        if shapes[0] == shapes[1] and np.abs(own - nodes).max() <= size and np.array_equal(_values(mesh, CELLS), cells):
            continue
        different.append(head)
        shares = lru_cache(maxsize=1)(lambda head=head: _shares(head, names[0], nodes))
        mine |= {name: _interpolated(head[name], len(nodes), shares) for name in names if name in head}
    if not different:
        return []
    path, others = heads[0][names[0]].path, "" if len(different) == 1 else " So it is with the others."
    start = f"the meshes of {len(different)} of {len(heads)} files are not that of {path.name}"
    return [f"{start}: {_note(different[0], names[0], nodes)}{others}"]


def _values(mesh: Head, part: str) -> np.ndarray:
    return mesh[part].glance() if part in mesh else np.empty(0)


def _shares(head: Head, field: str, nodes: np.ndarray) -> Between:
    """The nodes of a file that others take their values from: itself where they are the same, else several with shares."""
    mesh, path = _mesh(head, field), head[field].path
    own = mesh[NODES].glance()
    if own.shape[1] != nodes.shape[1]:
        raise RaffiaError(
            f"{path}: its nodes have {own.shape[1]} coordinates that vary, those of the common mesh {nodes.shape[1]}. "
            "Give files of one dimension."
        )
    distance, nearest = cKDTree(own).query(nodes)
    same = len(own) == len(nodes) == len(np.unique(nearest)) and distance.max() <= CLOSE * np.ptp(nodes, axis=0).max()
    if WEIGHTS in mesh or same:
        return Between(nearest[:, None], np.ones((len(nearest), 1)), np.empty(0, np.int64))
    cells = mesh[CELLS].glance() if CELLS in mesh else Delaunay(own).simplices
    return between(own, cells.astype(np.int64), nodes)


def _note(head: Head, field: str, nodes: np.ndarray) -> str:
    """How the fields of a file are brought to the common mesh."""
    mesh, shares, name = _mesh(head, field), _shares(head, field, nodes), head[field].path.name
    count, outside = mesh[NODES].shape[0], len(shares.outside)
    if WEIGHTS in mesh:
        return f"{name} has {count} cells, of which the nearest are taken."
    if shares.nodes.shape[1] == 1:
        return f"{name} has the same nodes in another order, and is put into that."
    lost = f"; {outside} of them lie in no cell, and take the value of the nearest node" if outside else ""
    return f"{name} has {count} nodes, and is interpolated linearly to {len(nodes)}{lost}."


def _interpolated(field: Variable, count: int, shares: Callable[[], Between]) -> Variable:
    """A field (samples, points[, components]) on so many common nodes."""
    dtype = np.result_type(np.dtype(field.dtype), np.float32).str

    def read(rows: Rows) -> np.ndarray:
        values = shares()(np.moveaxis(field.read(rows), 1, -1))
        return np.moveaxis(values, -1, 1)

    return replace(field, shape=(field.shape[0], count, *field.shape[2:]), dtype=dtype, load=read)


def _one_sample(v: Variable) -> Variable:
    """A variable of one sample, without the axis that counts samples."""
    if v.dims is None or v.dims[0] != "sample" or v.shape[0] != 1:
        return v
    return replace(v, shape=v.shape[1:], dims=v.dims[1:], load=lambda rows: rows_of(v.read()[0], rows), block=v.shape[1])
