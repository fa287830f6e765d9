"""HDF5 and NetCDF files: every array in every group, named by its path and read lazily. NetCDF 4 is HDF5, the classic formats are not."""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import netcdf_file

from raffia.data.readers.damage import Damaged, damaged_if, guarded
from raffia.data.readers.variable import LOOKED_AT, Rows, Variable, check_count, check_inflated, check_stored, optional
from raffia.errors import RaffiaError

REFERENCES = ("REFERENCE_LIST", "DIMENSION_LIST")
DEFLATE, HARMLESS = 1, (2, 3)  # HDF5's numbers of gzip's method, and of filters that only shuffle bytes and add checksums
DEEPEST = 32  # groups in one another
MANY = 2**16  # chunks that a small file may claim
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def variables(path: Path, reverse: bool = False) -> dict[str, Variable]:
    """The arrays of an HDF5 file; `reverse` their axes, as MATLAB's files need."""
    h5py = _h5py()
    arrays: dict[str, Variable] = {}
    with guarded(path), _Checked(path) as raw, h5py.File(raw, "r") as file:
        for name, item in _items(h5py, path, file, reverse):
            dtype, attributes = _dtype(item), _attributes(item)
            if item.shape is None or dtype.kind not in "fiubcSU" or str(attributes.get("NAME", "")).startswith(NO_VARIABLE):
                continue
            _check_storage(path, name, item)
            shape, dims, chunks = tuple(int(axis) for axis in item.shape), _dims(item), item.chunks or (1,)
            if reverse:
                shape, dims, chunks = shape[::-1], dims and dims[::-1], chunks[::-1]
            load = partial(_load, path, name, reverse)
            arrays[name] = Variable(path, name, shape, dtype.str, load, dims=dims, attributes=attributes, block=int(chunks[0]))
    return arrays


def attributes(path: Path, group: str) -> dict[str, Any]:
    """The attributes of a group that are numbers or short texts."""
    with guarded(path), _Checked(path) as raw, _h5py().File(raw, "r") as file:
        damaged_if(not hasattr(file.get(group), "keys"), f"it has no group {group}")
        return _attributes(file[group])


def _attributes(item: Any) -> dict[str, Any]:
    """One value, or a few numbers, each: long lists of texts may all be one large text."""
    most = {key: 1 if item.attrs.get_id(key).dtype.kind == "O" else 2**10 for key in item.attrs if key not in REFERENCES}
    return plain({key: item.attrs[key] for key in most if math.prod(item.attrs.get_id(key).shape or ()) <= most[key]})


class _Checked(io.FileIO):
    """A file that HDF5 reads through, and that checks each heap of texts and references, on which HDF5 may loop for ever."""

    def readinto(self, room: Any) -> int:
        """Read bytes into memory of HDF5's."""
        count = super().readinto(room) or 0
        block = bytes(room) if count >= 16 and bytes(room[:4]) == b"GCOL" else b""
        at, end = 16, min(int.from_bytes(block[8:16], "little"), count)
        while at + 16 <= end:
            index, size = struct.unpack_from("<H6xQ", block, at)
            damaged_if(size < 16 and not index, "a heap has free space of no size")
            at += 16 + size + -size % 8 if index else size
        return count


def _items(h5py: Any, path: Path, file: Any, matlab: bool) -> Iterator[tuple[str, Any]]:
    """Every array once, by a path of hard links; soft links are other names of what is in the file."""
    known, count, groups = set(), 0, [("", file)]
    while groups:
        prefix, group = groups.pop(0)
        check_count(path, count := count + len(group))
        for key in group:
            name = f"{prefix}/{key}".lstrip("/")
            kind = group.get(key, getclass=True, getlink=True)
            if kind is h5py.ExternalLink:
                raise _elsewhere(path, name)
            if kind is not h5py.HardLink or (matlab and name.startswith("#")):
                continue
            item = group[key]
            if (address := h5py.h5o.get_info(item.id).addr) in known:
                continue
            known.add(address)
            if name.count("/") > DEEPEST:
                raise RaffiaError(f"it has groups more than {DEEPEST} deep in one another. Write its arrays into fewer groups.")
            if hasattr(item, "shape"):
                yield name, item
            elif hasattr(item, "keys"):
                groups.append((name, item))


def _check_storage(path: Path, name: str, item: Any) -> None:
    """Refuse arrays whose values are in other files, or cannot be in this one, or unpack to anything."""
    size = path.stat().st_size
    if item.external or item.is_virtual:
        raise _elsewhere(path, name)
    if item.chunks is None:
        if item.id.get_offset() is not None:
            check_stored(path, name, item.shape, item.dtype.itemsize, min(item.id.get_storage_size(), size))
    elif sum(number not in HARMLESS for number in _filters(item)) > 1:
        raise RaffiaError(f"{path}: {name} is packed more than once. Write it with one compression.")
    elif math.prod(item.chunks) > max(LOOKED_AT, size):
        raise RaffiaError(f"{name} has chunks of shape {item.chunks}, too large for {size} bytes. Write smaller ones, or none.")


