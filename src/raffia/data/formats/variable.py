"""One array in a file: what it is, and a way to read some of its rows."""

import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from raffia.errors import RaffiaError

Rows = slice | None

COMPRESSION = 2000  # no common format packs numbers tighter, unless they are all equal
MODEST = 2**28  # bytes that may be asked for whatever the size of the file


@dataclass(frozen=True)
class Variable:
    """An array in a file, by its name; `read` reads it, or some rows of it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    dims: tuple[str, ...] | None
    attributes: dict[str, Any]
    path: Path
    load: Callable[[Rows], np.ndarray] = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.dims is not None and len(self.dims) != len(self.shape):
            raise RaffiaError(f"{self.path} is damaged: {self.name} has shape {self.shape}, but its axes are {self.dims}.")

    @property
    def numeric(self) -> bool:
        """Whether it holds real numbers."""
        return np.dtype(self.dtype).kind in "fiub"

    def read(self, rows: slice | None = None) -> np.ndarray:
        """The rows along the first axis; None reads all of them."""
        n = self.shape[0] if self.shape else 1
        wanted = self.shape if rows is None or not self.shape else (len(range(*rows.indices(n))), *self.shape[1:])
        check_size(self.path, self.name, wanted, np.dtype(self.dtype).itemsize)
        with guarded(self.path, self.name):
            values = np.asarray(self.load(rows if self.shape else None))
        if values.shape != wanted:
            raise RaffiaError(
                f"{self.path} is damaged: {self.name} has shape {wanted} in its header and {values.shape} in its body."
            )
        return values


class Whole:
    """Rows of an array that its format gives as a whole: it is read once, and kept while somebody asks for rows."""

    def __init__(self, load: Callable[[], np.ndarray]) -> None:
        self.load = load
        self.array: np.ndarray | None = None

    def __call__(self, rows: Rows) -> np.ndarray:
        """The rows, as a copy."""
        if rows is None:
            return self.load() if self.array is None else self.array.copy()
        if self.array is None:
            self.array = self.load()
        return self.array[rows].copy()


def check_size(path: Path, name: str, shape: tuple[int, ...], itemsize: int) -> None:
    """Refuse an array that cannot be in the file, before memory is taken for it."""
    held = sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() and _bytes(shape, itemsize) > MODEST else None
    held = path.stat().st_size if path.is_file() else held
    if any(axis < 0 for axis in shape) or _bytes(shape, itemsize) > max(MODEST, COMPRESSION * (held or 0)):
        raise RaffiaError(f"{path} is damaged: {name} claims shape {shape}, more than such a file can hold.")


def check_stored(path: Path, name: str, shape: tuple[int, ...], itemsize: int, stored: int) -> None:
    """Refuse an array that is stored as it is, in fewer bytes than it has."""
    if any(axis < 0 for axis in shape) or _bytes(shape, itemsize) > stored:
        raise RaffiaError(f"{path} is damaged: {name} claims shape {shape}, more than the {stored} bytes kept for it.")


def _bytes(shape: tuple[int, ...], itemsize: int) -> int:
    return math.prod(shape) * itemsize


@contextmanager
def guarded(path: Path, name: str | None = None) -> Iterator[None]:
    """Make every error a `RaffiaError` with the name of the file, whatever a library of some format raises on damaged bytes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is damaged is an error, or read as it should be
            yield
    except RaffiaError as error:
        raise error if path.name in str(error) else RaffiaError(f"{path}: {error}") from None
    except Exception as error:  # these libraries raise nearly anything, from struct.error to SystemError
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        if isinstance(error, MemoryError):
            reason = "it asks for more memory than there is"
        where = f"{os.fspath(path)}" + (f", variable {name}," if name else "")
        raise RaffiaError(f"{where} is damaged or not of its kind ({reason}).") from None


def optional(package: str, kind: str) -> RaffiaError:
    """What to say when the package that reads a format is not there."""
    return RaffiaError(f"{kind} files need the package {package}. Run: pip install raffia[data]")
