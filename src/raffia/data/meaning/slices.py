"""Parts of arrays, as in u[:,0]: variables themselves, that read no more than they need."""

import re
from dataclasses import replace

import numpy as np

from raffia.data.readers import Rows, Variable
from raffia.errors import RaffiaError

ALL = slice(None)
WORD = re.compile(r"\s*(-?\d{1,18})\s*|\s*(-?\d{1,18})?\s*:\s*(-?\d{1,18})?\s*(?::\s*([1-9]\d{0,17})?\s*)?")


def part_of(variable: Variable, text: str, argument: str) -> Variable:
    """The part of an array that `text`, such as [:,0], says; named like it, so that it is found in another file too."""
    parsed = [_parsed(word, text, argument) for word in text.strip("[]").split(",")]
    if len(parsed) > len(variable.shape):
        raise RaffiaError(f"{argument}: {variable.name} has {len(variable.shape)} axes, of shape {variable.shape}; got {text}.")
    index = tuple(entry for entry, _ in parsed) + (ALL,) * (len(variable.shape) - len(parsed))
    single = tuple(axis for axis, (_, alone) in enumerate(parsed) if alone)
    sizes = [len(range(*entry.indices(size))) for entry, size in zip(index, variable.shape, strict=True)]
    if 0 in sizes:
        raise RaffiaError(f"{argument}: {variable.name} of shape {variable.shape} has nothing there.")
    kept = [axis for axis in range(len(sizes)) if axis not in single]
    in_rows = index[:1] == (ALL,)

    def load(rows: Rows) -> np.ndarray:
        part = _read(variable, rows if in_rows else None)[index].squeeze(single)
        return part if in_rows or rows is None else part[rows]

    shape, dims = tuple(sizes[axis] for axis in kept), variable.dims and tuple(variable.dims[axis] for axis in kept)
    block = variable.block if in_rows else (shape or (1,))[0]
    return replace(variable, name=f"{variable.name}{text}", shape=shape, dims=dims, load=load, block=block)


def sliced(arrays: dict[str, Variable], texts: list[str]) -> dict[str, Variable]:
    """The arrays of a file, with parts in place of those that `texts`, such as u[:,0], name."""
    parts = {text.partition("[")[0]: f"[{text.partition('[')[2]}" for text in texts}
    return {
        name: part_of(v, parts[name], f"slice={name + parts[name]!r} (--slice)") if name in parts else v
        for name, v in arrays.items()
    }


def check_slices(arrays: dict[str, Variable], texts: list[str]) -> None:
    """Refuse what names no part of any array."""
    for text in texts:
        name, bracket, _ = text.partition("[")
        if not bracket or not text.endswith("]") or name not in arrays:
            raise RaffiaError(
                f"slice={text!r} (--slice) must be an array of the file and a part of it, such as u[:,0]. It holds "
                f"{', '.join(list(arrays)[:24])}."
            )


def _read(variable: Variable, rows: Rows) -> np.ndarray:
    """Rows of the whole array, if the file is as large as to hold them."""
    wanted = variable.shape[0] if rows is None else len(range(*rows.indices(variable.shape[0])))
    if variable.affordable(wanted) < wanted:
        raise RaffiaError(
            f"{variable.path}: {variable.name} has more values than the file has bytes. Write the part that is meant uncompressed."
        )
    return variable.read(rows)


def _parsed(word: str, text: str, argument: str) -> tuple[slice, bool]:
    """A slice along an axis, and whether it is of a single entry, which leaves no axis."""
    found = WORD.fullmatch(word)
    if found is None:
        raise RaffiaError(f"{argument} must be a part of an array as in NumPy, such as u[:,0] or u[:,::2]; got {text}.")
    one, first, last, step = (None if part is None else int(part) for part in found.groups())
    return (slice(first, last, step), False) if one is None else (slice(one, one + 1 or None), True)
