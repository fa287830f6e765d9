"""Inputs and outputs: which of them are functions, vectors or numbers, and the spaces that they live in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from raffia.data.meaning import orientation
from raffia.data.meaning.columns import Column, sample_shape
from raffia.data.meaning.convention import Ends, by_values
from raffia.data.meaning.coordinates import FEW, on_mesh, places_of
from raffia.data.meaning.grids import Function, domains
from raffia.data.meaning.names import Variables, pick, shapes, shown
from raffia.data.options import FLAGS, ReadingOptions
from raffia.data.readers import Variable
from raffia.data.schema import AxisLabel, Frame
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Space, Vectors

GLANCE = 64  # samples that are read to guess


@dataclass(frozen=True, kw_only=True)
class GivenPlaces:
    """The arrays that the user names for coordinates, cells and nodes without values."""

    coordinates: list[Variable] = field(default_factory=list)
    cells: list[Variable] = field(default_factory=list)
    mask: Variable | None = None

    @classmethod
    def of(cls, path: Path, pool: Variables, options: ReadingOptions) -> "GivenPlaces":
        """The arrays of these names, in the file or in others."""
        named = {
            name: [] if getattr(options, name) is None else pick(path, pool, getattr(options, name), name)
            for name in ("coordinates", "cells", "mask")
        }
        return cls(coordinates=named["coordinates"], cells=named["cells"], mask=next(iter(named["mask"]), None))


@dataclass(frozen=True)
class Side:
    """The space of inputs or outputs, the labels of its axes, and the arrays that told: coordinates, cells and masks."""

    space: Space
    frame: Frame = ()
    coordinates: tuple[Variable, ...] = ()
    beside: tuple[Variable, ...] = ()

    @property
    def used(self) -> tuple[Variable, ...]:
        """All arrays that had a part in it."""
        return (*self.coordinates, *self.beside)


def spaces_of(
    path: Path, inputs: list[Column], outputs: list[Column], pool: Variables, options: ReadingOptions, notes: list[str]
) -> tuple[Side, Side]:
    """The spaces of inputs and outputs, by coordinates in the file, or by their values; reasons go into `notes`."""
    asked = GivenPlaces.of(path, pool, options)
    first = None if options.vectors or options.input_vectors else _side(path, inputs, pool, asked, notes)
    names = first.places.names if first else ()
    second = None if options.vectors or options.output_vectors else _side(path, outputs, pool, asked, notes, names)
    sides = _without_vectors([first, second], options, notes)
    notes += _without_repeated_points(sides, (inputs, outputs), options)
    for side, parts in zip(sides, (inputs, outputs), strict=True):
        for part in parts:
            part.flat = side is None and len(part.axes) > 1
    used = {v.name for side in sides if side for v in side.places.used}
    if asked.coordinates and not any(v.name in used for v in asked.coordinates):
        raise RaffiaError(
            f"coordinates={[v.name for v in asked.coordinates]} ({FLAGS['coordinates']}) fit neither inputs nor outputs: "
            f"{shapes([part.variable for part in (*inputs, *outputs)])}."
        )
    if asked.mask is not None and not any(asked.mask in side.places.beside for side in sides if side):
        raise RaffiaError(
            f"mask={asked.mask.name!r} ({FLAGS['mask']}) must have zeros, at nodes without values, and the shape of the grid of inputs or "
            f"outputs; it has {shown(asked.mask.shape)}: {shapes([part.variable for part in (*inputs, *outputs)])}."
        )
    notes += _crossed(sides)
    bases = domains(sides, options, notes)
    spaces = _with_channels(bases[0], inputs, Vectors()), _with_channels(bases[1], outputs, Domain(0))
    told = [
        Side(space, side.places.frame, side.places.used, side.places.beside) if side else Side(space)
        for space, side in zip(spaces, sides, strict=True)
    ]
    return told[0], told[1]


def as_told(inputs: list[Column], outputs: list[Column], domain: Space) -> tuple[Side, Side]:
    """The given space, if the arrays have as many axes; outputs that are numbers are numbers whatever the domain."""
    for parts in (inputs, outputs):
        if len(parts) != 1 or len(parts[0].axes) not in (domain.ndim, 0 if parts is outputs else domain.ndim):
            raise RaffiaError(
                f"domain={domain} needs one array with {domain.ndim} axes a sample; got {shapes([part.variable for part in parts])}. "
                "Leave domain out, to have it read off the file."
            )
    frame = (AxisLabel(),) * domain.dim
    return Side(domain, frame), Side(domain, frame) if len(outputs[0].axes) == domain.ndim else Side(Domain(0))


def with_grid(parts: Sequence[Column]) -> Column | None:
    """The variable that has a grid; all that have one must have the same, all others are numbers."""
    functions = [part for part in parts if part.grid]
    large = [part for part in functions if len(part.grid) > 1 or part.grid[0] > FEW]
    if len({part.grid for part in large}) > 1:
        raise RaffiaError(
            f"{' and '.join(part.variable.name for part in large)} must be on one grid to be channels; "
            f"got {' and '.join(shown(part.grid) for part in large)}. Resample one of them with raffia.resample."
        )
    return large[0] if large else functions[0] if len(functions) == len(parts) == 1 else None


def _side(
    path: Path, parts: list[Column], pool: Variables, asked: GivenPlaces, notes: list[str], names: tuple[str, ...] = ()
) -> Function | None:
    """The functions among inputs or outputs; None where there are numbers only. `names` are those of the axes of the inputs."""
    dims = [part.grid_dims for part in parts if part.grid_dims and len(part.grid) > 1]
    said = orientation.in_one_order(parts, names if dims and sorted(names) == sorted(dims[0]) else dims[0]) if dims else []
    whole = with_grid(parts)
    if whole is None:
        return None
    alike = [part for part in parts if part.grid == whole.grid]
    found = orientation.like(places_of(path, whole, pool, asked.coordinates), alike, names)
    places = on_mesh(path, whole, orientation.upward(found, alike), pool, asked.cells)
    name = whole.variable.name
    if len(whole.grid) == 1 and not places.known and whole.grid[0] <= FEW:
        notes.append(f"{name}: {whole.grid[0]} numbers a sample are a vector, as no coordinates say that they are a function.")
        return None
    places = orientation.without_gaps(places, alike, GLANCE, asked.mask)
    glance = [torch.from_numpy(np.ascontiguousarray(part.glance(GLANCE))) for part in alike]
    notes += [note for note in (*said, *places.notes) if note not in notes]
    numbers = [part.variable.name for part in parts if part not in alike]
    if numbers:
        notes.append(f"{', '.join(numbers)}: numbers beside functions, each a constant function on their grid.")
    return Function(name, whole.grid, glance, places)


def _without_vectors(sides: list[Function | None], options: ReadingOptions, notes: list[str]) -> list[Function | None]:
    """Return the functions of inputs and outputs, None for a vector: values without coordinates in which neighbours are not alike."""
    shapeless = [side is not None and not options.convention_given and _shapeless(side) for side in sides]
    functions = [side for side in sides if side is not None]
    if len(functions) == 2 and functions[0].grid == functions[1].grid and not all(shapeless):
        return sides  # on one grid, of which one side shows what it is
    for side in (side for side, vector in zip(sides, shapeless, strict=True) if side and vector):
        notes.append(
            f"{side.name}: {side.grid[0]} numbers a sample are a vector, as {by_values(side.glance[0], 2)[1]}; if they are a function, "
            "pass periodic=… (--periodic or --box)."
        )
    return [None if vector else side for side, vector in zip(sides, shapeless, strict=True)]


def _shapeless(side: Function) -> bool:
    """Return whether neither coordinates nor values show that numbers are values of a function along a line."""
    line = len(side.grid) == 1 and not side.places.known and side.places.mesh is None
    return line and all(by_values(f, 2)[0] is Ends.UNCLEAR for f in side.glance)


def _without_repeated_points(
    sides: Sequence[Function | None], columns: tuple[list[Column], list[Column]], options: ReadingOptions
) -> list[str]:
    """Leave out the last point of periodic axes where it is the first again, on all grids with as many axes; return notes."""
    notes = []
    for dim in dict.fromkeys(len(side.grid) for side in sides if side and side.places.mesh is None):
        alike = [side for side in sides if side and side.places.mesh is None and len(side.grid) == dim]
        parts = [part for side in columns for part in side if len(part.whole_grid) == dim and part.nodes is None]
        kinds = options.kinds(dim)
        again = [(kinds is None or kinds[axis].periodic) and all(side.repeats(axis) for side in alike) for axis in range(dim)]
        if kinds is None and not all(side.without(again).wraps(axis) for side in alike for axis in range(dim) if again[axis]):
            continue
        if any(again):
            for part in parts:
                part.repeated = tuple(again)
            for side in alike:
                vars(side).update(vars(side.without(again)))
            axes = " and ".join(str(axis) for axis, one in enumerate(again, 1) if one)
            notes.append(
                f"the last point along axis {axes} of {alike[0].name} repeats the first: it is left out, and the axis is periodic. "
                "Predictions have it again; --box takes the ends for those of a box."
            )
    return notes


def _crossed(sides: Sequence[Function | None]) -> list[str]:
    """What to say of grids that are one another's the other way round."""
    grids = [side.grid for side in sides if side and side.places.mesh is None]
    named = all(any(side.places.names) for side in sides if side)
    if named or len(grids) < 2 or grids[0] == grids[1] or grids[0] != grids[1][::-1]:
        return []
    return [
        f"the grids of inputs and outputs, {shown(grids[0])} and {shown(grids[1])}, are taken for different ones; if they are one, "
        "write their axes in one order, or with their coordinates."
    ]


def _with_channels(base: Space | None, parts: list[Column], number: Space) -> Space:
    """The space of all variables of a side together; `number` is that of a single number."""
    if base is None:
        return number if len(parts) == 1 and not parts[0].axes else Vectors()
    return base if len(parts) == 1 and parts[0].channel is None else Channels(base, sample_shape(parts, Channels(base, 1))[0])
