"""Pickles of plain arrays, as NumPy writes arrays of objects, read by a machine that imports nothing and calls nothing.

A pickle is a program for a stack machine. This one knows the instructions that make dictionaries, lists, tuples, texts, bytes and
numbers, and of the functions that a pickle may ask to be called, NumPy's names for the making of plain arrays, which it does itself:
an array is a view of bytes that are in the file. Anything else is refused, at the first instruction that asks for it.
"""

import math
import pickletools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

INSTRUCTIONS = 2**17  # that are run whatever the size of the file
PLAIN = re.compile(r"[fiu][1248]|b1|O8?|[US]\d{1,4}")
MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
NUMERIC = ("numpy.core.numeric", "numpy._core.numeric")
LARGEST = 2**64
_MARK = object()  # where a list of entries begins on the stack


class Refused(ValueError):
    """What a pickle asks for is beyond plain arrays."""


@dataclass(frozen=True)
class _Name:
    """A function or a class that a pickle names."""

    name: str


@dataclass(eq=False)
class _Type:
    """The type of an array, which a pickle makes in two steps: its size, then the order of its bytes."""

    code: str
    order: str = "|"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.order + self.code if self.order in "<>" else self.code)


@dataclass(eq=False)
class Array:
    """An array, which a pickle makes in two steps: an empty one, then its shape and values, which are numbers or `objects`."""

    values: np.ndarray | None = None
    shape: tuple[int, ...] = ()
    objects: list[Any] = field(default_factory=list)


