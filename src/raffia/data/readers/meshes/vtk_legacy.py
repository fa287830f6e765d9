"""VTK's legacy files, .vtk, as text or binary, of all versions and all five kinds of data sets, by a parser of ours.

No more is read than the file has: sizes in it are compared with what is there before memory is taken.
"""

import math
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, entry, floats, integer, integers
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
COMPONENTS = {"vectors": 3, "normals": 3, "tensors": 9, "tensors6": 6, "global_ids": 1, "pedigree_ids": 1}


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    file = _File(path.read_bytes())
    damaged_if(not file.line().lower().startswith("# vtk datafile"), "it does not begin with '# vtk DataFile Version'")
    file.line()
    file.binary = entry({"ascii": False, "binary": True}, file.line().strip().lower(), "encoding")
    parts: dict[str, list] = {}
    data: dict[str, Fields] = {"point_data": {}, "cell_data": {}, "": {}}
    where, count = "", 0
    while (words := file.words()) is not None:
        word = words[0].lower()
        if word in ("point_data", "cell_data"):
            where, count = word, integer(words[1])
        elif word == "metadata":
            file.pass_paragraph()
        elif word == "lookup_table":
            file.numbers("unsigned_char" if file.binary else "float", 4 * integer(words[2]))
        elif (part := _part(file, word, words)) is not None:
            parts.setdefault(word.replace("aspect_ratio", "spacing"), []).append(part)
        else:
            data[where].update(_fields(file, word, words, count))
            damaged_if(len(data[where]) > MOST, f"it has more than {MOST} fields")
    return _whole(parts, data["point_data"], data["cell_data"])


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

    def pass_text(self) -> None:
        """Go on behind a text: a line, or as many bytes as the numbers before it say, whose first two bits are the size of that."""
        if not self.binary:
            self.line()
            return
        size = 8 >> (self.content[self.at : self.at + 1].ljust(1)[0] >> 6)
        length = int.from_bytes(self.content[self.at : self.at + size], "big") & ((1 << (8 * size - 2)) - 1)
        self.at += size + length

    def numbers(self, kind: str, count: int, many: int = 1) -> np.ndarray:
        """So many rows of numbers of a type."""
        damaged_if(count < 0 or many < 1, f"{count} rows of {many} numbers are claimed")
        bits, size, read = kind.lower() == "bit", count * many, self._bytes if self.binary else self._text
        dtype = np.dtype("u1" if bits else entry(TYPES, kind.lower(), "type of numbers"))
        values = np.unpackbits(read(dtype, -(-size // 8)))[:size] if bits and self.binary else read(dtype, size)
        return values.reshape(count, many) if many > 1 else values

    def _bytes(self, dtype: np.dtype, count: int) -> np.ndarray:
        start, self.at = self.at, self.at + dtype.itemsize * count
        damaged_if(self.at > len(self.content), f"{count} numbers are claimed, and {len(self.content) - start} bytes follow")
        return np.frombuffer(self.content, dtype.newbyteorder(">"), count, start)

    def _text(self, dtype: np.dtype, count: int) -> np.ndarray:
        start, there = self.at, 0
        while there < count and self.at < len(self.content):
            there += len(self.line().split())
        damaged_if(there != count, f"{count} numbers are claimed, and {there} words follow")
        text = self.content[start : self.at].decode("ascii", "replace")
        return (floats(text) if dtype.kind == "f" else integers(text)).astype(dtype)


def _part(file: _File, word: str, words: list[str]) -> object:
    """What a section of this name says of a grid or a mesh; None if it holds a field."""
    if word == "dataset":
        return words[1].lower()
    if word == "dimensions":
        return tuple(integer(size) for size in words[1:4])
    if word in ("origin", "spacing", "aspect_ratio"):
        return floats(" ".join(words[1:4]))
    if word in ("x_coordinates", "y_coordinates", "z_coordinates"):
        return file.numbers(words[2], integer(words[1]))
    if word == "points":
        return file.numbers(words[2], integer(words[1]), 3)
    if word == "cells" or word in POLYDATA:
        return _cells(file, integer(words[1]), integer(words[2]))
    return file.numbers("int", integer(words[1])) if word == "cell_types" else None


def _fields(file: _File, word: str, words: list[str], count: int) -> Fields:
    """The field in a section of this name, or the fields."""
    if word == "field":
        return _arrays(file, integer(words[2]))
    kind, many = words[2], COMPONENTS.get(word, 0)
    if word == "scalars":
        many = integer(words[3] or "1")
        file.begins("LOOKUP_TABLE")
    elif word == "color_scalars":
        kind, many = "unsigned_char" if file.binary else "float", integer(words[2])
    elif word == "texture_coordinates":
        kind, many = words[3], integer(words[2])
    elif not many:
        raise Damaged(f"its section {words[0][:20]} is not known")
    return {unquote(words[1]): file.numbers(kind, count, many)}


def _whole(parts: dict[str, list], *fields: Fields) -> Content | Lattice:
    """The data set of these sections."""
    last = {name: some[-1] for name, some in parts.items()}
    kind, shape, points = last.get("dataset", "not named"), last.get("dimensions", ()), last.get("points")
    if kind == "structured_points":
        check_fields(shape, *fields)
        return Lattice(lines_of(last.get("origin"), last.get("spacing"), [(0, size - 1) for size in shape]), *fields)
    if kind == "rectilinear_grid":
        return Lattice(tuple(entry(last, f"{name}_coordinates", "list of coordinates") for name in "xyz"), *fields)
    known = kind in ("structured_grid", "unstructured_grid", "polydata")
    damaged_if(not known, f"its data set is {kind or 'not named'}, which is none of VTK's grids and meshes")
    if points is None:
        raise Damaged("it has no points")
    if kind == "structured_grid":
        wrong = len(shape) != 3 or min(shape) < 1 or math.prod(shape) != len(points)
        damaged_if(wrong, f"it has {len(points)} points and dimensions {shape}")
        return Content(points, cells_of(shape), *fields)
    cells = [
        Cells.of(
            np.full(len(ends), POLYDATA[word]) if word in POLYDATA else entry(last, "cell_types", "type of cells"), ends, nodes
        )
        for word in (*POLYDATA, "cells")
        for ends, nodes in parts.get(word, ())
    ]
    return Content(points, Cells.joined(cells), *fields)


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
    inner = np.ones(size, dtype=bool)
    inner[starts] = False
    return np.cumsum(mixed[starts]), mixed[inner]


def _arrays(file: _File, count: int) -> Fields:
    """The arrays of a field section; texts in it are passed over."""
    found: Fields = {}
    for _ in range(count):
        while file.begins("METADATA"):
            file.pass_paragraph()
        name, many, rows, kind = (file.words() or [""] * 4)[:4]
        damaged_if(not name, f"it ends before {count} arrays are there")
        if kind.lower() != "string":
            found[unquote(name)] = file.numbers(kind, integer(rows), integer(many))
            continue
        for _ in range(integer(many) * integer(rows)):
            damaged_if(file.at >= len(file.content), f"it ends before {integer(many) * integer(rows)} texts are there")
            file.pass_text()
    return found
