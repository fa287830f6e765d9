"""Gmsh's files, .msh, of versions 2.2 and 4.1, as text or binary, with the fields of their views, by a parser of ours."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, integer, numbers
from raffia.data.readers.meshes.cells import KINDS as VTK_KINDS
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content, described
from raffia.data.readers.variable import LOOKED_AT, MOST, Variable
from raffia.errors import RaffiaError

KINDS = {1: 3, 2: 5, 3: 9, 4: 10, 5: 12, 6: 13, 7: 14, 8: 21, 9: 22, 10: 28, 11: 24, 15: 1, 16: 23}
"""VTK's numbers of Gmsh's elements."""
TETRA10 = 11
SWAPPED = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]  # Gmsh has two nodes of it in another order than VTK

Rows = tuple[np.ndarray, np.ndarray]
"""Labels, and a row of values for each."""
Elements = tuple[int, np.ndarray, np.ndarray]
"""Gmsh's type of some elements, their labels, and the labels of their nodes."""
View = tuple[str, float, Rows]
"""The name of a field, its time, and its values by labels of nodes or elements."""


class _Numbers:
    """Numbers of a section, one after the other: words of a text, or bytes."""

    def __init__(self, body: bytes, binary: bool) -> None:
        self.body, self.binary, self.at = body, binary, 0
        self.words = np.empty(0) if binary else numbers(body.decode("ascii", "replace"))

    def take(self, kind: str, *shape: int) -> np.ndarray:
        """Numbers of a type in rows: "i4", "u8" or "f8", or several, as "i4,f8" for a row of a whole number and others."""
        count = int(np.prod(shape, dtype=object))
        size = np.dtype(kind).itemsize if self.binary else 1
        left = (len(self.body) if self.binary else len(self.words)) - self.at
        damaged_if(min(shape) < 0 or count * size > left, f"{count} numbers are claimed, and fewer follow")
        start, self.at = self.at, self.at + count * size
        words = np.frombuffer(self.body, f"<{kind}", count, start) if self.binary else self.words[start : self.at].astype(kind)
        return words.reshape(shape)

    def labelled(self, count: int, many: int) -> Rows:
        """So many labels, each with so many values behind it."""
        if self.binary:
            rows = self.take(f"i4, ({max(1, many)},)<f8", count)
            return rows["f0"].astype(np.int64), rows["f1"].reshape(count, -1).copy()
        rows = self.take("f8", count, 1 + many)
        return rows[:, 0].astype(np.int64), rows[:, 1:]


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file."""
    content = path.read_bytes()
    sections = list(_sections(content))
    damaged_if(not sections or sections[0][0] != "MeshFormat", "it does not begin with $MeshFormat")
    version, mode, size, *_ = (*sections[0][1].decode("ascii", "replace").split(None, 3), "", "", "")
    if version not in ("2.2", "2", "4.1") or size != "8":
        raise RaffiaError(f"it is of Gmsh's version {version[:8]}; raffia reads 2.2 and 4.1. Save it with -format msh41.")
    binary, nodes, elements = mode == "1", None, list[Elements]()
    views: dict[str, list[View]] = {"NodeData": [], "ElementData": []}
    for name, body in sections[1:]:
        if name == "Nodes":
            nodes = (_nodes4 if version == "4.1" else _nodes2)(body, binary)
        elif name == "Elements":  # Gmsh writes the whole mesh again with each view that it appends to a file
            elements = list((_elements4 if version == "4.1" else _elements2)(body, binary))
        elif name in views:
            views[name].append(_view(body, binary))
    if nodes is None:
        raise Damaged("it has no nodes")
    return _series(path, nodes, elements, views, max(LOOKED_AT, len(content)))


def _sections(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Names of sections and what is between $Name and $EndName."""
    at = count = 0
    while found := re.compile(rb"^\$(\w+)[ \t\r]*\n", re.MULTILINE).search(content, at):
        damaged_if(count >= MOST, f"it has more than {MOST} sections")
        end, name = content.find(b"$End" + found[1], found.end()), found[1].decode("ascii", "replace")
        damaged_if(end < 0, f"its section {name[:20]} does not end")
        yield name, content[found.end() : end]
        at, count = end + 4 + len(found[1]), count + 1


def _first_line(body: bytes) -> tuple[int, bytes]:
    line, _, rest = body.partition(b"\n")
    return integer(line), rest


def _nodes2(body: bytes, binary: bool) -> Rows:
    count, rest = _first_line(body)
    return _Numbers(rest, binary).labelled(count, 3)


def _nodes4(body: bytes, binary: bool) -> Rows:
    numbers = _Numbers(body, binary)
    labels, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for _ in range(int(numbers.take("u8", 4)[0])):
        dim, _, parametric = numbers.take("i4", 3).tolist()
        count = int(numbers.take("u8", 1)[0])
        labels.append(numbers.take("u8", count).astype(np.int64))
        points.append(numbers.take("f8", count, 3 + (max(0, dim) if parametric else 0))[:, :3])
    return np.concatenate(labels), np.concatenate(points)


