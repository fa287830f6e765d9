"""Parts of arrays, as in u[:,0]: arrays themselves, that read no more than they need."""

from dataclasses import replace

import numpy as np

from raffia.data.readers.variable import Rows, Variable
from raffia.errors import RaffiaError

ALL = slice(None)


def part_of(variable: Variable, text: str, argument: str) -> Variable:
    """Return the part of an array that `text` selects with NumPy's slices, such as [:,0]; its name ends in `text`.

    Rows are read only when needed. `argument` is the option to name in error messages.
    """
    try:
        parsed = [_entry(word) for word in text.strip("[]").split(",")]
    except ValueError:
        raise RaffiaError(
            f"{argument} must be a part of an array as in NumPy, such as u[:,0] or u[:,::2]; got {text}."
        ) from None
    if len(parsed) > len(variable.shape):
        raise RaffiaError(f"{argument}: {variable.name} has {len(variable.shape)} axes, of shape {variable.shape}; got {text}.")
    parts = tuple(entry for entry, _ in parsed) + (ALL,) * (len(variable.shape) - len(parsed))
    single = tuple(axis for axis, (_, alone) in enumerate(parsed) if alone)
    sizes = [len(range(*entry.indices(size))) for entry, size in zip(parts, variable.shape, strict=True)]
    if 0 in sizes:
        raise RaffiaError(f"{argument}: {variable.name} of shape {variable.shape} has nothing there.")
    left = [axis for axis in range(len(sizes)) if axis not in single]
    in_rows = parts[:1] == (ALL,)

    def load(rows: Rows) -> np.ndarray:
        wanted = rows if in_rows else None
        count = variable.shape[0] if wanted is None else len(range(*wanted.indices(variable.shape[0])))
        if variable.affordable(count) < count:
            raise RaffiaError(
                f"{variable.path}: {variable.name} has more values than the file has bytes. Write the part that is meant uncompressed."
            )
        part = variable.read(wanted)[parts].squeeze(single)
        return part if in_rows or rows is None else part[rows]

    shape, dims = tuple(sizes[axis] for axis in left), variable.dims and tuple(variable.dims[axis] for axis in left)
    block = variable.block if in_rows else (shape or (1,))[0]
    return replace(variable, name=f"{variable.name}{text}", shape=shape, dims=dims, load=load, block=block)


def _entry(word: str) -> tuple[slice, bool]:
    """Return a slice that goes up, and whether it is of a single entry, which leaves no axis."""
    ends = [int(end) if end.strip() else None for end in word.split(":")]
    if len(ends) == 1 and ends[0] is not None:
        return slice(ends[0], ends[0] + 1 or None), True
    if len(ends) not in (2, 3) or (len(ends) == 3 and ends[2] is not None and ends[2] < 1):
        raise ValueError(word)
    return slice(*ends), False
