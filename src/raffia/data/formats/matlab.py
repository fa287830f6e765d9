"""MATLAB files: version 7.3 is HDF5 with the axes in reverse; version 5 is parsed here, as SciPy's parser crashes on damaged files.

Version 5 is a header of 128 bytes and then elements: a type, a length and so many bytes. An array is an element that holds further
ones: its class, its shape, its name, its values. An element may be packed by zlib.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from raffia.data.formats import hdf5
from raffia.data.formats.variable import Variable, Whole, check_count, check_size, guarded
from raffia.errors import RaffiaError

MATRIX, COMPRESSED = 14, 15
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX, LOGICAL = 0x08, 0x02
HEAD = 2**12  # bytes in which class, shape and name of an array are found


def version73(path: Path) -> dict[str, Variable]:
    """The numerical arrays of a file written by `save -v7.3`, read lazily; axes as in MATLAB."""
    held = hdf5.variables(path, reverse=True)
    return {name: array for name, array in held.items() if not name.startswith("#")}


def version5(path: Path) -> dict[str, Variable]:
    """The real numerical arrays of a file written by `save -v7` or older; reading rows of one reads that array."""
    held = {}
    with guarded(path):
        for array in _arrays(path):
            check_size(path, array.name, array.shape, array.dtype.itemsize)
            load, whole = Whole(array.values), array.shape[0]
            held[array.name] = Variable(array.name, array.shape, array.dtype.str, None, {}, path, load, whole)
    return held


@dataclass(frozen=True)
class _Array:
    """Where an array lies in a file: the element that holds it, and its values in that element."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    path: Path
    order: str
    packed: bool
    start: int
    length: int
    place: int

    def values(self) -> np.ndarray:
        """The array itself."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            element = file.read(self.length)
        if len(element) < self.length:
            raise ValueError("the file ends within this variable")
        if self.packed:
            most = self.place + 16 + 8 * math.prod(self.shape)
            element = zlib.decompressobj().decompress(element, most)
        kind, size, at, _ = _tag(element, self.place, self.order)
        stored = np.dtype(self.order + STORED[kind])
        if size != stored.itemsize * math.prod(self.shape) or at + size > len(element):
            raise ValueError(f"{size} bytes are not an array of shape {self.shape}")
        return np.frombuffer(element, stored, math.prod(self.shape), at).astype(self.dtype).reshape(self.shape, order="F")


def _arrays(path: Path) -> Iterator[_Array]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(128)
        if len(head) < 128 or head[126:] not in (b"IM", b"MI") or head[124:126] not in (b"\x00\x01", b"\x01\x00"):
            raise RaffiaError(f"{path} is damaged or no MATLAB file of version 5 or 7.3. In MATLAB, save it with -v7 or -v7.3.")
        order = "<" if head[126:] == b"IM" else ">"
        start, count = 128, 0
        while start < size:
            check_count(path, count := count + 1)
            file.seek(start)
            kind, length, at, _ = _tag(file.read(8), 0, order)
            if start + at + length > size:
                raise ValueError("the file ends within a variable")
            file.seek(start + at)
            element = file.read(min(length, HEAD))
            if kind == COMPRESSED:
                element = zlib.decompressobj().decompress(element, HEAD)
                inner, _, begin, _ = _tag(element, 0, order)
            else:
                inner, begin = kind, 0
            if inner == MATRIX and (described := _described(element, begin, order)):
                yield _Array(*described[:3], path, order, kind == COMPRESSED, start + at, length, described[3])
            start += at + length


def _described(element: bytes, at: int, order: str) -> tuple[str, tuple[int, ...], np.dtype, int] | None:
    """Name, shape, type, and where the values begin; None for what is no array of real numbers."""
    _, _, begin, end = _tag(element, at, order)
    flags = struct.unpack_from(order + "I", element, begin)[0]
    if flags & 0xFF not in CLASSES or (flags >> 8) & COMPLEX:
        return None
    _, size, begin, end = _tag(element, end, order)
    shape = struct.unpack_from(f"{order}{size // 4}i", element, begin)
    _, size, begin, end = _tag(element, end, order)
    if begin + size > len(element) or len(shape) < 2 or min(shape) < 0:
        raise ValueError("a variable has no shape or no name")
    name = element[begin : begin + size].decode("utf-8", "replace")
    dtype = np.dtype(bool) if (flags >> 8) & LOGICAL else np.dtype(CLASSES[flags & 0xFF])
    return (name, tuple(shape), dtype, end) if name else None


def _tag(element: bytes, at: int, order: str) -> tuple[int, int, int, int]:
    """Type and length of the element at `at`, where its bytes begin, and the next element; four bytes may stand in the tag itself."""
    word = struct.unpack_from(order + "I", element, at)[0]
    if word >> 16:
        return word & 0xFFFF, word >> 16, at + 4, at + 8
    size = struct.unpack_from(order + "I", element, at + 4)[0]
    return word, size, at + 8, at + 8 + size + -size % 8
