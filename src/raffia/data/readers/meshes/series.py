"""Fields on one mesh at many times, read a few times at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from raffia.data.readers.damage import Damaged
from raffia.data.readers.meshes.content import Geometry, Piece, flattened, free_name, unlike
from raffia.data.readers.variable import Variable, check_count, stack


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
        found = {name: piece.variable(name, self.path, self.beside) for name, piece in pieces.items()}
        for fields, places, total, dim in (
            (self.at_points, self.geometry.kept, self.points, "point"),
            (self.in_cells, self.geometry.cells, self.cells, "cell"),
        ):
            check_count(self.path, len(fields))
            for name, steps in fields.items() if len(places) else ():
                if steps.shape[0] != total:
                    raise Damaged(f"{name} has {steps.shape[0]} values for {total} {dim}s")
                inner = int(np.prod(steps.shape[1:]))
                shape = (len(places), *((inner,) if inner > 1 else ()))
                dims = ("time" if steps.count > 1 else "sample", dim, "component")[: 1 + len(shape)]
                attributes, dtype = self.geometry.attributes(names, dim == "cell"), steps.dtype.newbyteorder("=").str
                load, name = partial(stack, partial(_at, steps, places), steps.count, shape, dtype), free_name(name, found)
                shape = (steps.count, *shape)
                found[name] = Variable(name, shape, dtype, dims, attributes, self.path, load, beside=self.beside)
        return found


def _at(steps: Steps, places: np.ndarray, step: int) -> np.ndarray:
    return flattened(steps.read(step))[places]
