"""VTK's files in HDF5, .vtkhdf: meshes (UnstructuredGrid) and equispaced grids (ImageData) at one time."""

from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers import hdf5
from raffia.data.readers.damage import damaged_if
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content, Fields, Lattice, check_fields, joined, lines_of
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

ROOT, GROUPS = "VTKHDF", ("PointData", "CellData")


def content(path: Path) -> Content | Lattice:
    """A file as it is: a mesh or a grid."""
    described, arrays = hdf5.attributes(path, ROOT), hdf5.variables(path)
    kind = str(described.get("Type"))
    if kind not in ("UnstructuredGrid", "ImageData") or f"{ROOT}/Steps/Values" in arrays:
        raise RaffiaError(
            f"it holds times, or data of type {kind[:40]}; raffia reads UnstructuredGrid and ImageData at one time. Save .vtu files."
        )
    held = {name.removeprefix(f"{ROOT}/"): v for name, v in arrays.items()}
    return _image(described, held) if kind == "ImageData" else _mesh(held)


def _fields(held: dict[str, Variable], group: str) -> Fields:
    return {
        name.removeprefix(f"{group}/"): v.glance() for name, v in held.items() if name.startswith(f"{group}/") and v.numeric
    }


def _image(described: dict[str, Any], held: dict[str, Variable]) -> Lattice:
    extent, origin, spacing = (np.ravel(described.get(name, ())) for name in ("WholeExtent", "Origin", "Spacing"))
    damaged_if(len(extent) != 6 or extent.dtype.kind not in "iu", "its grid has no extent")
    spans = list(zip(extent[::2].tolist(), extent[1::2].tolist(), strict=True))
    data = [{name: values.reshape(-1, *values.shape[3:]) for name, values in _fields(held, group).items()} for group in GROUPS]
    check_fields(tuple(last - first + 1 for first, last in spans), *data)
    return Lattice(lines_of(origin, spacing, spans, np.ravel(described.get("Direction", np.eye(3)))), *data)


def _mesh(held: dict[str, Variable]) -> Content | Lattice:
    """The mesh of all parts: each has some of the points and cells, and counts nodes and their list from zero."""
    wanted = ("NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds", "Points", "Connectivity", "Offsets", "Types")
    missing = [name for name in wanted if name not in held]
    damaged_if(missing, f"it has no {', '.join(missing)}")
    n_points, n_cells, n_nodes, points, nodes, ends, kinds = (held[name].glance() for name in wanted)
    counts = np.stack([n_points, n_cells, n_nodes]) if n_points.shape == n_cells.shape == n_nodes.shape else -np.ones(1)
    wrong = counts.ndim != 2 or counts.min(initial=0) < 0 or points.ndim != 2 or nodes.ndim + ends.ndim + kinds.ndim != 3
    damaged_if(wrong, "its parts are not counted")
    sizes = [len(points), len(kinds), len(nodes), len(ends)]
    damaged_if([*counts.sum(1), len(kinds) + len(n_cells)] != sizes, "its parts do not add up")
    n_points, n_cells, n_nodes = list(counts.astype(np.int64))
    nodes = nodes.astype(np.int64) + np.repeat(np.cumsum(n_points) - n_points, n_nodes)
    ends = np.delete(ends.astype(np.int64), np.cumsum(n_cells + 1) - n_cells - 1)
    ends += np.repeat(np.cumsum(n_nodes) - n_nodes, n_cells)
    return joined([Content(points, Cells.of(kinds, ends, nodes), *(_fields(held, group) for group in GROUPS))])
