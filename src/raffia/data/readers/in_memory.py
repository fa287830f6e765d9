"""Data in memory, accepted as files are: xarray Datasets and DataArrays, pandas DataFrames, Dask and NumPy arrays."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers import tables
from raffia.data.readers.hdf5 import plain
from raffia.data.readers.layout import Layout
from raffia.data.readers.variable import Rows, Variable
from raffia.errors import RaffiaError

ACCEPTED = ("xarray Dataset", "xarray DataArray", "pandas DataFrame", "dask Array", "numpy ndarray")


def variables(data: Any, layout: Layout) -> dict[str, Variable]:
    """The arrays of data in memory by name; those of xarray and Dask are computed by rows, when they are read."""
    label = f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
    if label not in ACCEPTED:
        raise RaffiaError(f"data must be the path of a file, a raffia.Dataset, or one of {', '.join(ACCEPTED)}; got {label}.")
    path = Path(f"<{label}>")
    if label == "pandas DataFrame":
        counted = type(data.index).__name__ == "RangeIndex"
        return tables.of_frame(path, data.reset_index(drop=counted), layout)
    if label == "xarray DataArray":
        data = data.to_dataset(name=data.name or "values")
    if not hasattr(data, "data_vars"):
        return {"values": Variable(path, "values", tuple(data.shape), data.dtype.str, partial(_rows, data))}
    arrays = {}
    for name, array in data.variables.items():
        attributes = plain({key: np.asarray(value) for key, value in array.attrs.items()})
        dtype, load = array.dtype.str, partial(_rows, array)
        if array.dtype.kind == "M":
            dtype, load, attributes["units"] = "<f8", partial(_days, array), "days"
        if np.dtype(dtype).kind in "fiubcSU":
            shape, dims = tuple(map(int, array.shape)), tuple(map(str, array.dims))
            arrays[str(name)] = Variable(path, str(name), shape, dtype, load, dims=dims, attributes=attributes)
    return arrays


def _rows(array: Any, rows: Rows) -> np.ndarray:
    return np.array(array if rows is None else array[rows])


def _days(array: Any, rows: Rows) -> np.ndarray:
    """Dates as days since the first of them."""
    first = np.asarray(array[:1] if array.ndim else array).reshape(-1)
    return (_rows(array, rows) - first) / np.timedelta64(1, "D")
