"""VTK's legacy files, .vtk, as text or binary, of all versions and all five kinds of data sets, by a parser of ours.

No more is read than the file has: sizes in it are compared with what is there before memory is taken.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, entry, integer, numbers
from raffia.data.readers.meshes.cells import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Cells
from raffia.data.readers.meshes.content import Content, Fields, Lattice, cells_of, check_fields, lines_of
from raffia.data.readers.variable import MOST

TYPES = {
    "unsigned_char": "u1", "char": "i1", "signed_char": "i1", "unsigned_short": "u2", "short": "i2", "unsigned_int": "u4",
    "int": "i4", "unsigned_long": "u8", "long": "i8", "float": "f4", "double": "f8", "vtkidtype": "i4", "vtktypeint8": "i1",
    "vtktypeint16": "i2", "vtktypeint32": "i4", "vtktypeint64": "i8", "vtktypeuint8": "u1", "vtktypeuint16": "u2",
    "vtktypeuint32": "u4", "vtktypeuint64": "u8",
}  # fmt: skip
POLYDATA = {"vertices": POLY_VERTEX, "lines": POLY_LINE, "polygons": POLYGON, "triangle_strips": STRIP}
COMPONENTS = {"scalars": 1, "vectors": 3, "normals": 3, "tensors": 9, "tensors6": 6, "global_ids": 1, "pedigree_ids": 1}


class _File:
    """The bytes of a file, read from the front: lines of words, and numbers as text or binary."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at, self.binary = content, 0, False

    def line(self) -> str:
        end = self.content.find(b"\n", self.at)
        end = len(self.content) if end < 0 else end
        text, self.at = self.content[self.at : end], end + 1
        return text.decode("utf-8", "replace")

    def words(self) -> list[str] | None:
        """The next line that is not empty, with empty words behind those that are there; None at the end."""
        while self.at < len(self.content):
            if words := self.line().split():
                return [*words, "", "", ""]
        return None

    def begins(self, word: str) -> list[str] | None:
        """The words of the next line, if it begins with this one; else that line is the next one still."""
        before, words = self.at, self.words() or [""]
        if words[0].upper() == word:
            return words
        self.at = before
        return None

    def pass_paragraph(self) -> None:
        """Go on behind the next empty line."""
        while self.at < len(self.content) and self.line().strip():
            pass

    def numbers(self, kind: str, count: int, many: int = 1) -> np.ndarray:
        """Read `count` rows of `many` numbers of the VTK type `kind`, such as "double"."""
        damaged_if(count < 0 or many < 1, f"{count} rows of {many} numbers are claimed")
        dtype, size, start = np.dtype(entry(TYPES, kind.lower(), "type of numbers")), count * many, self.at
        if self.binary:
            self.at += dtype.itemsize * size
            damaged_if(self.at > len(self.content), f"{size} numbers are claimed, and {len(self.content) - start} bytes follow")
            values = np.frombuffer(self.content, dtype.newbyteorder(">"), size, start)
        else:
            there = 0
            while there < size and self.at < len(self.content):
                there += len(self.line().split())
            damaged_if(there != size, f"{size} numbers are claimed, and {there} words follow")
            values = numbers(self.content[start : self.at].decode("ascii", "replace"), dtype)
        return values.reshape(count, many) if many > 1 else values


