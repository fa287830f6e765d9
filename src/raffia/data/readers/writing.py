"""Writing arrays by name: NumPy's .npz and .npy, MATLAB's .mat, HDF5 .h5, NetCDF .nc and tables .csv; .npy, .h5 and .zarr by parts.

Meshes as .vtu and equispaced grids as .vti, in VTK's XML.
"""

import base64
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import scipy.io

from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content, Lattice
from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError
from raffia.storage import atomic

Arrays = dict[str, np.ndarray]
Shape = tuple[int, ...]
GROWING = (".npy", ".h5", ".hdf5", ".zarr")  # what can be written a part at a time


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


@contextmanager
def growing(
    path: Path, shapes: Mapping[str, Shape], dtype: np.dtype, chunks: Mapping[str, Shape], beside: Mapping[str, np.ndarray]
) -> Iterator[dict[str, Any]]:
    """Arrays in a new file, by name, to be assigned to; atomic. What has chunks has these; .npy holds one array, and nothing beside."""
    with _folder(path) if path.suffix == ".zarr" else atomic(path) as temporary:
        if path.suffix == ".npy":
            ((name, shape),) = shapes.items()
            mapped = np.lib.format.open_memmap(temporary, mode="w+", dtype=dtype, shape=shape)
            yield {name: mapped}
            mapped.flush()
            del mapped
        elif path.suffix == ".zarr":
            group = optional("zarr", "Zarr").open_group(str(temporary), mode="w")
            create = partial(group.create_array, config={"write_empty_chunks": True})  # which readers take for missing
            for name, values in beside.items():
                create(name, shape=values.shape, dtype=values.dtype, chunks=values.shape)[...] = values
            yield {name: create(name, shape=shape, dtype=dtype, chunks=chunks[name]) for name, shape in shapes.items()}
        else:
            with optional("h5py", "HDF5").File(temporary, "w") as file:
                for name, values in beside.items():
                    file.create_dataset(name, data=values)
                yield {name: file.create_dataset(name, shape, dtype, chunks=chunks[name]) for name, shape in shapes.items()}


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """A folder beside `path`, renamed to it in the end."""
    if path.exists():
        raise RaffiaError(f"{path} is there already: remove it first, or name another.")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise RaffiaError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


XML = {"f8": "Float64", "f4": "Float32", "i8": "Int64", "u1": "UInt8"}
SUFFIXES = (".vtu", ".vti")


def write_mesh(path: Path, content: Content | Lattice) -> None:
    """Write a mesh or a grid with its fields in VTK's XML; atomic."""
    kind, (opening, inner) = ("ImageData", _grid(content)) if type(content) is Lattice else ("UnstructuredGrid", _mesh(content))
    header = f'<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n{opening}\n'
    sections = ((b"PointData", content.point_data), (b"CellData", content.cell_data))
    with atomic(path) as temporary, temporary.open("wb") as file:
        file.write(b'<?xml version="1.0"?>\n' + header.encode() + inner)
        for tag, data in sections:
            file.write(b"<%s>\n" % tag)
            file.writelines(_array(name, values) for name, values in data.items())
            file.write(b"</%s>\n" % tag)
        file.write(f"</Piece>\n</{kind}>\n</VTKFile>\n".encode())


def _grid(content: Lattice) -> tuple[str, bytes]:
    """The elements that open an equispaced grid, and nothing inside of them."""
    extent = " ".join(f"0 {size - 1}" for size in content.shape)
    steps = [float(x[-1] - x[0]) / (len(x) - 1) if len(x) > 1 else 1.0 for x in content.axes]
    origin, spacing = " ".join(repr(float(x[0])) for x in content.axes), " ".join(map(repr, steps))
    return f'<ImageData WholeExtent="{extent}" Origin="{origin}" Spacing="{spacing}">\n<Piece Extent="{extent}">', b""


def _mesh(content: Content) -> tuple[str, bytes]:
    """The elements that open a mesh, and its points and cells."""
    cells = content.cells
    arrays = {"connectivity": cells.nodes, "offsets": cells.ends, "types": cells.kinds.astype(np.uint8)}
    inner = b"<Points>\n" + _array("Points", content.points) + b"</Points>\n<Cells>\n"
    inner += b"".join(_array(name, values) for name, values in arrays.items()) + b"</Cells>\n"
    return f'<UnstructuredGrid>\n<Piece NumberOfPoints="{len(content.points)}" NumberOfCells="{len(cells)}">', inner


def _array(name: str, values: np.ndarray) -> bytes:
    """An array in base64, after its size in bytes; as double numbers, if the format does not have its type."""
    values = values if values.dtype.str[1:] in XML else values.astype(np.float64)
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    many = values.shape[1] if values.ndim > 1 else 1
    head = f'<DataArray type="{XML[values.dtype.str[1:]]}" Name={quoteattr(name)} NumberOfComponents="{many}" format="binary">'
    return head.encode() + base64.b64encode(np.array([values.nbytes], "<u8").tobytes() + values.tobytes()) + b"</DataArray>\n"


def simplices(nodes: np.ndarray, cells: np.ndarray | None) -> Content:
    """A mesh of nodes in one to three coordinates, with intervals, triangles or tetrahedra; without, of vertices."""
    points = np.zeros((len(nodes), 3))
    points[:, : nodes.shape[1]] = nodes
    corners = np.arange(len(nodes))[:, None] if cells is None else cells
    return Content(points, Cells.alike({1: 1, 2: 3, 3: 5, 4: 10}[corners.shape[1]], corners))
