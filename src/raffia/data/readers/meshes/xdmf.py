"""XDMF files, .xdmf and .xmf: a mesh, and fields at one time or at many, as text or in an HDF5 file beside it.

No other file is read: neither one in another folder nor one of raw numbers.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.readers import hdf5
from raffia.data.readers.damage import Damaged, damaged_if, entry, floats, integer, integers, tree
from raffia.data.readers.meshes.content import Content, Steps, described
from raffia.data.readers.meshes.kinds import KINDS as VTK_KINDS
from raffia.data.readers.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, Block, blocks_of
from raffia.data.readers.variable import Variable, file_beside
from raffia.errors import RaffiaError

KINDS = {
    "polyvertex": 1, "polyline": 3, "edge": 3, "triangle": 5, "quadrilateral": 9, "tetrahedron": 10, "pyramid": 14, "wedge": 13,
    "hexahedron": 12, "edge_3": 21, "triangle_6": 22, "tri_6": 22, "quadrilateral_8": 23, "quad_8": 23, "quadrilateral_9": 28,
    "quad_9": 28, "tetrahedron_10": 24, "tet_10": 24,
}  # fmt: skip
"""VTK's numbers of the types of a topology."""
COUNTED = {1: POLY_VERTEX, 2: POLY_LINE, 3: POLYGON}
"""VTK's numbers of the cells of a mixed topology that say how many nodes they have."""
MIXED = COUNTED | {4: 5, 5: 9, 6: 10, 7: 14, 8: 13, 9: 12, 34: 21, 35: 28, 36: 22, 37: 23, 38: 24}
"""The same of all cells of a mixed topology."""
TYPES = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u"}


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times and fields."""
    file = _File(path)
    meshes = [grid for grid in file.grids if grid.find("Geometry") is not None]
    steps = [grid for grid in file.grids if grid.find("Attribute") is not None]
    damaged_if(not meshes or not steps, "it has no mesh with unstructured cells, or no fields")
    mesh = Content(file.points(meshes[0]), file.blocks(meshes[0]))
    file.check_one_mesh(meshes)
    beside = tuple(path.parent / name for name in file.beside)
    return described(path, mesh, file.fields(steps, "node"), file.fields(steps, "cell"), _times(steps), beside)


class _File:
    """The grids of a file that hold no others, and the arrays in it and in the HDF5 files beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        root = tree(path, path.read_bytes())
        damaged_if(root.tag != "Xdmf", f"it begins with {root.tag[:20]}, not with Xdmf")
        self.grids = [grid for grid in root.iter("Grid") if grid.find("Grid") is None]
        self.beside: dict[str, dict[str, Variable]] = {}

    def points(self, grid: Element) -> np.ndarray:
        geometry = grid.find("Geometry")
        assert geometry is not None
        kind = (geometry.get("GeometryType") or geometry.get("Type") or "XYZ").upper()
        if kind not in ("XY", "XYZ"):
            raise RaffiaError(f"its geometry is {kind[:20]}; raffia reads XY and XYZ. Write the mesh with its points.")
        return _in_rows(self.array(_item(geometry)), len(kind)).astype(np.float64)

    def blocks(self, grid: Element) -> tuple[Block, ...]:
        topology = grid.find("Topology")
        if topology is None:
            raise Damaged("it has no topology")
        kind = (topology.get("TopologyType") or topology.get("Type") or "").lower()
        if kind == "mixed":
            return _mixed(self.array(_item(topology)).reshape(-1))
        if kind not in KINDS:
            raise RaffiaError(f"its topology is {kind[:20]}; raffia reads {', '.join(KINDS)} and mixed.")
        each = integer(topology.get("NodesPerElement") or str(VTK_KINDS[KINDS[kind]].size))
        cells = _in_rows(self.array(_item(topology)), each).astype(np.int64)
        return (Block(KINDS[kind], cells, np.arange(len(cells))),)

    def check_one_mesh(self, grids: list[Element]) -> None:
        """Refuse nodes and cells that change; those that are written again for each time are compared."""
        for part in ("Geometry", "Topology"):
            seen: dict[str, np.ndarray] = {}
            for grid in grids:
                if (element := grid.find(part)) is not None and (text := _item(element).text or "") not in seen:
                    seen[text] = self.array(_item(element))
            first, *others = seen.values()
            if any(other.shape != first.shape or not np.allclose(other, first, rtol=0, atol=1e-9) for other in others):
                raise RaffiaError(
                    f"its mesh changes from one time to another ({part}). Write a file for each time, and give all, as in 'runs/*.vtu'."
                )

    def fields(self, steps: list[Element], centre: str) -> dict[str, Steps]:
        """The fields at nodes or in cells that are there at all times."""
        found: dict[str, list[Element]] = {}
        for step in steps:
            for attribute in step.findall("Attribute"):
                if (attribute.get("Center") or "Node").lower() == centre:
                    found.setdefault(attribute.get("Name", ""), []).append(_item(attribute))
        whole = {name: items for name, items in found.items() if len(items) == len(steps)}
        return {name: self._steps(name, items) for name, items in whole.items()}

    def _steps(self, name: str, items: list[Element]) -> Steps:
        readers = [self._reader(item) for item in items]
        shapes = {shape for shape, _, _ in readers}
        damaged_if(len(shapes) != 1 or not next(iter(shapes)), f"{name} has other shapes at other times")
        return Steps(
            len(items), readers[0][0], np.result_type(*(dtype for _, dtype, _ in readers)), lambda step: readers[step][2]()
        )

    def array(self, item: Element) -> np.ndarray:
        """All values of a data item."""
        return self._reader(item)[2]()

    def _reader(self, item: Element) -> "Reader":
        if item.get("Reference") or (item.get("ItemType") or "Uniform").lower() != "uniform":
            raise RaffiaError("it has data items that refer to others or are made of them. Write the values themselves.")
        form, text = (item.get("Format") or "XML").upper(), (item.text or "").strip()
        if form == "XML":
            return self._text(item, text)
        if form != "HDF":
            raise RaffiaError(f"values in the format {form[:20]} lie in other files. Write them as HDF or XML.")
        name, _, place = text.partition(":")
        if name not in self.beside:
            self.beside[name] = hdf5.variables(file_beside(self.path, name))
        variable = self.beside[name].get(place.strip("/"))
        if variable is None:
            raise Damaged(f"{name} holds no {place[:40]}")
        return variable.shape, np.dtype(variable.dtype), variable.glance

    def _text(self, item: Element, text: str) -> "Reader":
        shape = tuple(integers(item.get("Dimensions") or "").tolist())
        kind = entry(TYPES, (item.get("NumberType") or item.get("DataType") or "Float").lower(), "type of numbers")
        size = item.get("Precision") or "4"
        if size not in ("1", "2", "4", "8") or (kind == "f" and size == "1"):
            raise Damaged(f"its numbers have a precision of {size[:20]} bytes")
        dtype = np.dtype(f"{kind}{size}")
        values = (floats if kind == "f" else integers)(text).astype(dtype)
        if min(shape, default=0) < 0 or math.prod(shape) != len(values):
            raise Damaged(f"{len(values)} values are no array of shape {shape}")
        return shape, dtype, partial(values.reshape, shape)


