"""One array in a file: what it is, and a way to read some of its rows."""

import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from glob import iglob
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import damaged_if, naming
from raffia.data.readers.layout import Layout
from raffia.errors import RaffiaError

Rows = slice | None
Load = Callable[[Rows], np.ndarray]
"""Reads rows of an array, or all of it."""
Read = Callable[[Path], "dict[str, Variable]"]
"""Gives the arrays of a file by name."""

COMPLEX = "complex"  # the name of the axis of real and imaginary parts
FILLS = ("_FillValue", "missing_value", "FillValue", "fill_value")
IN_MEMORY = "<"  # begins the label that stands for the path of data in memory
WILDCARDS = re.compile(r"[*?\[]")
COMPRESSION = 2000  # no common format packs numbers tighter, unless they are all equal
MODEST = 2**28  # bytes that may be asked for whatever the size of the file
PACKED = 32  # values a byte of a file that is believed, as functions of few values pack well
MOST_PACKED = 2**26  # values that are believed by that ratio: half a gigabyte
LOOKED_AT = 2**22  # values that may be looked at before anybody asks for them, whatever the size of the file
SMALL = 2**18  # bytes of a file whose arrays may stay in memory with those of many others
MOST = 1024  # arrays, groups and lists in a file; some formats need milliseconds for each
DEFLATED = 1032  # times, at most, that gzip's method packs zeros


