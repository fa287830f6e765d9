"""XDMF files, .xdmf and .xmf: a mesh, and fields at one time or at many, as text or in an HDF5 file beside it.

No other file is read: neither one in another folder nor one of raw numbers.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.formats import hdf5
from raffia.data.formats.meshes.content import Geometry
from raffia.data.formats.meshes.kinds import KINDS as VTK_KINDS
from raffia.data.formats.meshes.kinds import POLY_LINE, POLY_VERTEX, POLYGON, Block, blocks_of
from raffia.data.formats.meshes.series import Series, Steps
from raffia.data.formats.meshes.xml import tree
from raffia.data.formats.variable import Variable, guarded
from raffia.errors import RaffiaError

KINDS = {
    "polyvertex": 1, "polyline": 3, "edge": 3, "triangle": 5, "quadrilateral": 9, "tetrahedron": 10, "pyramid": 14, "wedge": 13,
    "hexahedron": 12, "edge_3": 21, "triangle_6": 22, "tri_6": 22, "quadrilateral_8": 23, "quad_8": 23, "quadrilateral_9": 28,
    "quad_9": 28, "tetrahedron_10": 24, "tet_10": 24,
}  # fmt: skip
"""VTK's numbers of the types of a topology."""
MIXED = {
    1: POLY_VERTEX,
    2: POLY_LINE,
    3: POLYGON,
    4: 5,
    5: 9,
    6: 10,
    7: 14,
    8: 13,
    9: 12,
    34: 21,
    36: 22,
    37: 23,
    38: 24,
    35: 28,
}
"""VTK's numbers of the cells of a mixed topology."""
COUNTED = (1, 2, 3)  # those that say how many nodes they have
TYPES = {"float": "f", "int": "i", "uint": "u", "char": "i", "uchar": "u"}


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times and fields."""
    with guarded(path):
        file = _File(path)
        meshes = [grid for grid in file.grids if grid.find("Geometry") is not None]
        steps = [grid for grid in file.grids if grid.find("Attribute") is not None]
        if not meshes or not steps:
            raise ValueError("it has no mesh with unstructured cells, or no fields")
        points, blocks = file.points(meshes[0]), file.blocks(meshes[0])
        file.check_one_mesh(meshes)
        cells = sum(len(block.numbers) for block in blocks)
        fields = {centre: file.fields(steps, centre) for centre in ("node", "cell")}
        geometry = Geometry.of(points, blocks)
        beside = tuple(path.parent / name for name in file.beside)
        return Series(path, geometry, len(points), cells, fields["node"], fields["cell"], _times(steps), beside).variables()


class _File:
    """The grids of a file that hold no others, and the arrays in it and in the HDF5 files beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        root = tree(path, path.read_bytes())
        if root.tag != "Xdmf":
            raise ValueError(f"it begins with {root.tag[:20]}, not with Xdmf")
        self.grids = [grid for grid in root.iter("Grid") if grid.find("Grid") is None]
        self.beside: dict[str, dict[str, Variable]] = {}

    def points(self, grid: Element) -> np.ndarray:
        geometry = grid.find("Geometry")
        assert geometry is not None
        kind = (geometry.get("GeometryType") or geometry.get("Type") or "XYZ").upper()
        if kind not in ("XY", "XYZ"):
            raise RaffiaError(
                f"{self.path}: its geometry is {kind[:20]}; raffia reads XY and XYZ. Write the mesh with its points."
            )
        points = self.array(_item(geometry))
        return points.reshape(-1, len(kind)).astype(np.float64)

    def blocks(self, grid: Element) -> tuple[Block, ...]:
        topology = grid.find("Topology")
        if topology is None:
            raise ValueError("it has no topology")
        kind = (topology.get("TopologyType") or topology.get("Type") or "").lower()
        if kind == "mixed":
            return _mixed(self.array(_item(topology)).reshape(-1))
        if kind not in KINDS:
            raise RaffiaError(f"{self.path}: its topology is {kind[:20]}; raffia reads {', '.join(KINDS)} and mixed.")
        each = int(topology.get("NodesPerElement") or VTK_KINDS[KINDS[kind]].size)
        cells = self.array(_item(topology)).reshape(-1, each).astype(np.int64)
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
                    f"{self.path}: its mesh changes from one time to another ({part}), and raffia reads one. Write a file for each "
                    "time, and give them all, as in 'runs/*.vtu'."
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
        if len(shapes) != 1 or not next(iter(shapes)):
            raise ValueError(f"{name} has other shapes at other times")
        return Steps(len(items), readers[0][0], np.result_type(*(dtype for _, dtype, _ in readers)), partial(_at, readers))

    def array(self, item: Element) -> np.ndarray:
        """All values of a data item."""
        return self._reader(item)[2]()

    def _reader(self, item: Element) -> "Reader":
        if item.get("Reference") or (item.get("ItemType") or "Uniform").lower() != "uniform":
            raise RaffiaError(
                f"{self.path} has data items that refer to others or are made of them. Write the values themselves."
            )
        form, text = (item.get("Format") or "XML").upper(), (item.text or "").strip()
        if form == "XML":
            return self._text(item, text)
        if form != "HDF":
            raise RaffiaError(f"{self.path}: values in the format {form[:20]} lie in other files. Write them as HDF or XML.")
        name, _, place = text.partition(":")
        if name not in self.beside:
            self.beside[name] = self._open(name)
        variable = self.beside[name].get(place.strip("/"))
        if variable is None:
            raise ValueError(f"{name} holds no {place[:40]}")
        return variable.shape, np.dtype(variable.dtype), variable.glance

    def _open(self, name: str) -> dict[str, Variable]:
        """An HDF5 file beside this one, and no other."""
        beside = self.path.parent / name
        if not name or Path(name).name != name or beside.is_symlink() or not beside.is_file():
            raise RaffiaError(
                f"{self.path} has its values in {name[:80]!r}, and there is no such plain file beside it. Put it into the same folder."
            )
        return hdf5.variables(beside)

    def _text(self, item: Element, text: str) -> "Reader":
        shape = tuple(int(size) for size in (item.get("Dimensions") or "").split())
        kind = TYPES[(item.get("NumberType") or item.get("DataType") or "Float").lower()]
        dtype = np.dtype(f"{kind}{int(item.get('Precision') or 4)}")
        values = np.fromstring(text, np.float64 if kind == "f" else np.int64, sep=" ") if text else np.empty(0)
        if len(values) != len(text.split()):
            raise ValueError("its values are more than numbers")
        return shape, dtype, partial(_shaped, values.astype(dtype), shape)