Reader = tuple[tuple[int, ...], np.dtype, Callable[[], np.ndarray]]


def _in_rows(values: np.ndarray, size: int) -> np.ndarray:
    """Values in rows of so many."""
    damaged_if(size < 1 or values.size % size, f"{values.size} values do not fill rows of {size}")
    return values.reshape(-1, size)


def _item(element: Element) -> Element:
    """The one data item of an element."""
    items = element.findall("DataItem")
    damaged_if(len(items) != 1, f"its {element.tag} {element.get('Name', '')[:40]} has {len(items)} data items, not one")
    return items[0]


def _times(steps: list[Element]) -> np.ndarray | None:
    values = [time.get("Value") for grid in steps if (time := grid.find("Time")) is not None]
    known = [value for value in values if value]
    return floats(" ".join(known)) if len(known) == len(steps) else None


def _mixed(listed: np.ndarray) -> tuple[Block, ...]:
    """Cells of several kinds, each after its number and, for those that need it, after how many nodes it has."""
    numbers = listed.astype(np.int64).tolist()
    kinds, ends, nodes, at = [], [], list[int](), 0
    while at < len(numbers):
        kind = numbers[at]
        damaged_if(kind not in MIXED, f"its cells of kind {kind} are not known")
        at += 2 if kind in COUNTED else 1
        size = (
            numbers[at - 1] if kind in COUNTED and at <= len(numbers) else 0 if kind in COUNTED else VTK_KINDS[MIXED[kind]].size
        )
        damaged_if(size < 1 or at + size > len(numbers), "its cells do not add up")
        nodes += numbers[at : at + size]
        at += size
        kinds.append(MIXED[kind])
        ends.append(len(nodes))
    return blocks_of(np.array(kinds, np.int64), np.array(ends, np.int64), np.array(nodes, np.int64))
