"""The kind of each axis, periodic or with boundaries, and which of its ends are in the grid: by coordinates and by values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import torch
from torch import Tensor

from raffia.data.infer.coordinates import FEW, Places
from raffia.data.infer.guess import Confidence, Guesses
from raffia.data.infer.names import shown, word
from raffia.data.options import FLAGS, ReadingOptions
from raffia.errors import RaffiaError
from raffia.spaces import KINDS, Domain, Space
from raffia.spaces.axes import Axis, kinds_of
from raffia.spaces.trimmed import average, largest


class Ends(StrEnum):
    """The kind of the two ends of an axis. The first five are also kinds of axes that users can choose."""

    PERIODIC = "periodic"
    BOX = "box"
    CELLS = "cells"
    LEFT = "left"
    RIGHT = "right"
    REPEATED = "repeated"
    FIXED = "fixed"
    UNCLEAR = "unclear"


Verdict = tuple[Ends, str]
LED = 0.5  # of the values next to an end that was left out: what lines may miss zero by there
ENOUGH = 8  # values at an end, for it to be no chance that all lines lead to zero
NEARLY_ZERO = (
    0.02  # of the largest values: what functions that vanish at an end may have there, where lines lead to zero at the other
)
KINK = 4.0  # times a usual bend: what the bend across the ends of a periodic axis may be
MOST_APART = 8.0  # ratio of lengths beyond which axes are in different units, such as metres and seconds
ROUND = ("lon", "longitude", "theta", "phi")
STRAIGHT = ("t", "time", "ts", "times", "lat", "latitude")
"""Names of coordinates that go around where they span 360 or 2π, and of those that never do."""


def by_values(f: Tensor, axis: int) -> Verdict:
    """Return what samples (n, …) show of the two ends of an axis, and the reason; a fiftieth of the samples may be faulty.

    On a periodic axis the last point and the first differ as neighbours do. If functions vanish at one end, and lines lead them to zero
    one step beyond the other, the grid leaves that other end out.
    """
    first, last = f.select(axis, 0), f.select(axis, -1)
    scale = largest(f) or 1.0
    typical, jump = average(f.diff(dim=axis)), average(first - last)
    rounding = (1e-9 if f.dtype == torch.float64 else 2e-5) * scale
    if typical <= 1e-9 * scale:
        return Ends.UNCLEAR, "the functions are constant"
    if typical > 0.5 * average(f - f.roll(f.shape[axis] // 2, axis)):
        return Ends.UNCLEAR, "neighbours differ as much as points far apart do"
    if largest(first - last) <= rounding:
        if largest(first - first.median()) <= 1e-6 * scale:
            return Ends.FIXED, "all functions have one value at both ends"
        return Ends.REPEATED, "the last point repeats the first"
    for kind, zero, where in ((Ends.LEFT, first, ("first", "last")), (Ends.RIGHT, last, ("last", "first"))):
        if largest(zero) <= NEARLY_ZERO * scale and first.numel() >= ENOUGH and _led_to_zero(f, axis, kind):
            return kind, f"all functions vanish at the {where[0]} point, and would one step beyond the {where[1]}"
    if jump <= 2 * typical:
        return Ends.PERIODIC, f"from the last point to the first is {jump / typical:.1f} times a usual step"
    return Ends.BOX, f"from the last point to the first is {jump / typical:.0f} times a usual step"


def _led_to_zero(f: Tensor, axis: int, kind: Ends) -> bool:
    """Return whether lines through the last two points, or the first two, meet zero one step beyond."""
    if f.shape[axis] < 4:
        return False
    near, inner = (f.select(axis, place) for place in ((-1, -2) if kind is Ends.LEFT else (0, 1)))
    return average(2 * near - inner) <= LED * average(near)


def by_coordinates(x: np.ndarray, name: str = "") -> Verdict:
    """Return what equispaced coordinates say: a round length from end to end, or one step further, and where it begins."""
    step = float(abs(x[-1] - x[0])) / (len(x) - 1)
    low, high = float(min(x[0], x[-1])), float(max(x[0], x[-1]))
    span, around, near = step * (len(x) - 1), step * len(x), 1e-3 * step
    rounder = _digits(around) < _digits(span)
    if abs(low - step / 2) < near or (abs(low + high) < near and rounder):
        return Ends.CELLS, "the coordinates are the centres of cells"
    if _digits(span) < _digits(around):
        return Ends.BOX, f"the coordinates span {span:.6g}, with both ends"
    if rounder and abs(low - step) < near:
        if abs(step - 1) < near:
            return Ends.UNCLEAR, "the coordinates count points"
        return Ends.RIGHT, "the coordinates begin one step after 0"
    if rounder:
        stop = f"the coordinates stop one step before {around:.6g}"
        return Ends.LEFT if word(name) in STRAIGHT else Ends.PERIODIC, stop
    return Ends.UNCLEAR, "the coordinates may go either way"


def _digits(length: float) -> int:
    """How many digits write a length, alone or times π: people choose round lengths."""
    for digits in range(4):
        if any(math.isclose(length, float(f"{length / unit:.{digits}e}") * unit, rel_tol=2e-6) for unit in (1.0, math.pi)):
            return digits
    return 4


def of_axis(samples: Sequence[Tensor], axis: int, lines: Sequence[tuple[np.ndarray, str]]) -> Verdict:
    """Return the ends of an axis of samples, and the reason; `lines` are coordinates along it, with their names.

    An angle that goes once around is periodic, times and latitudes never are. Else coordinates decide before values, which show whether
    functions are periodic.
    """
    for x, name in lines:
        around = float(abs(x[-1] - x[0])) / (len(x) - 1) * len(x)
        if word(name) in ROUND and any(abs(around - turn) < 1e-3 * around / len(x) for turn in (360.0, 2 * math.pi)):
            return Ends.PERIODIC, f"{name} goes once around, to one step before {around:.6g}"
    values = together([by_values(f, axis) for f in samples])
    coordinates = together([by_coordinates(x, name) for x, name in lines]) if lines else (Ends.UNCLEAR, "")
    verdict = _joint(values, coordinates, wraps(samples, axis))
    straight = [name for _, name in lines if word(name) in STRAIGHT]
    if straight and verdict[0] in (Ends.PERIODIC, Ends.REPEATED, Ends.UNCLEAR):
        return Ends.BOX, f"{straight[0]} does not go around"
    return verdict


def _joint(values: Verdict, coordinates: Verdict, smooth: bool) -> Verdict:
    """Return the verdict of values and coordinates together; `smooth` is whether functions are periodic without a kink."""
    if values[0] is Ends.REPEATED or coordinates[0] is Ends.UNCLEAR:
        return values
    if coordinates[0] is Ends.PERIODIC and values[0] in (Ends.LEFT, Ends.RIGHT):
        return values
    if coordinates[0] is Ends.PERIODIC and values[0] is Ends.BOX:
        return Ends.LEFT, f"{coordinates[1]}, and {values[1]}"
    if coordinates[0] is Ends.CELLS and values[0] is Ends.PERIODIC and smooth:
        return Ends.PERIODIC, f"{coordinates[1]}, and functions go on smoothly from the last to the first"
    return values if values[0] is coordinates[0] is Ends.BOX else coordinates


def wraps(samples: Sequence[Tensor], axis: int) -> bool:
    """Return whether functions bend from the last point to the first no more than elsewhere, and do not merely have equal ends."""
    telling = [f for f in samples if by_values(f, axis)[0] is not Ends.UNCLEAR]
    return bool(telling) and all(_bends_alike(f, axis) for f in telling)


def _bends_alike(f: Tensor, axis: int) -> bool:
    if f.shape[axis] < 4:
        return False
    bends = f.roll(1, axis) - 2 * f + f.roll(-1, axis)
    across = torch.stack([bends.select(axis, 0), bends.select(axis, -1)], 1)
    return average(across) <= KINK * average(bends.narrow(axis, 1, f.shape[axis] - 2))


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one of several verdicts: the first of the kind that comes earliest in the order below.

    Kinds that need special treatment come first: a left-out end, then cells, then a box. Periodic is last. If all verdicts are unclear,
    the first is returned.
    """
    for kind in (Ends.LEFT, Ends.RIGHT, Ends.CELLS, Ends.BOX, Ends.REPEATED, Ends.FIXED, Ends.PERIODIC):
        for verdict in verdicts:
            if verdict[0] is kind:
                return verdict
    return verdicts[0]


