"""MATLAB files: version 7.3 is HDF5 with the axes in reverse; version 5 is read by SciPy, after its sizes are checked.

Version 5 is a header of 128 bytes and then elements: a type, a length and so many bytes. An array is an element of four parts: its
class, its shape, its name and its values. It may be packed by zlib. SciPy trusts types and lengths, so each element is checked alone,
together with the checksum of zlib, and handed to SciPy unpacked.
"""

import io
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import loadmat, whosmat

from raffia.data.readers.damage import Damaged, guarded
from raffia.data.readers.variable import Variable, Whole, check_count, unpackable
from raffia.errors import RaffiaError

MATRIX, COMPRESSED = 14, 15
STORED = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
"""Bytes of a number, by MATLAB's types."""
PARTS = ((6,), (5,), (1,), STORED)  # the types that class, shape, name and values may have
REAL_CLASSES, COMPLEX = range(6, 16), 0x800
HEAD = 2**12  # bytes in which class, shape and name of an array are found


def version5(path: Path) -> dict[str, Variable]:
    """The real numerical arrays of a file written by `save -v7` or older; reading rows of one reads that array."""
    arrays, room = {}, unpackable(path.stat().st_size)
    for element in _elements(path):
        head = element.content(HEAD)
        if element.is_real_array(head):
            room -= element.unpacked_size(head)
            if room < 0:
                raise RaffiaError(f"{path} unpacks to many times its size. Save it with -v7.3, or without compression (-v6).")
            name, shape, dtype = element.described(head)
            arrays[name] = Variable(name, shape, dtype.str, None, {}, path, Whole(element.values), shape[0])
    return arrays


@dataclass(frozen=True)
class _Element:
    """An element of a file: where its bytes lie, behind the tag where they are packed."""

    path: Path
    header: bytes
    order: str
    packed: bool
    start: int
    length: int

    def content(self, most: int, whole: bool = False) -> bytes:
        """Its first bytes, unpacked; of the `whole` element one byte less, and zlib compares the checksum."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            content = file.read(self.length if whole else min(self.length, most))
        if self.packed:
            unpacker = zlib.decompressobj()
            with guarded(self.path):
                content = unpacker.decompress(content, most)
            if whole and not (unpacker.eof and len(content) == most - 1):
                raise Damaged(f"a variable does not unpack to {most - 1} bytes")
        return content

    def is_real_array(self, head: bytes) -> bool:
        """Whether it is an array of real numbers: not of texts, cells, records or complex numbers, and not sparse."""
        if len(head) < 24 or self._integer(head, 0) != MATRIX:
            return False
        flags = self._integer(head, 16)
        return flags & 0xFF in REAL_CLASSES and not flags & COMPLEX

    def unpacked_size(self, head: bytes) -> int:
        """How many bytes it has, unpacked, with its tag."""
        return 8 + self._integer(head, 4)

    def described(self, head: bytes) -> tuple[str, tuple[int, ...], np.dtype]:
        """Name, shape and type of an array, whose parts must have the right types and fill it."""
        at = 8
        for kinds in PARTS:
            if at + 8 > len(head):
                raise Damaged("a variable has no shape, name or values")
            kind, size, at = self._integer(head, at), self._integer(head, at + 4), at + 8
            if small := kind >> 16:  # up to four bytes stand in the tag itself
                kind, size = kind & 0xFFFF, small
            else:
                at += size + -size % 8
            if kind not in kinds:
                raise Damaged(f"a part of a variable has type {kind}")
        whole = self.unpacked_size(head)
        with guarded(self.path):
            ((name, shape, word),) = whosmat(io.BytesIO(self.header + head[:whole]))
        if at > whole or min(shape, default=-1) < 0 or size != math.prod(shape) * STORED[kind]:
            raise Damaged(f"{size} bytes are not an array of shape {shape}")
        return name, shape, np.dtype({"double": "f8", "single": "f4", "logical": "?"}.get(word, word))

    def values(self) -> np.ndarray:
        """The array itself."""
        size = self.unpacked_size(self.content(HEAD))
        content = self.content(size + 1, whole=True)
        with guarded(self.path):
            arrays = loadmat(io.BytesIO(self.header + content), mat_dtype=True)
        return next(array for name, array in arrays.items() if not name.startswith("__"))

    def _integer(self, head: bytes, at: int) -> int:
        return struct.unpack_from(f"{self.order}I", head, at)[0]


def _elements(path: Path) -> Iterator[_Element]:
    """The elements of a file, each of which ends before the file does."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(128)
        if len(header) < 128 or header[126:] not in (b"IM", b"MI") or header[124:126] not in (b"\x00\x01", b"\x01\x00"):
            raise RaffiaError(f"{path} is damaged or no MATLAB file of version 5 or 7.3. In MATLAB, save it with -v7 or -v7.3.")
        order = "<" if header[126:] == b"IM" else ">"
        start, count = 128, 0
        while start + 8 <= size:
            check_count(path, count := count + 1)
            file.seek(start)
            kind, length = struct.unpack(f"{order}II", file.read(8))
            end = start + 8 + length
            if end > size:
                raise Damaged("it ends within a variable")
            packed = kind == COMPRESSED
            yield _Element(path, header, order, packed, start + 8 * packed, length + 8 * (not packed))
            start = end
