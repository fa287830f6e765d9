"""XDMF files, .xdmf and .xmf: a mesh, and fields at one time or at many, as text or in an HDF5 file beside it.

No other file is read: neither one in another folder nor one of raw numbers.
"""

import math
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.readers import hdf5
from raffia.data.readers.damage import Damaged, damaged_if, entry, integer, numbers, tree
from raffia.data.readers.meshes.cells import KINDS as VTK_KINDS
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content, described
from raffia.data.readers.variable import Variable, file_beside, stacked
from raffia.errors import RaffiaError

KINDS = {
    "polyvertex": 1, "polyline": 3, "edge": 3, "triangle": 5, "quadrilateral": 9, "tetrahedron": 10, "pyramid": 14, "wedge": 13,
    "hexahedron": 12, "edge_3": 21, "triangle_6": 22, "tri_6": 22, "quadrilateral_8": 23, "quad_8": 23, "quadrilateral_9": 28,
    "quad_9": 28, "tetrahedron_10": 24, "tet_10": 24,
}  # fmt: skip
"""VTK's numbers of the types of a topology."""
TYPES = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u"}


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times and fields."""
    root = tree(path, path.read_bytes())
    damaged_if(root.tag != "Xdmf", f"it begins with {root.tag[:20]}, not with Xdmf")
    file, grids = _File(path), [grid for grid in root.iter("Grid") if grid.find("Grid") is None]
    meshes = [grid for grid in grids if grid.find("Geometry") is not None]
    steps = [grid for grid in grids if grid.find("Attribute") is not None]
    damaged_if(not meshes or not steps, "it has no mesh with unstructured cells, or no fields")
    mesh = Content(file.points(meshes), file.cells(meshes))
    series = [file.series(steps, centre) for centre in ("node", "cell")]
    values = [time.get("Value", "") for grid in steps if (time := grid.find("Time")) is not None]
    times = numbers(" ".join(values)) if len(values) == len(steps) and all(values) else None
    beside = tuple(path.parent / name for name in file.beside)
    return {name: replace(v, beside=beside) for name, v in described(path, mesh, series, times).items()}


class _File:
    """The arrays in a file, and in the HDF5 files beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.beside: dict[str, dict[str, Variable]] = {}

    def points(self, grids: list[Element]) -> np.ndarray:
        """The nodes of the mesh of all grids."""
        geometry = self._fixed(grids, "Geometry")
        kind = (geometry.get("GeometryType") or geometry.get("Type") or "XYZ").upper()
        if kind not in ("XY", "XYZ"):
            raise RaffiaError(f"its geometry is {kind[:20]}; raffia reads XY and XYZ. Write the mesh with its points.")
        return _in_rows(self.array(geometry).glance(), len(kind)).astype(np.float64)

    def cells(self, grids: list[Element]) -> Cells:
        """The cells of the mesh of all grids."""
        topology = self._fixed(grids, "Topology")
        kind = (topology.get("TopologyType") or topology.get("Type") or "").lower()
        if kind not in KINDS:
            raise RaffiaError(f"its topology is {kind[:20]}; raffia reads {', '.join(KINDS)}. Write other meshes as .vtu.")
        each = integer(topology.get("NodesPerElement") or str(VTK_KINDS[KINDS[kind]].size))
        return Cells.alike(KINDS[kind], _in_rows(self.array(topology).glance(), each))

    def _fixed(self, grids: list[Element], part: str) -> Element:
        """The first element of this name; others are compared, as a mesh may be written again for each time."""
        elements = {_item(element).text or "": element for grid in grids[::-1] for element in grid.findall(part)[:1]}
        if not elements:
            raise Damaged(f"it has no {part.lower()}")
        *others, first = elements.values()
        values = self.array(first).glance() if others else np.empty(0)
        for other in others:
            if (there := self.array(other).glance()).shape != values.shape or not np.allclose(there, values, rtol=0, atol=1e-9):
                raise RaffiaError(
                    f"its mesh changes from one time to another ({part}). Write a file for each time, and give all, as in 'runs/*.vtu'."
                )
        return first

    def series(self, steps: list[Element], centre: str) -> dict[str, Variable]:
        """The fields at nodes or in cells that are there at all times."""
        found: dict[str, list[Element]] = {}
        for attribute in (attribute for step in steps for attribute in step.findall("Attribute")):
            if (attribute.get("Center") or "Node").lower() == centre:
                found.setdefault(attribute.get("Name", ""), []).append(attribute)
        arrays = {name: [self.array(element) for element in every] for name, every in found.items() if len(every) == len(steps)}
        for name, every in arrays.items():
            damaged_if(len({v.shape for v in every} | {()}) != 2, f"{name} has other shapes at other times")
        return {name: stacked(every) for name, every in arrays.items()}

    def array(self, element: Element) -> Variable:
        """The one data item of an element."""
        item = _item(element)
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
        if (array := self.beside[name].get(place.strip("/"))) is None:
            raise Damaged(f"{name} holds no {place[:40]}")
        return array

    def _text(self, item: Element, text: str) -> Variable:
        shape, size = tuple(numbers(item.get("Dimensions") or "", int).tolist()), item.get("Precision") or "4"
        kind = entry(TYPES, (item.get("NumberType") or item.get("DataType") or "Float").lower(), "type of numbers")
        wrong = size not in ("1", "2", "4", "8") or (kind == "f" and size == "1")
        damaged_if(wrong, f"its numbers have a precision of {size[:20]} bytes")
        values = numbers(text, f"{kind}{size}")
        wrong = min(shape, default=0) < 0 or math.prod(shape) != len(values)
        damaged_if(wrong, f"{len(values)} values are no array of shape {shape}")
        return Variable.of_array(self.path, "values", values.reshape(shape))


def _in_rows(values: np.ndarray, size: int) -> np.ndarray:
    """Values in rows of so many."""
    damaged_if(size < 1 or values.size % size, f"{values.size} values do not fill rows of {size}")
    return values.reshape(-1, size)


def _item(element: Element) -> Element:
    items = element.findall("DataItem")
    damaged_if(len(items) != 1, f"its {element.tag} {element.get('Name', '')[:40]} has {len(items)} data items, not one")
    return items[0]
