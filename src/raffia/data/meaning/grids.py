"""Domains of functions on grids: the kinds of their axes and the lengths, by coordinates, by values, or as given."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from raffia.data.meaning.convention import Ends, Verdict, by_values, of_axis, together, wraps
from raffia.data.meaning.coordinates import Places
from raffia.data.meaning.names import shown
from raffia.data.options import FLAGS, ReadingOptions
from raffia.errors import RaffiaError
from raffia.spaces import KINDS, Domain, Space
from raffia.spaces.axes import Axis, kinds_of

MOST_APART = 8.0  # ratio of lengths beyond which axes are in different units, such as metres and seconds


@dataclass
class Function:
    """The functions of one side: a few samples (n, channels, *grid) of each variable, and where their values lie."""

    name: str
    grid: tuple[int, ...]
    glance: list[Tensor]
    places: Places

    def repeats(self, axis: int) -> bool:
        """Whether all functions have their first value again at the last point of an axis."""
        return all(by_values(f, 2 + axis)[0] is Ends.REPEATED for f in self.glance)

    def wraps(self, axis: int) -> bool:
        """Whether functions go on smoothly from the last point of an axis to the first."""
        return all(by_values(f, 2 + axis)[0] is Ends.PERIODIC for f in self.glance) and wraps(self.glance, 2 + axis)

    def without(self, last: Sequence[bool]) -> "Function":
        """The same functions without the last point along some axes."""
        index = tuple(slice(-1) if one else slice(None) for one in last)
        axes = tuple(x if x is None or not one else x[:-1] for x, one in zip(self.places.axes, last, strict=False))
        grid = tuple(size - one for size, one in zip(self.grid, last, strict=True))
        return Function(self.name, grid, [f[(..., *index)] for f in self.glance], replace(self.places, axes=axes))


def domains(sides: Sequence[Function | None], options: ReadingOptions, notes: list[str]) -> list[Space | None]:
    """The space of each side: a mesh, a domain, or None for numbers. Grids with as many axes share the convention."""
    spaces: list[Space | None] = []
    dims = [len(side.grid) for side in sides if side and side.places.mesh is None]
    if options.axes is not None and all(options.kinds(dim) is None for dim in dims):
        kinds_of(options.axes, max(dims, default=0), f"axes=… ({FLAGS['axes']})")
    for side in sides:
        if side is None or side.places.mesh is not None:
            spaces.append(None if side is None else side.places.mesh)
            continue
        alike = [other for other in sides if other and other.places.mesh is None and len(other.grid) == len(side.grid)]
        verdicts = _verdicts(alike, options)
        kinds = tuple(KINDS[ends.value] for ends, _ in verdicts)
        lengths = _lengths(side, kinds, options.extent)
        if options.extent is None and max(lengths) > MOST_APART * min(lengths):
            said = " and ".join(f"{length:g}" for length in lengths)
            notes.append(
                f"axes of lengths {said} are of different kinds: each is taken as 1; {FLAGS['extent']} says otherwise."
            )
            lengths = (1.0,) * len(lengths)
        extent = lengths[0] if len(set(lengths)) == 1 else lengths
        note = _in_words(shown(side.grid), kinds, [reason for _, reason in verdicts])
        notes += [note] if note not in notes else []
        spaces.append(Domain(len(side.grid), extent=extent, axes=tuple(kind.name for kind in kinds)))
    return spaces


def _in_words(grid: str, kinds: tuple[Axis, ...], reasons: list[str]) -> str:
    if len(set(kinds)) == 1:
        return f"the grid of {grid} is taken as {kinds[0].in_words}: {'; '.join(dict.fromkeys(reasons))}."
    each = [f"axis {i} as {kind.in_words} ({reason})" for i, (kind, reason) in enumerate(zip(kinds, reasons, strict=True), 1)]
    return f"of the grid of {grid} is taken {'; '.join(each)}."


def _verdicts(alike: list[Function], options: ReadingOptions) -> list[Verdict]:
    """Return a kind for each axis, and why; an axis of which nothing is clear is a box, which assumes least."""
    dim = len(alike[0].grid)
    found = [_of_axis(alike, axis) for axis in range(dim)]
    said = options.kinds(dim)
    if said is not None:
        return [(Ends(kind.name), "as asked for") for kind in said]
    joint, reason = together(found)
    if joint in (Ends.REPEATED, Ends.UNCLEAR):
        joint, reason = Ends.BOX, f"{reason}; if it is periodic, pass --periodic (periodic=True)"
    if joint is Ends.PERIODIC:
        return [(Ends.PERIODIC, reason)] * dim
    return [_beside(verdict, alike, axis, (joint, reason)) for axis, verdict in enumerate(found)]


def _beside(verdict: Verdict, alike: list[Function], axis: int, joint: Verdict) -> Verdict:
    """The kind of an axis among others that do not all go around: what is not clear is a box, or as the others are."""
    ends, reason = verdict
    if ends is Ends.UNCLEAR:
        return joint if joint[0] is not Ends.FIXED else (Ends.BOX, joint[1])
    if ends is Ends.FIXED:
        return Ends.BOX, reason
    if ends is Ends.REPEATED:
        return Ends.BOX, f"{reason}; --periodic takes the axis for a periodic one without it"
    lines = [g.places.axes[axis] for g in alike if g.places.axes and g.places.axes[axis] is not None]
    if ends is Ends.PERIODIC and not lines and not wraps([f for g in alike for f in g.glance], 2 + axis):
        return Ends.BOX, "functions bend from the last point to the first"
    return verdict


def _of_axis(alike: list[Function], axis: int) -> Verdict:
    places = [g.places for g in alike if g.places.axes]
    lines = [(x, p.names[axis] if p.names else "") for p in places if (x := p.axes[axis]) is not None]
    return of_axis([f for g in alike for f in g.glance], 2 + axis, lines)


def _lengths(side: Function, kinds: tuple[Axis, ...], extent: float | tuple[float, ...] | None) -> tuple[float, ...]:
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
