"""Pickles of plain arrays, as NumPy writes arrays of objects, read by Python's unpickler without any object of NumPy's.

A pickle is a program for a stack machine. The unpickler here knows the instructions that make dictionaries, lists, tuples, texts,
bytes and numbers. Of the functions that a pickle may name, it has stand-ins for those that make plain arrays, and for no others. A
stand-in makes an array as a view of bytes that are in the file. NumPy's own functions are never handed out: a type with altered
flags would make them take bytes for pointers.

The unpickler is the one that Python's library has in Python: its instructions can be counted and left out, and its memory is a
dictionary. The one in C takes memory for whatever place a pickle names.
"""

import io
import math
import pickle
import pickletools
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from raffia.data.readers.damage import Damaged

INSTRUCTIONS = 2**17  # that are run whatever the size of the file
PLAIN = re.compile(r"[fiu][1248]|b1|O8?|[US]\d{1,4}")
MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
NUMERIC = ("numpy.core.numeric", "numpy._core.numeric")
LIBRARY: Any = pickle._Unpickler  # whose instructions have no types
KEYS = (str, int, float, bool, bytes)


class Refused(ValueError):
    """What a pickle asks for is beyond plain arrays."""


def loaded(content: bytes, stored: int) -> Any:
    """What a pickle of plain arrays holds, of a file with so many bytes: dictionaries, lists, tuples, texts, numbers and `Array`s."""
    unpickler = _Unpickler(io.BytesIO(content))
    unpickler.dispatch = _Instructions(max(INSTRUCTIONS, stored // 8))
    try:
        value = unpickler.load()
    except Refused:
        raise
    except Exception as error:  # Python's unpickler raises nearly anything
        raise Damaged(f"{error or type(error).__name__}"[:200]) from None
    if unpickler.stack or unpickler.metastack:
        raise Damaged("a pickle leaves more than one value")
    return value


class _Unpickler(LIBRARY):
    """Python's unpickler, with stand-ins for NumPy's functions."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _STAND_INS:
            raise Refused(f"it names {module}.{name}"[:80])
        return _STAND_INS[module, name]

    def call(self) -> None:
        function, arguments = self.stack[-2:]
        if type(arguments) is not tuple or not any(function is known for known in _STAND_INS.values()):
            raise Refused("it calls what is no function of NumPy's")
        self.stack[-2:] = [function(*arguments)]

    def build(self) -> None:
        """Complete an array or a type by its state."""
        target, state = self.stack[-2:]
        if type(target) not in (Array, _Type) or type(state) is not tuple:
            raise Refused("it gives a state to what is no plain array")
        target.complete(*state)
        self.stack.pop()

    def read_bytearray(self) -> None:
        """Bytes that are there; the library makes room for as many as a pickle claims."""
        self.append(bytearray(self.read(*struct.unpack("<Q", self.read(8)))))


def _enter(load: Callable[[_Unpickler], None], keys: slice, unpickler: _Unpickler) -> None:
    """Fill a dictionary. Tuples are refused as keys: within one another, they take any time to compare."""
    if any(type(key) not in KEYS for key in unpickler.stack[keys]):
        raise Refused("it has a dictionary with keys that are no names")
    load(unpickler)


class _Instructions:
    """What each instruction does, by its code; those that are unknown, and more than so many, are refused."""

    def __init__(self, most: int) -> None:
        self.left = most

    def __getitem__(self, code: int) -> Callable[[_Unpickler], None]:
        self.left -= 1
        if self.left < 0 or code not in _KNOWN:
            raise Refused(f"it has the instruction {code:#x}, or more instructions than arrays need")
        return _KNOWN[code]


@dataclass(eq=False)
class _Type:
    """The type of an array, which a pickle makes in two steps: its size, then the order of its bytes."""

    code: str
    order: str = "|"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.order + self.code if self.order in "<>" else self.code)

    def complete(self, *state: Any) -> None:
        if len(state) != 8 or state[2:5] != (None, None, None) or state[1] not in ("<", ">", "|", "="):
            raise Refused("it makes an array of an unknown type")
        self.order = state[1]


@dataclass(eq=False)
class Array:
    """An array, which a pickle makes in two steps: an empty one, then its shape and values, which are numbers or `objects`."""

    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    objects: list[Any] = field(default_factory=list)

    def complete(self, *state: Any) -> None:
        """Take shape, type, whether columns come first, and values, which must be as many as the shape says."""
        if len(state) != 5:
            raise Refused("it makes an array in an unknown way")
        _, shape, kind, columns, values = state
        if type(shape) is not tuple or any(type(axis) is not int or axis < 0 for axis in shape) or type(kind) is not _Type:
            raise Refused("it makes an array without a shape or a type")
        count = math.prod(shape)
        if kind.code[0] == "O":
            if type(values) is not list or len(values) != count or columns:
                raise Damaged(f"{count} objects are missing")
            self.shape, self.objects = shape, values
            return
        if type(values) not in (bytes, bytearray) or len(values) != count * kind.dtype.itemsize:
            raise Damaged(f"the bytes are not an array of shape {shape}")
        self.values = np.frombuffer(values, kind.dtype).reshape(shape, order="F" if columns else "C")


def _ndarray(*_: Any) -> Array:
    raise Refused("it makes an array in an unknown way")


def _empty(cls: Any, *_: Any) -> Array:
    if cls is not _ndarray:
        raise Refused("it makes an array of another class")
    return Array()


def _type(code: Any, *flags: Any) -> _Type:
    if type(code) is not str or not PLAIN.fullmatch(code):
        raise Refused(f"it makes an array of type {code!r:.20}")
    return _Type(code)


def _scalar(kind: Any, values: Any = b"") -> Any:
    if type(kind) is not _Type or kind.code[0] in "OUS":
        raise Refused("it makes a number that is none")
    array = _from_buffer(values, kind, (), "C")
    return None if array.values is None else array.values.item()


def _from_buffer(values: Any, kind: Any, shape: Any, order: Any, *axes: Any) -> Array:
    array = Array()
    array.complete(1, shape, kind, order == "F", values)
    return array


_STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _type,
    **{(module, "_reconstruct"): _empty for module in MULTIARRAY},
    **{(module, "scalar"): _scalar for module in MULTIARRAY},
    **{(module, "_frombuffer"): _from_buffer for module in NUMERIC},
}
_NAMES = """PROTO FRAME STOP MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE
SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BINSTRING SHORT_BINSTRING STRING EMPTY_LIST EMPTY_DICT EMPTY_TUPLE LIST
TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS MEMOIZE BINPUT LONG_BINPUT PUT BINGET LONG_BINGET GET GLOBAL STACK_GLOBAL"""
_CODES = {instruction.name: ord(instruction.code) for instruction in pickletools.opcodes}
_KNOWN: dict[int, Callable[[_Unpickler], None]] = {
    **{_CODES[name]: LIBRARY.dispatch[_CODES[name]] for name in _NAMES.split()},
    _CODES["REDUCE"]: _Unpickler.call,
    _CODES["BUILD"]: _Unpickler.build,
    _CODES["BYTEARRAY8"]: _Unpickler.read_bytearray,
    _CODES["SETITEM"]: partial(_enter, _Unpickler.load_setitem, slice(-2, -1)),
    _CODES["SETITEMS"]: partial(_enter, _Unpickler.load_setitems, slice(None, None, 2)),
    _CODES["DICT"]: partial(_enter, _Unpickler.load_dict, slice(None, None, 2)),
}
