"""Fields on one mesh at many times, read a few times at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from raffia.data.formats.meshes.content import Geometry, Piece, flattened, free_name, unlike
from raffia.data.formats.variable import Rows, Variable, check_count


@dataclass(frozen=True)
class Steps:
    """A field at some times: `read` gives the values at one of them, (points,) or (points, components)."""

    count: int
    shape: tuple[int, ...]
    dtype: np.dtype
    read: Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Series:
    """A mesh, the fields at its points and in its cells at many times, and those times where they are told.

    `beside` are files that hold the values, where that is not the file itself.
    """

    path: Path
    geometry: Geometry
    points: int
    cells: int
    at_points: dict[str, Steps]
    in_cells: dict[str, Steps]
    times: np.ndarray | None = None
    beside: tuple[Path, ...] = ()

    def variables(self) -> dict[str, Variable]:
        """The arrays of the file: nodes, cells, times, and each field (times, points)."""
        names = {*self.at_points, *self.in_cells}
        pieces = self.geometry.pieces(names, bool(self.in_cells))
        if self.times is not None:
            pieces[unlike("time", names)] = Piece(self.times, ("time",), {})
        found = {name: self._held(name, piece) for name, piece in pieces.items()}
        for fields, places, total, dim in (
            (self.at_points, self.geometry.kept, self.points, "point"),
            (self.in_cells, self.geometry.cells, self.cells, "cell"),
        ):
            check_count(self.path, len(fields))
            for name, steps in fields.items() if len(places) else ():
                if steps.shape[0] != total:
                    raise ValueError(f"{name} has {steps.shape[0]} values for {total} {dim}s")
                inner = int(np.prod(steps.shape[1:]))
                shape = (steps.count, len(places), *((inner,) if inner > 1 else ()))
                dims = ("time" if steps.count > 1 else "sample", dim, "component")[: len(shape)]
                told, load = self.geometry.attributes(names, dim == "cell"), partial(_load, steps, places)
                native = steps.dtype.newbyteorder("=")
                name = free_name(name, found)
                found[name] = Variable(name, shape, native.str, dims, told, self.path, load, beside=self.beside)
        return found

    def _held(self, name: str, piece: Piece) -> Variable:
        array, load = piece.array, partial(_rows, piece.array)
        shape = tuple(array.shape)
        return Variable(
            name, shape, array.dtype.str, piece.dims, piece.attributes, self.path, load, len(array), beside=self.beside
        )


def _rows(array: np.ndarray, rows: Rows) -> np.ndarray:
    return array.copy() if rows is None else array[rows].copy()


def _load(steps: Steps, places: np.ndarray, rows: Rows) -> np.ndarray:
    chosen = range(*(rows or slice(None)).indices(steps.count))
    values = [flattened(steps.read(step))[places] for step in chosen]
    return np.stack(values) if values else np.empty((0, len(places), *steps.shape[1:]), steps.dtype.newbyteorder("="))
