"""VTK's legacy files, .vtk, as text or binary, of all versions and all five kinds of data sets, by a parser of ours.

No more is read than the file has: sizes in it are compared with what is there before memory is taken.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, entry, floats, integer, integers
from raffia.data.readers.meshes.content import Content, Fields
from raffia.data.readers.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Block, blocks_of
from raffia.data.readers.meshes.structured import Lattice, cells_of, check_fields, lines_of
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
    dataset = _DataSet()
    while (words := file.words()) is not None:
        dataset.take(file, words)
    return dataset.whole()


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
        damaged_if(count < 0 or many < 1, f"{count} rows of {many} numbers are said to follow")
        kind, size = kind.lower(), count * many
        if kind == "bit":
            values = np.unpackbits(self._bytes("u1", -(-size // 8)))[:size] if self.binary else self._text("u1", size)
        else:
            dtype = entry(TYPES, kind, "type of numbers")
            values = self._bytes(dtype, size) if self.binary else self._text(dtype, size)
        return values.reshape(count, many) if many > 1 else values

    def _bytes(self, dtype: str, count: int) -> np.ndarray:
        size = np.dtype(dtype).itemsize * count
        if self.at + size > len(self.content):
            raise Damaged(f"{count} numbers are said to follow, and {len(self.content) - self.at} bytes do")
        values = np.frombuffer(self.content, np.dtype(dtype).newbyteorder(">"), count, self.at)
        self.at += size
        return values

    def _text(self, dtype: str, count: int) -> np.ndarray:
        start, there = self.at, 0
        while there < count and self.at < len(self.content):
            there += len(self.line().split())
        damaged_if(there != count, f"{count} numbers are said to follow, and {there} words do")
        text = self.content[start : self.at].decode("ascii", "replace")
        return (floats(text) if dtype[0] == "f" else integers(text)).astype(dtype)


@dataclass
class _DataSet:
    """What has been read of a data set, a section at a time."""

    kind: str = ""
    points: np.ndarray | None = None
    cells: list[tuple[str, np.ndarray, np.ndarray]] = field(default_factory=list)
    types: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    steps: dict[str, np.ndarray] = field(default_factory=dict)
    axes: dict[str, np.ndarray] = field(default_factory=dict)
    data: dict[str, Fields] = field(default_factory=lambda: {"point_data": {}, "cell_data": {}, "": {}})
    active: tuple[str, int] = ("", 0)

    def take(self, file: _File, words: list[str]) -> None:
        """The section that begins with these words."""
        word = words[0].lower()
        if word == "dimensions":
            self.shape = tuple(integer(size) for size in words[1:4])
        elif word in ("origin", "spacing", "aspect_ratio"):
            self.steps[word.replace("aspect_ratio", "spacing")] = floats(" ".join(words[1:4]))
        elif word in ("x_coordinates", "y_coordinates", "z_coordinates"):
            self.axes[word[0]] = file.numbers(words[2], integer(words[1]))
        elif word == "dataset":
            self.kind = words[1].lower()
        elif word == "points":
            self.points = file.numbers(words[2], integer(words[1]), 3)
        elif word == "cells" or word in POLYDATA:
            self.cells.append((word, *_cells(file, integer(words[1]), integer(words[2]))))
        elif word == "cell_types":
            self.types = file.numbers("int", integer(words[1]))
        elif word in ("point_data", "cell_data"):
            self.active = word, integer(words[1])
        elif word == "metadata":
            file.pass_paragraph()
        elif word == "lookup_table":
            file.numbers("unsigned_char" if file.binary else "float", 4 * integer(words[2]))
        else:
            self._field(file, word, words)

    def _field(self, file: _File, word: str, words: list[str]) -> None:
        name, (where, count) = unquote(words[1]), self.active
        keep = self.data[where]
        damaged_if(len(keep) > MOST, f"it has more than {MOST} fields")
        if word == "field":
            keep.update(_arrays(file, integer(words[2])))
        elif word == "scalars":
            before = file.at
            if not file.line().lower().startswith("lookup_table"):
                file.at = before
            keep[name] = file.numbers(words[2], count, integer(words[3] or "1"))
        elif word == "color_scalars":
            keep[name] = file.numbers("unsigned_char" if file.binary else "float", count, integer(words[2]))
        elif word == "texture_coordinates":
            keep[name] = file.numbers(words[3], count, integer(words[2]))
        elif word in COMPONENTS:
            keep[name] = file.numbers(words[2], count, COMPONENTS[word])
        else:
            raise Damaged(f"its section {words[0][:20]} is not known")

    def whole(self) -> Content | Lattice:
        """All of it."""
        fields = self.data["point_data"], self.data["cell_data"]
        if self.kind == "structured_points":
            check_fields(self.shape, *fields)
            spans = [(0, size - 1) for size in self.shape]
            return Lattice(lines_of(self.steps.get("origin"), self.steps.get("spacing"), spans), *fields)
        if self.kind == "rectilinear_grid":
            return Lattice(tuple(entry(self.axes, name, "list of coordinates") for name in "xyz"), *fields)
        if self.kind not in ("structured_grid", "unstructured_grid", "polydata"):
            raise Damaged(f"its data set is {self.kind or 'not named'}, which is none of VTK's grids and meshes")
        if self.points is None:
            raise Damaged("it has no points")
        if self.kind != "structured_grid":
            return Content(self.points, tuple(self._blocks()), *fields)
        if len(self.shape) != 3 or min(self.shape) < 1 or math.prod(self.shape) != len(self.points):
            raise Damaged(f"it has {len(self.points)} points and dimensions {self.shape}")
        return Content(self.points, cells_of(self.shape), *fields)

    def _blocks(self) -> list[Block]:
        blocks, before = list[Block](), 0
        for word, ends, nodes in sorted(self.cells, key=lambda some: [*POLYDATA, "cells"].index(some[0])):
            kinds = np.full(len(ends), POLYDATA[word]) if word in POLYDATA else self.types
            if kinds is None:
                raise Damaged("it has no types of cells")
            blocks += [block.moved(0, before) for block in blocks_of(kinds, ends, nodes)]
            before += len(ends)
        return blocks


def _cells(file: _File, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each cell ends in the list of nodes of all, and that list, as version 5 writes them or as those before did."""
    before = file.at
    words = file.words() or [""]
    if words[0].upper() == "OFFSETS":
        ends = file.numbers(words[1], count)[1:]
        words = file.words() or [""]
        damaged_if(words[0].upper() != "CONNECTIVITY", "its cells have no nodes")
        return ends, file.numbers(words[1], size)
    file.at = before
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
        while (words := file.words() or [""])[0] == "METADATA":
            file.pass_paragraph()
        damaged_if(not words[0], f"it ends before {count} arrays are there")
        name, many, rows, kind = unquote(words[0]), integer(words[1]), integer(words[2]), words[3]
        if kind.lower() == "string":
            for _ in range(many * rows):
                damaged_if(file.at >= len(file.content), f"it ends before {many * rows} texts are there")
                file.pass_text()
        else:
            found[name] = file.numbers(kind, rows, many)
    return found
