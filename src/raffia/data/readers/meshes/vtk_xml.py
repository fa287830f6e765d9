"""VTK's XML files: .vtu, .vtp, .vti, .vtr and .vts, files of pieces (.pvtu and the like), blocks (.vtm), and series of times (.pvd).

Arrays are text, base64, or raw bytes after the elements, packed by zlib, LZMA or LZ4, or not. Pieces and blocks lie in files of their
own, in the folder of the file that names them or below it. No other file is read.
"""

import base64
import lzma
import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, entry, guarded, integer, naming, numbers, tree
from raffia.data.readers.meshes.cells import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Cells
from raffia.data.readers.meshes.content import (
    LEFT_OUT,
    Content,
    Fields,
    Lattice,
    cells_of,
    check_fields,
    joined,
    lines_of,
    sizes_of,
    unlike,
)
from raffia.data.readers.variable import MOST, Variable, check_count, file_beside, optional, reread, stack, unpackable
from raffia.errors import RaffiaError

TYPES = {f"{sign}Int{8 * size}": f"{sign.lower() or 'i'}{size}" for sign in ("", "U") for size in (1, 2, 4, 8)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
ZLIB, LZMA, LZ4 = "vtkZLibDataCompressor", "vtkLZMADataCompressor", "vtkLZ4DataCompressor"
POLYDATA = {"Verts": POLY_VERTEX, "Lines": POLY_LINE, "Polys": POLYGON, "Strips": STRIP}
ORDERS: dict[str, Literal["<", ">"]] = {"LittleEndian": "<", "BigEndian": ">"}
COLLECTION = "Collection"
IMAGE = {"Origin": "", "Spacing": "", "Direction": "1 0 0 0 1 0 0 0 1"}
"""What places an image in space, and what it is if it is not given."""


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    file = _File(path)
    damaged_if(file.kind == COLLECTION, "it has times, as a .pvd file does")
    if file.kind in NAMING:
        parts = [_part(part) for part in file.names()]
    else:
        parts = [KINDS[file.kind](_Piece(element, file)) for element in file.body.findall("Piece")]
    damaged_if(not parts, "it has no pieces")
    whole, extent = joined(parts), file.body.get("WholeExtent")
    if len(parts) > 1 and type(parts[0]) is Lattice and extent:
        filled = type(whole) is Lattice and whole.shape == tuple(last - first + 1 for first, last in _spans(extent))
        damaged_if(not filled, f"its pieces leave out points of {extent!r:.40}")
    return whole


def named_files(path: Path) -> list[Path]:
    """The files that a file of pieces or blocks names, in their order."""
    return _File(path).names()


def _part(path: Path) -> Content | Lattice:
    """The mesh or the grid of a file that another one names."""
    with naming(path):
        return content(path)


def series(path: Path) -> dict[str, Variable]:
    """The arrays of ParaView's series, .pvd: nodes and cells of the first time, times, and each field (times, points)."""
    file = _File(path)
    files = file.names()
    listed = numbers(" ".join(element.get("timestep", "") for element in file.body.findall("DataSet")))
    damaged_if(file.kind != COLLECTION or len(listed) != len(files), "its data sets have no times")
    times = np.unique(listed)
    steps = [tuple(part for at, part in zip(listed, files, strict=True) if at == time) for time in times]
    arrays = {name: replace(v, path=path, beside=tuple(files)) for name, v in reread(_state, *steps[0]).items()}
    if len(steps) == 1:
        return arrays
    for name, v in arrays.items():
        if v.dims is not None and v.dims[0] == "sample":
            load = partial(stack, partial(_at_time, steps, name), len(steps), v.shape[1:], v.dtype)
            arrays[name] = replace(v, shape=(len(steps), *v.shape[1:]), dims=("time", *v.dims[1:]), load=load, block=1)
    name = unlike("time", arrays)
    return arrays | {name: Variable.of_array(path, name, times, ("time",), beside=tuple(files))}


def _state(*files: Path) -> dict[str, Variable]:
    """The arrays of the files of one time."""
    return joined([_part(file) for file in files]).variables(files[0])


def _at_time(steps: list[tuple[Path, ...]], name: str, index: int) -> np.ndarray:
    """A field at one time, whose mesh must be that of the first."""
    first, state = (reread(_state, *step) for step in (steps[0], steps[index]))
    fixed = [key for key, v in first.items() if v.dims is not None and v.dims[0] != "sample"]
    same = all(key in state and np.array_equal(state[key].read(), first[key].read()) for key in fixed)
    if not same or name not in state or state[name].shape != first[name].shape:
        raise RaffiaError(f"the mesh or {name} changes in {steps[index][0].name}. Pass the files instead, as in 'runs/*.vtu'.")
    return state[name].read()[0]


class _File:
    """What a file holds (`kind`), the element with it (`body`), and its arrays; `left` is how many more bytes may be unpacked."""

    def __init__(self, path: Path) -> None:
        text, self.appended = path.read_bytes(), b""
        if found := re.search(rb"<AppendedData[^>]*>", text):
            start = text.find(b"_", found.end())
            damaged_if(start < 0, "its appended data do not begin")
            text, self.appended = text[: found.end()] + b"</AppendedData></VTKFile>", text[start + 1 :]
        root = tree(path, text)
        self.path, self.kind, body = path, root.get("type", ""), root.find(root.get("type") or "*")
        if root.tag != "VTKFile" or self.kind not in (*KINDS, *NAMING, COLLECTION):
            raise Damaged(f"it is of type {self.kind[:40]}, not one of {', '.join(KINDS)}")
        if body is None or len(arrays := root.findall(".//DataArray")) > MOST:
            raise Damaged(f"it holds no {self.kind}, or more than {MOST} arrays")
        self.body = body
        self.order = entry(ORDERS, root.get("byte_order", "LittleEndian"), "order of bytes")
        self.compressor = root.get("compressor") or None
        if self.compressor not in (None, ZLIB, LZMA, LZ4):
            raise RaffiaError(
                f"it is packed by {self.compressor}; raffia unpacks zlib, LZMA and LZ4. Write it with one of them."
            )
        self.header = np.dtype(self.order + entry(TYPES, root.get("header_type", "UInt32"), "type of headers"))
        damaged_if(self.header.kind == "f", "its headers are no integers")
        part = root.find("AppendedData")
        self.encoded = part is not None and part.get("encoding", "base64") == "base64"
        if self.encoded:
            self.appended = b"".join(self.appended.partition(b"<")[0].split())
        self.starts = sorted(integer(array.get("offset")) for array in arrays if array.get("offset") is not None)
        self.left = unpackable(path.stat().st_size)

    def names(self) -> list[Path]:
        """The files that it names."""
        attribute = "Source" if self.kind in NAMING[:-1] else "file"
        names = [str(element.get(attribute)) for element in self.body.iter() if element.get(attribute) is not None]
        check_count(self.path, len(names))
        files = [file_beside(self.path, name) for name in names]
        if self.kind != COLLECTION and (len(set(files)) < len(files) or any(file.suffix.lower() == ".vtm" for file in files)):
            raise RaffiaError(f"{self.path} names a file twice, or other files of blocks. Write all its blocks into one.")
        damaged_if(not files, "it names no files")
        return files

    def read(self, array: Element, rows: int) -> np.ndarray:
        """The values (rows, components) of an array."""
        many, name, how = integer(array.get("NumberOfComponents") or "1"), array.get("Name"), array.get("format", "ascii")
        dtype = np.dtype(entry(TYPES, array.get("type"), "type of an array")).newbyteorder(self.order)
        count = rows * many
        damaged_if(rows < 0 or many < 1, f"{name} claims {rows} times {many} values")
        if how == "ascii":
            values = numbers(array.text or "", dtype)
        else:
            values = np.frombuffer(self._unpacked(self._stored(array, how), count * dtype.itemsize), dtype)
        damaged_if(len(values) != count, f"{name} has {len(values)} values, not {count}")
        return values.reshape(rows, many)

    def _stored(self, array: Element, how: str) -> bytes:
        """The bytes of an array as they are stored: sizes, and values."""
        if how == "binary":
            stored = "".join((array.text or "").split()).encode("ascii", "replace")
        else:
            damaged_if(how != "appended", f"{array.get('Name')} has the format {how[:20]}")
            start = integer(array.get("offset"))
            damaged_if(not 0 <= start <= len(self.appended), f"{array.get('Name')} begins behind the end")
            stored = self.appended[start : next((other for other in self.starts if other > start), None)]
        if how == "binary" or self.encoded:
            with guarded(self.path):  # sizes may be encoded alone, or with the values
                return b"".join(base64.b64decode(part) for part in re.findall(rb"[^=]+=*", stored))
        return stored

    def _unpacked(self, stored: bytes, size: int) -> bytes:
        """Values of this size in bytes: as they are, or from blocks that are packed each for itself; their sizes stand before them."""
        (first,), at = self._integers(stored, 1), self.header.itemsize
        if self.compressor is None:
            damaged_if(first != size or len(stored) < at + size, f"{first} bytes are there, not {size}")
            return stored[at : at + size]
        damaged_if(not 0 <= first <= len(stored), f"{first} blocks are claimed, and {len(stored)} bytes are there")
        self.left -= size
        if self.left < 0:
            raise RaffiaError("it unpacks to many more values than it has bytes. Write it without a compressor.")
        _, whole, last, *lengths = self._integers(stored, 3 + first)
        sizes = [whole] * (first - 1) + [last or whole] * (first > 0)
        wrong = min([0, *lengths, *sizes]) < 0 or sum(sizes) != size
        damaged_if(wrong, f"its blocks unpack to {sum(sizes)} bytes, not to {size}")
        content, at = [], (3 + first) * at
        for length, most in zip(lengths, sizes, strict=True):
            with guarded(self.path):
                content.append(_inflated(str(self.compressor), stored[at : at + length], most))
            at += length
            damaged_if(len(content[-1]) != most, "a block unpacks to more or fewer bytes than it should")
        return b"".join(content)

    def _integers(self, stored: bytes, count: int) -> list[int]:
        damaged_if(len(stored) < count * self.header.itemsize, "an array has no header")
        return np.frombuffer(stored, self.header, count).tolist()


def _inflated(compressor: str, block: bytes, size: int) -> bytes:
    """A block that should have so many bytes; no more than one more is unpacked."""
    if compressor == LZ4:
        return optional("lz4.block", "VTK's LZ4", "lz4").decompress(block, uncompressed_size=size)
    packing = zlib.decompressobj() if compressor == ZLIB else lzma.LZMADecompressor(memlimit=2**27)
    return packing.decompress(block, size + 1)


@dataclass(frozen=True)
class _Piece:
    """A part of a mesh or a grid, and the file that it is in."""

    element: Element
    file: _File

    def count(self, what: str) -> int:
        """How many points or cells it says it has."""
        return integer(self.element.get(f"NumberOf{what}") or "0")

    def fields(self, points: int, cells: int) -> list[Fields]:
        """Values at its points and in its cells; of texts there are none."""
        sections = (
            (self.element.findall(f"{tag}/DataArray"), count) for tag, count in (("PointData", points), ("CellData", cells))
        )
        return [
            {array.get("Name", ""): self.file.read(array, count) for array in arrays if array.get("type") in TYPES}
            for arrays, count in sections
        ]

    def points(self, count: int) -> np.ndarray:
        """The coordinates of its points."""
        if (array := self.element.find("Points/DataArray")) is None:
            raise Damaged("it has no points")
        return self.file.read(array, count)

    def cells(self, tag: str, count: int, kind: int | None = None) -> Cells:
        """The cells in an element, of one kind or of any."""
        if not count:
            return Cells.joined([])
        arrays = {array.get("Name", "").lower(): array for array in self.element.findall(f"{tag}/DataArray")}
        missing = {"connectivity", "offsets", "types"} - {*arrays} - ({"types"} if kind else set())
        damaged_if(missing, f"its cells have no {' and no '.join(sorted(missing))}")
        ends = self.file.read(arrays["offsets"], count).reshape(-1)
        kinds = np.full(count, kind) if kind else self.file.read(arrays["types"], count).reshape(-1)
        return Cells.of(kinds, ends, self.file.read(arrays["connectivity"], int(ends[-1])).reshape(-1))

    def grid(self) -> tuple[list[tuple[int, int]], tuple[int, ...], list[Fields]]:
        """First and last point of a grid along each axis, its shape, and values at its points and in its cells."""
        spans = _spans(self.element.get("Extent"))
        shape = tuple(last - first + 1 for first, last in spans)
        fields = self.fields(*(math.prod(sizes_of(shape, less)) for less in LEFT_OUT))
        return spans, shape, fields


def _spans(extent: str | None) -> list[tuple[int, int]]:
    ends = numbers(extent or "", int).tolist()
    spans = list(zip(ends[::2], ends[1::2], strict=False))
    damaged_if(len(ends) != 6 or any(last < first for first, last in spans), f"its extent is {extent!r:.40}")
    return spans


def _unstructured(piece: _Piece) -> Content:
    points, cells = piece.count("Points"), piece.count("Cells")
    return Content(piece.points(points), piece.cells("Cells", cells), *piece.fields(points, cells))


def _polydata(piece: _Piece) -> Content:
    points, cells = piece.count("Points"), [piece.cells(tag, piece.count(tag), kind) for tag, kind in POLYDATA.items()]
    return Content(piece.points(points), Cells.joined(cells), *piece.fields(points, sum(map(len, cells))))


def _structured(piece: _Piece) -> Content:
    _, shape, fields = piece.grid()
    return Content(piece.points(math.prod(shape)), cells_of(shape), *fields)


def _image(piece: _Piece) -> Lattice:
    spans, shape, fields = piece.grid()
    check_fields(shape, *fields)
    origin, spacing, direction = (numbers(piece.file.body.get(name, start)) for name, start in IMAGE.items())
    return Lattice(lines_of(origin, spacing, spans, direction), *fields)


def _rectilinear(piece: _Piece) -> Lattice:
    _, shape, fields = piece.grid()
    lines = piece.element.findall("Coordinates/DataArray")
    damaged_if(len(lines) != 3, "its grid has no coordinates")
    return Lattice(tuple(piece.file.read(line, size).reshape(-1) for line, size in zip(lines, shape, strict=True)), *fields)


KINDS: dict[str, Callable[[_Piece], Content | Lattice]] = {
    "UnstructuredGrid": _unstructured,
    "PolyData": _polydata,
    "StructuredGrid": _structured,
    "ImageData": _image,
    "RectilinearGrid": _rectilinear,
}
NAMING = (*(f"P{kind}" for kind in KINDS), "vtkMultiBlockDataSet")
"""Files that name pieces or blocks in other files."""
