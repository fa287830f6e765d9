"""Arrays of the same names in several files."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np

from raffia.data.readers.layout import Layout
from raffia.data.readers.variable import LOOKED_AT, Rows, Variable
from raffia.errors import RaffiaError

FEW = 8  # values that may be the same in all files and yet be numbers of a sample
SMALL = 2**18  # bytes of a file whose arrays may stay in memory with those of others
VALUES = "values"  # the name of an array that is named after its file

Read = Callable[[Path, Layout], dict[str, Variable]]


@dataclass(frozen=True)
class Files:
    """The files of a folder or a pattern in order, and the arrays of each by name."""

    path: Path
    files: list[Path]
    asked: Layout
    heads: list[dict[str, Variable]]

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
        other = self.heads[-1]
        may = [name for name in may if np.array_equal(_start(self.heads[0][name]), _start(other[name]))]
        left = {name: self.heads[0][name].glance() for name in may}
        for head in self.heads[1:]:  # file by file, as one that is a table is read as a whole
            left = {name: values for name, values in left.items() if np.array_equal(values, head[name].glance())}
        return list(left)

    @cached_property
    def left_out(self) -> list[str]:
        """What to say of arrays that are not in all files."""
        names = list(dict.fromkeys(name for head in self.heads for name in head if name not in self.common))
        return [f"not in all files, and not read: {', '.join(names[:8])}."] if names else []

    def unequal(self, name: str) -> RaffiaError:
        """What to say of an array whose shapes do not go together."""
        shapes = [array.shape for array in self.of(name)]
        other = next((number for number, shape in enumerate(shapes) if shape != shapes[0]), 0)
        return RaffiaError(
            f"{self.path}: {name} has shape {shapes[0]} in {self.files[0].name} and {shapes[other]} in {self.files[other].name}. Write all "
            "on one grid; curves are resampled where each file has coordinates along them, named x or t, say, or as coordinates=… "
            "(--coordinates) names them; files that each have some of the samples go together with files='parts' (--files parts)."
        )

    def _may_be_shared(self, name: str) -> bool:
        shapes = {array.shape for array in self.of(name)}
        size = math.prod(next(iter(shapes)))
        told = len(self.heads) == 1 or size > FEW or self.heads[0][name].dims == (name,)  # coordinates along an axis
        return len(shapes) == 1 and size <= LOOKED_AT and told


def _start(array: Variable) -> np.ndarray:
    """A few first rows."""
    return array.read(slice(0, array.affordable(min(8, array.shape[0])))) if array.shape else array.read()


def opened(file: Path, layout: Layout, read: Read) -> dict[str, Variable]:
    """The arrays of one file, none of them kept in memory; one that is named after its file is called values."""
    held = {name: v for name, v in read(file, layout).items() if v.numeric}
    names = {name: VALUES if name == file.stem else name for name in held}
    return {
        names[name]: replace(v, name=names[name], load=partial(_again, read, file, layout, name)) for name, v in held.items()
    }


def _again(read: Read, file: Path, layout: Layout, name: str, rows: Rows) -> np.ndarray:
    facts = file.stat()
    kept = _one_kept if facts.st_size > SMALL else _many_kept
    return kept(read, file, layout, facts.st_mtime_ns)[name].read(rows)


def _arrays(read: Read, file: Path, layout: Layout, time: int) -> dict[str, Variable]:
    """The arrays of a file, as it was at this time."""
    return read(file, layout)


_one_kept, _many_kept = lru_cache(maxsize=1)(_arrays), lru_cache(maxsize=256)(_arrays)  # others may be asked for next
