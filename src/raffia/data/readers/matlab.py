"""MATLAB files of version 5 to 7.2: numerical arrays, also those in cells and structs; version 7.3 is HDF5 with the axes in reverse.

A file is a header of 128 bytes and then elements: a type, a length and so many bytes. An array is an element of parts: its class,
its shape, its name and its values. The values of a cell or a struct are arrays. Elements may be packed by zlib. SciPy is not used:
it trusts types and lengths, so that damaged files crash it, and `mat_dtype` drops imaginary parts.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from raffia.data.readers import nested
from raffia.data.readers.damage import Damaged, damaged_if, guarded
from raffia.data.readers.variable import Variable, check_count, unpackable, whole
from raffia.errors import RaffiaError

MATRIX, COMPRESSED = 14, 15
STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of numbers as they are stored, which may be smaller than those of their class."""
CELL, STRUCT = 1, 2
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX, LOGICAL = 0x800, 0x200
HEAD = 2**12  # bytes in which class, shape and name of an array are found
DEEPEST, MOST = 8, 2**17  # cells in one another, and entries of one

Part = tuple[int, int, int]
"""The type of a part of an element, its first byte, and how many bytes it has."""


def version5(path: Path) -> dict[str, Variable]:
    """The numerical arrays of a file written by `save -v7` or older. Reading rows of one reads all of it."""
    arrays: dict[str, Variable] = {}
    room = unpackable(path.stat().st_size)
    for element in _elements(path):
        head = element.unpacked(HEAD)
        kind, size, flags = struct.unpack_from(f"{element.order}2i8xi", head) if len(head) >= 24 else (0, 0, 0)
        if kind != MATRIX or flags & 0xFF not in (CELL, STRUCT, *CLASSES):
            continue
        room -= size + 8
        if room < 0:
            raise RaffiaError(f"{path} unpacks to many times its size. Save it with -v7.3, or without compression (-v6).")
        if flags & 0xFF in CLASSES:
            shape, name, _ = element.described(head, 8, size + 8)
            load, dtype = whole(partial(element.values, size + 8)), _dtype(flags)
            arrays[name] = Variable(path, name, shape, dtype.str, load, block=shape[0])
        else:
            name, value = element.matrix(element.unpacked(size + 9, complete=True), 8, size + 8)
            arrays |= nested.variables(path, {name: value}, 0, 8 * size)  # numbers of 8 bytes may be stored in one
        check_count(path, len(arrays))
    return arrays