Reader = tuple[tuple[int, ...], np.dtype, Callable[[], np.ndarray]]


def _shaped(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return values.reshape(shape)


def _at(readers: list[Reader], step: int) -> np.ndarray:
    return readers[step][2]()


def _item(element: Element) -> Element:
    """The one data item of an element."""
    items = element.findall("DataItem")
    if len(items) != 1:
        raise ValueError(f"its {element.tag} {element.get('Name', '')[:40]} has {len(items)} data items, not one")
    return items[0]


def _times(steps: list[Element]) -> np.ndarray | None:
    told = [grid.find("Time") for grid in steps]
    values = [time.get("Value") for time in told if time is not None]
    return np.array([float(value) for value in values if value]) if len(values) == len(steps) and all(values) else None


def _mixed(listed: np.ndarray) -> tuple[Block, ...]:
    """Cells of several kinds, each after its number and, for those that need it, after how many nodes it has."""
    numbers = listed.astype(np.int64).tolist()
    kinds, ends, nodes, at = [], [], list[int](), 0
    while at < len(numbers):
        kind = numbers[at]
        if kind not in MIXED:
            raise ValueError(f"its cells of kind {kind} are not known")
        size = numbers[at + 1] if kind in COUNTED else VTK_KINDS[MIXED[kind]].size
        at += 2 if kind in COUNTED else 1
        nodes += numbers[at : at + size]
        at += max(size, 0)
        kinds.append(MIXED[kind])
        ends.append(len(nodes))
    return blocks_of(np.array(kinds, np.int64), np.array(ends, np.int64), np.array(nodes, np.int64))