@dataclass
class Functions:
    """The functions of one side: a few samples (n, channels, *grid) of each array, and where their values lie."""

    name: str
    grid: tuple[int, ...]
    samples: list[Tensor]
    places: Places

    @property
    def on_grid(self) -> bool:
        """Whether they live on a grid, and not on a mesh."""
        return self.places.mesh is None

    def repeats(self, axis: int) -> bool:
        """Return whether all functions have their first value again at the last point of an axis."""
        return all(by_values(f, 2 + axis)[0] is Ends.REPEATED for f in self.samples)

    def without(self, last: Sequence[bool]) -> "Functions":
        """Return the same functions without the last point along some axes."""
        index = tuple(slice(-1) if one else slice(None) for one in last)
        axes = tuple(x if x is None or not one else x[:-1] for x, one in zip(self.places.axes, last, strict=False))
        grid = tuple(size - one for size, one in zip(self.grid, last, strict=True))
        return Functions(self.name, grid, [f[(..., *index)] for f in self.samples], replace(self.places, axes=axes))


def without_vectors(sides: list[Functions | None], options: ReadingOptions, guesses: Guesses) -> list[Functions | None]:
    """Return the functions of inputs and outputs, None for a vector: values without coordinates in which neighbours are not alike."""
    vectors = [side is not None and not options.convention_given and _shapeless(side) for side in sides]
    grids = {side.grid for side in sides if side}
    if None not in sides and len(grids) == 1 and not all(vectors):
        return sides  # on one grid, of which one side shows what it is
    kept: list[Functions | None] = []
    for side, vector, field in zip(sides, vectors, ("input_vectors", "output_vectors"), strict=True):
        if side and vector:
            guesses.note(
                f"{side.name}: {side.grid[0]} numbers a sample are a vector, as {by_values(side.samples[0], 2)[1]}; if they are a "
                f"function, pass periodic=… ({FLAGS['periodic'].replace('/', ' or ')})",
                field,
                True,
            )
        kept.append(None if vector else side)
    return kept


