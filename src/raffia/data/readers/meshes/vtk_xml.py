"""VTK's XML files: .vtu, .vtp, .vti, .vtr and .vts, files of pieces (.pvtu and the like), blocks (.vtm), and series of times (.pvd).

Pieces and blocks lie in files of their own, in the folder of the file that names them or below it. No other file is read.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, floats, integer, integers, naming, tree
from raffia.data.readers.meshes.content import Content, Fields, joined, unlike
from raffia.data.readers.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Block, blocks_of
from raffia.data.readers.meshes.structured import Lattice, assembled, cells_of, check_fields, lines_of
from raffia.data.readers.meshes.vtk_arrays import Arrays
from raffia.data.readers.variable import MOST, Variable, check_count, file_beside, stack, stamp
from raffia.errors import RaffiaError

POLYDATA = {"Verts": POLY_VERTEX, "Lines": POLY_LINE, "Polys": POLYGON, "Strips": STRIP}
MULTIBLOCK, COLLECTION = "vtkMultiBlockDataSet", "Collection"


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    kind, body, arrays = _opened(path)
    if kind == MULTIBLOCK:
        return joined([_part(file) for file in _files(path, kind, body)])
    pieces = [_Piece(element, arrays) for element in body.findall("Piece")]
    if whole := PARALLEL.get(kind):
        pieces = [piece for file in _files(path, kind, body) for piece in _pieces_of(file, whole)]
        kind = whole
    damaged_if(not pieces or kind == COLLECTION, "it has no pieces")
    return GRIDS[kind](body, pieces) if kind in GRIDS else joined([MESHES[kind](piece) for piece in pieces])


def _part(path: Path) -> Content | Lattice:
    """The mesh or the grid of a file that another one names."""
    with naming(path):
        return content(path)


def named_files(path: Path) -> list[Path]:
    """The files that a file of pieces or blocks names, in their order."""
    kind, body, _ = _opened(path)
    return _files(path, kind, body)


def _files(path: Path, kind: str, body: Element) -> list[Path]:
    attribute = "Source" if kind in PARALLEL else "file"
    names = [str(element.get(attribute)) for element in body.iter() if element.get(attribute) is not None]
    check_count(path, len(names))
    files = [file_beside(path, name) for name in names]
    if kind != COLLECTION and (len(set(files)) < len(files) or any(file.suffix.lower() == ".vtm" for file in files)):
        raise RaffiaError(f"{path} names a file twice, or other files of blocks. Write all its blocks into one.")
    damaged_if(not files, "it names no files")
    return files


def series(path: Path) -> dict[str, Variable]:
    """The arrays of ParaView's series, .pvd: nodes and cells of the first time, times, and each field (times, points)."""
    kind, body, _ = _opened(path)
    files = _files(path, kind, body)
    numbers = floats(" ".join(element.get("timestep", "") for element in body.findall("DataSet")))
    check_count(path, len(files))
    damaged_if(kind != COLLECTION or len(numbers) != len(files), "its data sets have no times")
    times = np.unique(numbers)
    steps = [tuple(file for at, file in zip(numbers, files, strict=True) if at == time) for time in times]
    arrays = {name: replace(v, path=path, beside=tuple(files)) for name, v in _state(steps[0], stamp(*steps[0])).items()}
    if len(steps) == 1:
        return arrays
    for name, v in arrays.items():
        if v.dims is not None and v.dims[0] == "sample":
            load = partial(stack, partial(_at_time, steps, name), len(steps), v.shape[1:], v.dtype)
            arrays[name] = replace(v, shape=(len(steps), *v.shape[1:]), dims=("time", *v.dims[1:]), load=load, block=1)
    name = unlike("time", arrays)
    return arrays | {name: Variable.of_array(name, times, ("time",), {}, path, beside=tuple(files))}


def _at_time(steps: list[tuple[Path, ...]], name: str, index: int) -> np.ndarray:
    """A field at one time, whose mesh must be that of the first."""
    first, state = (_state(step, stamp(*step)) for step in (steps[0], steps[index]))
    fixed = [key for key, v in first.items() if v.dims is not None and v.dims[0] != "sample"]
    same = all(key in state and np.array_equal(state[key].read(), first[key].read()) for key in fixed)
    if not same or name not in state or state[name].shape != first[name].shape:
        raise RaffiaError(f"its mesh changes with {steps[index][0].name}, or {name} does. Give the files, as in 'runs/*.vtu'.")
    return state[name].read()[0]


@lru_cache(maxsize=2)
def _state(files: tuple[Path, ...], stamps: tuple[int, ...]) -> dict[str, Variable]:
    """The arrays of the files of one time."""
    return joined([_part(file) for file in files]).variables(files[0])