def _size(kind: int) -> int:
    if kind not in KINDS:
        raise RaffiaError(f"elements of Gmsh's type {kind} are not read: write the mesh with elements of order one or two.")
    return VTK_KINDS[KINDS[kind]].size


def _elements4(body: bytes, binary: bool) -> Iterator[Elements]:
    """Types of elements, with the labels and nodes of each."""
    numbers = _Numbers(body, binary)
    for _ in range(int(numbers.take("u8", 4)[0])):
        kind = int(numbers.take("i4", 3)[2])
        rows = numbers.take("u8", int(numbers.take("u8", 1)[0]), 1 + _size(kind)).astype(np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _elements2(body: bytes, binary: bool) -> Iterator[Elements]:
    """The same of version 2.2, where each element, or in binary files each group, says how many tags it has."""
    count, rest = _first_line(body)
    numbers, at, read = _Numbers(rest, binary), 0, 0
    words = numbers.words.astype(np.int64).tolist()
    parts: dict[int, list[Any]] = {}
    while read < count:
        damaged_if(not binary and at + 3 > len(words), "its elements do not add up")
        kind, many, tags = numbers.take("i4", 3).tolist() if binary else (words[at + 1], 1, words[at + 2])
        damaged_if(many < 1 or tags < 0, "its elements do not add up")
        if binary:
            rows = numbers.take("i4", many, 1 + tags + _size(kind))
            parts.setdefault(kind, []).extend(np.delete(rows, slice(1, 1 + tags), axis=1))
        else:
            start, label = at + 3 + tags, words[at]
            at = start + _size(kind)
            parts.setdefault(kind, []).append([label, *words[start:at]])
        read += many
    damaged_if(at > len(words), "its elements do not add up")
    for kind, some in parts.items():
        rows = np.array(some, np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _view(body: bytes, binary: bool) -> View:
    """A field at a time; its texts, reals and integers stand before the values, each after how many there are."""
    tags = []
    for _ in range(3):
        count, body = _first_line(body)
        damaged_if(not 0 <= count <= MOST, f"a view has {count} tags")
        *lines, body = body.split(b"\n", count)
        tags.append([line.strip() for line in lines])
    texts, reals, (_, many, count, *_) = tags[0], tags[1], [*map(integer, tags[2]), 0, 0, 0]
    name = texts[0].strip(b'"').decode("utf-8", "replace") if texts else ""
    time = numbers(reals[0].decode("ascii", "replace")) if reals else np.zeros(1)
    damaged_if(not 1 <= many <= max(1, len(body)) or len(time) != 1, f"a view claims {count} times {many} values")
    return name, float(time[0]), _Numbers(body, binary).labelled(count, many)


class _Labels:
    """The labels of nodes or elements, in the order of the file."""

    def __init__(self, labels: np.ndarray) -> None:
        self.order = labels.argsort(kind="stable")
        self.known = labels[self.order]

    def places(self, labels: np.ndarray) -> np.ndarray:
        """The indices of those that have these labels."""
        place = np.searchsorted(self.known, labels)
        missing = labels.size and (place.max() >= len(self.known) or (self.known[place] != labels).any())
        damaged_if(missing, "it names nodes or elements that are not there")
        return self.order[place]


def _series(path: Path, nodes: Rows, elements: list[Elements], views: dict[str, list[View]], most: int) -> dict[str, Variable]:
    """A mesh and its fields, of so many values at most. Values that a view leaves out are missing; views of one name are times."""
    labels, cells, fields, times = _Labels(nodes[0]), list[Cells](), list[dict[str, Variable]](), None
    for kind, _, corners in elements:
        places = labels.places(corners)
        cells.append(Cells.alike(KINDS[kind], places[:, SWAPPED] if kind == TETRA10 else places))
    names = np.concatenate([np.empty(0, np.int64), *(element[1] for element in elements)])
    for section, known in (("NodeData", labels), ("ElementData", _Labels(names))):
        steps: dict[str, list[tuple[float, np.ndarray]]] = {}
        for name, time, (rows, values) in sorted(views[section], key=lambda view: view[1]):
            shape = len(known.order), values.shape[1]
            most -= math.prod(shape)
            if most < 0 or (name in steps and steps[name][0][1].shape != shape):
                raise Damaged("its views leave out most of their values, or have other shapes at other times")
            array = np.full(shape, np.nan)
            array[known.places(rows)] = values
            steps.setdefault(name, []).append((time, array))
        fields.append({name: Variable.of_array(path, name, np.stack([f for _, f in some])) for name, some in steps.items()})
        several = [np.array([time for time, _ in some]) for some in steps.values() if len(some) > 1]
        times = several[0] if several and times is None else times
    return described(path, Content(nodes[1], Cells.joined(cells)), fields, times)
