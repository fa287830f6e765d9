"""Which format a file has, by its name and its first bytes, and the arrays in it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from raffia.data.readers import folders, hdf5, matlab, netcdf, numpy_files, pytorch, tables, zarr_store
from raffia.data.readers.damage import guarded, naming
from raffia.data.readers.layout import Layout
from raffia.data.readers.meshes import detect as meshes
from raffia.data.readers.variable import Variable, has_wildcards
from raffia.errors import RaffiaError

HDF5, ZIP, NPY = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x93NUMPY"
TABLES = (".csv", ".tsv", ".txt", ".dat", ".tab", ".asc")
SUFFIXES = f".npz .npy .mat .h5 .hdf5 .nc .zarr .pt .pth {' '.join(TABLES)} {' '.join(meshes.SUFFIXES)}"

Reader = Callable[[Path], dict[str, Variable]]


def variables(path: str | os.PathLike[str], layout: Layout | None = None) -> dict[str, Variable]:
    """The arrays in a file of any format that raffia reads, by name. No file makes it run code; of most formats no values are read yet.

    NumPy .npz and .npy, MATLAB .mat, HDF5 .h5, NetCDF .nc, Zarr folders, PyTorch .pt, meshes (VTK, XDMF, Gmsh, Exodus), and tables .csv,
    .tsv, .txt, .dat, which are read as a whole. A folder, or a pattern such as runs/*.csv, is of files that are a sample each, or each
    hold some of the samples. `layout` says where samples are, in tables and folders.
    """
    place, asked = Path(path), layout or Layout()
    with naming(place):
        if zarr_store.is_store(place) or (place.is_dir() and place.suffix == ".zarr"):
            return zarr_store.variables(place)
        alone = place.is_file()
        if place.is_dir() or (not alone and has_wildcards(place)) or (alone and asked.files):
            return folders.variables(place, asked, variables, SUFFIXES.split())
        if not alone:
            raise RaffiaError(f"there is no file {place}.")
        return _reader(place, asked)(place)


def _reader(path: Path, layout: Layout) -> Reader:
    with guarded(path), path.open("rb") as file:
        start = file.read(1024)
    suffix = path.suffix.lower()
    hierarchical = start.startswith(HDF5) or start[512:].startswith(HDF5)  # MATLAB puts 512 bytes of text first
    known: dict[str, Reader] = {
        ".npz": numpy_files.npy if start.startswith(NPY) else numpy_files.npz,
        ".npy": numpy_files.npz if start.startswith(ZIP) else numpy_files.npy,
        ".mat": partial(hdf5.variables, reverse=True) if hierarchical else matlab.version5,
        **dict.fromkeys((".h5", ".hdf5", ".he5", ".nc4"), hdf5.variables),  # NetCDF 4 is HDF5
        **dict.fromkeys((".nc", ".cdf"), hdf5.variables if hierarchical else netcdf.classic),
        **dict.fromkeys((".pt", ".pth"), pytorch.variables),
        **dict.fromkeys(TABLES, partial(tables.variables, asked=layout)),
        **meshes.READERS,
    }
    if suffix in known:
        return known[suffix]
    if hierarchical:
        return hdf5.variables
    if start.startswith((b"CDF\x01", b"CDF\x02")):
        return netcdf.classic
    if start.startswith(NPY):
        return numpy_files.npy
    raise RaffiaError(f"{path} is of no kind that raffia reads. It reads {SUFFIXES}; rename the file if it is one of these.")
