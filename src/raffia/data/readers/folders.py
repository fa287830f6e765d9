"""Several files that hold one dataset, in a folder or of a pattern: a file for each sample, or for a part of the samples."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from raffia.data.readers.layout import PARTS, POINTS, SAMPLES, TABLES, Curves, Layout, common
from raffia.data.readers.meshes import LEADING, LED
from raffia.data.readers.meshes.interpolation import together
from raffia.data.readers.tables.headers import is_position
from raffia.data.readers.variable import LOOKED_AT, Read, Rows, Variable, files_of, reread, stacked
from raffia.errors import RaffiaError

MOST_APART = 32  # files that are named after what they hold
FEW = 8  # values that may be the same in all files and yet be numbers of a sample
ORDERLY = 0.02  # of the values of a curve: how many may be out of order
VALUES = "values"  # the name of an array that is named after its file
SPLITS = ("training", "train", "validation", "valid", "vali", "val", "testing", "test")
"""Words in the names of files and arrays that hold a part of the samples; the first two are what is trained on."""
NAMES, NUMBERS, SAMPLE = "file names", "filename numbers", "sample"
PIECE = re.compile(r"(?:part|chunk|shard|batch|piece)s?[\s_.-]*\d+(?:[\s_-]*of[\s_-]*\d+)?$", re.IGNORECASE)
NUMBER = re.compile(r"((?:(?<=[_=\s])-)?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


def variables(
    path: Path, asked: Layout, read: Callable[..., dict[str, Variable]], suffixes: Sequence[str]
) -> dict[str, Variable]:
    """The arrays of all files of a folder or a pattern; rows are read from the files that have them."""
    paths, left_out = _chosen(path, suffixes)
    if not asked.files and path.is_dir() and (alone := _apart(path, paths, asked, read)):
        return {name: replace(v, notes=(*v.notes, *left_out)) for name, v in alone.items()}
    _check_one_kind(path, paths)
    named = not asked.files and all(PIECE.search(file.stem) for file in paths)
    pieces = asked.files != SAMPLES and (named or asked.files == PARTS or bool(asked.table or asked.samples))
    inner = replace(asked, files="") if pieces else Layout(POINTS, wanted=asked.wanted)
    as_one = partial(read, layout=inner)
    heads, notes = [_opened(file, as_one) for file in paths], left_out
    if not pieces:  # files with a mesh each are brought to that of the first
        heads, others = together(heads)
        notes = [*left_out, *others]
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

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        """The shape of this array in each file."""
        return [array.shape for array in self.of(name)]

    @cached_property
    def common(self) -> list[str]:
        """The names of arrays that are in all files."""
        names = [name for name in self.heads[0] if all(name in head for head in self.heads)]
        if not names:
            first, last = (f"{self.files[i].name} has {', '.join(list(self.heads[i])[:8]) or 'none'}" for i in (0, -1))
            raise RaffiaError(f"{self.path}: no array is in all files: {first}, {last}. Pass a pattern of files alike.")
        return names

    @cached_property
    def shared(self) -> list[str]:
        """The arrays that are the same in all files, as coordinates, nodes and cells are; a few numbers may be those of a sample."""
        left = {name: v.glance() for name, v in self.heads[0].items() if name in self.common and self._may_be_shared(name)}
        for head in self.heads[1:]:  # file by file, as one that is a table is read as a whole
            left = {name: values for name, values in left.items() if np.array_equal(values, head[name].glance())}
        return list(left)

    def _may_be_shared(self, name: str) -> bool:
        shape, *others = set(self.shapes(name))
        several = len(self.heads) == 1 or math.prod(shape) > FEW or self.heads[0][name].dims == (name,)  # along an axis
        return not others and several and math.prod(shape) <= LOOKED_AT and name not in self.asked.wanted

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
        shapes = self.shapes(name)
        other = next((index for index, shape in enumerate(shapes) if shape != shapes[0]), 0)
        return RaffiaError(
            f"{self.path}: {name} has shape {shapes[0]} in {self.files[0].name} and {shapes[other]} in {self.files[other].name}. Write all "
            "on one grid; curves are resampled where each file has coordinates along them, named x or t, say, or as coordinates=… "
            "(--coordinates) names them; files that each have some of the samples go together with files='parts' (--files parts)."
        )


def _chosen(path: Path, suffixes: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files to read, sorted as people count, and notes on those that are left out.

    A folder with nothing but one folder in it is that one. Left out are files that hold values of others, test sets beside what they are
    named like, and the one table beside other files, which has their parameters.
    """
    inside = [file for file in (path.iterdir() if path.is_dir() else files_of(path)) if not file.name.startswith(".")]
    known = [file for file in inside if file.suffix.lower() in suffixes]
    leads = [file for file in known if file.suffix.lower() in LEADING]
    known = [file for file in known if not any(_belongs(file, lead) for lead in leads)]
    if not known and (inner := only_folder(path)) != path:
        return _chosen(inner, suffixes)
    if not known:
        raise RaffiaError(
            f"{path}: there is no file of a kind that raffia reads ({' '.join(suffixes)}). Pass a file, a Zarr store, a folder of "
            "files, or a pattern in quotes, such as 'runs/*.csv'."
        )
    tests = test_sets([file.name for file in known]) if path.is_dir() else []
    table = parameters_in(path)
    note = [f"not used: {', '.join(tests)}, named like test sets."] if tests else []
    return sorted((file for file in known if file.name not in tests and file != table), key=_natural), note


