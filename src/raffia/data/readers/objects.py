"""NumPy's arrays of objects: dictionaries in an array of no axes, and arrays of arrays, as DeepXDE's datasets are."""

from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers import nested, pickled
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

FEW = 3  # arrays in a list that are rather inputs, places and the like than samples
DEEPEST = 32  # lists in one another
LARGEST = 2**64  # integers
LEAST = 8  # bytes of instructions that make an array


def variables(path: Path, name: str, content: bytes) -> dict[str, Variable]:
    """The plain arrays in a pickle of an array of objects; the name of one without keys is that of the array."""
    stored = path.stat().st_size
    try:
        found = _plain(pickled.loaded(content, stored), {})
    except pickled.Refused as error:
        raise RaffiaError(
            f"{path} holds Python objects in {name}, as a pickle, which raffia never opens: it could run any code. Only plain arrays, "
            f"dictionaries, lists, texts and numbers are read ({error}). Save plain arrays instead."
        ) from None
    held: dict[str, Variable] = {}
    room = len(content)
    for key, arrays, samples in nested.arrays(path, found, FEW):
        label = _label(path, name, key)
        room -= sum(array.nbytes + LEAST for array in arrays)
        if room < 0:
            raise RaffiaError(f"{path} is damaged: the arrays in {name} have more bytes than there are of them.")
        held[label] = nested.variable(path, label, arrays, samples)
    return held


def _label(path: Path, name: str, key: str) -> str:
    """The name of an array: its keys, after the name of the array of objects unless that is only the name of the file."""
    if not key:
        return name
    if key.isdigit():
        return f"{name}{key}"
    return key if name == path.stem else f"{name}.{key}"


def _plain(value: Any, done: dict[int, Any], depth: int = 0) -> Any:
    """Arrays of objects as lists, or as arrays where all objects are numbers; what is there several times is looked at once."""
    if type(value) in (str, bytes, bytearray, float, bool, type(None)) or (type(value) is int and abs(value) < LARGEST):
        return value
    if type(value) not in (dict, list, tuple, pickled.Array) or depth > DEEPEST:
        raise pickled.Refused(f"it holds a {type(value).__name__}, a large integer, or lists deep in one another")
    if type(value) is pickled.Array and value.values is not None:
        return value.values
    if id(value) not in done and type(value) is dict:
        done[id(value)] = {key: _plain(entry, done, depth + 1) for key, entry in value.items()}
    elif id(value) not in done:
        inside, shape = (value.objects, value.shape) if type(value) is pickled.Array else (value, (len(value),))
        entries = [_plain(entry, done, depth + 1) for entry in inside]
        numbers = entries and all(type(entry) in (int, float, bool) for entry in entries)
        listed = np.array(entries).reshape(shape) if numbers else entries
        done[id(value)] = entries[0] if entries and shape == () else listed
    return done[id(value)]
