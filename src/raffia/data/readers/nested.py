"""Arrays in dictionaries, lists and tuples within one another: their names, and lists of samples as one array."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import Parameter

from raffia.data.readers.variable import Variable, check_count, stacked
from raffia.errors import RaffiaError

DEEPEST = 32  # dictionaries and lists in one another
DICTIONARIES = (dict, OrderedDict)
LEAST = 8  # bytes of a file that name an array, whatever is in it
SEVERAL = 16  # arrays of different shapes in a list that have names of their own
Convert = Callable[[Any], np.ndarray]
"""Makes an array of NumPy of what a file holds."""


@dataclass(frozen=True)
class Samples:
    """A value for each sample."""

    entries: Sequence[Any]


def variables(path: Path, content: Any, few: int, most: int, convert: Convert = np.asarray) -> dict[str, Variable]:
    """Every array by the keys that lead to it, joined by dots, of so many bytes in all at `most`.

    A list of more than a `few` arrays of one shape is a sample in each, and so is what a list of dictionaries with the same keys has
    by each.
    """
    arrays: dict[str, Variable] = {}
    for name, several, samples in _arrays(path, content, few):
        most -= sum(part.nbytes + LEAST for part in several)
        if most < 0:
            raise RaffiaError(f"{path} is damaged: the arrays in it have many more bytes than the file.")
        each = [Variable.of_array(path, name, convert(part)) for part in several]
        arrays[name] = stacked(each) if samples else each[0]
    return arrays


def _arrays(path: Path, content: Any, few: int) -> Iterator[tuple[str, Sequence[Any], bool]]:
    """Arrays by name: one, or several that are a sample each, and whether they are."""
    count, left = 0, [("", content, 0)]
    while left:
        name, value, depth = left.pop(0)
        check_count(path, count := count + 1)
        if depth > DEEPEST:
            raise RaffiaError(f"{path} holds lists more than {DEEPEST} deep in one another. Save a dictionary of plain arrays.")
        entries = value.entries if type(value) is Samples else ()
        if _is_array(value):
            yield name, [value], False
        elif entries and all(map(_is_array, entries)):
            _check_shapes(path, name, entries)
            yield name, entries, True
        elif entries and all(type(entry) in (int, float) for entry in entries):
            yield name, [np.array(entries)], False
        else:
            inside = _inside(name, entries or value, few)
            check_count(path, len(inside))
            left += [(key, entry, depth + 1) for key, entry in inside]


def _is_array(value: Any) -> bool:
    return type(value) in (np.ndarray, Tensor, Parameter)


def _inside(name: str, value: Any, few: int) -> list[tuple[str, Any]]:
    """What a dictionary or a list holds, by name; nothing for all else."""
    start = f"{name}." if name else ""
    if type(value) in DICTIONARIES:
        return [(f"{start}{key}", entry) for key, entry in value.items()]
    if type(value) not in (list, tuple) or not value:
        return []
    if len(value) > 1 and all(type(entry) in DICTIONARIES and entry.keys() == value[0].keys() for entry in value):
        return [(f"{start}{key}", Samples([entry[key] for entry in value])) for key in value[0]]
    if len(value) > few and all(map(_is_array, value)) and (len(value) > SEVERAL or len({tuple(f.shape) for f in value}) == 1):
        return [(name, Samples(value))]
    return [(f"{start}{number}", entry) for number, entry in enumerate(value)]


def _check_shapes(path: Path, name: str, entries: Sequence[Any]) -> None:
    shapes = sorted({tuple(entry.shape) for entry in entries})
    if len(shapes) > 1:
        raise RaffiaError(
            f"{path}: {name or 'its list'} holds {len(entries)} arrays of different shapes, such as {shapes[0]} and {shapes[1]}: samples "
            "on points of their own. Resample them to the same points, and save one array."
        )
