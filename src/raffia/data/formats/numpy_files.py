"""NumPy's .npy and .npz files, without pickles."""

import struct
import zipfile
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from raffia.data.formats.variable import Rows, Variable, Whole, check_stored, guarded
from raffia.errors import RaffiaError


def npy(path: Path) -> dict[str, Variable]:
    """The one array of an .npy file, named after the file and mapped into memory."""
    with guarded(path), path.open("rb") as file:
        shape, dtype = _header(file)
        _check_plain(path, path.stem, dtype)
        check_stored(path, path.stem, shape, dtype.itemsize, path.stat().st_size - file.tell())

    def load(rows: Rows) -> np.ndarray:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False) if 0 not in shape else np.load(path, allow_pickle=False)
        return np.array(mapped if rows is None else mapped[rows])

    return {path.stem: Variable(path.stem, shape, dtype.str, None, {}, path, load)}


def npz(path: Path) -> dict[str, Variable]:
    """The arrays of an .npz file; reading rows of one reads that array."""
    held = {}
    if not zipfile.is_zipfile(path):
        raise RaffiaError(f"{path} is damaged or not a file of NumPy arrays: there are no arrays in it.")
    with guarded(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            with archive.open(member) as file:
                shape, dtype = _header(file)
                offset = file.tell()
            _check_plain(path, name, dtype)
            check_stored(path, name, shape, dtype.itemsize, member.file_size - offset)
            if member.compress_type == zipfile.ZIP_STORED:
                check_stored(path, name, shape, dtype.itemsize, path.stat().st_size)
            held[name] = Variable(name, shape, dtype.str, None, {}, path, Whole(partial(_member, path, member.filename)))
    return held


def _member(path: Path, name: str) -> np.ndarray:
    with zipfile.ZipFile(path) as archive, archive.open(name) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
        if file.read(1):  # also makes zipfile compare the checksum
            raise ValueError("bytes left over after the array")
    return array


def _header(file: IO[bytes] | zipfile.ZipExtFile) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise struct.error(f"version {version} of the format is unknown")
    return tuple(int(axis) for axis in shape), dtype


def _check_plain(path: Path, name: str, dtype: np.dtype) -> None:
    if dtype.hasobject:
        raise RaffiaError(
            f"{path} holds Python objects in {name}, as a pickle, which raffia never opens: "
            "it could run any code. Save plain arrays instead."
        )
