"""Files that each hold some of the samples: their arrays are put one after the other."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from raffia.data.readers.folders.files import Files
from raffia.data.readers.layout import PARTS, Layout
from raffia.data.readers.variable import Rows, Variable


def counts(files: Files, names: list[str]) -> list[int] | None:
    """How many samples each file has, if arrays of these names have as many rows in every file."""
    rows = [{head[name].shape[:1] for name in names} for head in files.heads]
    if any(len(shapes) != 1 or () in shapes for shapes in rows):
        return None
    return [next(iter(shapes))[0] for shapes in rows]


def variables(files: Files) -> dict[str, Variable]:
    """The samples of all files by each name; arrays that are the same in all files once."""
    joined = [name for name in files.common if name not in files.shared]
    if counts(files, joined) is None or not joined:
        wrong = next((name for name in joined if not files.heads[0][name].shape), "" if not joined else joined[-1])
        raise files.unequal(wrong or files.common[0])
    notes = [
        f"{len(files.files)} files, each with some of the samples, in the order {files.files[0].name}, …, {files.files[-1].name}."
    ]
    notes += [f"the same in all files, and read once: {', '.join(files.shared)}."] if files.shared else []
    notes += files.left_out
    held = {}
    for name in files.common:
        arrays = files.of(name)
        layout = replace(arrays[0].layout or Layout(), files=PARTS)
        first = replace(arrays[0], path=files.path, layout=layout, notes=(*arrays[0].notes, *notes))
        if name in joined:
            if len({array.shape[1:] for array in arrays}) > 1:
                raise files.unequal(name)
            total = sum(array.shape[0] for array in arrays)
            first = replace(first, shape=(total, *first.shape[1:]), load=partial(_concatenated, arrays))
        held[name] = first
    return held


def _concatenated(arrays: list[Variable], rows: Rows) -> np.ndarray:
    """Rows of the arrays one after the other; of no others are files opened."""
    ends = np.cumsum([0, *(array.shape[0] for array in arrays)])
    start, stop, _ = (rows or slice(None)).indices(int(ends[-1]))
    pieces = [
        array.read(slice(max(start - int(begin), 0), stop - int(begin)))
        for array, (begin, end) in zip(arrays, pairwise(ends), strict=True)
        if begin < stop and end > start
    ]
    return np.concatenate(pieces) if pieces else arrays[0].read(slice(0, 0))
