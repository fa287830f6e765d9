"""ParaView's series of times, .pvd: each time names the files with the mesh and its fields at that time, one or several."""

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from raffia.data.readers.meshes import vtk_xml
from raffia.data.readers.meshes.content import Pieces, joined, stamp, unlike
from raffia.data.readers.variable import Variable, check_count, stack
from raffia.errors import RaffiaError

Step = tuple[Path, ...]
"""The files of one time."""


def variables(path: Path) -> dict[str, Variable]:
    """The arrays of a series: nodes and cells of the first time, times, and each field (times, points)."""
    listed = vtk_xml.times(path)
    check_count(path, len(listed))
    times = sorted({time for time, _ in listed})
    steps = tuple(tuple(file for at, file in listed if at == time) for time in times)
    beside = tuple(file for step in steps for file in step)
    first = _pieces(steps[0], stamp(*steps[0]))
    arrays = {name: piece.variable(name, path, beside) for name, piece in first.items()}
    if len(steps) == 1:
        return arrays
    for name, v in arrays.items():
        if v.dims is not None and v.dims[0] == "sample":
            shape, dims = (len(steps), *v.shape[1:]), ("time", *v.dims[1:])
            load = partial(stack, partial(_at, steps, name), len(steps), v.shape[1:], v.dtype)
            arrays[name] = replace(v, shape=shape, dims=dims, load=load, block=1)
    name = unlike("time", arrays)
    arrays[name] = Variable.of_array(name, np.array(times), ("time",), {}, path, beside=beside)
    return arrays


def _at(steps: tuple[Step, ...], name: str, number: int) -> np.ndarray:
    """A field at one time, whose mesh must be that of the first."""
    first, pieces = (_pieces(step, stamp(*step)) for step in (steps[0], steps[number]))
    fixed = [key for key, piece in first.items() if piece.dims[0] != "sample"]
    same = all(key in pieces and np.array_equal(pieces[key].array, first[key].array) for key in fixed)
    if not same or name not in pieces or pieces[name].array.shape != first[name].array.shape:
        raise RaffiaError(f"its mesh changes with {steps[number][0].name}, or {name} does. Give the files, as in 'runs/*.vtu'.")
    return pieces[name].array[0]


@lru_cache(maxsize=2)
def _pieces(step: Step, stamps: tuple[int, ...]) -> Pieces:
    return joined([vtk_xml.block(file) for file in step]).pieces()