def only_folder(path: Path) -> Path:
    """The folder in a folder that holds nothing but it and files without a known kind; the folder itself where there are others."""
    folders = [one for one in path.iterdir() if one.is_dir() and not one.name.startswith(".")] if path.is_dir() else []
    return folders[0] if len(folders) == 1 else path


def parameters_in(path: Path) -> Path | None:
    """The one table in a folder beside two or more files of another kind, which has a row for each of them."""
    inside = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")] if path.is_dir() else []
    tables = [file for file in inside if file.suffix.lower() in TABLES]
    kinds = Counter((file.suffix.lower(), *NUMBER.split(file.stem)[::2]) for file in inside if file not in tables)
    return tables[0] if len(tables) == 1 and max(kinds.values(), default=0) > 1 else None


def test_sets(names: Sequence[str]) -> list[str]:
    """The names of test and validation sets, where each of these has one of the training beside it."""
    split = {}
    for name in names:
        words = re.split(r"[_.\- ]+", name.lower())
        part = next((word for word in words if word in SPLITS), "")
        split[name] = (tuple(word for word in words if word != part), part)
    known = {stem for stem, part in split.values() if part in SPLITS[:2]}
    return [name for name, (stem, part) in split.items() if part in SPLITS[2:] and stem in known]


def _apart(path: Path, paths: list[Path], asked: Layout, read: Callable[..., dict[str, Variable]]) -> dict[str, Variable]:
    """The arrays of files that are no samples: of a single file, or of several named after what they hold, by the names of the files."""
    if len(paths) == 1:
        return {name: replace(v, path=path) for name, v in read(paths[0], asked).items()}
    kinds = {tuple(NUMBER.split(file.stem)[::2]) for file in paths}
    mixed = len({file.suffix for file in paths}) > 1 and any(file.suffix.lower() in LEADING for file in paths)
    if mixed or len(kinds) < len(paths) or len(paths) > MOST_APART:
        return {}
    held = [{name: v for name, v in read(file, asked).items() if v.numeric} for file in paths]
    if len(paths) > 2 and len({tuple(v.shape for v in arrays.values()) for arrays in held}) == 1:
        return {}
    if len({tuple(arrays) for arrays in held}) == 1 < len(held[0]):
        _check_parts(path, paths, held)
        return {}
    notes, arrays = (f"{len(paths)} files, one an array, which are named after them.",), {}
    for file, inside in zip(paths, held, strict=True):
        for name, v in inside.items():
            key = file.stem if len(inside) == 1 else f"{file.stem}/{name}"
            arrays[key] = replace(v, name=key, path=path, notes=(*v.notes, *notes))
    return arrays


