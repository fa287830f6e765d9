"""Numbers in VTK's XML files: as text, in base64 or raw after the elements, packed by zlib or LZMA or not."""

import base64
import lzma
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from raffia.data.formats.meshes.content import Fields
from raffia.data.formats.variable import LOOKED_AT, MOST_PACKED, PACKED
from raffia.errors import RaffiaError

TYPES = {f"{sign}Int{8 * size}": f"{sign.lower() or 'i'}{size}" for sign in ("", "U") for size in (1, 2, 4, 8)}
TYPES |= {"Float32": "f4", "Float64": "f8"}
COMPRESSORS = ("vtkZLibDataCompressor", "vtkLZMADataCompressor")
ORDERS: dict[str, Literal["<", ">"]] = {"LittleEndian": "<", "BigEndian": ">"}


@dataclass
class Arrays:
    """How numbers are written in a file, and how many more values may be unpacked from it."""

    order: Literal["<", ">"]
    header: np.dtype
    compressor: str | None
    appended: bytes
    encoded: bool
    left: int

    @classmethod
    def of(cls, path: Path, root: Element, appended: bytes) -> "Arrays":
        """What the root of a file says, and the bytes that follow its elements."""
        order = ORDERS[root.get("byte_order", "LittleEndian")]
        compressor = root.get("compressor") or None
        if compressor not in (None, *COMPRESSORS):
            raise RaffiaError(
                f"{path} is packed by {compressor}; raffia unpacks {' and '.join(COMPRESSORS)}. Write it with one of them."
            )
        part, size = root.find("AppendedData"), path.stat().st_size
        encoded = part is not None and part.get("encoding", "base64") == "base64"
        if encoded:
            appended = b"".join(appended.partition(b"<")[0].split())
        left = 8 * max(LOOKED_AT, size, min(PACKED * size, MOST_PACKED))
        return cls(order, np.dtype(TYPES[root.get("header_type", "UInt32")]), compressor, appended, encoded, left)

    def fields(self, pieces: list[Element], tag: str, counts: list[int]) -> Fields:
        """Values at points or in cells, one after the other of all pieces; of texts there are none."""
        found: Fields = {}
        for piece, count in zip(pieces, counts, strict=True):
            for array in piece.findall(f"{tag}/DataArray"):
                if array.attrib["type"] in TYPES:
                    values = self.read(array, count)
                    name = array.get("Name", "")
                    found[name] = np.concatenate([found[name], values]) if name in found else values
        return {name: values for name, values in found.items() if len(values) == sum(counts)}

    def named(self, parent: Element | None, name: str, count: int) -> np.ndarray:
        """The array of a name, of so many numbers."""
        for array in () if parent is None else parent.findall("DataArray"):
            if array.get("Name", "").lower() == name.lower():
                return self.read(array, count).reshape(-1)
        raise ValueError(f"it has no array of {name}")

    def read(self, array: Element, rows: int) -> np.ndarray:
        """The values (rows, components) of an array."""
        many = int(array.get("NumberOfComponents") or 1)
        dtype = np.dtype(TYPES[array.attrib["type"]]).newbyteorder(self.order)
        count, how = rows * many, array.get("format", "ascii")
        if rows < 0 or many < 1:
            raise ValueError(f"{array.get('Name')} claims {rows} times {many} values")
        if how == "ascii":
            whole = np.float64 if dtype.kind == "f" else np.int64
            text = array.text or ""
            values = np.fromstring(text, whole, sep=" ") if text.strip() else np.empty(0, whole)
            if len(values) != len(text.split()):
                raise ValueError(f"{array.get('Name')} holds more than numbers")
            values = values.astype(dtype)
        elif how == "binary":
            values = self._decoded("".join((array.text or "").split()).encode("ascii"), True, dtype, count)
        elif how == "appended":
            values = self._decoded(self.appended[int(array.attrib["offset"]) :], self.encoded, dtype, count)
        else:
            raise ValueError(f"{array.get('Name')} has the format {how[:20]}")
        if len(values) != count:
            raise ValueError(f"{array.get('Name')} has {len(values)} values, not {count}")
        return values.reshape(rows, many)

    def _decoded(self, data: bytes, encoded: bool, dtype: np.dtype, count: int) -> np.ndarray:
        """Numbers after their size in bytes, or where they are packed, after the sizes of blocks."""
        size = count * dtype.itemsize
        if self.compressor:
            return np.frombuffer(self._unpacked(data, encoded, size), dtype)
        if size > len(data):
            raise ValueError(f"{count} values are said to be there, and {len(data)} bytes are")
        head = self.header.itemsize
        if encoded and data[: _letters(head)].endswith(b"="):  # the size was encoded alone, else with the values
            found = _decode(data, True, 0, head) + _decode(data, True, _letters(head), size)
        else:
            found = _decode(data, encoded, 0, head + size)
        if self._numbers(found, 1)[0] != size:
            raise ValueError(f"{self._numbers(found, 1)[0]} bytes are there for {count} values")
        return np.frombuffer(found, dtype, count, head)

    def _unpacked(self, data: bytes, encoded: bool, size: int) -> bytes:
        """So many bytes, from blocks that are packed each for itself."""
        blocks = self._numbers(_decode(data, encoded, 0, self.header.itemsize), 1)[0]
        if blocks > len(data):
            raise ValueError(f"{blocks} blocks are said to be there, and {len(data)} bytes are")
        self.left -= size
        if self.left < 0:
            raise RaffiaError("it unpacks to many more values than it has bytes. Write it without a compressor.")
        head = (3 + blocks) * self.header.itemsize
        lengths = self._numbers(_decode(data, encoded, 0, head), 3 + blocks)[3:]
        packed = _decode(data, encoded, _letters(head) if encoded else head, sum(lengths))
        found, at, left = [], 0, size
        for length in lengths:
            found.append(_inflated(str(self.compressor), packed[at : at + length], left))
            at, left = at + length, left - len(found[-1])
        return b"".join(found)

    def _numbers(self, head: bytes, count: int) -> list[int]:
        return [int(number) for number in np.frombuffer(head, self.header.newbyteorder(self.order), count)]


def _letters(size: int) -> int:
    """How many letters of base64 hold so many bytes."""
    return -(-size // 3) * 4


def _decode(data: bytes, encoded: bool, start: int, size: int) -> bytes:
    """So many bytes from a place on."""
    return base64.b64decode(data[start : start + _letters(size)])[:size] if encoded else data[start : start + size]


def _inflated(compressor: str, block: bytes, most: int) -> bytes:
    """A block of at most so many bytes."""
    packing = zlib.decompressobj() if compressor == COMPRESSORS[0] else lzma.LZMADecompressor(memlimit=2**27)
    found = packing.decompress(block, most + 1)
    if len(found) > most:
        raise ValueError("a block unpacks to more bytes than it should")
    return found
