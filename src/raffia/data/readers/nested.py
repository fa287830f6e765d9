"""Arrays in dictionaries, lists and tuples within one another: their names, and lists of samples as one array."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import Parameter

from raffia.data.readers.variable import Variable, check_count, stacked
from raffia.errors import RaffiaError

DICTIONARIES = (dict, OrderedDict)
DEEPEST = 32  # dictionaries and lists in one another
LEAST = 8  # bytes of a file that name an array, whatever is in it
SEVERAL = 16  # arrays of different shapes in a list that have names of their own
Convert = Callable[[Any], np.ndarray]
"""Makes an array of NumPy of what a file holds."""


def variables(path: Path, content: Any, few: int, most: int, convert: Convert = np.asarray) -> dict[str, Variable]:
    """Every array by the keys that lead to it, joined by dots, of so many bytes in all at `most`.

    A list of more than a `few` arrays of one shape is a sample in each, and so is what a list of dictionaries with the same keys has
    by each.
    """
    arrays: dict[str, Variable] = {}
    for name, several, samples in _arrays(path, "", content, few, count(), 0):
        most -= sum(part.nbytes + LEAST for part in several)
        if most < 0:
            raise RaffiaError(f"{path} is damaged: the arrays in it have many more bytes than the file.")
        each = [Variable.of_array(path, name, convert(part)) for part in several]
        arrays[name] = stacked(each) if samples else each[0]
    return arrays


def _arrays(
    path: Path, name: str, value: Any, few: int, visits: Iterator[int], depth: int
) -> Iterator[tuple[str, Sequence[Any], bool]]:
    """Yield the name of each array, a list with it or with one array for each sample, and whether these are samples."""
    check_count(path, next(visits))
    if depth > DEEPEST:
        raise RaffiaError(f"{path} holds lists more than {DEEPEST} deep in one another. Save a dictionary of plain arrays.")
    inside: list[tuple[str, Any, int]] = []
    start = f"{name}." if name else ""
    if _is_array(value):
        yield name, [value], False
    elif type(value) in DICTIONARIES:
        inside = [(f"{start}{key}", entry, few) for key, entry in value.items()]
    elif type(value) in (list, tuple) and value:
        shapes = sorted({tuple(entry.shape) for entry in value}) if all(map(_is_array, value)) else []
        if len(value) > SEVERAL and len(shapes) > 1:
            raise RaffiaError(
                f"{path}: {name or 'its list'} holds {len(value)} arrays of different shapes, such as {shapes[0]} and {shapes[1]}: samples "
                "on points of their own. Resample them to the same points, and save one array."
            )
        if len(value) > few and len(shapes) == 1:
            yield name, value, True
        elif all(type(entry) in (int, float) for entry in value):
            yield name, [np.array(value)], False
        elif len(value) > 1 and all(type(entry) in DICTIONARIES and entry.keys() == value[0].keys() for entry in value):
            inside = [(f"{start}{key}", [entry[key] for entry in value], 0) for key in value[0]]
        else:
            inside = [(f"{start}{number}", entry, few) for number, entry in enumerate(value)]
    check_count(path, len(inside))
    for key, entry, fewer in inside:
        yield from _arrays(path, key, entry, fewer, visits, depth + 1)


def _is_array(value: Any) -> bool:
    return type(value) in (np.ndarray, Tensor, Parameter)
