"""NumPy's .npy and .npz files; of pickles in them, plain arrays only, and without NumPy's help."""

import io
import math
import struct
import zipfile
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from raffia.data.formats import objects
from raffia.data.formats.variable import LOOKED_AT, PACKED, Rows, Variable, Whole, check_count, check_stored, guarded
from raffia.errors import RaffiaError

LONGEST = 10_000  # bytes of a header, as in NumPy
SMALL = 2**24  # bytes that objects may unpack to, whatever the size of the file


def npy(path: Path) -> dict[str, Variable]:
    """The one array of an .npy file, named after the file and mapped into memory."""
    with guarded(path), path.open("rb") as file:
        shape, dtype, _ = _header(file)
        if dtype.hasobject:
            return objects.variables(path, path.stem, file.read())
        check_stored(path, path.stem, shape, dtype.itemsize, path.stat().st_size - file.tell())

    def load(rows: Rows) -> np.ndarray:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False) if 0 not in shape else np.load(path, allow_pickle=False)
        return np.array(mapped if rows is None else mapped[rows])

    return {path.stem: Variable(path.stem, shape, dtype.str, None, {}, path, load)}


def npz(path: Path) -> dict[str, Variable]:
    """The arrays of an .npz file; reading rows of one reads that array."""
    held: dict[str, Variable] = {}
    if not zipfile.is_zipfile(path):
        raise RaffiaError(f"{path} is damaged or not a file of NumPy arrays: there are no arrays in it.")
    with guarded(path), zipfile.ZipFile(path) as archive:
        check_count(path, len(archive.infolist()))
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                shape, dtype, columns = _header(file)
                offset = file.tell()
                if dtype.hasobject:
                    held |= objects.variables(path, name, _pickle(path, name, file, member))
                    continue
            check_stored(path, name, shape, dtype.itemsize, member.file_size - offset)
            if member.compress_type == zipfile.ZIP_STORED:
                check_stored(path, name, shape, dtype.itemsize, path.stat().st_size)
            load = partial(_member, path, member.filename)
            whole = columns or math.prod(shape) <= LOOKED_AT
            held[name] = Variable(
                name, shape, dtype.str, None, {}, path, Whole(load, None if whole else load), shape[0] if shape and whole else 1
            )
    return held


def _member(path: Path, name: str, rows: int | None = None) -> np.ndarray:
    """An array, or its first rows, which no checksum is compared for: that is of all of it."""
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        shape, dtype, columns = _header(file)
        shape = shape if rows is None else (min(rows, shape[0]), *shape[1:])
        values, at = np.empty(math.prod(shape), dtype), 0
        room = values.view(np.uint8)
        while at < len(room) and (piece := file.read(min(2**20, len(room) - at))):
            room[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        if at < len(room) or (rows is None and file.read(1)):  # reading on also makes zipfile compare the checksum
            raise ValueError("it has fewer or more bytes than the array")
    return values.reshape(shape, order="F" if columns else "C")


def _header(file: IO[bytes] | zipfile.ZipExtFile) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Shape, type, and whether the array is stored by columns; a header of any length is not read."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise struct.error(f"version {version} of the format is unknown")
    size = file.read(2 * version[0])
    if (length := int.from_bytes(size, "little")) > LONGEST:
        raise ValueError(f"its header claims {length} bytes, more than any array needs")
    text = io.BytesIO(size + file.read(length))
    parse = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns, dtype = parse(text)
    return tuple(int(axis) for axis in shape), dtype, columns


def _pickle(path: Path, name: str, file: IO[bytes] | zipfile.ZipExtFile, member: zipfile.ZipInfo) -> bytes:
    """The bytes after a header, if they do not unpack to much more than the file has."""
    most = max(SMALL, PACKED * path.stat().st_size)
    content = file.read(most + 1) if member.file_size <= most else b""
    if not content or len(content) > most:
        raise RaffiaError(f"{path} is damaged: {name} unpacks to more than such a file holds, or to nothing.")
    return content
