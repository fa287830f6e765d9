"""Files that are a sample each: their arrays are stacked, and curves on points of their own brought to common ones."""

from dataclasses import replace
from functools import partial

import numpy as np

from raffia.data.readers.curves import Curves, common
from raffia.data.readers.folders.files import Files
from raffia.data.readers.folders.names import numbers
from raffia.data.readers.layout import SAMPLES, Layout
from raffia.data.readers.tables.words import names_places
from raffia.data.readers.variable import Variable, rows_of, stack
from raffia.errors import RaffiaError

ORDERLY = 0.02  # of the values of a curve: how many may be out of order
NAMES, NUMBERS, SAMPLE = "file names", "filename numbers", "sample"


def variables(files: Files) -> dict[str, Variable]:
    """An array with a row for each file by each name, one of the numbers in file names, and arrays that are the same in all once."""
    curves = _curves(files)
    along = [] if curves is None else [name for name in files.common if _is_along(files, name, curves.name)]
    for name in files.common:
        if name not in along and len({array.shape for array in files.of(name)}) > 1:
            raise files.unequal(name)
        if curves is not None and curves.grid is not None and name not in along:
            _check_apart(files, name, curves)
    notes = [f"{len(files.files)} files, one a sample, in the order {files.files[0].name}, …, {files.files[-1].name}."]
    notes += [f"the same in all files, and read once: {', '.join(files.shared)}."] if files.shared else []
    notes += [*files.left_out, *([curves.note] if curves is not None and curves.note else [])]
    held, places = _from_names(files)
    layout = Layout(files=SAMPLES, numbers=places)
    layout = layout if curves is None else curves.told(replace(layout, coordinates=(curves.name,)))
    for name in files.common:
        held[name] = _array(files, name, curves if name in along else None)
    told = (*next(iter(files.heads[0].values())).notes, *notes)
    return {name: replace(v, notes=(*told, *v.notes), layout=layout, path=files.path) for name, v in held.items()}


def _array(files: Files, name: str, curves: Curves | None) -> Variable:
    """What all files have by one name."""
    arrays = files.of(name)
    first = replace(arrays[0], dims=_dims(files, arrays[0]), notes=())
    if curves is not None and name == curves.name:
        return replace(first, shape=curves.points.shape, dims=(name,), dtype="<f8", load=partial(rows_of, curves.points))
    if curves is not None:
        count, shape = len(arrays), curves.points.shape
        load = partial(stack, partial(_interpolated, arrays, curves), count, shape, "<f8")
        return replace(first, shape=(count, *shape), dims=(SAMPLE, curves.name), dtype="<f8", load=load)
    if name in files.shared:
        return first
    dims = None if first.dims is None else (SAMPLE, *first.dims)
    load = partial(stack, lambda number: arrays[number].read(), len(arrays), first.shape, first.dtype)
    return replace(first, shape=(len(arrays), *first.shape), dims=dims, load=load, block=1)


def _dims(files: Files, array: Variable) -> tuple[str, ...] | None:
    """The names of its axes: those that have coordinates keep them, rows of a table are called so whatever the file."""
    stem = files.files[0].stem
    return None if array.dims is None else tuple(dim.removesuffix(f" of {stem}") for dim in array.dims)


def _curves(files: Files) -> Curves | None:
    """The curves of files whose coordinates differ, by the names of the coordinates."""
    named = [name for name in files.common if name in files.asked.coordinates or names_places(name)]
    for name in named:
        lines = files.of(name)
        same = name in files.shared and files.asked.points is None
        if same or name in files.asked.wanted or any(max(v.shape, default=0) != np.prod(v.shape) for v in lines):
            continue
        values = [line.glance().astype(np.float64).reshape(-1) for line in lines]
        if all(map(_is_sorted, values)):
            orders = tuple(np.argsort(x, kind="stable") for x in values)
            pairs = zip(values, orders, strict=True)
            found = common(files.path, name, [x[order] for x, order in pairs], files.asked)
            moved = sum(bool((np.diff(order) != 1).any()) for order in orders)
            note = [f"the values of {moved} files are sorted by {name}."] if moved else []
            return replace(found, orders=orders, note=" ".join([*note, *([found.note] if found.note else [])]))
    return None


def _is_sorted(x: np.ndarray) -> bool:
    """Whether coordinates rise or fall, nearly always: measured ones have noise."""
    wrong = min(np.count_nonzero(~(np.diff(x) > 0)), np.count_nonzero(~(np.diff(x) < 0)))
    return len(x) > 1 and bool(wrong <= ORDERLY * len(x))


def _check_apart(files: Files, name: str, curves: Curves) -> None:
    """Refuse fields along coordinates that differ from file to file."""
    shapes = [array.shape for array in files.of(name)]
    if all(len(shape) > 1 and len(line) in shape for shape, line in zip(shapes, curves.lines, strict=True)):
        raise RaffiaError(
            f"{files.path}: {curves.name} differs from file to file, and {name} of shape {shapes[0]} lies along it; only curves "
            "are resampled. Write all on one grid."
        )


def _is_along(files: Files, name: str, place: str) -> bool:
    """Whether an array has as many values as there are coordinates, in every file."""
    pairs = zip(files.of(name), files.of(place), strict=True)
    return all(max(v.shape, default=0) == np.prod(v.shape) == np.prod(x.shape) for v, x in pairs)


def _from_names(files: Files) -> tuple[dict[str, Variable], tuple[int, ...]]:
    """The names of files, the numbers in them, and which numbers these are."""
    names = np.array([file.name for file in files.files])
    held: dict[str, Variable] = {}
    places: tuple[int, ...] = ()
    if (found := numbers(files.files, files.asked.numbers)) is not None:
        values, places, words = found
        counted = values.shape[1] == 1 and bool((np.diff(values[:, 0]) == 1).all())
        note = f"{NUMBERS} are those after {', '.join(repr(word) for word in words)} in the names of files"
        held[NUMBERS] = _made(files, NUMBERS, values, f"{note}{', which count them' if counted else ''}.")
    return held | {NAMES: _made(files, NAMES, names, "")}, places


def _made(files: Files, name: str, values: np.ndarray, note: str) -> Variable:
    dims = (SAMPLE, "numbers")[: values.ndim]
    return Variable.of_array(name, values, dims, {}, files.path, notes=(note,) if note else ())


def _interpolated(arrays: list[Variable], curves: Curves, number: int) -> np.ndarray:
    return curves.values(number, arrays[number].read().astype(np.float64).reshape(-1))