def _shapeless(side: Functions) -> bool:
    """Return whether neither coordinates nor values show that an array is a function along a line."""
    line = len(side.grid) == 1 and not side.places.known and side.on_grid
    return line and (side.grid[0] <= FEW or all(by_values(f, 2)[0] is Ends.UNCLEAR for f in side.samples))


def repeated_points(sides: Sequence[Functions | None], dim: int, options: ReadingOptions) -> tuple[bool, ...]:
    """Return along which axes of grids with `dim` axes the last point is the first again, so that it is left out."""
    alike = [side for side in sides if side and side.on_grid and len(side.grid) == dim]
    kinds = options.kinds(dim)
    again = tuple((kinds is None or kinds[axis].periodic) and all(side.repeats(axis) for side in alike) for axis in range(dim))
    rest = [side.without(again) for side in alike]
    goes_on = all(wraps(side.samples, 2 + axis) for axis in range(dim) if again[axis] for side in rest)
    return again if kinds is not None or goes_on else (False,) * dim


def domains(sides: Sequence[Functions | None], options: ReadingOptions, guesses: Guesses) -> list[Space | None]:
    """Return the space of inputs and of outputs: a mesh, a domain, or None for vectors. Grids with equally many axes share axis kinds."""
    spaces: list[Space | None] = []
    dims = [len(side.grid) for side in sides if side and side.on_grid]
    if options.axes is not None and all(options.kinds(dim) is None for dim in dims):
        kinds_of(options.axes, max(dims, default=0), f"axes=… ({FLAGS['axes']})")
    for side in sides:
        if side is None or not side.on_grid:
            spaces.append(None if side is None else side.places.mesh)
            continue
        alike = [other for other in sides if other and other.on_grid and len(other.grid) == len(side.grid)]
        verdicts = _verdicts(alike, options)
        kinds = tuple(KINDS[ends.value] for ends, _ in verdicts)
        lengths = _lengths(side, kinds, options.extent)
        if options.extent is None and max(lengths) > MOST_APART * min(lengths):
            which = " and ".join(f"{length:g}" for length in lengths)
            guesses.note(
                f"axes of lengths {which} are of different kinds: each is taken as 1", "extent", 1.0, Confidence.LIKELY
            )
            lengths = (1.0,) * len(lengths)
        extent = lengths[0] if len(set(lengths)) == 1 else lengths
        names = tuple(kind.name for kind in kinds)
        guesses.note(_in_words(shown(side.grid), kinds, [reason for _, reason in verdicts]), "axes", ",".join(names))
        spaces.append(Domain(len(side.grid), extent=extent, axes=names))
    return spaces


