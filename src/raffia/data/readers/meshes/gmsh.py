"""Gmsh's files, .msh, of version 2.2 as text and of 4.1 as text or binary, with the fields of their views, by a parser of ours."""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

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

    def count(self) -> int:
        """One number, of how many entries follow."""
        return int(self.take("u8", 1)[0])


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file."""
    content = path.read_bytes()
    sections = list(_sections(content))
    damaged_if(not sections or sections[0][0] != "MeshFormat", "it does not begin with $MeshFormat")
    version, mode, size, *_ = (*sections[0][1].decode("ascii", "replace").split(None, 3), "", "", "")
    binary, parsers = mode == "1", VERSIONS.get(version)
    if parsers is None or size != "8" or (binary and version != "4.1"):
        kind = "binary" if binary else "text"
        raise RaffiaError(
            f"it is {kind} of Gmsh's version {version[:8]}; raffia reads 2.2 as text, and 4.1. Save it with -format msh41."
        )
    nodes, elements = None, list[Elements]()
    views: dict[str, list[View]] = {"NodeData": [], "ElementData": []}
    for name, body in sections[1:]:
        if name == "Nodes":
            nodes = parsers[0](_Numbers(body, binary))
        elif name == "Elements":  # Gmsh writes the whole mesh again with each view that it appends to a file
            elements = list(parsers[1](_Numbers(body, binary)))
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


def _nodes2(section: _Numbers) -> Rows:
    rows = section.take("f8", section.count(), 4)
    return rows[:, 0].astype(np.int64), rows[:, 1:]


def _nodes4(section: _Numbers) -> Rows:
    labels, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for _ in range(int(section.take("u8", 4)[0])):
        dim, _, parametric = section.take("i4", 3).tolist()
        count = section.count()
        labels.append(section.take("u8", count).astype(np.int64))
        points.append(section.take("f8", count, 3 + (max(0, dim) if parametric else 0))[:, :3])
    return np.concatenate(labels), np.concatenate(points)


def _size(kind: int) -> int:
    if kind not in KINDS:
        raise RaffiaError(f"elements of Gmsh's type {kind} are not read: write the mesh with elements of order one or two.")
    return VTK_KINDS[KINDS[kind]].size


def _elements2(section: _Numbers) -> Iterator[Elements]:
    """Types of elements, with the labels and nodes of each, which says how many tags it has before its nodes."""
    count, at = section.count(), 1
    words: list[int] = section.words.astype(np.int64).tolist()
    parts: dict[int, list[list[int]]] = {}
    for _ in range(count):
        label, kind, tags, *_ = *words[at : at + 3], 0, 0, -1
        start = at + 3 + tags
        damaged_if(tags < 0 or start > len(words), "its elements do not add up")
        at = start + _size(kind)
        damaged_if(at > len(words), "its elements do not add up")
        parts.setdefault(kind, []).append([label, *words[start:at]])
    for kind, some in parts.items():
        rows = np.array(some, np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


def _elements4(section: _Numbers) -> Iterator[Elements]:
    """The same of version 4.1, where elements of a type are together."""
    for _ in range(int(section.take("u8", 4)[0])):
        kind = int(section.take("i4", 3)[2])
        rows = section.take("u8", section.count(), 1 + _size(kind)).astype(np.int64)
        yield kind, rows[:, 0], rows[:, 1:]


VERSIONS: dict[str, tuple[Callable[[_Numbers], Rows], Callable[[_Numbers], Iterator[Elements]]]] = {
    **dict.fromkeys(("2", "2.2"), (_nodes2, _elements2)),
    "4.1": (_nodes4, _elements4),
}
"""How nodes and elements are read, by the version of the format."""


def _view(body: bytes, binary: bool) -> View:
    """A field at a time; its texts, reals and integers stand before the values, each after how many there are."""
    tags = []
    for _ in range(3):
        first, _, body = body.partition(b"\n")
        damaged_if(not 0 <= (count := integer(first)) <= MOST, f"a view has {count} tags")
        *lines, body = body.split(b"\n", count)
        tags.append([line.strip() for line in lines])
    texts, reals, (_, many, count, *_) = tags[0], tags[1], [*map(integer, tags[2]), 0, 0, 0]
    name = texts[0].strip(b'"').decode("utf-8", "replace") if texts else ""
    time = numbers(reals[0].decode("ascii", "replace")) if reals else np.zeros(1)
    damaged_if(not 1 <= many <= max(1, len(body)) or len(time) != 1, f"a view claims {count} times {many} values")
    section = _Numbers(body, binary)
    if binary:
        rows = section.take(f"i4, ({many},)<f8", count)
        return name, float(time[0]), (rows["f0"].astype(np.int64), rows["f1"].reshape(count, many).copy())
    rows = section.take("f8", count, 1 + many)
    return name, float(time[0]), (rows[:, 0].astype(np.int64), rows[:, 1:])


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