@dataclass(frozen=True)
class Variable:
    """An array in a file, which is not read before its values are asked for.

    Attributes
    ----------
    path
        The file, the folder or the pattern that it is in.
    name
        Its name: a column, a key, or a path of groups in the file.
    shape
        Its shape in the file; `read` gives rows along the first axis.
    dtype
        The type of its values, as NumPy writes it, such as "<f8".
    load
        Reads rows of it; `read` also checks their number.
    dims
        The name of each axis, which may be empty, or None if the file does not name axes.
    attributes
        What the file says of it: units, fill values, and for fields on a mesh the names of the arrays of nodes and cells.
    block
        How many rows are read together: those of a chunk, or all.
    notes
        What its reader had to assume or to change.
    layout
        Where samples are in a table or a folder.
    beside
        Files that its values lie in, if that is not the file itself.
    """

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: str
    load: Load = field(repr=False, compare=False)
    dims: tuple[str, ...] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    block: int = 1
    notes: tuple[str, ...] = ()
    layout: Layout | None = None
    beside: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.dims is not None and len(self.dims) != len(self.shape):
            raise RaffiaError(f"{self.path} is damaged: {self.name} has shape {self.shape}, but its axes are {self.dims}.")

    @classmethod
    def of_array(
        cls, path: Path, name: str, values: np.ndarray, dims: tuple[str, ...] | None = None, **more: Any
    ) -> "Variable":
        """An array that is in memory."""
        return cls(path, name, tuple(values.shape), values.dtype.str, partial(rows_of, values), dims=dims, **more)

    @property
    def numeric(self) -> bool:
        """Whether it holds real numbers."""
        return np.dtype(self.dtype).kind in "fiub"

    def cost(self, rows: int) -> int:
        """Return the number of values that must be decompressed to read the first `rows` rows."""
        n, block = (self.shape or (1,))[0], max(1, self.block)
        return min(n, -(-rows // block) * block) * math.prod(self.shape[1:])

    def affordable(self, rows: int) -> int:
        """How many of these first rows may be read on opening: a small file may claim any size, or unpack to it."""
        cost, least, block = self.cost(rows), self.cost(1), max(1, self.block)
        most = LOOKED_AT if cost <= LOOKED_AT else unpackable(held(self.path, cost, *self.beside)) // 8
        if least > most:
            raise self._too_large("its first row has more values than the file has bytes")
        return rows if cost <= most else most // least * block

    def glance(self) -> np.ndarray:
        """All of it, if it may be read on opening: coordinates and the like."""
        n = (self.shape or (1,))[0]
        if self.affordable(n) < n:
            raise self._too_large("it has to be read as a whole, and has more values than the file has bytes")
        return self.read()

    def _too_large(self, reason: str) -> RaffiaError:
        return RaffiaError(
            f"{self.path}: {self.name} of shape {self.shape} is too large to look at: {reason}. Write it with samples along the first "
            "axis, in small chunks or uncompressed."
        )

    def read(self, rows: slice | None = None) -> np.ndarray:
        """Read rows.

        Parameters
        ----------
        rows
            The rows along the first axis; None for all.

        Returns
        -------
        ndarray
            A copy of the values, of the type and the shape that the variable has.
        """
        n = self.shape[0] if self.shape else 1
        wanted = self.shape if rows is None or not self.shape else (len(range(*rows.indices(n))), *self.shape[1:])
        size = math.prod(wanted) * np.dtype(self.dtype).itemsize
        if min(wanted, default=0) < 0 or (
            size > MODEST and size > COMPRESSION * held(self.path, size // COMPRESSION + 1, *self.beside)
        ):
            raise RaffiaError(f"{self.path} is damaged: {self.name} claims shape {wanted}, more than such a file can hold.")
        with naming(self.path, self.name):
            values = np.asarray(self.load(rows if self.shape else None)).astype(self.dtype, copy=False)
            damaged_if(values.shape != wanted, f"it has shape {wanted} in its header and {values.shape} in its body")
            return values


def real_parts(v: Variable) -> Variable:
    """A variable with the real and the imaginary part along a last axis, called complex, if it is complex."""
    if np.dtype(v.dtype).kind != "c":
        return v

    def parts(rows: Rows) -> np.ndarray:
        values = v.read(rows)
        return np.stack([values.real, values.imag], axis=-1)

    dims, dtype = (*(v.dims or [""] * len(v.shape)), COMPLEX), np.zeros((), v.dtype).real.dtype.str
    note = f"{v.name} is complex: its real and imaginary parts are two channels, along a last axis."
    return replace(v, shape=(*v.shape, 2), dtype=dtype, dims=dims, load=parts, notes=(*v.notes, note))


def whole(load: Callable[[], np.ndarray], first: Callable[[int], np.ndarray] | None = None) -> Load:
    """Reads rows of an array whose format gives only all of it: if rows are wanted, it is read once, and stays in memory.

    The `first` rows of a large array are read alone, if its format can.
    """
    cached = lru_cache(maxsize=1)(load)

    def read(rows: Rows) -> np.ndarray:
        if rows is None:
            return load()
        if first is not None and rows.start == 0 and rows.step is None and not cached.cache_info().currsize:
            return first(rows.stop)
        return cached()[rows].copy()

    return read


def reread(read: Callable[..., dict[str, Variable]], path: Path, *beside: Path) -> dict[str, Variable]:
    """The arrays of a file, and of those `beside` it, that are read as a whole: again if they have changed, and few stay in memory."""

    def arrays() -> dict[str, Variable]:
        cached = _large_files if path.stat().st_size > SMALL else _small_files
        facts = [file.stat() for file in (path, *beside)]
        return cached(read, (path, *beside), tuple((fact.st_size, fact.st_mtime_ns) for fact in facts))

    def again(name: str, rows: Rows) -> np.ndarray:
        if (v := arrays().get(name)) is None:
            raise RaffiaError(f"{path} has changed: it holds no {name} any more. Open it again.")
        return v.load(rows)

    return {name: replace(v, load=partial(again, name), beside=beside) for name, v in arrays().items()}


_large_files, _small_files = (lru_cache(maxsize=most)(lambda read, paths, _: read(*paths)) for most in (2, 256))


def rows_of(values: np.ndarray, rows: Rows) -> np.ndarray:
    """Some rows of an array that is in memory, as a copy."""
    return values.copy() if rows is None else values[rows].copy()


def stack(read: Callable[[int], np.ndarray], count: int, shape: tuple[int, ...], dtype: str, rows: Rows) -> np.ndarray:
    """Some rows of an array of so many, each of which is read by its index."""
    chosen = range(count)[rows or slice(None)]
    values = np.empty((len(chosen), *shape), dtype)
    for place, row in enumerate(chosen):
        values[place] = read(row)
    return values


def stacked(arrays: Sequence[Variable], **changes: Any) -> Variable:
    """An array with a row for each of these, which are read one by one."""
    first, dtype = arrays[0], np.result_type(*(v.dtype for v in arrays)).str
    load = partial(stack, lambda index: arrays[index].read(), len(arrays), first.shape, dtype)
    news: dict[str, Any] = {"shape": (len(arrays), *first.shape), "dims": None, "dtype": dtype, "load": load, "block": 1}
    return replace(first, **news | changes)


def check_stored(path: Path, name: str, shape: tuple[int, ...], itemsize: int, stored: int) -> None:
    """Refuse an array that is stored as it is, in fewer bytes than it has."""
    if any(axis < 0 for axis in shape) or math.prod(shape) * itemsize > stored:
        raise RaffiaError(f"{path} is damaged: {name} claims shape {shape}, more than the {stored} bytes stored of it.")


def check_count(path: Path, count: int) -> None:
    """Refuse files of more arrays and groups than anybody can look through."""
    if count > MOST:
        raise RaffiaError(f"{path} holds more than {MOST} arrays and groups. Write those that are meant into a file.")


def check_inflated(read: Callable[[], bytes], size: int, most: int, wbits: int) -> None:
    """Refuse a chunk of this size that gzip's method unpacks to more bytes than it should; small ones cannot unpack to much."""
    if size * DEFLATED <= MODEST:
        return
    unpacker, packed = zlib.decompressobj(wbits), read()
    while packed and not unpacker.eof:
        most -= len(unpacker.decompress(packed, 2**20))
        packed = unpacker.unconsumed_tail
        damaged_if(most < 0, "a chunk unpacks to more bytes than it says")


def unpackable(size: int) -> int:
    """How many bytes a file of this size may unpack to before anybody asks for them."""
    return 8 * max(LOOKED_AT, size, min(PACKED * size, MOST_PACKED))


def files_of(path: Path) -> Iterator[Path]:
    """The files of a dataset: one, all in a folder, or all of a pattern such as runs/*.csv."""
    if path.is_dir():
        yield from path.rglob("*")
    elif path.exists() or not has_wildcards(path):
        yield path
    else:
        yield from map(Path, iglob(str(path), recursive=True))


def file_beside(path: Path, name: str) -> Path:
    """The plain file that another one names, in its folder or below; what lies elsewhere, or is a link, is refused."""
    place = path.parent / name
    if not os.path.isfile(place) or Path(name).is_absolute() or place.resolve() != path.parent.resolve() / name:
        raise RaffiaError(
            f"it has its values in {name[:80]!r}, and there is no such plain file beside it. Put it into the same folder."
        )
    return place


def has_wildcards(path: Path) -> bool:
    """Whether a path is a pattern of several."""
    return WILDCARDS.search(str(path)) is not None


def held(path: Path, enough: int, *beside: Path) -> int:
    """The bytes of a file, of those `beside` it, or of all files in a folder or of a pattern, counted until there are `enough`."""
    if path.name.startswith(IN_MEMORY):
        return enough
    total = sum(file.lstat().st_size for file in beside)
    for file in files_of(path):
        total += file.lstat().st_size
        if total >= enough:
            break
    return total


def optional(module: str, kind: str, package: str = "raffia[data]") -> Any:
    """A module that reads a format, which need not be installed."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise RaffiaError(f"{kind} files need the package {name}. Run: pip install {package}") from None


def decode(variable: Variable, values: np.ndarray) -> np.ndarray:
    """Fill values to NaN, scale and offset applied, integers to floats: float32 stays, all else becomes float64."""
    number = {key: value for key, value in variable.attributes.items() if type(value) in (int, float)}
    gaps = np.zeros(values.shape, dtype=bool)
    for fill in (number[key] for key in FILLS if key in number):
        gaps |= values == (np.array(fill).astype(values.dtype, casting="unsafe") if values.dtype.kind == "f" else fill)
    floats = values.astype(np.float32 if values.dtype.kind == "f" and values.dtype.itemsize <= 4 else np.float64)
    if {"scale_factor", "add_offset"} & set(number):
        floats = floats.astype(np.float64) * number.get("scale_factor", 1) + number.get("add_offset", 0)
    floats[gaps] = np.nan
    return floats


def check_whole(path: Path, name: str, values: np.ndarray, first: int = 0, each: int = 0) -> None:
    """Refuse samples with missing or infinite values; `first` is the number of the first sample, a trajectory has `each` of them."""
    bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(1))
    if len(bad):
        sample = first + int(bad[0])
        where = f" (trajectory {sample // each}, pair {sample % each} of it, counted from 0)" if each else ""
        what = "trajectories" if each else "samples"
        raise RaffiaError(
            f"{path}: {name} must be finite; {len(bad)} of the {len(values)} samples read have missing values (NaN, infinite or "
            f"fill values), the first is sample {sample}{where}. Leave those {what} out or fill their gaps first."
        )