def _in_words(grid: str, kinds: tuple[Axis, ...], reasons: list[str]) -> str:
    if len(set(kinds)) == 1:
        return f"the grid of {grid} is taken as {kinds[0].in_words}: {'; '.join(dict.fromkeys(reasons))}"
    each = [f"axis {i} as {kind.in_words} ({reason})" for i, (kind, reason) in enumerate(zip(kinds, reasons, strict=True), 1)]
    return f"of the grid of {grid} is taken {'; '.join(each)}"


def _verdicts(alike: list[Functions], options: ReadingOptions) -> list[Verdict]:
    """Return a kind for each axis and the reason. An unclear axis is a box, which assumes least."""
    dim = len(alike[0].grid)
    given = options.kinds(dim)
    if given is not None:
        return [(Ends(kind.name), "as asked for") for kind in given]
    verdicts = [_of_axis(alike, axis) for axis in range(dim)]
    joint, reason = together(verdicts)
    if joint in (Ends.REPEATED, Ends.UNCLEAR):
        joint, reason = Ends.BOX, f"{reason}; if it is periodic, pass --periodic (periodic=True)"
    if joint is Ends.PERIODIC:
        return [(Ends.PERIODIC, reason)] * dim
    return [_beside(verdict, alike, axis, (joint, reason)) for axis, verdict in enumerate(verdicts)]


def _of_axis(alike: list[Functions], axis: int) -> Verdict:
    places = [side.places for side in alike if side.places.axes]
    lines = [(x, p.names[axis] if p.names else "") for p in places if (x := p.axes[axis]) is not None]
    return of_axis([f for side in alike for f in side.samples], 2 + axis, lines)


def _beside(verdict: Verdict, alike: list[Functions], axis: int, joint: Verdict) -> Verdict:
    """Return the kind of an axis among others that do not all go around: what is not clear is a box, or as the others are."""
    ends, reason = verdict
    if ends is Ends.UNCLEAR:
        return joint if joint[0] is not Ends.FIXED else (Ends.BOX, joint[1])
    if ends is Ends.FIXED:
        return Ends.BOX, reason
    if ends is Ends.REPEATED:
        return Ends.BOX, f"{reason}; --periodic takes the axis for a periodic one without it"
    lines = [side.places.axes[axis] for side in alike if side.places.axes and side.places.axes[axis] is not None]
    if ends is Ends.PERIODIC and not lines and not wraps([f for side in alike for f in side.samples], 2 + axis):
        return Ends.BOX, "functions bend from the last point to the first"
    return verdict


def _lengths(side: Functions, kinds: tuple[Axis, ...], extent: float | tuple[float, ...] | None) -> tuple[float, ...]:
    dim = len(side.grid)
    if extent is not None:
        lengths = tuple(float(length) for length in np.atleast_1d(extent))
        if len(lengths) not in (1, dim):
            raise RaffiaError(f"extent=… ({FLAGS['extent']}) needs one length, or {dim}; got {extent}.")
        return lengths * dim if len(lengths) == 1 else lengths
    axes = side.places.axes or (None,) * dim
    return tuple(
        1.0 if x is None else float(f"{abs(float(x[-1] - x[0])) / (len(x) - 1) * kind.intervals(len(x)):.6g}")
        for x, kind in zip(axes, kinds, strict=True)
    )
