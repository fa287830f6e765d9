"""NumPy's arrays of objects: dictionaries in an array of no axes, and arrays of arrays, as DeepXDE's datasets are."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.formats import nested, pickled
from raffia.data.formats.variable import Rows, Variable, rows_of
from raffia.errors import RaffiaError

FEW = 3  # arrays in a list that are rather inputs, places and the like than samples
DEEPEST = 32  # lists in one another
LEAST = 8  # bytes of instructions that make an array


def variables(path: Path, name: str, content: bytes) -> dict[str, Variable]:
    """The plain arrays in a pickle of an array of objects; the name of one without keys is that of the array."""
    stored = path.stat().st_size
    try:
        found = _Plain()(pickled.loaded(content, stored))
    except pickled.Refused as error:
        raise RaffiaError(
            f"{path} holds Python objects in {name}, as a pickle, which raffia never opens: it could run any code. Only plain arrays, "
            f"dictionaries, lists, texts and numbers are read ({error}). Save plain arrays instead."
        ) from None
    held: dict[str, Variable] = {}
    room = len(content)
    for key, arrays, samples in nested.arrays(path, found, FEW):
        label, first = _label(path, name, key), arrays[0]
        room -= sum(array.nbytes + LEAST for array in arrays)
        if room < 0:
            raise RaffiaError(f"{path} is damaged: the arrays in {name} have more bytes than there are of them.")
        shape = (len(arrays), *first.shape) if samples else first.shape
        load = partial(_stacked, arrays) if samples else partial(rows_of, first)
        held[label] = Variable(label, shape, first.dtype.str, None, {}, path, load)
    return held


def _label(path: Path, name: str, key: str) -> str:
    """The name of an array: its keys, after the name of the array of objects unless that is only the name of the file."""
    if not key:
        return name
    if key.isdigit():
        return f"{name}{key}"
    return key if name == path.stem else f"{name}.{key}"


class _Plain:
    """Arrays of objects as lists, or as arrays where all objects are numbers; what is there several times is looked at once."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}

    def __call__(self, value: Any, depth: int = 0) -> Any:
        if type(value) not in (dict, list, tuple, pickled.Array):
            return value
        if depth > DEEPEST:
            raise pickled.Refused("its lists are too deep in one another")
        if id(value) not in self.done:
            self.done[id(value)] = self._inside(value, depth + 1)
        return self.done[id(value)]

    def _inside(self, value: Any, depth: int) -> Any:
        if type(value) is dict:
            return {key: self(entry, depth) for key, entry in value.items()}
        if type(value) is not pickled.Array:
            return _listed([self(entry, depth) for entry in value], (len(value),))
        if value.values is not None:
            return value.values
        entries = [self(entry, depth) for entry in value.objects]
        return entries[0] if value.shape == () and entries else _listed(entries, value.shape)


def _listed(entries: list[Any], shape: tuple[int, ...]) -> Any:
    if entries and all(type(entry) in (int, float, bool) for entry in entries):
        return np.array(entries).reshape(shape)
    return entries


def _stacked(arrays: list[np.ndarray], rows: Rows) -> np.ndarray:
    chosen = arrays if rows is None else arrays[rows]
    return np.stack(chosen) if chosen else np.empty((0, *arrays[0].shape), arrays[0].dtype)
