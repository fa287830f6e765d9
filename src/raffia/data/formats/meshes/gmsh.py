"""Gmsh's files, .msh, of versions 2.2 and 4.1, as text or binary, with the fields of their views, by a parser of ours."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from raffia.data.formats.meshes.content import Geometry, Piece, Pieces, free_name, unlike
from raffia.data.formats.meshes.kinds import KINDS as VTK_KINDS
from raffia.data.formats.meshes.kinds import Block
from raffia.data.formats.variable import LOOKED_AT, MOST
from raffia.errors import RaffiaError

KINDS = {1: 3, 2: 5, 3: 9, 4: 10, 5: 12, 6: 13, 7: 14, 8: 21, 9: 22, 10: 28, 11: 24, 15: 1, 16: 23}
"""VTK's numbers of Gmsh's elements."""
TETRA10 = 11
SWAPPED = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]  # Gmsh has two nodes of it in another order than VTK

Rows = tuple[np.ndarray, np.ndarray]
"""Labels, and a row of values for each."""


@dataclass
class _Mesh:
    """Nodes and elements by their labels, and views: a field's name, its time, and values by labels."""

    nodes: Rows | None = None
    elements: list[tuple[int, np.ndarray, np.ndarray]] = field(default_factory=list)
    views: dict[str, list[tuple[str, float, Rows]]] = field(default_factory=lambda: {"NodeData": [], "ElementData": []})


class _Numbers:
    """Numbers of a section, one after the other: words of a text, or bytes."""

    def __init__(self, body: bytes, binary: bool) -> None:
        self.body, self.binary, self.at = body, binary, 0
        if not binary:
            text = body.decode("ascii")
            self.words = np.fromstring(text, np.float64, sep=" ") if text.strip() else np.empty(0)
            if len(self.words) != len(text.split()):
                raise ValueError("a section holds more than numbers")

    def take(self, kind: str, *shape: int) -> np.ndarray:
        """Numbers of a type in rows: "i4", "u8" or "f8", or several, as "i4,f8" for a row of a whole number and others."""
        count = int(np.prod(shape, dtype=object))
        size = np.dtype(kind).itemsize if self.binary else 1
        left = (len(self.body) if self.binary else len(self.words)) - self.at
        if count < 0 or count * size > left:
            raise ValueError(f"{count} numbers are said to follow, and there are fewer")
        start, self.at = self.at, self.at + count * size
        words = np.frombuffer(self.body, f"<{kind}", count, start) if self.binary else self.words[start : self.at].astype(kind)
        return words.reshape(shape)

    def __bool__(self) -> bool:
        return self.at < (len(self.body) if self.binary else len(self.words))


def parse(path: Path) -> Pieces:
    """The arrays of a file."""
    content = path.read_bytes()
    sections = list(_sections(content))
    if not sections or sections[0][0] != "MeshFormat":
        raise ValueError("it does not begin with $MeshFormat")
    version, mode, size = sections[0][1].split(None, 3)[:3]
    if version not in (b"2.2", b"2", b"4.1") or int(size) != 8:
        raise RaffiaError(
            f"{path} is of Gmsh's version {version.decode()[:8]}; raffia reads 2.2 and 4.1. Save it with -format msh41."
        )
    mesh, binary = _Mesh(), mode == b"1"
    for name, body in sections[1:]:
        if name == "Nodes":
            mesh.nodes = (_nodes4 if version == b"4.1" else _nodes2)(body, binary)
        elif name == "Elements":
            mesh.elements += (_elements4 if version == b"4.1" else _elements2)(body, binary)
        elif name in mesh.views:
            mesh.views[name].append(_view(body, binary))
    return _pieces(mesh, max(LOOKED_AT, len(content)))


