"""Several files that hold one dataset, in a folder or of a pattern: a file for each sample, or for a part of the samples."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from raffia.data.readers.layout import PARTS, POINTS, SAMPLES, Curves, Layout, common
from raffia.data.readers.meshes import LEADING, LED
from raffia.data.readers.meshes.common import together
from raffia.data.readers.tables.headers import names_places
from raffia.data.readers.variable import LOOKED_AT, Read, Rows, Variable, files_of, reread, rows_of, stack
from raffia.errors import RaffiaError

MOST = 2**14  # files
FEW = 8  # values that may be the same in all files and yet be numbers of a sample
ORDERLY = 0.02  # of the values of a curve: how many may be out of order
VALUES = "values"  # the name of an array that is named after its file
NAMES, NUMBERS, SAMPLE = "file names", "filename numbers", "sample"
PIECE = re.compile(r"(?:part|chunk|shard|batch|piece)s?[\s_.-]*\d+(?:[\s_-]*of[\s_-]*\d+)?$", re.IGNORECASE)
NUMBER = re.compile(r"((?:(?<=[_=\s])-)?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


def variables(
    path: Path, asked: Layout, read: Callable[..., dict[str, Variable]], suffixes: Sequence[str]
) -> dict[str, Variable]:
    """The arrays of all files of a folder or a pattern; rows are read from the files that have them."""
    paths = _chosen(path, suffixes)
    named = not asked.files and all(PIECE.search(file.stem) for file in paths)
    pieces = asked.files != SAMPLES and (named or asked.files == PARTS or bool(asked.table or asked.samples))
    inner = replace(asked, files="") if pieces else Layout(POINTS, wanted=asked.wanted)
    as_one = partial(read, layout=inner)
    heads, notes = [_opened(file, as_one) for file in paths], list[str]()
    if not pieces:  # files with a mesh each are brought to that of the first
        heads, notes = together(heads)
    files = _Files(path, paths, asked, heads, notes)
    return _parts(files) if pieces or _is_in_parts(files) else _stacked(files)


@dataclass(frozen=True)
class _Files:
    """The files of a folder or a pattern in order, the arrays of each by name, and notes on what was done with them."""

    path: Path
    files: list[Path]
    asked: Layout
    heads: list[dict[str, Variable]]
    notes: list[str]

    def of(self, name: str) -> list[Variable]:
        """The array of this name in each file."""
        return [head[name] for head in self.heads]

    @cached_property
    def common(self) -> list[str]:
        """The names of arrays that are in all files."""
        names = [name for name in self.heads[0] if all(name in head for head in self.heads)]
        if not names:
            raise RaffiaError(
                f"{self.path}: no array is in all files: {self.files[0].name} has {', '.join(list(self.heads[0])[:8]) or 'none'}, "
                f"{self.files[-1].name} has {', '.join(list(self.heads[-1])[:8]) or 'none'}. Pass a pattern of files alike."
            )
        return names

    @cached_property
    def shared(self) -> list[str]:
        """The arrays that are the same in all files, as coordinates, nodes and cells are; a few numbers may be those of a sample."""
        may = [name for name in self.common if name not in self.asked.wanted and self._may_be_shared(name)]
        may = [name for name in may if np.array_equal(_start(self.heads[0][name]), _start(self.heads[-1][name]))]
        left = {name: self.heads[0][name].glance() for name in may}
        for head in self.heads[1:]:  # file by file, as one that is a table is read as a whole
            left = {name: values for name, values in left.items() if np.array_equal(values, head[name].glance())}
        return list(left)

    def described(self, what: str) -> list[str]:
        """Notes on the files, and on arrays that are the same in all or are not in all."""
        notes = [*self.notes, f"{len(self.files)} files, {what}, in the order {self.files[0].name}, …, {self.files[-1].name}."]
        if self.shared:
            notes.append(f"the same in all files, and read once: {', '.join(self.shared)}.")
        if left_out := dict.fromkeys(name for head in self.heads for name in head if name not in self.common):
            notes.append(f"not in all files, and not read: {', '.join(list(left_out)[:8])}.")
        return notes

    def unequal(self, name: str) -> RaffiaError:
        """The error for an array whose shapes do not go together."""
        shapes = [array.shape for array in self.of(name)]
        other = next((index for index, shape in enumerate(shapes) if shape != shapes[0]), 0)
        return RaffiaError(
            f"{self.path}: {name} has shape {shapes[0]} in {self.files[0].name} and {shapes[other]} in {self.files[other].name}. Write all "
            "on one grid; curves are resampled where each file has coordinates along them, named x or t, say, or as coordinates=… "
            "(--coordinates) names them; files that each have some of the samples go together with files='parts' (--files parts)."
        )

    def _may_be_shared(self, name: str) -> bool:
        shapes = {array.shape for array in self.of(name)}
        size = math.prod(next(iter(shapes)))
        many = len(self.heads) == 1 or size > FEW or self.heads[0][name].dims == (name,)  # coordinates along an axis
        return len(shapes) == 1 and size <= LOOKED_AT and many


def _chosen(path: Path, suffixes: Sequence[str]) -> list[Path]:
    """The files of one kind, sorted as people count, without those that hold values of others."""
    inside = [file for file in (path.iterdir() if path.is_dir() else files_of(path)) if not file.name.startswith(".")]
    known = [file for file in inside if file.suffix.lower() in suffixes]
    leads = [file for file in known if file.suffix.lower() in LEADING]
    known = [file for file in known if not any(_belongs(file, lead) for lead in leads)]
    if not known:
        raise RaffiaError(
            f"{path}: there is no file of a kind that raffia reads ({' '.join(suffixes)}). Pass a file, a Zarr store, a folder of "
            "files, or a pattern in quotes, such as 'runs/*.csv'."
        )
    several = sorted({file.suffix.lower() for file in known}, key=lambda suffix: (suffix not in LEADING, suffix))
    if len(several) > 1:
        raise RaffiaError(
            f"{path} holds files of several kinds ({', '.join(several)}), and those of one kind are a dataset. Pass a pattern in quotes, "
            f"such as '{path / '*' if path.is_dir() else '*'}{several[0]}'."
        )
    if len(known) > MOST:
        raise RaffiaError(f"{path} holds more than {MOST} files. Write their arrays into one.")
    return sorted(known, key=_natural)


def _belongs(file: Path, lead: Path) -> bool:
    """Whether a file holds values of another one, whose name it begins with."""
    return file.suffix.lower() in LED and file.suffix != lead.suffix and file.name.startswith(lead.stem)


def _natural(path: Path) -> tuple:
    """A key to sort by: run2 comes before run10, and numbers by their size."""
    pieces = NUMBER.split(str(path.with_suffix("")))
    return tuple((1, float(piece), piece) if place % 2 else (0, 0.0, piece) for place, piece in enumerate(pieces)), path.name


def _opened(file: Path, read: Read) -> dict[str, Variable]:
    """The arrays of one file; one that is named after its file is called values."""
    arrays = {VALUES if name == file.stem else name: v for name, v in reread(read, file).items() if v.numeric}
    return {name: replace(v, name=name) for name, v in arrays.items()}


def _start(array: Variable) -> np.ndarray:
    """A few first rows."""
    return array.read(slice(0, array.affordable(min(8, array.shape[0])))) if array.shape else array.read()


def _is_in_parts(files: _Files) -> bool:
    """Whether several arrays have other numbers of rows in other files, the same in each: those of its samples."""
    uneven = [name for name in files.common if len({array.shape for array in files.of(name)}) > 1]
    if files.asked.files or len(uneven) < 2 or any(map(names_places, uneven)):
        return False
    alike = all(len({array.shape[1:] for array in files.of(name)}) == 1 for name in uneven)
    return alike and files.heads[0][uneven[0]].layout is None and _same_rows(files, uneven)


def _same_rows(files: _Files, names: list[str]) -> bool:
    """Whether arrays of these names have as many rows in every file."""
    return all(len(rows := {head[name].shape[:1] for name in names}) == 1 and () not in rows for head in files.heads)


def _parts(files: _Files) -> dict[str, Variable]:
    """The samples of all files by each name, one after the other; arrays that are the same in all files once."""
    joined = [name for name in files.common if name not in files.shared]
    if not joined or not _same_rows(files, joined):
        scalar = next((name for name in joined if not files.heads[0][name].shape), "")
        raise files.unequal(scalar or [*files.common[:1], *joined][-1])
    notes, arrays = files.described("each with some of the samples"), {}
    for name in files.common:
        several = files.of(name)
        layout = replace(several[0].layout or Layout(), files=PARTS)
        first = replace(several[0], path=files.path, layout=layout, notes=(*several[0].notes, *notes))
        if name in joined:
            if len({array.shape[1:] for array in several}) > 1:
                raise files.unequal(name)
            total = sum(array.shape[0] for array in several)
            first = replace(first, shape=(total, *first.shape[1:]), load=partial(_concatenated, several))
        arrays[name] = first
    return arrays


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


def _stacked(files: _Files) -> dict[str, Variable]:
    """An array with a row for each file by each name, one of the numbers in file names, and arrays that are the same in all once."""
    curves = _curves(files)
    along = [] if curves is None else [name for name in files.common if _is_along(files, name, curves.name)]
    for name in files.common:
        if name not in along and len({array.shape for array in files.of(name)}) > 1:
            raise files.unequal(name)
        if curves is not None and curves.grid is not None and name not in along:
            _check_apart(files, name, curves)
    notes = files.described("one a sample") + ([curves.note] if curves is not None and curves.note else [])
    arrays, places = _from_names(files)
    layout = Layout(files=SAMPLES, numbers=places)
    if curves is not None:
        layout = curves.in_other_files(replace(layout, coordinates=(curves.name,)))
    for name in files.common:
        arrays[name] = _array(files, name, curves if name in along else None)
    inner = next(iter(files.heads[0].values())).notes
    return {name: replace(v, notes=(*inner, *notes, *v.notes), layout=layout, path=files.path) for name, v in arrays.items()}


def _array(files: _Files, name: str, curves: Curves | None) -> Variable:
    """The arrays of one name in all files, along a first axis; rows of a table have one name whatever the file."""
    several, stem = files.of(name), files.files[0].stem
    dims = several[0].dims and tuple(dim.removesuffix(f" of {stem}") for dim in several[0].dims)
    first, count = replace(several[0], dims=dims, notes=()), len(several)
    if curves is not None and name == curves.name:
        return replace(first, shape=curves.points.shape, dims=(name,), dtype="<f8", load=partial(rows_of, curves.points))
    if curves is not None:
        load = partial(stack, partial(_interpolated, several, curves), count, curves.points.shape, "<f8")
        return replace(first, shape=(count, *curves.points.shape), dims=(SAMPLE, curves.name), dtype="<f8", load=load)
    if name in files.shared:
        return first
    load = partial(stack, lambda index: several[index].read(), count, first.shape, first.dtype)
    return replace(first, shape=(count, *first.shape), dims=dims and (SAMPLE, *dims), load=load, block=1)


def _interpolated(arrays: list[Variable], curves: Curves, index: int) -> np.ndarray:
    return curves.values(index, arrays[index].read().astype(np.float64).reshape(-1))


def _curves(files: _Files) -> Curves | None:
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
            curves = common(files.path, name, [x[order] for x, order in zip(values, orders, strict=True)], files.asked)
            moved = sum(bool((np.diff(order) != 1).any()) for order in orders)
            note = f"the values of {moved} files are sorted by {name}. " if moved else ""
            return replace(curves, orders=orders, note=f"{note}{curves.note}".strip())
    return None


def _is_sorted(x: np.ndarray) -> bool:
    """Whether coordinates rise or fall, nearly always: measured ones have noise."""
    wrong = min(np.count_nonzero(~(np.diff(x) > 0)), np.count_nonzero(~(np.diff(x) < 0)))
    return len(x) > 1 and bool(wrong <= ORDERLY * len(x))


def _check_apart(files: _Files, name: str, curves: Curves) -> None:
    """Refuse fields along coordinates that differ from file to file."""
    shapes = [array.shape for array in files.of(name)]
    if all(len(shape) > 1 and len(line) in shape for shape, line in zip(shapes, curves.lines, strict=True)):
        raise RaffiaError(
            f"{files.path}: {curves.name} differs from file to file, and {name} of shape {shapes[0]} lies along it; only curves "
            "are resampled. Write all on one grid."
        )


def _is_along(files: _Files, name: str, place: str) -> bool:
    """Whether an array has as many values as there are coordinates, in every file."""
    pairs = zip(files.of(name), files.of(place), strict=True)
    return all(max(v.shape, default=0) == np.prod(v.shape) == np.prod(x.shape) for v, x in pairs)


def _from_names(files: _Files) -> tuple[dict[str, Variable], tuple[int, ...]]:
    """The names of files, the numbers in them, and which numbers these are: those asked for, or those that differ.

    There are no numbers if names differ in more than numbers, or not at all.
    """
    names = np.array([file.name for file in files.files])
    arrays = {NAMES: Variable.of_array(NAMES, names, (SAMPLE,), {}, files.path)}
    pieces = [NUMBER.split(file.stem) for file in files.files]
    values = np.array([[float(number) for number in piece[1::2]] for piece in pieces if len(piece) == len(pieces[0])])
    if len({tuple(piece[::2]) for piece in pieces}) != 1:
        return arrays, ()
    places = files.asked.numbers or tuple(int(place) for place in np.flatnonzero((values != values[0]).any(0)))
    if not places or max(places) >= values.shape[1]:
        return arrays, ()
    values = values[:, list(places)]
    before = ", ".join(repr(pieces[0][2 * place].strip(" _-=")) for place in places)
    counted = values.shape[1] == 1 and bool((np.diff(values[:, 0]) == 1).all())
    note = f"{NUMBERS} are those after {before} in the names of files{', which count them' if counted else ''}."
    numbers = Variable.of_array(NUMBERS, values, (SAMPLE, "numbers"), {}, files.path, notes=(note,))
    return {NUMBERS: numbers, **arrays}, places