def _check_parts(path: Path, paths: list[Path], held: list[dict[str, Variable]]) -> None:
    """Refuse files with arrays of the same names that do not go together: they are sets of their own."""
    if len({tuple(v.shape[1:] for v in arrays.values()) for arrays in held}) > 1:
        raise RaffiaError(
            f"{path}: {' and '.join(file.name for file in paths)} hold arrays of the same names, {', '.join(held[0])}. Pass one of them, "
            f"such as {paths[0]}; or, if one has inputs and the other outputs, {paths[0]} with --outputs {paths[-1]} (output_path=…)."
        )


def _check_one_kind(path: Path, paths: list[Path]) -> None:
    several = sorted({file.suffix.lower() for file in paths}, key=lambda suffix: (suffix not in LEADING, suffix))
    if len(several) > 1:
        raise RaffiaError(
            f"{path} holds files of several kinds ({', '.join(several)}), and those of one kind are a dataset. Pass a pattern in quotes, "
            f"such as '{path / '*' if path.is_dir() else '*'}{several[0]}'."
        )


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


def _is_in_parts(files: _Files) -> bool:
    """Whether several arrays have other numbers of rows in other files, the same in each: those of its samples."""
    uneven = [name for name in files.common if len(set(files.shapes(name))) > 1]
    if files.asked.files or len(uneven) < 2 or any(map(is_position, uneven)) or files.heads[0][uneven[0]].layout is not None:
        return False
    return _same_rows(files, uneven) and all(len({shape[1:] for shape in files.shapes(name)}) == 1 for name in uneven)


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
        several, shapes = files.of(name), files.shapes(name)
        layout = replace(several[0].layout or Layout(), files=PARTS)
        arrays[name] = replace(several[0], path=files.path, layout=layout, notes=(*several[0].notes, *notes))
        if name in joined:
            if len({shape[1:] for shape in shapes}) > 1:
                raise files.unequal(name)
            shape = (sum(shape[0] for shape in shapes), *shapes[0][1:])
            arrays[name] = replace(arrays[name], shape=shape, load=partial(_concatenated, several))
    return arrays


def _concatenated(arrays: list[Variable], rows: Rows) -> np.ndarray:
    """Rows of the arrays one after the other; of no others are files opened."""
    ends = np.cumsum([0, *(array.shape[0] for array in arrays)]).tolist()
    start, stop, _ = (rows or slice(None)).indices(ends[-1])
    pieces = [
        array.read(slice(max(start - begin, 0), stop - begin))
        for array, (begin, end) in zip(arrays, pairwise(ends), strict=True)
        if begin < stop and end > start
    ]
    return np.concatenate(pieces) if pieces else arrays[0].read(slice(0, 0))


def _stacked(files: _Files) -> dict[str, Variable]:
    """Return arrays by name, with a row for each file.

    Numbers in the file names are an array too. Curves with coordinates of their own are resampled.
    """
    curves = _curves(files)
    along = [] if curves is None else [name for name in files.common if _is_along(files, name, curves.name)]
    for name in files.common:
        if name not in along and len(set(files.shapes(name))) > 1:
            raise files.unequal(name)
        if curves is not None and curves.resampled and name not in along:
            _check_apart(files, name, curves)
    notes = [*files.described("one a sample"), *(() if curves is None else curves.notes)]
    arrays, places = _from_names(files)
    layout = Layout(files=SAMPLES, numbers=places)
    if curves is not None:
        layout = curves.in_other_files(replace(layout, coordinates=(curves.name,)))
    arrays |= {name: _array(files, name, curves if name in along else None) for name in files.common}
    inner = next(iter(files.heads[0].values())).notes
    return {name: replace(v, notes=(*inner, *notes, *v.notes), layout=layout, path=files.path) for name, v in arrays.items()}


