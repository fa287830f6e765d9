"""Exodus II files, .e and .exo: NetCDF files, classic or 4, with names of their own for coordinates, cells and fields at times."""

import re
from pathlib import Path

import numpy as np

from raffia.data.readers import hdf5, netcdf
from raffia.data.readers.damage import Damaged, damaged_if
from raffia.data.readers.meshes.content import Content, Steps, described
from raffia.data.readers.meshes.kinds import Block
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
        held = netcdf.classic(path) if file.read(3) == b"CDF" else hdf5.variables(path)
    points = _points(held)
    blocks: list[Block] = []
    sizes: list[int] = []
    for number, name in enumerate(_numbered(held, "connect")):
        corners = held[name].glance().astype(np.int64) - 1
        kind = str(held[name].attributes.get("elem_type", "")).strip("\0 ").upper()
        if corners.ndim != 2 or (kind[:3], corners.shape[1]) not in KINDS:
            raise Damaged(f"its cells {name} are {kind[:20] or 'not named'} with shape {corners.shape}")
        numbers = np.arange(len(corners)) + sum(sizes[:number])
        blocks.append(Block(KINDS[kind[:3], corners.shape[1]], corners, numbers))
        sizes.append(len(corners))
    times = held["time_whole"].glance().astype(np.float64).reshape(-1) if "time_whole" in held else None
    fields = {name: _steps([held[key]]) for name, key in _named(held, "nod")}
    in_cells = {}
    for name, key in _named(held, "elem", "eb1"):
        parts = [held[f"{key[:-1]}{number + 1}"] for number in range(len(sizes)) if f"{key[:-1]}{number + 1}" in held]
        if len(parts) == len(sizes):  # fields of some blocks only are no functions on the mesh
            in_cells[name] = _steps(parts)
    return described(path, Content(points, tuple(blocks)), fields, in_cells, times)


def _points(held: dict[str, Variable]) -> np.ndarray:
    if "coord" in held and len(held["coord"].shape) == 2:
        return held["coord"].glance().astype(np.float64).T.copy()
    axes = [held[f"coord{axis}"].glance().astype(np.float64) for axis in "xyz" if f"coord{axis}" in held]
    damaged_if(not axes or len({axis.shape for axis in axes}) > 1 or axes[0].ndim != 1, "it has no coordinates")
    return np.stack(axes, axis=1)


def _numbered(held: dict[str, Variable], stem: str) -> list[str]:
    """The arrays of a name with a number behind, in their order."""
    return sorted((name for name in held if re.fullmatch(rf"{stem}\d{{1,9}}", name)), key=lambda name: int(name[len(stem) :]))


def _named(held: dict[str, Variable], kind: str, end: str = "") -> list[tuple[str, str]]:
    """Names of fields, and of the arrays with their values."""
    letters = held.get(f"name_{kind}_var")
    if letters is None or len(letters.shape) != 2 or letters.numeric:
        return []
    names = [b"".join(row.tolist()).split(b"\0")[0].decode("utf-8", "replace").strip() for row in letters.glance()]
    pairs = [(name, f"vals_{kind}_var{number + 1}{end}") for number, name in enumerate(names)]
    return [(name, key) for name, key in pairs if key in held and len(held[key].shape) == 2]


def _steps(parts: list[Variable]) -> Steps:
    """Values at times, (times, values), in one array or in one for each block."""
    if len({part.shape[0] for part in parts}) != 1:
        raise Damaged(f"{parts[0].name} has other times than its like")
    dtype = np.result_type(*(np.dtype(part.dtype) for part in parts))

    def at(step: int) -> np.ndarray:
        return np.concatenate([part.read(slice(step, step + 1))[0] for part in parts])

    return Steps(parts[0].shape[0], (sum(part.shape[1] for part in parts),), dtype, at)