GEOMETRY: dict[str, Callable[[_File, list[str]], object]] = {
    "dataset": lambda _, words: words[1].lower(),
    "dimensions": lambda _, words: tuple(integer(size) for size in words[1:4]),
    **dict.fromkeys(("origin", "spacing", "aspect_ratio"), lambda _, words: numbers(" ".join(words[1:4]))),
    **{f"{axis}_coordinates": lambda file, words: file.numbers(words[2], integer(words[1])) for axis in "xyz"},
    "points": lambda file, words: file.numbers(words[2], integer(words[1]), 3),
    "cell_types": lambda file, words: file.numbers("int", integer(words[1])),
}
"""What each section says of a grid or a mesh, by its name."""


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    file = _File(path.read_bytes())
    damaged_if(not file.line().lower().startswith("# vtk datafile"), "it does not begin with '# vtk DataFile Version'")
    file.line()
    file.binary = entry({"ascii": False, "binary": True}, file.line().strip().lower(), "encoding")
    parts: dict[str, Any] = {}
    cells: list[tuple[str, np.ndarray, np.ndarray]] = []
    data: dict[str, Fields] = {"point_data": {}, "cell_data": {}, "": {}}
    where, count = "", 0
    while (words := file.words()) is not None:
        word = words[0].lower()
        if word in data:
            where, count = word, integer(words[1])
        elif word == "metadata":
            file.pass_paragraph()
        elif word == "lookup_table":
            file.numbers("unsigned_char" if file.binary else "float", 4 * integer(words[2]))
        elif word == "cells" or word in POLYDATA:
            cells.append((word, *_cells(file, integer(words[1]), integer(words[2]))))
        elif word in GEOMETRY:
            parts[word.replace("aspect_ratio", "spacing")] = GEOMETRY[word](file, words)
        elif word == "field":
            data[where].update(_arrays(file, integer(words[2])))
        else:
            many = entry(COMPONENTS, word, "section")
            if word == "scalars":
                many = integer(words[3] or "1")
                file.begins("LOOKUP_TABLE")
            data[where][unquote(words[1])] = file.numbers(words[2], count, many)
        damaged_if(len(data[where]) > MOST, f"it has more than {MOST} fields")
    return _whole(parts, cells, data["point_data"], data["cell_data"])


def _whole(parts: dict[str, Any], lists: list[tuple[str, np.ndarray, np.ndarray]], *fields: Fields) -> Content | Lattice:
    """Return the grid or mesh that these sections of a file describe, with its fields."""
    kind, shape, points = parts.get("dataset", "not named"), parts.get("dimensions", ()), parts.get("points")
    if kind == "structured_points":
        check_fields(shape, *fields)
        return Lattice(lines_of(parts.get("origin"), parts.get("spacing"), [(0, size - 1) for size in shape]), *fields)
    if kind == "rectilinear_grid":
        return Lattice(tuple(entry(parts, f"{name}_coordinates", "list of coordinates") for name in "xyz"), *fields)
    known = kind in ("structured_grid", "unstructured_grid", "polydata")
    damaged_if(not known, f"its data set is {kind or 'not named'}, which is none of VTK's grids and meshes")
    if points is None:
        raise Damaged("it has no points")
    if kind == "structured_grid":
        wrong = len(shape) != 3 or min(shape) < 1 or math.prod(shape) != len(points)
        damaged_if(wrong, f"it has {len(points)} points and dimensions {shape}")
        return Content(points, cells_of(shape), *fields)
    lists.sort(key=lambda cells: [*POLYDATA, "cells"].index(cells[0]))  # as VTK counts values in cells
    kinds = [
        np.full(len(ends), POLYDATA[word]) if word in POLYDATA else parts.get("cell_types", ends[:0]) for word, ends, _ in lists
    ]
    return Content(points, Cells.joined(Cells.of(every, *two) for every, (_, *two) in zip(kinds, lists, strict=True)), *fields)


def _cells(file: _File, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each cell ends in the list of nodes of all, and that list, as version 5 writes them or as those before did."""
    if words := file.begins("OFFSETS"):
        ends = file.numbers(words[1], count)[1:]
        if (words := file.begins("CONNECTIVITY")) is None:
            raise Damaged("its cells have no nodes")
        return ends, file.numbers(words[1], size)
    mixed = file.numbers("int", size).astype(np.int64)
    sizes, starts, at = mixed.tolist(), list[int](), 0
    while at < size and sizes[at] >= 0:
        starts.append(at)
        at += sizes[at] + 1
    damaged_if(at != size or len(starts) != count, "its cells do not add up")
    return np.cumsum(mixed[starts]), np.delete(mixed, starts)


def _arrays(file: _File, count: int) -> Fields:
    """The arrays of a field section."""
    arrays: Fields = {}
    for _ in range(count):
        while file.begins("METADATA"):
            file.pass_paragraph()
        name, many, rows, kind = (file.words() or [""] * 4)[:4]
        damaged_if(not name, f"it ends before {count} arrays are there")
        arrays[unquote(name)] = file.numbers(kind, integer(rows), integer(many))
    return arrays
