"""Paths of states, written one state after the other into arrays that lie as the trajectories of the training did."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from raffia.data.readers.writing import growing
from raffia.data.trajectories import Steps
from raffia.data.written import Inputs


@dataclass(frozen=True)
class Paths:
    """Paths of states in arrays of these `names`: time is along `axis`, trajectories along `samples`, None where there is one."""

    opened: Inputs
    names: tuple[str, ...]
    axis: int = 1
    samples: int | None = 0
    plain: bool = True
    """Whether states are as the model has them, in one array; else they are laid out as in the training."""

    @classmethod
    def of(cls, opened: Inputs, steps: Steps | None, begin: Tensor, suffix: str) -> "Paths":
        """As the trajectories of the training lay, where that is known; `begin` is a state of one.

        Several arrays of states are one of channels in .npy files, which have no more. Where the training had one trajectory, and there
        are several here, these are along a first axis.
        """
        names = ("u",) if steps is None else (steps.name, *steps.beside)
        if steps is None or (suffix == ".npy" and len(names) > 1):
            return cls(opened, names[:1])
        single, several = steps.samples is None, len(opened) > 1
        arrays = opened.written(begin, names)
        if {f.ndim + (not single) for f in arrays.values()} != {steps.ndim} or len(arrays) < len(names):
            return cls(opened, names[:1])
        first = single and several
        return cls(opened, names, steps.axis + first, 0 if first else steps.samples, plain=False)

    def shapes(self, state: Tensor, count: int, n: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of arrays with n trajectories of `count` states, by name. `state` is one state."""
        shapes = {}
        for name, f in self._parts(state).items():
            shape = list(f.shape[1:])
            for place, size in sorted([(self.axis, count)] + ([] if self.samples is None else [(self.samples, n)])):
                shape.insert(place, size)
            shapes[name] = tuple(shape)
        return shapes

    def write(self, arrays: dict[str, Any], rows: range, step: int, states: Tensor) -> None:
        """Write states of some trajectories."""
        for name, f in self._parts(states).items():
            place = None if self.samples is None else self.samples - (self.axis < self.samples)
            arrays[name][self._at(arrays[name], rows, step)] = f[0] if place is None else np.moveaxis(f, 0, place)

    def lose(self, arrays: dict[str, Any], rows: range, step: int) -> None:
        """Write that there are no values from a state on."""
        for array in arrays.values():
            array[self._at(array, rows, slice(step, None))] = np.nan

    def _parts(self, states: Tensor) -> dict[str, np.ndarray]:
        return {self.names[0]: states.numpy(force=True)} if self.plain else self.opened.written(states, self.names)

    def _at(self, array: Any, rows: range, step: int | slice) -> tuple[int | slice, ...]:
        index: list[int | slice] = [slice(None)] * len(array.shape)
        index[self.axis] = step
        if self.samples is not None:
            index[self.samples] = slice(rows.start, rows.stop)
        return tuple(index)


@contextmanager
def growing_paths(
    path: Path, paths: Paths, steps: Steps | None, state: Tensor, count: int, together: int
) -> Iterator[dict[str, Any]]:
    """Arrays of paths in a new file, of so many states, with chunks of so many trajectories; what is fixed along them is there too."""
    n, fixed = len(paths.opened), () if steps is None else steps.fixed
    last = paths.opened.parts[len(paths.opened.parts) - len(fixed) :]
    beside = {name: part.variable.read() for name, part in zip(fixed, last, strict=True)}
    shapes, chunks = paths.shapes(state, count, n), paths.shapes(state, 1, min(together, n))
    with growing(path, shapes, state.numpy(force=True).dtype, chunks, beside) as arrays:
        yield arrays
