"""VTK's XML files: .vtu, .vtp, .vti, .vtr and .vts, by a parser of ours."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.formats.meshes.content import Content, Fields, Pieces
from raffia.data.formats.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, STRIP, Block, blocks_of
from raffia.data.formats.meshes.structured import Lattice, cells_of, check_fields, line_of
from raffia.data.formats.meshes.vtk_arrays import Arrays
from raffia.data.formats.meshes.xml import tree
from raffia.data.formats.variable import MOST
from raffia.errors import RaffiaError

POLYDATA = {"Verts": POLY_VERTEX, "Lines": POLY_LINE, "Polys": POLYGON, "Strips": STRIP}


def parse(path: Path) -> Pieces:
    """The arrays of a file."""
    return content(path).pieces()


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    text, appended = path.read_bytes(), b""
    if found := re.search(rb"<AppendedData[^>]*>", text):
        start = text.find(b"_", found.end())
        if start < 0:
            raise ValueError("its appended data do not begin")
        text, appended = text[: found.end()] + b"</AppendedData></VTKFile>", text[start + 1 :]
    root = tree(path, text)
    kind = root.attrib["type"]
    if root.tag != "VTKFile" or kind not in READERS:
        raise ValueError(f"it is of type {kind[:40]}, not one of {', '.join(READERS)}")
    body = root.find(kind)
    if body is None:
        raise ValueError(f"it holds no {kind}")
    pieces = body.findall("Piece")
    if not pieces or (len(pieces) > 1 and kind not in ("UnstructuredGrid", "PolyData")):
        raise RaffiaError(
            f"{path} holds a grid in {len(pieces)} pieces; raffia reads one. Write it as one piece, for example with ParaView."
        )
    if len(root.findall(".//DataArray")) > MOST:
        raise ValueError(f"it has more than {MOST} arrays")
    return READERS[kind](Arrays.of(path, root, appended), body, pieces)


def _counts(pieces: list[Element], attribute: str) -> list[int]:
    return [int(piece.get(attribute) or 0) for piece in pieces]


def _points(arrays: Arrays, pieces: list[Element], counts: list[int]) -> np.ndarray:
    """The points of all pieces."""
    found = []
    for piece, count in zip(pieces, counts, strict=True):
        array = piece.find("Points/DataArray")
        if array is None:
            raise ValueError("it has no points")
        found.append(arrays.read(array, count))
    return np.concatenate(found)


def _cells(arrays: Arrays, part: Element | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each cell ends in the list of nodes of all, and that list."""
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ends = arrays.named(part, "offsets", count).astype(np.int64)
    return ends, arrays.named(part, "connectivity", int(ends[-1])).astype(np.int64)


def _unstructured(arrays: Arrays, body: Element, pieces: list[Element]) -> Content | Lattice:
    points, cells = _counts(pieces, "NumberOfPoints"), _counts(pieces, "NumberOfCells")
    blocks: list[Block] = []
    for number, (piece, count) in enumerate(zip(pieces, cells, strict=True)):
        ends, nodes = _cells(arrays, piece.find("Cells"), count)
        kinds = arrays.named(piece.find("Cells"), "types", count) if count else np.empty(0, np.int64)
        blocks += _moved(blocks_of(kinds, ends, nodes), sum(points[:number]), sum(cells[:number]))
    data = arrays.fields(pieces, "PointData", points), arrays.fields(pieces, "CellData", cells)
    return Content(_points(arrays, pieces, points), tuple(blocks), *data)


def _polydata(arrays: Arrays, body: Element, pieces: list[Element]) -> Content | Lattice:
    points, blocks = _counts(pieces, "NumberOfPoints"), list[Block]()
    cells: list[int] = []
    for number, piece in enumerate(pieces):
        before = sum(cells)
        for tag, kind in POLYDATA.items():
            count = int(piece.get(f"NumberOf{tag}") or 0)
            ends, nodes = _cells(arrays, piece.find(tag), count)
            blocks += _moved(blocks_of(np.full(len(ends), kind), ends, nodes), sum(points[:number]), before)
            before += count
        cells.append(before - sum(cells))
    data = arrays.fields(pieces, "PointData", points), arrays.fields(pieces, "CellData", cells)
    return Content(_points(arrays, pieces, points), tuple(blocks), *data)


def _moved(blocks: tuple[Block, ...], points: int, cells: int) -> list[Block]:
    """The cells of a piece, after so many points and cells of those before."""
    return [Block(block.vtk, block.corners + points, block.numbers + cells) for block in blocks]


def _grid_fields(arrays: Arrays, pieces: list[Element]) -> tuple[list[tuple[int, int]], tuple[int, ...], Fields, Fields]:
    """First and last point along each axis, how many there are, and values at points and in cells."""
    ends = [int(number) for number in pieces[0].attrib["Extent"].split()]
    spans = list(zip(ends[::2], ends[1::2], strict=True))
    shape = tuple(last - first + 1 for first, last in spans)
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"its extent is {ends}")
    cells = math.prod(max(1, size - 1) for size in shape)
    return (
        spans,
        shape,
        arrays.fields(pieces, "PointData", [math.prod(shape)]),
        arrays.fields(pieces, "CellData", [cells]),
    )


def _image(arrays: Arrays, body: Element, pieces: list[Element]) -> Content | Lattice:
    spans, shape, at_points, in_cells = _grid_fields(arrays, pieces)
    check_fields(shape, at_points, in_cells)
    turned = [float(number) for number in body.get("Direction", "1 0 0 0 1 0 0 0 1").split()]
    if turned != [1, 0, 0, 0, 1, 0, 0, 0, 1]:
        raise RaffiaError("its axes are turned (Direction). Resample it along the coordinates, for example with ParaView.")
    origin, spacing = ([float(number) for number in body.attrib[name].split()] for name in ("Origin", "Spacing"))
    axes = tuple(line_of(start, step, *span) for start, step, span in zip(origin, spacing, spans, strict=True))
    return Lattice(axes, at_points, in_cells)


def _rectilinear(arrays: Arrays, body: Element, pieces: list[Element]) -> Content | Lattice:
    _, shape, at_points, in_cells = _grid_fields(arrays, pieces)
    check_fields(shape, at_points, in_cells)
    lines = pieces[0].findall("Coordinates/DataArray")
    axes = tuple(arrays.read(line, size).reshape(-1) for line, size in zip(lines, shape, strict=True))
    return Lattice(axes, at_points, in_cells)


def _structured(arrays: Arrays, body: Element, pieces: list[Element]) -> Content | Lattice:
    _, shape, at_points, in_cells = _grid_fields(arrays, pieces)
    points = _points(arrays, pieces, [math.prod(shape)])
    return Content(points, cells_of(shape), at_points, in_cells)


Reader = Callable[[Arrays, Element, list[Element]], Content | Lattice]
READERS: dict[str, Reader] = {
    "UnstructuredGrid": _unstructured, "PolyData": _polydata, "ImageData": _image, "RectilinearGrid": _rectilinear,
    "StructuredGrid": _structured,
}  # fmt: skip
