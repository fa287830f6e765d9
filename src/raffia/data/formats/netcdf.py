"""NetCDF files of the classic formats, with the names of their axes, by SciPy; version 4 is HDF5."""

from functools import partial
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file, netcdf_variable

from raffia.data.formats import hdf5
from raffia.data.formats.variable import Rows, Variable, check_stored, guarded

BARE = vars(netcdf_variable(np.empty(0), "d", 8, (), ()))  # what a variable without attributes holds


def classic(path: Path) -> dict[str, Variable]:
    """The variables of a NetCDF-3 file, mapped into memory."""
    held = {}
    with guarded(path), netcdf_file(path, "r", mmap=True) as file:
        for name, array in file.variables.items():
            shape, dtype = tuple(int(axis) for axis in array.shape), np.dtype(array.data.dtype)
            if dtype.kind in "fiubS":
                check_stored(path, name, shape, dtype.itemsize, path.stat().st_size)
                attributes = hdf5.plain({key: value for key, value in vars(array).items() if key not in BARE})
                held[name] = Variable(
                    name, shape, dtype.str, tuple(array.dimensions), attributes, path, partial(_load, path, name)
                )
            del array
    return held


def _load(path: Path, name: str, rows: Rows) -> np.ndarray:
    with netcdf_file(path, "r", mmap=True) as file:
        array = file.variables[name].data
        copy = np.array(array if rows is None else array[rows])
        del array
    return copy
