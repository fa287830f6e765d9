"""Arrays in dictionaries, lists and tuples within one another: their names, and lists of samples as one array."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import Parameter

from raffia.data.readers.variable import Variable, check_count, stack
from raffia.errors import RaffiaError

DEEPEST = 32  # dictionaries and lists in one another
DICTIONARIES = (dict, OrderedDict)
SEVERAL = 16  # arrays of different shapes in a list that have names of their own


@dataclass(frozen=True)
class Samples:
    """A value for each sample."""

    entries: Sequence[Any]


def arrays(path: Path, content: Any, few: int) -> Iterator[tuple[str, list[Any], bool]]:
    """Every array by the keys that lead to it, joined by dots; several of them if they are a sample each, and whether they are.

    Those are lists of more than a `few` arrays of one shape, and what a list of dictionaries with the same keys has by each.
    """
    count, left = 0, [("", content, 0)]
    while left:
        name, value, depth = left.pop(0)
        check_count(path, count := count + 1)
        if depth > DEEPEST:
            raise RaffiaError(f"{path} holds lists more than {DEEPEST} deep in one another. Save a dictionary of plain arrays.")
        if _is_array(value):
            yield name, [value], False
        elif type(value) is Samples and all(map(_is_array, value.entries)):
            _check_shapes(path, name, value.entries)
            yield name, list(value.entries), True
        elif type(value) is Samples and all(type(entry) in (int, float) for entry in value.entries):
            yield name, [np.array(value.entries)], False
        else:
            left += [(key, entry, depth + 1) for key, entry in _inside(path, name, value, few)]


def variable(path: Path, name: str, several: Sequence[np.ndarray], samples: bool) -> Variable:
    """One array in memory, or several that are a sample each."""
    if not samples:
        return Variable.of_array(name, several[0], None, {}, path)
    count, shape, dtype = len(several), several[0].shape, several[0].dtype.str
    load = partial(stack, several.__getitem__, count, shape, dtype)
    return Variable(name, (count, *shape), dtype, None, {}, path, load)


def _is_array(value: Any) -> bool:
    return type(value) in (np.ndarray, Tensor, Parameter)


def _inside(path: Path, name: str, value: Any, few: int) -> list[tuple[str, Any]]:
    """What a dictionary or a list holds, by name; nothing for all else."""
    start = f"{name}." if name else ""
    if type(value) in DICTIONARIES:
        check_count(path, len(value))
        return [(f"{start}{key}", entry) for key, entry in value.items()]
    entries = value.entries if type(value) is Samples else value
    if type(entries) not in (list, tuple):
        return []
    if len(entries) > 1 and all(type(entry) in DICTIONARIES and entry.keys() == entries[0].keys() for entry in entries):
        check_count(path, len(entries[0]))
        return [(f"{start}{key}", Samples([entry[key] for entry in entries])) for key in entries[0]]
    alike = all(map(_is_array, entries)) and len({tuple(entry.shape) for entry in entries}) == 1
    if len(entries) > few and (alike or (len(entries) > SEVERAL and all(map(_is_array, entries)))):
        return [(name, Samples(entries))]
    check_count(path, len(entries))
    return [(f"{start}{number}", entry) for number, entry in enumerate(entries)]


def _check_shapes(path: Path, name: str, entries: Sequence[Any]) -> None:
    shapes = sorted({tuple(entry.shape) for entry in entries})
    if len(shapes) > 1:
        raise RaffiaError(
            f"{path}: {name or 'its list'} holds {len(entries)} arrays of different shapes, such as {shapes[0]} and {shapes[1]}: samples "
            "on points of their own. Resample them to the same points, and save one array."
        )
