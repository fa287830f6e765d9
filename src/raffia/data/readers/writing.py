"""Writing arrays by name: NumPy's .npz and .npy, MATLAB's .mat, HDF5 .h5, NetCDF .nc and tables .csv."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io

from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError
from raffia.storage import atomic

Arrays = dict[str, np.ndarray]


def write(path: Path, arrays: Arrays) -> None:
    """Write arrays in the format that the name of the file says; atomic. Samples are along the first axis of each."""
    with atomic(path) as temporary:
        WRITERS[path.suffix](temporary, arrays)


def _npy(path: Path, arrays: Arrays) -> None:
    if len(arrays) != 1:
        raise RaffiaError(f"a .npy file holds one array, not {', '.join(arrays)}. Write a .npz file.")
    with path.open("wb") as file:
        np.save(file, next(iter(arrays.values())), allow_pickle=False)


def _npz(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _mat(path: Path, arrays: Arrays) -> None:
    with path.open("wb") as file:
        scipy.io.savemat(file, {_identifier(name): array for name, array in arrays.items()})


def _identifier(name: str) -> str:
    """A name that MATLAB takes."""
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)[:31]
    return word if word[:1].isalpha() else f"y_{word}"[:31]


def _hdf5(path: Path, arrays: Arrays) -> None:
    with optional("h5py", "HDF5").File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


def _netcdf(path: Path, arrays: Arrays) -> None:
    with scipy.io.netcdf_file(path, "w", version=2) as file:
        for name, array in arrays.items():
            dims = ["sample", *(f"{name}_{axis}" for axis in range(1, array.ndim))]
            for dim, size in zip(dims, array.shape, strict=True):
                if dim not in file.dimensions:
                    file.createDimension(dim, size)
            file.createVariable(name, array.dtype.str[1:], dims)[:] = array


def _csv(path: Path, arrays: Arrays) -> None:
    """A row a sample; a column for each of its values, which are numbered where there are several."""
    columns = {name: array.reshape(len(array), -1) for name, array in arrays.items()}
    names = [f"{name}_{i}" if flat.shape[1] > 1 else name for name, flat in columns.items() for i in range(flat.shape[1])]
    quoted = [f'"{name.replace(chr(34), chr(34) * 2)}"' if {",", '"'} & set(name) else name for name in names]
    rows = np.concatenate(list(columns.values()), axis=1)
    np.savetxt(
        path, rows, fmt="%.17g" if rows.dtype == np.float64 else "%.9g", delimiter=",", header=",".join(quoted), comments=""
    )


WRITERS: dict[str, Callable[[Path, Arrays], None]] = {
    ".npy": _npy, ".npz": _npz, ".mat": _mat, ".h5": _hdf5, ".hdf5": _hdf5, ".nc": _netcdf, ".csv": _csv,
}  # fmt: skip
