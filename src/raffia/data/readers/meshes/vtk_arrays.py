"""Arrays in VTK's XML files: as text, in base64 or raw after the elements, packed by zlib, LZMA or LZ4, or not."""

import base64
import lzma
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.readers.damage import Damaged, damaged_if, entry, floats, guarded, integer, integers
from raffia.data.readers.meshes.content import Fields
from raffia.data.readers.variable import optional, unpackable
from raffia.errors import RaffiaError

TYPES = {f"{sign}Int{8 * size}": f"{sign.lower() or 'i'}{size}" for sign in ("", "U") for size in (1, 2, 4, 8)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
ZLIB, LZMA, LZ4 = "vtkZLibDataCompressor", "vtkLZMADataCompressor", "vtkLZ4DataCompressor"
ORDERS: dict[str, Literal["<", ">"]] = {"LittleEndian": "<", "BigEndian": ">"}


@dataclass
class Arrays:
    """How numbers are written in a file, and how many more bytes may be unpacked from it."""

    path: Path
    order: Literal["<", ">"]
    header: np.dtype
    compressor: str | None
    appended: bytes
    encoded: bool
    left: int

    @classmethod
    def of(cls, path: Path, root: Element, appended: bytes) -> "Arrays":
        """What the root of a file says, and the bytes that follow its elements."""
        order = entry(ORDERS, root.get("byte_order", "LittleEndian"), "order of bytes")
        compressor = root.get("compressor") or None
        if compressor not in (None, ZLIB, LZMA, LZ4):
            raise RaffiaError(f"it is packed by {compressor}; raffia unpacks zlib, LZMA and LZ4. Write it with one of them.")
        part = root.find("AppendedData")
        encoded = part is not None and part.get("encoding", "base64") == "base64"
        if encoded:
            appended = b"".join(appended.partition(b"<")[0].split())
        left = unpackable(path.stat().st_size)
        header = np.dtype(entry(TYPES, root.get("header_type", "UInt32"), "type of headers"))
        damaged_if(header.kind == "f", "its headers are no integers")
        return cls(path, order, header, compressor, appended, encoded, left)

    def fields(self, piece: Element, tag: str, count: int) -> Fields:
        """Values at so many points or cells of a piece; of texts there are none."""
        arrays = [array for array in piece.findall(f"{tag}/DataArray") if array.get("type") in TYPES]
        return {array.get("Name", ""): self.read(array, count) for array in arrays}

    def named(self, parent: Element | None, name: str, count: int) -> np.ndarray:
        """The array of a name, of so many numbers."""
        for array in () if parent is None else parent.findall("DataArray"):
            if array.get("Name", "").lower() == name.lower():
                return self.read(array, count).reshape(-1)
        raise Damaged(f"it has no array of {name}")

    def read(self, array: Element, rows: int) -> np.ndarray:
        """The values (rows, components) of an array."""
        many = integer(array.get("NumberOfComponents") or "1")
        dtype = np.dtype(entry(TYPES, array.get("type"), "type of an array")).newbyteorder(self.order)
        count, how = rows * many, array.get("format", "ascii")
        damaged_if(rows < 0 or many < 1, f"{array.get('Name')} claims {rows} times {many} values")
        if how == "ascii":
            values = (floats if dtype.kind == "f" else integers)(array.text or "").astype(dtype)
        elif how == "binary":
            values = self._decoded("".join((array.text or "").split()).encode("ascii", "replace"), True, dtype, count)
        elif how == "appended":
            start = integer(array.get("offset"))
            damaged_if(not 0 <= start <= len(self.appended), f"{array.get('Name')} begins behind the end")
            values = self._decoded(self.appended[start:], self.encoded, dtype, count)
        else:
            raise Damaged(f"{array.get('Name')} has the format {how[:20]}")
        damaged_if(len(values) != count, f"{array.get('Name')} has {len(values)} values, not {count}")
        return values.reshape(rows, many)

    def _decoded(self, data: bytes, encoded: bool, dtype: np.dtype, count: int) -> np.ndarray:
        """Numbers after their size in bytes, or where they are packed, after the sizes of blocks."""
        size = count * dtype.itemsize
        if self.compressor:
            return np.frombuffer(self._unpacked(data, encoded, size), dtype)
        damaged_if(size > len(data), f"{count} values are said to be there, and {len(data)} bytes are")
        head = self.header.itemsize
        if encoded and data[: _letters(head)].endswith(b"="):  # the size was encoded alone, else with the values
            content = self._decode(data, True, 0, head) + self._decode(data, True, _letters(head), size)
        else:
            content = self._decode(data, encoded, 0, head + size)
        (claimed,) = self._integers(content, 1)
        damaged_if(claimed != size or len(content) != head + size, f"{claimed} bytes are there for {count} values")
        return np.frombuffer(content, dtype, count, head)

    def _unpacked(self, data: bytes, encoded: bool, size: int) -> bytes:
        """So many bytes, from blocks that are packed each for itself."""
        (blocks,) = self._integers(self._decode(data, encoded, 0, self.header.itemsize), 1)
        damaged_if(not 0 <= blocks <= len(data), f"{blocks} blocks are said to be there, and {len(data)} bytes are")
        self.left -= size
        if self.left < 0:
            raise RaffiaError("it unpacks to many more values than it has bytes. Write it without a compressor.")
        head = (3 + blocks) * self.header.itemsize
        _, whole, last, *lengths = self._integers(self._decode(data, encoded, 0, head), 3 + blocks)
        packed = self._decode(data, encoded, _letters(head) if encoded else head, sum(lengths))
        sizes = [whole] * (blocks - 1) + [last or whole] * (blocks > 0)
        if min([0, *lengths, *sizes]) < 0 or sum(sizes) != size:
            raise Damaged(f"its blocks unpack to {sum(sizes)} bytes, not to {size}")
        content, at = [], 0
        for length, most in zip(lengths, sizes, strict=True):
            with guarded(self.path):
                content.append(_inflated(str(self.compressor), packed[at : at + length], most))
            at += length
            damaged_if(len(content[-1]) != most, "a block unpacks to more or fewer bytes than it should")
        return b"".join(content)

    def _integers(self, head: bytes, count: int) -> list[int]:
        damaged_if(len(head) < count * self.header.itemsize, "an array has no header")
        return np.frombuffer(head, self.header.newbyteorder(self.order), count).tolist()

    def _decode(self, data: bytes, encoded: bool, start: int, size: int) -> bytes:
        """So many bytes from a place on."""
        if not encoded:
            return data[start : start + size]
        with guarded(self.path):
            return base64.b64decode(data[start : start + _letters(size)])[:size]


def _letters(size: int) -> int:
    """How many letters of base64 hold so many bytes."""
    return -(-size // 3) * 4


def _inflated(compressor: str, block: bytes, size: int) -> bytes:
    """A block that should have so many bytes; no more than one more is unpacked."""
    if compressor == LZ4:
        return optional("lz4.block", "VTK's LZ4", "lz4").decompress(block, uncompressed_size=size)
    packing = zlib.decompressobj() if compressor == ZLIB else lzma.LZMADecompressor(memlimit=2**27)
    return packing.decompress(block, size + 1)