@dataclass(frozen=True)
class _Piece:
    """A part of a mesh or a grid, and how the arrays of its file are written."""

    element: Element
    arrays: Arrays

    def count(self, attribute: str) -> int:
        """How many points or cells it says it has."""
        return integer(self.element.get(attribute) or "0")

    def fields(self, points: int, cells: int) -> tuple[Fields, Fields]:
        """Values at its points and in its cells."""
        return self.arrays.fields(self.element, "PointData", points), self.arrays.fields(self.element, "CellData", cells)

    def points(self, count: int) -> np.ndarray:
        """The coordinates of its points."""
        array = self.element.find("Points/DataArray")
        if array is None:
            raise Damaged("it has no points")
        return self.arrays.read(array, count)

    def cells(self, tag: str, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Where each cell ends in the list of nodes of all, and that list."""
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        part = self.element.find(tag)
        ends = self.arrays.named(part, "offsets", count).astype(np.int64)
        return ends, self.arrays.named(part, "connectivity", int(ends[-1])).astype(np.int64)

    def grid_fields(self) -> tuple[Fields, Fields]:
        """Values at the points and in the cells of a grid."""
        shape = _shape(self.spans())
        return self.fields(math.prod(shape), math.prod(max(1, size - 1) for size in shape))

    def spans(self) -> list[tuple[int, int]]:
        """First and last point of a grid along each axis."""
        return _spans(self.element.get("Extent"))


def _opened(path: Path) -> tuple[str, Element, Arrays]:
    """What a file holds, the element with it, and how its arrays are written."""
    text, appended = path.read_bytes(), b""
    if found := re.search(rb"<AppendedData[^>]*>", text):
        start = text.find(b"_", found.end())
        damaged_if(start < 0, "its appended data do not begin")
        text, appended = text[: found.end()] + b"</AppendedData></VTKFile>", text[start + 1 :]
    root = tree(path, text)
    kind, body = root.get("type", ""), root.find(root.get("type") or "*")
    if root.tag != "VTKFile" or kind not in (*GRIDS, *MESHES, *PARALLEL, MULTIBLOCK, COLLECTION):
        raise Damaged(f"it is of type {kind[:40]}, not one of {', '.join((*GRIDS, *MESHES))}")
    if body is None or len(root.findall(".//DataArray")) > MOST:
        raise Damaged(f"it holds no {kind}, or more than {MOST} arrays")
    return kind, body, Arrays.of(path, root, appended)


def _pieces_of(path: Path, kind: str) -> Iterator[_Piece]:
    """The pieces in a file that another one names."""
    with naming(path):
        found, body, arrays = _opened(path)
        damaged_if(found != kind, f"it is of type {found}, not {kind}")
        yield from (_Piece(element, arrays) for element in body.findall("Piece"))


def _unstructured(piece: _Piece) -> Content:
    points, cells = piece.count("NumberOfPoints"), piece.count("NumberOfCells")
    ends, nodes = piece.cells("Cells", cells)
    kinds = piece.arrays.named(piece.element.find("Cells"), "types", cells) if cells else ends
    return Content(piece.points(points), blocks_of(kinds, ends, nodes), *piece.fields(points, cells))


def _polydata(piece: _Piece) -> Content:
    points, blocks, cells = piece.count("NumberOfPoints"), list[Block](), 0
    for tag, kind in POLYDATA.items():
        ends, nodes = piece.cells(tag, piece.count(f"NumberOf{tag}"))
        blocks += [block.moved(0, cells) for block in blocks_of(np.full(len(ends), kind), ends, nodes)]
        cells += len(ends)
    return Content(piece.points(points), tuple(blocks), *piece.fields(points, cells))


def _structured(piece: _Piece) -> Content:
    shape = _shape(piece.spans())
    return Content(piece.points(math.prod(shape)), cells_of(shape), *piece.grid_fields())


def _spans(extent: str | None) -> list[tuple[int, int]]:
    ends = integers(extent or "").tolist()
    spans = list(zip(ends[::2], ends[1::2], strict=False))
    damaged_if(len(ends) != 6 or any(last < first for first, last in spans), f"its extent is {extent!r:.40}")
    return spans


def _shape(spans: list[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(last - first + 1 for first, last in spans)


def _fields(body: Element, pieces: list[_Piece]) -> tuple[list[tuple[int, int]], Fields, Fields]:
    """First and last point of a grid along each axis, and values at its points and in its cells."""
    parts = [piece.grid_fields() for piece in pieces]
    spans, (at_points, in_cells) = pieces[0].spans(), parts[0]
    if len(pieces) > 1:
        spans, places = _spans(body.get("WholeExtent")), [piece.spans() for piece in pieces]
        at_points, in_cells = (assembled(spans, places, [part[k] for part in parts], less=k) for k in (0, 1))
    check_fields(_shape(spans), at_points, in_cells)
    return spans, at_points, in_cells


def _image(body: Element, pieces: list[_Piece]) -> Lattice:
    spans, at_points, in_cells = _fields(body, pieces)
    origin, spacing = (floats(body.get(name, "")) for name in ("Origin", "Spacing"))
    axes = lines_of(origin, spacing, spans, floats(body.get("Direction", "1 0 0 0 1 0 0 0 1")))
    return Lattice(axes, at_points, in_cells)


def _rectilinear(body: Element, pieces: list[_Piece]) -> Lattice:
    spans, at_points, in_cells = _fields(body, pieces)
    axes = tuple(np.full(size, np.nan) for size in _shape(spans))
    for piece in pieces:
        lines = piece.element.findall("Coordinates/DataArray")
        damaged_if(len(lines) != 3, "its grid has no coordinates")
        for axis, line, (first, last), (start, _) in zip(axes, lines, piece.spans(), spans, strict=True):
            axis[first - start : last - start + 1] = piece.arrays.read(line, last - first + 1).reshape(-1)
    return Lattice(axes, at_points, in_cells)


MESHES = {"UnstructuredGrid": _unstructured, "PolyData": _polydata, "StructuredGrid": _structured}
GRIDS = {"ImageData": _image, "RectilinearGrid": _rectilinear}
PARALLEL = {f"P{kind}": kind for kind in (*MESHES, *GRIDS)}
"""Files that name pieces in other files, and what those hold."""
