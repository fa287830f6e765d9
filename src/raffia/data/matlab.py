"""MATLAB files: version 5 by SciPy; version 7.3 is HDF5 with the axes in reverse."""

from pathlib import Path

import numpy as np
from scipy.io import loadmat, whosmat

from raffia.data import hdf5
from raffia.data.variable import Rows, Variable, check_size, guarded

TYPES = {"double": "<f8", "single": "<f4", "logical": "|b1"} | {
    f"{sign}int{8 * size}": f"{'|' if size == 1 else '<'}{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)
}


def version5(path: Path) -> dict[str, Variable]:
    """The numerical arrays of a file written by `save -v7` or older; reading rows of one reads that array."""
    found = {}
    with guarded(path):
        for name, shape, kind in whosmat(path):
            if kind in TYPES and name:
                shape = tuple(int(axis) for axis in shape)
                check_size(path, name, shape, np.dtype(TYPES[kind]).itemsize)
                found[name] = Variable(name, shape, TYPES[kind], None, {}, path, _Array(path, name))
    return found


class _Array:
    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def __call__(self, rows: Rows) -> np.ndarray:
        array = loadmat(self.path, variable_names=[self.name], mat_dtype=True)[self.name]
        if array.dtype.kind not in "fiub":
            raise TypeError(f"it holds {array.dtype}, not real numbers")
        return array if rows is None else array[rows]


def version73(path: Path) -> dict[str, Variable]:
    """The numerical arrays of a file written by `save -v7.3`, read lazily; axes as in MATLAB."""
    found = hdf5.variables(path, reverse=True)
    return {name: array for name, array in found.items() if not name.startswith("#")}
