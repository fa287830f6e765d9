"""NumPy's .npy and .npz files; of pickles in them, plain arrays only, and without NumPy's help."""

import io
import math
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from raffia.data.readers import pickled
from raffia.data.readers.damage import Damaged, damaged_if, guarded
from raffia.data.readers.variable import LOOKED_AT, PACKED, Rows, Variable, check_count, check_stored, whole
from raffia.errors import RaffiaError

_Header = tuple[tuple[int, ...], np.dtype, bool]
LONGEST = 10_000  # bytes of a header, as in NumPy
SMALL = 2**24  # bytes that objects may unpack to, whatever the size of the file


def npy(path: Path) -> dict[str, Variable]:
    """The one array of an .npy file, named after the file and mapped into memory."""
    name = path.stem
    with guarded(path), path.open("rb") as file:
        shape, dtype, _ = _header(file)
        stored = path.stat().st_size - file.tell()
        content = file.read() if dtype.hasobject else b""
    if dtype.hasobject:
        return pickled.variables(path, name, content)
    check_stored(path, name, shape, dtype.itemsize, stored)

    def load(rows: Rows) -> np.ndarray:
        with guarded(path, name):
            array = np.load(path, mmap_mode=None if 0 in shape else "r", allow_pickle=False)
            return np.array(array if rows is None else array[rows])

    return {name: Variable(name, shape, dtype.str, None, {}, path, load)}


def npz(path: Path) -> dict[str, Variable]:
    """The arrays of an .npz file; reading rows of one reads that array."""
    arrays: dict[str, Variable] = {}
    if not zipfile.is_zipfile(path):
        raise RaffiaError(f"{path} is damaged or not a file of NumPy arrays: there are no arrays in it.")
    for member, (shape, dtype, columns), stored, content in list(_members(path)):
        name = member.removesuffix(".npy")
        if dtype.hasobject:
            arrays |= pickled.variables(path, name, content)
            continue
        check_stored(path, name, shape, dtype.itemsize, stored)
        load, small = partial(_member, path, member), columns or math.prod(shape) <= LOOKED_AT
        block = shape[0] if shape and small else 1
        arrays[name] = Variable(name, shape, dtype.str, None, {}, path, whole(load, None if small else load), block)
    return arrays


def _members(path: Path) -> Iterator[tuple[str, _Header, int, bytes]]:
    """The arrays of an archive: each with its header, the bytes there are of it, and its pickle if it is of objects."""
    size = path.stat().st_size
    most = max(SMALL, PACKED * size)  # bytes of a pickle
    with guarded(path), zipfile.ZipFile(path) as archive:
        check_count(path, len(archive.infolist()))
        for member in archive.infolist():
            with archive.open(member) as file:
                header = _header(file)
                stored = member.file_size - file.tell()
                objects, packed = header[1].hasobject, member.compress_type != zipfile.ZIP_STORED
                content = file.read(most + 1) if objects and member.file_size <= most else b""
                damaged_if(
                    objects and not 0 < len(content) <= most, f"{member.filename} unpacks to more than such a file holds"
                )
                yield member.filename, header, stored if packed else min(stored, size), content


def _member(path: Path, member: str, rows: int | None = None) -> np.ndarray:
    """An array, or its first rows, which no checksum is compared for: that is of all of it."""
    with guarded(path, member.removesuffix(".npy")), zipfile.ZipFile(path) as archive, archive.open(member) as file:
        shape, dtype, columns = _header(file)
        shape = shape if rows is None else (min(rows, shape[0]), *shape[1:])
        values, at = np.empty(math.prod(shape), dtype), 0
        room = values.view(np.uint8)
        while at < len(room) and (piece := file.read(min(2**20, len(room) - at))):
            room[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        if at < len(room) or (rows is None and file.read(1)):  # reading on also makes zipfile compare the checksum
            raise Damaged("it has fewer or more bytes than the array")
    return values.reshape(shape, order="F" if columns else "C")


def _header(file: IO[bytes] | zipfile.ZipExtFile) -> _Header:
    """Shape, type, and whether the array is stored by columns; a header of any length is not read."""
    version = np.lib.format.read_magic(file)
    damaged_if(version not in ((1, 0), (2, 0)), f"version {version} of the format is unknown")
    size = file.read(2 * version[0])
    length = int.from_bytes(size, "little")
    damaged_if(length > LONGEST, f"its header claims {length} bytes, more than any array needs")
    parse = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns, dtype = parse(io.BytesIO(size + file.read(length)))
    return tuple(int(axis) for axis in shape), dtype, columns
