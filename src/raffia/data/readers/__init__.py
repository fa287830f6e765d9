"""Readers of files: each takes a path and gives the named arrays in it, with dimensions and attributes, read lazily by rows."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from raffia.data.readers import folders, hdf5, in_memory, matlab, meshes, numpy_files, pytorch, tables, zarr_store
from raffia.data.readers.damage import guarded, naming
from raffia.data.readers.layout import TABLES, Layout
from raffia.data.readers.variable import Variable, has_wildcards, real_parts
from raffia.errors import RaffiaError

Reader = Callable[[Path], dict[str, Variable]]
"""Takes the path of a file, and gives the arrays in it by name."""

BY_SUFFIX: dict[str, Reader] = {
    ".npz": numpy_files.npz,
    ".npy": numpy_files.npy,
    ".mat": matlab.version5,
    **dict.fromkeys((".h5", ".hdf5", ".he5", ".nc4"), hdf5.variables),
    **dict.fromkeys((".nc", ".cdf"), hdf5.classic),
    **dict.fromkeys((".pt", ".pth"), pytorch.variables),
    **meshes.READERS,
}
"""The reader of each kind of file; a new kind is a new row here. Tables also take a layout."""
HDF5 = b"\x89HDF\r\n\x1a\n"
BY_CONTENT: dict[bytes, Reader] = {
    b"\x93NUMPY": numpy_files.npy,
    b"PK\x03\x04": numpy_files.npz,
    b"CDF\x01": hdf5.classic,
    b"CDF\x02": hdf5.classic,
    HDF5: hdf5.variables,
}
"""The reader of files that begin with these bytes, if their suffix is unknown or one of those that are often wrong."""
OFTEN_WRONG = (".npz", ".npy", ".nc", ".cdf")
SUFFIXES = (*BY_SUFFIX, ".zarr", *TABLES)
FROM_R = "data of R. Pass the frame that pyreadr.read_r gives (pip install pyreadr), or in R: write.csv(x, 'x.csv', row.names = FALSE)"
CONVERTED = {
    **dict.fromkeys((".rda", ".rdata", ".rds"), FROM_R),
    ".su2": "meshes of SU2. Write the solution for ParaView: OUTPUT_FILES= (PARAVIEW) gives .vtu files",
    ".inp": "input of Abaqus, without results. Write the results as .vtu files, for example with meshio or abaqus2vtk",
    ".odb": "results of Abaqus. In Abaqus' Python, write them as .csv or .npy files; for ParaView, as .vtu files",
    ".foam": "a case of OpenFOAM. Write its fields with foamToVTK, and give the folder VTK",
    ".xlsx": "a workbook of Excel. Save the sheet as CSV",
    ".xls": "a workbook of Excel. Save the sheet as CSV",
}
"""What files are that raffia does not read, and what to convert them to."""


def variables(path: str | os.PathLike[str] | Any, layout: Layout | None = None) -> dict[str, Variable]:
    """Open a file, a folder or data in memory.

    No file makes raffia run code. Of most formats no values are read before `Variable.read`; tables and meshes are read as a whole.

    Parameters
    ----------
    path
        A file: NumPy .npz and .npy, MATLAB .mat, HDF5 .h5, NetCDF .nc, Zarr folders, PyTorch .pt, tables .csv, .tsv, .txt and .dat, or
        meshes (VTK, XDMF, Gmsh, Exodus). A folder, or a pattern such as runs/*.csv, of files that are a sample each,
        or each hold some of the samples. Or an xarray Dataset or DataArray, a pandas DataFrame, or a Dask array.
    layout
        Where samples are in a table or a folder, as far as it is known.

    Returns
    -------
    dict
        The arrays by name. A complex array has its real and imaginary parts along a last axis, "complex".

    Raises
    ------
    RaffiaError
        If the file is damaged, of another format, or if it is unclear where its samples are.
    """
    known = layout or Layout()
    if not isinstance(path, (str, os.PathLike)):
        arrays = in_memory.variables(path, known)
    else:
        with naming(Path(path)):
            arrays = _opened(Path(path), known)
    return {name: real_parts(v) for name, v in arrays.items()}


def _opened(path: Path, layout: Layout) -> dict[str, Variable]:
    """The arrays of a file, a store, a folder or a pattern."""
    if zarr_store.is_store(path) or (path.is_dir() and path.suffix == ".zarr"):
        return zarr_store.variables(path)
    if (path / "system" / "controlDict").is_file():
        raise RaffiaError(f"{path} is {CONVERTED['.foam']}.")
    alone = path.is_file()
    if path.is_dir() or (not alone and has_wildcards(path)) or (alone and layout.files):
        return folders.variables(path, layout, variables, SUFFIXES)
    if not alone:
        raise RaffiaError(f"there is no file {path}.")
    return _reader(path, layout)(path)


def _reader(path: Path, layout: Layout) -> Reader:
    """The reader of a file, by its suffix, or by its first bytes."""
    with guarded(path), path.open("rb") as file:
        start = file.read(1024)
    suffix = path.suffix.lower()
    content = next((reader for mark, reader in BY_CONTENT.items() if start.startswith(mark)), None)
    if start[512:].startswith(HDF5) or (suffix == ".mat" and content is hdf5.variables):
        return partial(hdf5.variables, reverse=suffix == ".mat")  # MATLAB puts 512 bytes of text first
    if suffix in TABLES:
        return partial(tables.variables, asked=layout)
    if suffix in CONVERTED:
        raise RaffiaError(f"{path} is {CONVERTED[suffix]}.")
    known = BY_SUFFIX.get(suffix)
    reader = content or known if suffix in OFTEN_WRONG else known or content
    if reader is None:
        raise RaffiaError(
            f"{path} is of no kind that raffia reads. It reads {' '.join(SUFFIXES)}; rename the file if it is one of these."
        )
    return reader