def loaded(content: bytes, stored: int) -> Any:
    """What a pickle of plain arrays holds, of a file with so many bytes: dictionaries, lists, tuples, texts, numbers and `Array`s."""
    machine = _Machine()
    most = max(INSTRUCTIONS, stored // 8)
    for count, (instruction, argument, _) in enumerate(pickletools.genops(content)):
        if count > most:
            raise Refused("it has more instructions than arrays need")
        if instruction.name == "STOP":
            return machine.result()
        machine.run(instruction.name, argument)
    raise ValueError("it ends before its end")


class _Machine:
    """The stack and the memory of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        """Carry out an instruction."""
        if name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _LITERALS:
            self.stack.append(_number(argument) if type(argument) is int else argument)
        elif name in _ACTIONS:
            _ACTIONS[name](self, argument)
        elif name not in ("PROTO", "FRAME"):
            raise Refused(f"it has the instruction {name}")

    def result(self) -> Any:
        """What is left in the end."""
        if len(self.stack) != 1 or self.stack[0] is _MARK or type(self.stack[0]) in (_Name, _Type):
            raise ValueError("it leaves no value")
        return self.stack[0]

    def since_mark(self) -> list[Any]:
        """The entries above the last mark, which are taken off together with it."""
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise ValueError("a mark is missing")
        entries = self.stack[at + 1 :]
        del self.stack[at:]
        return entries

    def last(self, count: int) -> list[Any]:
        """Some entries, which are taken off."""
        if count > len(self.stack):
            raise ValueError("an entry is missing")
        entries = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return entries

    def call(self, _: Any) -> None:
        function, arguments = self.last(2)
        if type(function) is not _Name or function.name not in _CALLS or type(arguments) is not tuple:
            raise Refused("it calls what is no function of NumPy's")
        self.stack.append(_CALLS[function.name](*arguments))

    def build(self, _: Any) -> None:
        """Complete an array or a type by its state."""
        (state,) = self.last(1)
        target = self.stack[-1]
        if type(target) is Array and type(state) is tuple and len(state) == 5:
            _, shape, kind, columns, values = state
            _fill(target, shape, kind, columns, values)
        elif type(target) is _Type and type(state) is tuple and len(state) == 8 and state[2:5] == (None, None, None):
            target.order = _text(state[1], "<>|=")
        else:
            raise Refused("it gives a state to what is no plain array")

    def name(self, argument: Any) -> None:
        self.push_name(*argument.split(" ", 1))

    def name_on_stack(self, _: Any) -> None:
        self.push_name(*self.last(2))

    def push_name(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str or (module, name) not in _KNOWN:
            raise Refused(f"it names {module}.{name}"[:80] if type(module) is type(name) is str else "it names what is no name")
        self.stack.append(_Name(_KNOWN[module, name]))

    def remember(self, place: Any) -> None:
        self.memory[len(self.memory) if place is None else place] = self.stack[-1]

    def recall(self, place: Any) -> None:
        self.stack.append(self.memory[place])

    def tuple_of(self, count: int) -> None:
        self.stack.append(tuple(self.last(count)))

    def extend(self, entries: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list:
            raise Refused("it appends to what is no list")
        target.extend(entries)

    def dictionary(self, entries: list[Any]) -> None:
        self.stack.append({})
        self.enter(entries)

    def enter(self, entries: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(entries) % 2:
            raise Refused("it enters into what is no dictionary")
        target.update({_key(key): value for key, value in zip(entries[::2], entries[1::2], strict=True)})


def _fill(array: Array, shape: Any, kind: Any, columns: Any, values: Any) -> None:
    """Give an array its values, which must be as many as its shape says."""
    if type(shape) is not tuple or any(type(axis) is not int or axis < 0 for axis in shape) or type(kind) is not _Type:
        raise Refused("it makes an array without a shape or a type")
    count = math.prod(shape)
    if kind.code[0] == "O":
        if type(values) is not list or len(values) != count or columns:
            raise ValueError(f"{count} objects are missing")
        array.shape, array.objects = shape, values
        return
    if type(values) not in (bytes, bytearray) or len(values) != count * kind.dtype.itemsize:
        raise ValueError(f"the bytes are not an array of shape {shape}")
    array.values = np.frombuffer(values, kind.dtype).reshape(shape, order="F" if columns else "C")


def _empty(cls: Any, shape: Any, code: Any) -> Array:
    if type(cls) is not _Name or cls.name != "ndarray":
        raise Refused("it makes an array of another class")
    return Array()


def _type(code: Any, *flags: Any) -> _Type:
    if type(code) is not str or not PLAIN.fullmatch(code):
        raise Refused(f"it makes an array of type {code!r:.20}")
    return _Type(code)


def _scalar(kind: Any, values: Any = b"") -> Any:
    array = Array()
    if type(kind) is not _Type or kind.code[0] in "OUS":
        raise Refused("it makes a number that is none")
    _fill(array, (), kind, False, values)
    return None if array.values is None else array.values.item()


def _from_buffer(values: Any, kind: Any, shape: Any, order: Any, *axes: Any) -> Array:
    array = Array()
    _fill(array, shape, kind, type(order) is str and order == "F", values)
    return array


def _number(value: int) -> int:
    if abs(value) >= LARGEST:
        raise Refused("it has an integer of more than 64 bits")
    return value


def _key(value: Any) -> Any:
    if type(value) not in (str, int, float, bool, bytes):
        raise Refused("it has a dictionary with keys that are no names")
    return value


def _text(value: Any, among: str) -> str:
    if type(value) is not str or len(value) != 1 or value not in among:
        raise Refused("it makes an array of an unknown order")
    return value


_CALLS: dict[str, Callable[..., Any]] = {"array": _empty, "dtype": _type, "scalar": _scalar, "buffer": _from_buffer}
_KNOWN = {
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
    **{(module, "_reconstruct"): "array" for module in MULTIARRAY},
    **{(module, "scalar"): "scalar" for module in MULTIARRAY},
    **{(module, "_frombuffer"): "buffer" for module in NUMERIC},
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_LITERALS = (
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING", "SHORT_BINSTRING", "STRING",
    "BYTEARRAY8",
)  # fmt: skip
_ACTIONS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": lambda machine, _: machine.stack.append(_MARK),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "DICT": lambda machine, _: machine.dictionary(machine.since_mark()),
    "LIST": lambda machine, _: machine.stack.append(machine.since_mark()),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": lambda machine, _: machine.tuple_of(1),
    "TUPLE2": lambda machine, _: machine.tuple_of(2),
    "TUPLE3": lambda machine, _: machine.tuple_of(3),
    "APPEND": lambda machine, _: machine.extend(machine.last(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine, _: machine.enter(machine.last(2)),
    "SETITEMS": lambda machine, _: machine.enter(machine.since_mark()),
    "MEMOIZE": _Machine.remember,
    "BINPUT": _Machine.remember,
    "LONG_BINPUT": _Machine.remember,
    "PUT": _Machine.remember,
    "BINGET": _Machine.recall,
    "LONG_BINGET": _Machine.recall,
    "GET": _Machine.recall,
    "GLOBAL": _Machine.name,
    "STACK_GLOBAL": _Machine.name_on_stack,
    "REDUCE": _Machine.call,
    "BUILD": _Machine.build,
}
