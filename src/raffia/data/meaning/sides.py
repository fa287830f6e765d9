"""Inputs and outputs: which of them are functions, vectors or numbers, and the spaces that they live in."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from raffia.data.formats.variable import Variable
from raffia.data.meaning.columns import Axes, Column, column, sample_shape
from raffia.data.meaning.convention import ROUGH, Ends, by_values
from raffia.data.meaning.coordinates import Places, locate
from raffia.data.meaning.grids import Convention, Function, domains
from raffia.data.meaning.names import FLAGS, Names, Variables, shown
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Space, Vectors

GLANCE = 64  # samples that are read to guess
FEW = 8  # so many numbers a sample are a vector, unless coordinates say that they are a function


@dataclass(frozen=True)
class Asked:
    """What the caller says of the places of values."""

    coordinates: Names | None = None
    cells: str | None = None
    convention: Convention = field(default_factory=Convention)
    vectors: bool = False


def columns(
    ins: list[Variable], outs: list[Variable], named: set[str], domain: Space | None = None, axes: Axes = ()
) -> tuple[list[Column], list[Column]]:
    """Samples of all variables: along `axes`, the first ones if a domain is given, else where all can have as many."""
    both = (*ins, *outs)
    for v in both:
        if not v.shape or 0 in v.shape:
            raise RaffiaError(f"{v.name} must hold at least one sample; it has shape {v.shape}.")
    fitting = sorted({v.shape[0] for v in both if all(v.shape[0] in (other.shape[0], other.shape[-1]) for other in both)})
    if axes:
        parts = [Column(v, last, channel=channel) for v, (last, channel) in zip(both, axes, strict=True)]
    elif domain is not None:
        whole = [len(v.shape) == 1 + domain.ndim for v in both]
        first = 0 if domain.one_channel is not domain else None
        parts = [Column(v, plain=fits, channel=first if fits else None) for v, fits in zip(both, whole, strict=True)]
    elif len(fitting) > 1:
        raise RaffiaError(
            f"samples may be along the first axis of either array: {shapes(both)} pair up as {' or as '.join(map(str, fitting))} samples. "
            "Write the file with the samples along the first axis of all."
        )
    else:
        parts = [column(v, n, named) for n in fitting for v in both]
    if len({len(part) for part in parts}) != 1:
        counts = " and ".join(f"{side[0].shape[0]} {name}" for name, side in (("inputs", ins), ("outputs", outs)) if side)
        raise RaffiaError(f"inputs and outputs must pair up; got {counts}: {shapes(both)}.")
    return parts[: len(ins)], parts[len(ins) :]


def spaces_of(
    path: Path, inputs: list[Column], outputs: list[Column], pool: Variables, asked: Asked, notes: list[str]
) -> tuple[Space, Space]:
    """The spaces of inputs and outputs, by coordinates in the file, or by their values; reasons go into `notes`."""
    first = None if asked.vectors else _side(path, inputs, pool, asked, notes, inputs=True)
    sides = [first, _side(path, outputs, pool, asked, notes)]
    if asked.coordinates is not None and not any(side and (side.places.mesh or side.places.axes) for side in sides):
        raise RaffiaError(
            f"coordinates={asked.coordinates!r} ({FLAGS['coordinates']}) fit neither inputs nor outputs: "
            f"{shapes([part.variable for part in (*inputs, *outputs)])}."
        )
    bases = domains(path, sides, asked.convention, notes)
    return _with_channels(bases[0], inputs, Vectors()), _with_channels(bases[1], outputs, Domain(0))


def as_told(inputs: list[Column], outputs: list[Column], domain: Space) -> tuple[Space, Space]:
    """The given space, if the arrays have as many axes; outputs that are numbers are numbers whatever the domain."""
    for parts in (inputs, outputs):
        if len(parts) != 1 or len(parts[0].axes) not in (domain.ndim, 0 if parts is outputs else domain.ndim):
            raise RaffiaError(
                f"domain={domain} needs one array with {domain.ndim} axes a sample; got {shapes([part.variable for part in parts])}. "
                "Leave domain out, to have it read off the file."
            )
    return domain, domain if len(outputs[0].axes) == domain.ndim else Domain(0)


def _side(
    path: Path, parts: list[Column], pool: Variables, asked: Asked, notes: list[str], inputs: bool = False
) -> Function | None:
    """The functions among inputs or outputs; None where there are numbers only."""
    whole = _with_grid(parts)
    if whole is None:
        return None
    places = locate(path, whole, pool, asked.coordinates, asked.cells) or Places()
    name = whole.variable.name
    without_places = len(whole.grid) == 1 and not places.mesh and all(x is None for x in places.axes)
    if without_places and whole.grid[0] <= FEW:
        notes.append(f"{name}: {whole.grid[0]} numbers a sample are a vector, as no coordinates say that they are a function.")
        return None
    glance = [part.glance(GLANCE) for part in parts if part.grid == whole.grid]
    if without_places and inputs and not asked.convention.said and by_values(glance[0], 2) == (Ends.UNCLEAR, ROUGH):
        notes.append(
            f"{name}: {whole.grid[0]} numbers a sample are a vector of parameters, as {ROUGH}; if they are a function, "
            "pass periodic=… (--periodic or --box)."
        )
        return None
    notes += [note for note in places.notes if note not in notes]
    return Function(name, whole.grid, glance, places)


def _with_grid(parts: list[Column]) -> Column | None:
    """The variable that has a grid; all that have one must have the same, all others are numbers."""
    functions = [part for part in parts if part.grid]
    large = [part for part in functions if len(part.grid) > 1 or part.grid[0] > FEW]
    if len({part.grid for part in large}) > 1:
        raise RaffiaError(
            f"{' and '.join(part.variable.name for part in large)} must be on one grid to be channels; "
            f"got {' and '.join(shown(part.grid) for part in large)}. Resample one of them with raffia.resample."
        )
    return large[0] if large else functions[0] if len(functions) == len(parts) == 1 else None


def _with_channels(base: Space | None, parts: list[Column], number: Space) -> Space:
    """The space of all variables of a side together; `number` is that of a single number."""
    if base is None:
        return number if len(parts) == 1 and not parts[0].axes else Vectors()
    return base if len(parts) == 1 and parts[0].channel is None else Channels(base, sample_shape(parts, Channels(base, 1))[0])


def shapes(variables: Iterable[Variable]) -> str:
    """The names of variables, each with its shape."""
    return ", ".join(f"{v.name} {shown(v.shape)}" for v in variables)