def _filters(item: Any) -> list[int]:
    """HDF5's numbers of the filters that chunks go through."""
    made = item.id.get_create_plist()
    return [made.get_filter(i)[0] for i in range(made.get_nfilters())]


def _elsewhere(path: Path, name: str) -> RaffiaError:
    return RaffiaError(
        f"{path}: {name} is a link to another file (external or virtual storage), and raffia reads no file that was not named. "
        "Copy the values into one file, for example by h5repack or with h5py."
    )


def _dtype(item: Any) -> np.dtype:
    """The type of its values; MATLAB has complex numbers as pairs of real and imag."""
    if item.dtype.names == ("real", "imag") and item.dtype[0] == item.dtype[1] and item.dtype[0].kind == "f":
        return np.result_type(item.dtype[0], np.complex64)
    return np.dtype(item.dtype)


def _load(path: Path, name: str, reverse: bool, rows: Rows) -> np.ndarray:
    with guarded(path, name), _h5py().File(path, "r") as file:
        array = file[name]
        _check_chunks(array, path.stat().st_size, -1 if reverse else 0, rows)
        values = np.asarray(array[() if rows is None else (..., rows) if reverse else rows])
        values = np.ascontiguousarray(values).view(_dtype(array)) if values.dtype.names else values
        return values.T if reverse else values


def _check_chunks(array: Any, size: int, axis: int, rows: Rows) -> None:
    """Refuse more chunks than a file of this size holds, and those that gzip's method unpacks to more than a chunk: HDF5 would do it."""
    if array.chunks is None:
        return
    first, last, _ = (rows or slice(None)).indices(array.shape[axis])
    counts = [-(-n // step) for n, step in zip(array.shape, array.chunks, strict=True)]
    counts[axis] = last // array.chunks[axis] - first // array.chunks[axis] + 1
    if (count := math.prod(counts)) > MANY and 32 * count > size:
        raise Damaged(f"there are no {count} chunks of shape {array.chunks} in {size} bytes; write larger ones")
    if DEFLATE not in (filters := _filters(array)):
        return
    whole, skipped = math.prod(array.chunks) * array.dtype.itemsize, 1 << filters.index(DEFLATE)

    def check(chunk: Any) -> None:
        wanted = first - array.chunks[axis] < chunk.chunk_offset[axis] < last
        if wanted and not chunk.filter_mask & skipped:
            place = chunk.chunk_offset
            check_inflated(lambda: array.id.read_direct_chunk(place)[1], chunk.size, whole + 64, zlib.MAX_WBITS)

    array.id.chunk_iter(check)


def _dims(item: Any) -> tuple[str, ...] | None:
    """The names of the axes, by label or by the scale attached to them."""
    names = [axis.label or (axis[0].name.rpartition("/")[2] if len(axis) else "") for axis in item.dims]
    if len(names) == 1 and _text(item.attrs.get("CLASS")) == "DIMENSION_SCALE":
        names = [item.name.rpartition("/")[2]]
    return tuple(names) if names and all(names) else None


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def plain(attributes: dict[str, Any]) -> dict[str, Any]:
    """Numbers and text; one-element arrays are their element."""
    taken = {}
    for key, value in attributes.items():
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(-1)[0]
        if isinstance(value, (bytes, str)):
            taken[key] = _text(value)
        elif isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "fiub":
            taken[key] = value.tolist()
    return taken


def _h5py() -> Any:
    return optional("h5py", "HDF5, NetCDF-4 and MATLAB 7.3")


def classic(path: Path) -> dict[str, Variable]:
    """The variables of a NetCDF-3 file, mapped into memory."""
    arrays = {}
    with guarded(path), netcdf_file(path, "r", mmap=True) as file:
        for name, array in file.variables.items():
            shape, dtype, dims = tuple(map(int, array.shape)), np.dtype(array.data.dtype), tuple(array.dimensions)
            if dtype.kind in "fiubS":
                check_stored(path, name, shape, dtype.itemsize, path.stat().st_size)
                load, known = partial(_classic_rows, path, name), plain(dict(array._attributes))
                arrays[name] = Variable(path, name, shape, dtype.str, load, dims=dims, attributes=known)
    return arrays


def _classic_rows(path: Path, name: str, rows: Rows) -> np.ndarray:
    with guarded(path, name), netcdf_file(path, "r", mmap=True) as file:
        return np.array(file.variables[name].data[() if rows is None else rows])