def _sections(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Names of sections and what is between $Name and $EndName."""
    at = count = 0
    while found := re.compile(rb"^\$(\w+)[ \t\r]*\n", re.MULTILINE).search(content, at):
        if count >= MOST:
            raise ValueError(f"it has more than {MOST} sections")
        end = content.find(b"$End" + found[1], found.end())
        if end < 0:
            raise ValueError(f"its section {found[1].decode()[:20]} does not end")
        yield found[1].decode(), content[found.end() : end]
        at, count = end + 4 + len(found[1]), count + 1


def _first_line(body: bytes) -> tuple[int, bytes]:
    line, _, rest = body.partition(b"\n")
    return int(line), rest


def _nodes2(body: bytes, binary: bool) -> Rows:
    count, rest = _first_line(body)
    numbers = _Numbers(rest, binary)
    if binary:
        rows = np.frombuffer(rest, np.dtype("<i4, (3,)<f8"), count)
        return rows["f0"].astype(np.int64), rows["f1"].copy()
    rows = numbers.take("f8", count, 4)
    return rows[:, 0].astype(np.int64), rows[:, 1:]


def _nodes4(body: bytes, binary: bool) -> Rows:
    numbers = _Numbers(body, binary)
    labels, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for _ in range(int(numbers.take("u8", 4)[0])):
        dim, _, parametric = numbers.take("i4", 3).tolist()
        count = int(numbers.take("u8", 1)[0])
        labels.append(numbers.take("u8", count).astype(np.int64))
        points.append(numbers.take("f8", count, 3 + (dim if parametric else 0))[:, :3])
    return np.concatenate(labels), np.concatenate(points)


def _size(kind: int) -> int:
    if kind not in KINDS:
        raise RaffiaError(f"elements of Gmsh's type {kind} are not read: write the mesh with elements of order one or two.")
    return VTK_KINDS[KINDS[kind]].size


def _elements4(body: bytes, binary: bool) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Types of elements, with the labels and nodes of each."""
    numbers = _Numbers(body, binary)
    for _ in range(int(numbers.take("u8", 4)[0])):
        kind = int(numbers.take("i4", 3)[2])
        rows = numbers.take("u8", int(numbers.take("u8", 1)[0]), 1 + _size(kind)).astype(np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _elements2(body: bytes, binary: bool) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The same of version 2.2, where each element, or in binary files each group, says how many tags it has."""
    count, rest = _first_line(body)
    numbers, read = _Numbers(rest, binary), 0
    found: dict[int, list[np.ndarray]] = {}
    if not binary:
        yield from _listed(numbers.words.astype(np.int64).tolist(), count)
    while binary and read < count:
        kind, many, tags = numbers.take("i4", 3).tolist()
        rows = numbers.take("i4", many, 1 + tags + _size(kind))
        if many < 1 or tags < 0:
            raise ValueError("its elements do not add up")
        found.setdefault(kind, []).append(np.delete(rows, slice(1, 1 + tags), axis=1))
        read += many
    for kind, parts in found.items():
        rows = np.concatenate(parts).astype(np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _listed(words: list[int], count: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Elements one after the other: a label, a type, how many tags, the tags, and nodes."""
    found: dict[int, list[list[int]]] = {}
    at = 0
    for _ in range(count):
        label, kind, tags = words[at : at + 3]
        start = at + 3 + max(0, tags)
        at = start + _size(kind)
        found.setdefault(kind, []).append([label, *words[start:at]])
    for kind, parts in found.items():
        rows = np.array(parts, np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _view(body: bytes, binary: bool) -> tuple[str, float, Rows]:
    """The name of a field, its time, and its values by labels of nodes or elements."""
    tags = []
    for _ in range(3):
        count, body = _first_line(body)
        if not 0 <= count <= MOST:
            raise ValueError(f"a view has {count} tags")
        *lines, body = body.split(b"\n", count)
        tags.append([line.strip() for line in lines])
    texts, reals, (_, many, count, *_) = tags[0], tags[1], [int(tag) for tag in tags[2]]
    name = texts[0].strip(b'"').decode("utf-8", "replace") if texts else ""
    time = float(reals[0]) if reals else 0.0
    if binary:
        if many < 1 or count < 0 or count * (4 + 8 * many) > len(body):
            raise ValueError(f"a view claims {count} times {many} values")
        rows = np.frombuffer(body, np.dtype(f"<i4, ({many},)<f8"), count)
        return name, time, (rows["f0"].astype(np.int64), rows["f1"].reshape(count, many).copy())
    values = _Numbers(body, False).take("f8", count, 1 + many)
    return name, time, (values[:, 0].astype(np.int64), values[:, 1:])


def _pieces(mesh: _Mesh, most: int) -> Pieces:
    """The arrays of a mesh, of so many values at most. Values that a view leaves out are missing; views of one name are times."""
    if mesh.nodes is None:
        raise ValueError("it has no nodes")
    labels, points = mesh.nodes
    order = labels.argsort(kind="stable")
    blocks, names, before = [], [np.empty(0, np.int64)], 0
    for kind, elements, nodes in mesh.elements:
        corners = _places(labels[order], order, nodes)
        corners = corners[:, SWAPPED] if kind == TETRA10 else corners
        blocks.append(Block(KINDS[kind], corners, before + np.arange(len(elements))))
        names.append(elements)
        before += len(elements)
    geometry = Geometry.of(points, tuple(blocks))
    names_of_fields = {name for views in mesh.views.values() for name, _, _ in views}
    pieces = geometry.pieces(names_of_fields, bool(mesh.views["ElementData"]))
    elements = np.concatenate(names)
    for section, known, kept, dim in (
        ("NodeData", labels, geometry.kept, "point"),
        ("ElementData", elements, geometry.cells, "cell"),
    ):
        sorting = known.argsort(kind="stable")
        fields: dict[str, list[tuple[float, np.ndarray]]] = {}
        for name, time, (rows, values) in mesh.views[section]:
            most -= len(known) * values.shape[1]
            if most < 0:
                raise ValueError("its views leave out most of their values")
            array = np.full((len(known), values.shape[1]), np.nan)
            array[_places(known[sorting], sorting, rows)] = values
            fields.setdefault(name, []).append((time, array[kept]))
        for name, steps in fields.items():
            whole = np.stack([array for _, array in sorted(steps, key=lambda step: step[0])])
            whole = whole[..., 0] if whole.shape[-1] == 1 else whole
            dims = ("time" if len(steps) > 1 else "sample", dim, "component")[: whole.ndim]
            pieces[free_name(name, pieces)] = Piece(whole, dims, geometry.attributes(names_of_fields, dim == "cell"))
            if len(steps) > 1 and (time_name := unlike("time", names_of_fields)) not in pieces:
                pieces[time_name] = Piece(np.array(sorted(time for time, _ in steps)), ("time",), {})
    return pieces


def _places(known: np.ndarray, order: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The numbers of things that have these labels; `known` are all labels, in order."""
    place = np.searchsorted(known, labels)
    if labels.size and (place.max() >= len(known) or (known[place] != labels).any()):
        raise ValueError("it names nodes or elements that are not there")
    return order[place]
