"""NumPy's .npy and .npz files; of pickles in them, plain arrays, dictionaries and lists, read without running any code of the file.

A pickle is a program for a stack machine. It is run by the unpickler that Python's library has in Python, restricted to the
instructions that make plain values, and it may name no functions but those here. They stand in for NumPy's functions and make
views of bytes that are in the file. NumPy's own functions are never handed out: a dtype with altered flags would make them take
bytes for pointers. The unpickler written in C is not used: it takes memory for any memo index that a pickle names.
"""

import io
import math
import pickle
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from raffia.data.readers import nested
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
        return _pickled(path, name, content)
    check_stored(path, name, shape, dtype.itemsize, stored)

    def load(rows: Rows) -> np.ndarray:
        with guarded(path, name):
            array = np.load(path, mmap_mode=None if 0 in shape else "r", allow_pickle=False)
            return np.array(array if rows is None else array[rows])

    return {name: Variable(path, name, shape, dtype.str, load)}


def npz(path: Path) -> dict[str, Variable]:
    """The arrays of an .npz file; reading rows of one reads that array."""
    arrays: dict[str, Variable] = {}
    if not zipfile.is_zipfile(path):
        raise RaffiaError(f"{path} is damaged or not a file of NumPy arrays: there are no arrays in it.")
    for member, (shape, dtype, columns), stored, content in list(_members(path)):
        name = member.removesuffix(".npy")
        if dtype.hasobject:
            arrays |= _pickled(path, name, content)
            continue
        check_stored(path, name, shape, dtype.itemsize, stored)
        load, small = partial(_member, path, member), columns or math.prod(shape) <= LOOKED_AT
        block = shape[0] if shape and small else 1
        arrays[name] = Variable(path, name, shape, dtype.str, whole(load, None if small else load), block=block)
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


INSTRUCTIONS = 2**17  # that are run whatever the size of the file
DEEPEST = 32  # lists in one another
LARGEST = 2**64  # integers
FEW = 3  # arrays in a list that are inputs, coordinates and the like rather than samples
PLAIN = re.compile(r"[fiu][1248]|b1|O8?|[US]\d{1,4}")
LIBRARY: Any = pickle._Unpickler  # whose instructions have no types


class Refused(ValueError):
    """A pickle asks for more than plain arrays, or is damaged."""


def _refuse(wrong: object, reason: str) -> None:
    if wrong:
        raise Refused(reason)


def _pickled(path: Path, name: str, content: bytes) -> dict[str, Variable]:
    """The plain arrays in a pickled array of objects; an array without keys has the name of that array."""
    try:
        plain = _plain(loaded(content, path.stat().st_size), {})
    except Refused as error:
        raise RaffiaError(
            f"{path} holds Python objects in {name}, as a pickle, or is damaged. raffia never opens a pickle, which could run any code. "
            f"Only plain arrays, dictionaries, lists, texts and numbers are read ({error}). Save plain arrays instead."
        ) from None
    arrays: dict[str, Variable] = {}
    for key, v in nested.variables(path, plain, FEW, 8 * len(content)).items():  # small integers take a byte or two
        label = name if not key else f"{name}{key}" if key.isdigit() else key if name == path.stem else f"{name}.{key}"
        arrays[label] = replace(v, name=label)
    return arrays


