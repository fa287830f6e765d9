"""Inputs and outputs: which of them are functions, vectors or numbers, and the spaces that they live in."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from raffia.data.infer.axis_kind import Functions, domains, repeated_points, without_vectors
from raffia.data.infer.coordinates import FEW, Places, on_mesh, places_of
from raffia.data.infer.guess import Guesses
from raffia.data.infer.names import Variables, pick, shapes
from raffia.data.options import FLAGS, ReadingOptions
from raffia.data.orientation import in_one_order, oriented, without_gaps
from raffia.data.pace import neighbour_ratio
from raffia.data.readers import Variable
from raffia.data.row_reader import RowReader, sample_shape, with_grid
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Space, Vectors

LOOKED_AT = 64  # samples that are read to guess
SMOOTH = 0.1  # von Neumann's ratio along the axes of a square, that values along one axis are said to be of

Given = dict[str, list[Variable]]
"""The arrays that the user names for coordinates, cells, and nodes without values."""


def spaces_of(
    path: Path, inputs: list[RowReader], outputs: list[RowReader], pool: Variables, options: ReadingOptions, guesses: Guesses
) -> tuple[tuple[Space, Space], tuple[Places, Places]]:
    """Return the spaces of inputs and outputs, by coordinates in the file or by their values, and where values lie."""
    given = {
        name: [] if getattr(options, name) is None else pick(path, pool, getattr(options, name), name)
        for name in ("coordinates", "cells", "mask")
    }
    columns = inputs, outputs
    vectors = options.vectors or options.input_vectors, options.vectors or options.output_vectors
    sides: list[Functions | None] = []
    for parts, vector in zip(columns, vectors, strict=True):
        names = sides[0].places.names if sides and sides[0] else ()
        sides.append(None if vector else _functions(path, parts, pool, given, names, options, guesses))
    sides = without_vectors(sides, options, guesses)
    for dim in dict.fromkeys(len(side.grid) for side in sides if side and side.on_grid):
        _leave_out_repeated(sides, columns, dim, options, guesses)
    for side, parts in zip(sides, columns, strict=True):
        for part in parts:
            part.flat = side is None and len(part.axes) > 1
    _check_used(given, sides, [part.variable for part in (*inputs, *outputs)])
    _note_square(outputs[0], guesses)
    bases = domains(sides, options, guesses)
    spaces = _with_channels(bases[0], inputs, Vectors()), _with_channels(bases[1], outputs, Domain(0))
    first, second = (side.places if side else Places() for side in sides)
    return spaces, (first, second)


def _functions(
    path: Path,
    parts: list[RowReader],
    pool: Variables,
    given: Given,
    names: tuple[str, ...],
    options: ReadingOptions,
    guesses: Guesses,
) -> Functions | None:
    """Return the functions among inputs or outputs and their grid, or None if all arrays hold scalars or vectors.

    `names` are the names of the axes of the inputs; they give the order of axes.
    """
    dims = [part.grid_dims for part in parts if part.grid_dims and len(part.grid) > 1]
    if dims:
        in_one_order(parts, names if sorted(names) == sorted(dims[0]) else dims[0], guesses)
    whole = with_grid(parts, FEW)
    if whole is None:
        return None
    alike = [part for part in parts if part.grid == whole.grid]
    found = Guesses()  # not noted of a vector
    places = oriented(places_of(path, whole, pool, given["coordinates"], found), alike, names, found)
    places = on_mesh(path, whole, places, pool, given["cells"], found)
    name, few = whole.variable.name, len(whole.grid) == 1 and whole.grid[0] <= FEW and not places.known
    if few and options.extent is None:  # who gives the length of an axis says that there is one
        guesses.note(f"{name}: {whole.grid[0]} numbers a sample are a vector, as no coordinates say that they are a function")
        return None
    places = without_gaps(places, alike, LOOKED_AT, next(iter(given["mask"]), None), found)
    samples = [torch.from_numpy(np.ascontiguousarray(part.some(LOOKED_AT))) for part in alike]
    guesses.extend(guess for guess in found if guess not in guesses)
    numbers = [part.variable.name for part in parts if part not in alike]
    if numbers:
        guesses.note(f"{', '.join(numbers)}: numbers beside functions, each a constant function on their grid")
    return Functions(name, whole.grid, samples, places)


def _leave_out_repeated(
    sides: list[Functions | None], columns: tuple[list[RowReader], ...], dim: int, options: ReadingOptions, guesses: Guesses
) -> None:
    """Leave out the last point of periodic axes if it repeats the first one, on all grids with as many axes."""
    again = repeated_points(sides, dim, options)
    if not any(again):
        return
    for part in (part for parts in columns for part in parts):
        if len(part.whole_grid) == dim and part.nodes is None:
            part.repeated = again
    named = ""
    for i, side in enumerate(sides):
        if side and side.on_grid and len(side.grid) == dim:
            named, sides[i] = named or side.name, side.without(again)
    axes = " and ".join(str(axis) for axis, one in enumerate(again, 1) if one)
    guesses.note(
        f"the last point along axis {axes} of {named} repeats the first: it is left out, and the axis is periodic. Predictions have it "
        "again; --box takes the ends for those of a box",
        "periodic",
        True,
    )


def _check_used(given: Given, sides: Sequence[Functions | None], arrays: list[Variable]) -> None:
    """Refuse coordinates and masks that fit neither side."""
    used = {v.name for side in sides if side for v in (*side.places.used, *side.places.beside)}
    for field in ("coordinates", "mask"):
        if given[field] and not any(v.name in used for v in given[field]):
            what = " A mask has zeros, at nodes without values, and the shape of the grid." if field == "mask" else ""
            raise RaffiaError(
                f"{field}=… ({FLAGS[field]}) fits neither inputs nor outputs: {shapes(given[field])} beside {shapes(arrays)}.{what}"
            )


def _note_square(part: RowReader, guesses: Guesses) -> None:
    """Note values along one axis that are smooth as on a square: those a row apart are nearer than those half a row apart."""
    size = math.isqrt(part.grid[0]) if len(part.grid) == 1 else 0
    if size <= FEW or size**2 != part.grid[0] or part.nodes is not None:
        return
    f = part.some(LOOKED_AT).astype(np.float64).reshape(-1, size**2)
    row, half = (float(np.abs(f[:, lag:] - f[:, :-lag]).mean()) for lag in (size, size // 2))
    if 2 * row < half and max(neighbour_ratio(f.reshape(-1, size, size), axis) for axis in (1, 2)) < SMOOTH:
        name = part.variable.name
        guesses.note(
            f"{name}: {size**2} values are smooth as on a square of {size}×{size} points; {FLAGS['reshape']} {size},{size} says so",
            "reshape",
        )


def _with_channels(base: Space | None, parts: list[RowReader], number: Space) -> Space:
    """The space of all arrays of a side together; `number` is that of a single number."""
    if base is None:
        return number if len(parts) == 1 and not parts[0].axes else Vectors()
    return base if len(parts) == 1 and parts[0].channel is None else Channels(base, sample_shape(parts, Channels(base, 1))[0])