def _array(files: _Files, name: str, curves: Curves | None) -> Variable:
    """The arrays of one name in all files, along a first axis; rows of a table have one name whatever the file."""
    several, stem = files.of(name), files.files[0].stem
    dims = several[0].dims and tuple(dim.removesuffix(f" of {stem}") for dim in several[0].dims)
    several = [replace(v, dims=dims, notes=()) for v in several]
    if curves is not None and name == curves.name:
        return Variable.of_array(files.path, name, curves.points, (name,), attributes=several[0].attributes)
    if curves is not None:
        several = [_resampled(v, curves, index) for index, v in enumerate(several)]
    elif name in files.shared:
        return several[0]
    inner = several[0].dims
    return stacked(several, dims=inner and (SAMPLE, *inner))


def _resampled(v: Variable, curves: Curves, index: int) -> Variable:
    """The array of a file, at the points of all curves."""

    def read(_: Rows) -> np.ndarray:
        return curves.values(index, v.read().astype(np.float64).reshape(-1))

    return replace(v, shape=curves.points.shape, dims=(curves.name,), dtype="<f8", load=read)


def _curves(files: _Files) -> Curves | None:
    """The curves of files whose coordinates differ, by the names of the coordinates."""
    for name in files.common:
        if name in files.asked.wanted or not (name in files.asked.coordinates or is_position(name)):
            continue
        same = name in files.shared and files.asked.points is None
        if same or any(max(v.shape, default=0) != math.prod(v.shape) for v in files.of(name)):
            continue
        values = [line.glance().astype(np.float64).reshape(-1) for line in files.of(name)]
        if all(map(_is_sorted, values)):
            return common(files.path, name, values, files.asked)
    return None


def _is_sorted(x: np.ndarray) -> bool:
    """Whether coordinates rise or fall, nearly always: measured ones have noise."""
    wrong = min(np.count_nonzero(~(np.diff(x) > 0)), np.count_nonzero(~(np.diff(x) < 0)))
    return len(x) > 1 and bool(wrong <= ORDERLY * len(x))


def _check_apart(files: _Files, name: str, curves: Curves) -> None:
    """Refuse fields along coordinates that differ from file to file."""
    shapes = files.shapes(name)
    if all(len(shape) > 1 and len(line) in shape for shape, line in zip(shapes, curves.lines, strict=True)):
        raise RaffiaError(
            f"{files.path}: {curves.name} differs from file to file, and {name} of shape {shapes[0]} lies along it; only curves "
            "are resampled. Write all on one grid."
        )


def _is_along(files: _Files, name: str, place: str) -> bool:
    """Whether an array has as many values as there are coordinates, in every file."""
    pairs = zip(files.shapes(name), files.shapes(place), strict=True)
    return all(max(shape, default=0) == math.prod(shape) == math.prod(line) for shape, line in pairs)


def _from_names(files: _Files) -> tuple[dict[str, Variable], tuple[int, ...]]:
    """The names of files, the numbers in them, and which numbers these are: those asked for, or those that differ.

    There are no numbers if names differ in more than numbers, or not at all.
    """
    names = np.array([file.name for file in files.files])
    arrays = {NAMES: Variable.of_array(files.path, NAMES, names, (SAMPLE,))}
    pieces = [NUMBER.split(file.stem) for file in files.files]
    if len({tuple(piece[::2]) for piece in pieces}) != 1:
        return arrays, ()
    values = np.array([[float(number) for number in piece[1::2]] for piece in pieces])
    places = files.asked.numbers or tuple(int(place) for place in np.flatnonzero((values != values[0]).any(0)))
    if not places or max(places) >= values.shape[1]:
        return arrays, ()
    values = values[:, list(places)]
    before = ", ".join(repr(pieces[0][2 * place].strip(" _-=")) for place in places)
    counted = values.shape[1] == 1 and bool((np.diff(values[:, 0]) == 1).all())
    note = f"{NUMBERS} are those after {before} in the names of files{', which count them' if counted else ''}."
    numbers = Variable.of_array(files.path, NUMBERS, values, (SAMPLE, "numbers"), notes=(note,))
    return {NUMBERS: numbers, **arrays}, places
