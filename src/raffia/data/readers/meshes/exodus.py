"""Exodus II files, .e and .exo: NetCDF files, classic or 4, with names of their own for coordinates, cells and fields at times."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from raffia.data.readers import hdf5
from raffia.data.readers.damage import Damaged, damaged_if
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content, described
from raffia.data.readers.variable import Variable

KINDS = {
    ("SPH", 1): 1, ("BEA", 2): 3, ("BAR", 2): 3, ("TRU", 2): 3, ("EDG", 2): 3, ("BEA", 3): 21, ("BAR", 3): 21, ("EDG", 3): 21,
    ("TRI", 3): 5, ("TRI", 6): 22, ("QUA", 4): 9, ("SHE", 4): 9, ("QUA", 8): 23, ("SHE", 8): 23, ("QUA", 9): 28, ("SHE", 9): 28,
    ("TET", 4): 10, ("TET", 10): 24, ("HEX", 8): 12, ("WED", 6): 13, ("PYR", 5): 14,
}  # fmt: skip
"""VTK's numbers of elements, by the first letters of their names and how many nodes they have."""


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a file: nodes, cells, times and fields."""
    with path.open("rb") as file:
        held = hdf5.classic(path) if file.read(3) == b"CDF" else hdf5.variables(path)
    names = sorted((name for name in held if re.fullmatch(r"connect\d{1,9}", name)), key=lambda name: int(name[7:]))
    mesh = Content(_points(held), Cells.joined(_cells(held[name]) for name in names))
    times = held["time_whole"].glance().astype(np.float64).reshape(-1) if "time_whole" in held else None
    fields = {name: held[key] for name, key in _named(held, "nod")}
    in_cells = {}
    for name, key in _named(held, "elem", "eb1"):
        parts = [held[f"{key[:-1]}{number + 1}"] for number in range(len(names)) if f"{key[:-1]}{number + 1}" in held]
        if len(parts) == len(names):  # fields of some blocks only are no functions on the mesh
            in_cells[name] = _side_by_side(parts)
    return described(path, mesh, [fields, in_cells], times)


def _cells(block: Variable) -> Cells:
    corners, kind = block.glance(), str(block.attributes.get("elem_type", "")).strip("\0 ").upper()
    if corners.ndim != 2 or (kind[:3], corners.shape[1]) not in KINDS:
        raise Damaged(f"its cells {block.name} are {kind[:20] or 'not named'} with shape {corners.shape}")
    return Cells.alike(KINDS[kind[:3], corners.shape[1]], corners.astype(np.int64) - 1)


def _points(held: dict[str, Variable]) -> np.ndarray:
    axes = [held[f"coord{axis}"].glance().astype(np.float64) for axis in "xyz" if f"coord{axis}" in held]
    damaged_if(not axes or len({axis.shape for axis in axes}) > 1 or axes[0].ndim != 1, "it has no coordinates")
    return np.stack(axes, axis=1)


def _named(held: dict[str, Variable], kind: str, end: str = "") -> list[tuple[str, str]]:
    """Names of fields, and of the arrays with their values."""
    letters = held.get(f"name_{kind}_var")
    if letters is None or len(letters.shape) != 2 or letters.numeric:
        return []
    names = [b"".join(row.tolist()).split(b"\0")[0].decode("utf-8", "replace").strip() for row in letters.glance()]
    pairs = [(name, f"vals_{kind}_var{number + 1}{end}") for number, name in enumerate(names)]
    return [(name, key) for name, key in pairs if key in held and len(held[key].shape) == 2]


def _side_by_side(parts: list[Variable]) -> Variable:
    """Values (times, cells) of all blocks, which have an array each."""
    damaged_if(len({part.shape[0] for part in parts}) != 1, f"{parts[0].name} has other times than its like")
    shape, dtype = (
        (parts[0].shape[0], sum(part.shape[1] for part in parts)),
        np.result_type(*(part.dtype for part in parts)).str,
    )
    return replace(parts[0], shape=shape, dtype=dtype, load=lambda rows: np.concatenate([v.read(rows) for v in parts], 1))
