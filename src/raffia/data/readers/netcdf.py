"""NetCDF files of the classic formats, with the names of their axes, by SciPy; version 4 is HDF5."""

from functools import partial
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file, netcdf_variable

from raffia.data.readers import hdf5
from raffia.data.readers.damage import guarded
from raffia.data.readers.variable import Rows, Variable, check_stored

BARE = vars(netcdf_variable(np.empty(0), "d", 8, (), ()))  # what a variable without attributes holds


def classic(path: Path) -> dict[str, Variable]:
    """The variables of a NetCDF-3 file, mapped into memory."""
    arrays = {}
    with guarded(path), netcdf_file(path, "r", mmap=True) as file:
        for name, array in file.variables.items():
            attributes = {key: value for key, value in vars(array).items() if key not in BARE}
            arrays[name] = tuple(map(int, array.shape)), np.dtype(array.data.dtype), tuple(array.dimensions), attributes
            del array
    found = {}
    for name, (shape, dtype, dims, attributes) in arrays.items():
        if dtype.kind in "fiubS":
            check_stored(path, name, shape, dtype.itemsize, path.stat().st_size)
            load = partial(_load, path, name)
            found[name] = Variable(name, shape, dtype.str, dims, hdf5.plain(attributes), path, load)
    return found


def _load(path: Path, name: str, rows: Rows) -> np.ndarray:
    with guarded(path, name), netcdf_file(path, "r", mmap=True) as file:
        array = file.variables[name].data
        copy = np.array(array if rows is None else array[rows])
        del array
    return copy