@dataclass(frozen=True)
class _Element:
    """An element of a file: where its bytes lie, behind the tag if they are packed."""

    path: Path
    order: Literal["<", ">"]
    packed: bool
    start: int
    length: int

    def unpacked(self, most: int, complete: bool = False) -> bytes:
        """Return the first `most` bytes of the element, decompressed.

        If `complete`, the whole element is decompressed and its checksum compared. It must have `most` − 1 bytes.
        """
        with self.path.open("rb") as file:
            file.seek(self.start)
            content = file.read(self.length if complete else min(self.length, most))
        if self.packed:
            unpacker = zlib.decompressobj()
            with guarded(self.path):
                content = unpacker.decompress(content, most)
            wrong = complete and not (unpacker.eof and len(content) == most - 1)
            damaged_if(wrong, f"a variable does not unpack to {most - 1} bytes")
        return content

    def integers(self, content: bytes, at: int, count: int) -> tuple[int, ...]:
        """Numbers of four bytes."""
        damaged_if(at + 4 * count > len(content), "a variable has no shape, name or values")
        return struct.unpack_from(f"{self.order}{count}i", content, at)

    def values(self, size: int) -> np.ndarray:
        """The array that this element is."""
        array = self.matrix(self.unpacked(size + 1, complete=True), 8, size)[1]
        if type(array) is not np.ndarray:
            raise RaffiaError(f"{self.path} has changed since it was opened. Open it again.")
        return array

    def _parts(self, content: bytes, at: int, end: int) -> Iterator[Part]:
        """The parts of a matrix, which fill it."""
        while at < end:
            kind, size = self.integers(content, at, 2)
            if kind >> 16:  # up to four bytes stand in the tag itself
                yield kind & 0xFFFF, at + 4, kind >> 16
                at += 8
            else:
                yield kind, at + 8, size
                at += 8 + size + -size % 8 * (kind != COMPRESSED)
            damaged_if(size < 0 or at > end, "a part of a variable ends behind it")

    def described(self, content: bytes, at: int, end: int) -> tuple[tuple[int, ...], str, Iterator[Part]]:
        """Return the shape and the name of a matrix, and an iterator over the parts that hold its values."""
        parts = self._parts(content, at, end)
        first = list(islice(parts, 3))
        if [kind for kind, _, _ in first] != [6, 5, 1]:
            raise Damaged("a variable has no class, shape or name")
        _, (_, shaped, axes), (_, named, length) = first
        shape = self.integers(content, shaped, axes // 4)
        damaged_if(min(shape, default=-1) < 0, f"a variable has shape {shape}")
        return shape, content[named : named + length].decode("latin-1"), parts

    def matrix(self, content: bytes, at: int, end: int, depth: int = 0) -> tuple[str, Any]:
        """The name and the values of a matrix: an array, a list for a cell, a dictionary for a struct; None for texts and the like."""
        if at == end:
            return "", None
        shape, name, parts = self.described(content, at, end)
        values = list(parts)
        damaged_if(depth > DEEPEST or len(values) > MOST, "it has too many cells, or cells too deep in one another")
        (flags,) = self.integers(content, at + 8, 1)
        kind = flags & 0xFF
        if kind in CLASSES:
            return name, self._numbers(content, flags, shape, values)
        if kind not in (CELL, STRUCT):
            return name, None
        fields, values = self._fields(content, values) if kind == STRUCT else ([""], values)
        if len(values) != math.prod(shape) * len(fields) or any(part[0] != MATRIX for part in values):
            raise Damaged(f"a cell or struct of shape {shape} has {len(values)} values")
        entries = [self.matrix(content, start, start + size, depth + 1)[1] for _, start, size in values]
        if kind == CELL:
            return name, entries
        records = [dict(zip(fields, entries[i * len(fields) :], strict=False)) for i in range(math.prod(shape))]
        return name, records[0] if len(records) == 1 else records

    def _fields(self, content: bytes, parts: list[Part]) -> tuple[list[str], list[Part]]:
        """The names of the fields of a struct, each in as many letters, and its values."""
        damaged_if([kind for kind, _, _ in parts[:2]] != [5, 1], "a struct has no names of fields")
        (_, wide, _), (_, start, size), *values = parts
        (each,) = self.integers(content, wide, 1)
        damaged_if(each < 1, "a struct has no names of fields")
        letters = [content[place : place + each] for place in range(start, start + size, each)]
        return [word.split(b"\0")[0].decode("latin-1") for word in letters], values

    def _numbers(self, content: bytes, flags: int, shape: tuple[int, ...], values: list[Part]) -> np.ndarray:
        """An array of real numbers, or of complex ones whose imaginary parts follow the real parts."""
        stored = [np.dtype(STORED[kind]).newbyteorder(self.order) for kind, _, _ in values if kind in STORED]
        sizes, count = [size for _, _, size in values], math.prod(shape)
        if len(stored) != 1 + bool(flags & COMPLEX) or [kind.itemsize * count for kind in stored] != sizes:
            raise Damaged(f"{sizes} bytes are not an array of shape {shape}")
        array = np.empty(count, _dtype(flags))
        for half, kind, (_, start, _) in zip((array.real, array.imag), stored, values, strict=False):
            half[...] = np.frombuffer(content, kind, count, start)
        return array.reshape(shape, order="F")


def _dtype(flags: int) -> np.dtype:
    """The type of the values of an array with these flags."""
    dtype = np.dtype("?" if flags & LOGICAL else CLASSES[flags & 0xFF])
    return np.result_type(dtype, np.complex64) if flags & COMPLEX else dtype


def _elements(path: Path) -> Iterator[_Element]:
    """The elements of a file, each of which ends before the file does."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(128)
        if len(header) < 128 or header[124:] not in (b"\x00\x01IM", b"\x01\x00MI"):
            raise RaffiaError(f"{path} is damaged or no MATLAB file of version 5 or 7.3. In MATLAB, save it with -v7 or -v7.3.")
        order: Literal["<", ">"] = "<" if header[126:] == b"IM" else ">"
        start, count = 128, 0
        while start + 8 <= size:
            check_count(path, count := count + 1)
            file.seek(start)
            kind, length = struct.unpack(f"{order}II", file.read(8))
            end = start + 8 + length
            damaged_if(end > size, "it ends within a variable")
            packed = kind == COMPRESSED
            yield _Element(path, order, packed, start + 8 * packed, length + 8 * (not packed))
            start = end