def loaded(content: bytes, stored: int) -> Any:
    """The content of a pickle in a file of so many bytes: dictionaries, lists, tuples, texts, numbers and `Array`s."""
    unpickler = _Unpickler(io.BytesIO(content))
    unpickler.dispatch = _Instructions(max(INSTRUCTIONS, stored // 8))
    try:
        value = unpickler.load()
    except Exception as error:  # Python's unpickler raises nearly anything
        raise Refused(f"{error or type(error).__name__}"[:200]) from None
    _refuse(unpickler.stack or unpickler.metastack, "it leaves more than one value")
    return value


class _DType:
    """Stands in for numpy.dtype, which a pickle makes in two steps: its size, then the order of its bytes."""

    def __init__(self, code: Any, *_: Any) -> None:
        _refuse(type(code) is not str or not PLAIN.fullmatch(code), f"it makes an array of type {code!r:.20}")
        self.dtype = np.dtype(code)

    def build(self, *state: Any) -> None:
        """Set the order of bytes; any other part of the state must be empty."""
        known = len(state) == 8 and state[2:5] == (None, None, None) and state[1] in ("<", ">", "|", "=")
        _refuse(not known, "it makes an array of an unknown type")
        self.dtype = self.dtype.newbyteorder(state[1])


class Array:
    """Stands in for an array, which a pickle makes empty and then gives a shape and `values`, or a list of `objects`."""

    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    objects: tuple[Any, ...] = ()

    def __init__(self, *_: Any) -> None:
        """Take the class of the array and an empty shape, which do not count."""

    def build(self, *state: Any) -> None:
        """Take shape, dtype, order and values, which must be as many as the shape says."""
        _, shape, kind, columns, values = state
        sized = type(shape) is tuple and all(type(axis) is int and axis >= 0 for axis in shape) and type(kind) is _DType
        _refuse(not sized, "it makes an array without a shape or a type")
        dtype, count = kind.dtype, math.prod(shape)
        wanted, size = (list, count) if dtype.hasobject else (bytes, count * dtype.itemsize)
        wrong = type(values) is not wanted or len(values) != size or (dtype.hasobject and columns)
        _refuse(wrong, f"the bytes are not an array of shape {shape}")
        self.shape = shape
        if dtype.hasobject:
            self.objects = tuple(values)
        else:
            self.values = np.frombuffer(values, dtype).reshape(shape, order="F" if columns else "C")


def _scalar(kind: Any, values: Any = b"") -> Any:
    array = Array()
    array.build(1, (), kind, False, values)
    _refuse(array.values is None or kind.dtype.kind in "US", "it makes a number of an unknown type")
    return array.values.item() if array.values is not None else None


STAND_INS: dict[str, Callable[..., Any]] = {
    "numpy.dtype": _DType,
    "numpy.ndarray": lambda *_: _refuse(True, "it makes an array"),
}
for core in ("numpy.core", "numpy._core"):
    STAND_INS |= {f"{core}.multiarray._reconstruct": Array, f"{core}.multiarray.scalar": _scalar}


class _Unpickler(LIBRARY):
    """Python's unpickler, without its ways to change objects, to take memory, and to compare keys for any time."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        _refuse(f"{module}.{name}" not in STAND_INS or "." in name, f"it names {module}.{name}"[:80])
        return STAND_INS[f"{module}.{name}"]

    def load_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        known = type(target) in (Array, _DType) and type(state) is tuple
        _refuse(not known, "it gives a state to what is no plain array")
        target.build(*state)

    def load_setitem(self) -> None:
        self.check_keys(self.stack[-2:-1])
        super().load_setitem()

    def load_setitems(self) -> None:
        self.check_keys(self.stack[::2])
        super().load_setitems()

    def check_keys(self, keys: list[Any]) -> None:
        """Refuse tuples as keys: within one another, they take any time to compare."""
        _refuse({type(key) for key in keys} - {str, int, float, bool, bytes}, "it has a dictionary with keys that are no names")


class _Instructions:
    """The method for each instruction by its code; unknown instructions, and too many, are refused."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __getitem__(self, code: int) -> Callable[[_Unpickler], None]:
        self.left -= 1
        _refuse(self.left < 0 or code not in KNOWN, f"it has the instruction {code:#x}, or more instructions than arrays need")
        return KNOWN[code]


NAMES = """PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT BINUNICODE SHORT_BINUNICODE BINUNICODE8
BINBYTES SHORT_BINBYTES BINBYTES8 EMPTY_LIST EMPTY_DICT EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS SETITEM SETITEMS MEMOIZE
BINPUT LONG_BINPUT BINGET LONG_BINGET GLOBAL STACK_GLOBAL REDUCE BUILD"""
CODES = {instruction.name: ord(instruction.code) for instruction in pickletools.opcodes}
KNOWN = {CODES[name]: LIBRARY.dispatch[CODES[name]] for name in NAMES.split()}
KNOWN |= {CODES[name]: getattr(_Unpickler, f"load_{name.lower()}") for name in ("BUILD", "SETITEM", "SETITEMS")}


def _plain(value: Any, done: dict[int, Any], depth: int = 0) -> Any:
    """Arrays of objects as lists, or as arrays if all objects are numbers; a value that occurs several times is converted once."""
    if type(value) in (str, bytes, bytearray, float, bool, type(None)) or (type(value) is int and abs(value) < LARGEST):
        return value
    if type(value) not in (dict, list, tuple, Array) or depth > DEEPEST:
        raise Refused(f"it holds a {type(value).__name__}, a large integer, or lists deep in one another")
    if type(value) is Array and value.values is not None:
        return value.values
    if id(value) not in done and type(value) is dict:
        done[id(value)] = {key: _plain(entry, done, depth + 1) for key, entry in value.items()}
    elif id(value) not in done:
        inside, shape = (value.objects, value.shape) if type(value) is Array else (value, (len(value),))
        entries = [_plain(entry, done, depth + 1) for entry in inside]
        numbers = entries and all(type(entry) in (int, float, bool) for entry in entries)
        listed = np.array(entries).reshape(shape) if numbers else entries
        done[id(value)] = entries[0] if entries and shape == () else listed
    return done[id(value)]
