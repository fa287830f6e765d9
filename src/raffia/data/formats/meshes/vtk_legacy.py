"""VTK's legacy files, .vtk, as text or binary, of all versions and all five kinds of data sets, by a parser of ours.

No more is read than the file has: sizes in it are compared with what is there before memory is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from raffia.data.formats.meshes.content import Content, Fields, Pieces
from raffia.data.formats.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Block, blocks_of
from raffia.data.formats.meshes.structured import Lattice, cells_of, check_fields, line_of
from raffia.data.formats.variable import MOST

TYPES = {
    "unsigned_char": "u1", "char": "i1", "signed_char": "i1", "unsigned_short": "u2", "short": "i2", "unsigned_int": "u4",
    "int": "i4", "unsigned_long": "u8", "long": "i8", "float": "f4", "double": "f8", "vtkidtype": "i4", "vtktypeint8": "i1",
    "vtktypeint16": "i2", "vtktypeint32": "i4", "vtktypeint64": "i8", "vtktypeuint8": "u1", "vtktypeuint16": "u2",
    "vtktypeuint32": "u4", "vtktypeuint64": "u8",
}  # fmt: skip
POLYDATA = {"vertices": POLY_VERTEX, "lines": POLY_LINE, "polygons": POLYGON, "triangle_strips": STRIP}
COMPONENTS = {"vectors": 3, "normals": 3, "tensors": 9, "tensors6": 6, "global_ids": 1, "pedigree_ids": 1}


def parse(path: Path) -> Pieces:
    """The arrays of a file."""
    return content(path).pieces()


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    file = _File(path.read_bytes())
    if not file.line().lower().startswith("# vtk datafile"):
        raise ValueError("it does not begin with '# vtk DataFile Version'")
    file.line()
    file.binary = {"ascii": False, "binary": True}[file.line().strip().lower()]
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
        """The next line that is not empty; None at the end."""
        while self.at < len(self.content):
            if words := self.line().split():
                return words
        return None

    def pass_text(self) -> None:
        """Go on behind a text: a line, or as many bytes as the numbers before it say, whose first two bits are the size of that."""
        if not self.binary:
            self.line()
            return
        size = 8 >> (self.content[self.at] >> 6)
        length = int.from_bytes(self.content[self.at : self.at + size], "big") & ((1 << (8 * size - 2)) - 1)
        self.at += size + length

    def numbers(self, kind: str, count: int) -> np.ndarray:
        """So many numbers of a type."""
        if kind == "bit":
            return np.unpackbits(self._bytes("u1", -(-count // 8)))[:count] if self.binary else self._text("u1", count)
        dtype = TYPES[kind]
        return self._bytes(dtype, count) if self.binary else self._text(dtype, count)

    def _bytes(self, dtype: str, count: int) -> np.ndarray:
        size = np.dtype(dtype).itemsize * count
        if count < 0 or self.at + size > len(self.content):
            raise ValueError(f"{count} numbers are said to follow, and {len(self.content) - self.at} bytes do")
        values = np.frombuffer(self.content, np.dtype(dtype).newbyteorder(">"), count, self.at)
        self.at += size
        return values

    def _text(self, dtype: str, count: int) -> np.ndarray:
        start, there = self.at, 0
        while there < count and self.at < len(self.content):
            there += len(self.line().split())
        if there != count:
            raise ValueError(f"{count} numbers are said to follow, and {there} words do")
        whole = np.float64 if dtype[0] == "f" else np.int64
        values = np.fromstring(self.content[start : self.at].decode("ascii"), whole, sep=" ") if there else np.empty(0, whole)
        if len(values) != count:
            raise ValueError("a section holds more than numbers")
        return values.astype(dtype)


@dataclass
class _DataSet:
    """What has been read of a data set, a section at a time."""

    kind: str = ""
    points: np.ndarray | None = None
    cells: list[tuple[str, np.ndarray, np.ndarray]] = field(default_factory=list)
    types: np.ndarray | None = None
    told: dict[str, list[float]] = field(default_factory=dict)
    axes: dict[str, np.ndarray] = field(default_factory=dict)
    data: dict[str, Fields] = field(default_factory=lambda: {"point_data": {}, "cell_data": {}, "": {}})
    active: tuple[str, int] = ("", 0)

    def take(self, file: _File, words: list[str]) -> None:
        """The section that begins with these words."""
        word = words[0].lower()
        if word in ("dimensions", "origin", "spacing", "aspect_ratio"):
            self.told[word] = [float(number) for number in words[1:4]]
        elif word in ("x_coordinates", "y_coordinates", "z_coordinates"):
            self.axes[word[0]] = file.numbers(words[2].lower(), int(words[1]))
        elif word == "dataset":
            self.kind = words[1].lower()
        elif word == "points":
            self.points = file.numbers(words[2].lower(), 3 * int(words[1])).reshape(-1, 3)
        elif word == "cells" or word in POLYDATA:
            self.cells.append((word, *_cells(file, int(words[1]), int(words[2]))))
        elif word == "cell_types":
            self.types = file.numbers("int", int(words[1]))
        elif word in ("point_data", "cell_data"):
            self.active = word, int(words[1])
        elif word == "metadata":
            while file.at < len(file.content) and file.line().strip():
                pass
        elif word == "lookup_table":
            file.numbers("unsigned_char" if file.binary else "float", 4 * int(words[2]))
        else:
            self._field(file, word, words)

    def _field(self, file: _File, word: str, words: list[str]) -> None:
        name, (where, count) = unquote(words[1]), self.active
        keep = self.data[where]
        if len(keep) > MOST:
            raise ValueError(f"it has more than {MOST} fields")
        if word == "field":
            keep.update(_arrays(file, int(words[2])))
        elif word == "scalars":
            many = int(words[3]) if len(words) > 3 else 1
            before = file.at
            if not file.line().lower().startswith("lookup_table"):
                file.at = before
            keep[name] = file.numbers(words[2].lower(), many * count).reshape(count, many)
        elif word == "color_scalars":
            keep[name] = file.numbers("unsigned_char" if file.binary else "float", int(words[2]) * count).reshape(count, -1)
        elif word == "texture_coordinates":
            keep[name] = file.numbers(words[3].lower(), int(words[2]) * count).reshape(count, int(words[2]))
        elif word in COMPONENTS:
            many = COMPONENTS[word]
            keep[name] = file.numbers(words[2].lower(), many * count).reshape(count, many)
        else:
            raise ValueError(f"its section {words[0][:20]} is not known")

    def whole(self) -> Content | Lattice:
        """All of it."""
        readers: dict[str, Callable[[], Content | Lattice]] = {
            "structured_points": self._image, "rectilinear_grid": self._rectilinear, "structured_grid": self._structured,
            "unstructured_grid": self._mesh, "polydata": self._mesh,
        }  # fmt: skip
        if self.kind not in readers:
            raise ValueError(f"its data set is {self.kind or 'not said'}, not one of {', '.join(readers)}")
        return readers[self.kind]()

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(int(size) for size in self.told["dimensions"])

    def _image(self) -> Content | Lattice:
        check_fields(self._shape, self.data["point_data"], self.data["cell_data"])
        steps = zip(self.told["origin"], self.told.get("spacing") or self.told["aspect_ratio"], self._shape, strict=True)
        axes = tuple(line_of(origin, step, 0, size - 1) for origin, step, size in steps)
        return Lattice(axes, self.data["point_data"], self.data["cell_data"])

    def _rectilinear(self) -> Content | Lattice:
        return Lattice(tuple(self.axes[name] for name in "xyz"), self.data["point_data"], self.data["cell_data"])

    def _structured(self) -> Content | Lattice:
        points, shape = self._points, self._shape
        if min(shape) < 1 or np.prod(shape, dtype=object) != len(points):
            raise ValueError(f"it has {len(points)} points and dimensions {shape}")
        return Content(points, cells_of(shape), self.data["point_data"], self.data["cell_data"])

    @property
    def _points(self) -> np.ndarray:
        if self.points is None:
            raise ValueError("it has no points")
        return self.points

    def _mesh(self) -> Content | Lattice:
        blocks: list[Block] = []
        for word, ends, nodes in sorted(self.cells, key=lambda some: [*POLYDATA, "cells"].index(some[0])):
            kinds = np.full(len(ends), POLYDATA[word]) if word in POLYDATA else self.types
            if kinds is None:
                raise ValueError("it has no types of cells")
            before = sum(len(block.numbers) for block in blocks)
            blocks += [Block(block.vtk, block.corners, block.numbers + before) for block in blocks_of(kinds, ends, nodes)]
        return Content(self._points, tuple(blocks), self.data["point_data"], self.data["cell_data"])


def _cells(file: _File, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each cell ends in the list of nodes of all, and that list, as version 5 writes them or as those before did."""
    before = file.at
    words = file.words() or [""]
    if words[0].upper() == "OFFSETS":
        ends = file.numbers(words[1].lower(), count)[1:]
        words = file.words() or [""]
        if words[0].upper() != "CONNECTIVITY":
            raise ValueError("its cells have no nodes")
        return ends, file.numbers(words[1].lower(), size)
    file.at = before
    mixed = file.numbers("int", size).astype(np.int64)
    starts = np.empty(count, np.int64) if count <= size else np.empty(0, np.int64)
    at = 0
    sizes = mixed.tolist()
    for cell in range(count):
        if at >= size or sizes[at] < 0:
            raise ValueError("its cells do not add up")
        starts[cell] = at
        at += sizes[at] + 1
    if at != size:
        raise ValueError("its cells do not add up")
    inner = np.ones(size, dtype=bool)
    inner[starts] = False
    return np.cumsum(mixed[starts]), mixed[inner]


def _arrays(file: _File, count: int) -> Fields:
    """The arrays of a field section; texts in it are passed over."""
    found: Fields = {}
    for _ in range(count):
        words = file.words()
        while words and words[0] == "METADATA":
            while file.at < len(file.content) and file.line().strip():
                pass
            words = file.words()
        if not words:
            raise ValueError(f"it ends before {count} arrays are there")
        name, many, rows, kind = unquote(words[0]), int(words[1]), int(words[2]), words[3].lower()
        if kind == "string":
            for _ in range(many * rows):
                if file.at >= len(file.content):
                    raise ValueError(f"it ends before {many * rows} texts are there")
                file.pass_text()
        else:
            found[name] = file.numbers(kind, many * rows).reshape(rows, many)
    return found
