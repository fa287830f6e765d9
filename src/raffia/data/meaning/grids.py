"""Domains of functions on grids: the convention and the lengths, by coordinates, by values, or as given."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from raffia.data.meaning.convention import Ends, by_coordinates, by_values, together
from raffia.data.meaning.coordinates import Places
from raffia.data.meaning.names import FLAGS, shown
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Space

Extent = float | tuple[float, ...] | None
MOST_APART = 8.0  # ratio of lengths beyond which axes are in different units, such as metres and seconds


@dataclass
class Function:
    """The functions of one side: a few samples (n, channels, *grid) of each variable, and where their values lie."""

    name: str
    grid: tuple[int, ...]
    glance: list[np.ndarray]
    places: Places


def domains(
    path: object, sides: Sequence[Function | None], periodic: bool | None, extent: Extent, notes: list[str]
) -> list[Space | None]:
    """The space of each side: a mesh, a domain, or None for numbers. Grids with as many axes share the convention."""
    spaces: list[Space | None] = []
    for side in sides:
        if side is None or side.places.mesh is not None:
            spaces.append(None if side is None else side.places.mesh)
            continue
        alike = [other for other in sides if other and other.places.mesh is None and len(other.grid) == len(side.grid)]
        ends, reason = _ends(path, alike, periodic)
        lengths = _lengths(side, ends, extent)
        if extent is None and max(lengths) > MOST_APART * min(lengths):
            said = " and ".join(f"{length:g}" for length in lengths)
            notes.append(
                f"axes of lengths {said} are of different kinds: each is taken as 1; {FLAGS['extent']} says otherwise."
            )
            lengths = (1.0,) * len(lengths)
        domain = Domain(len(side.grid), ends is Ends.PERIODIC, lengths[0] if len(set(lengths)) == 1 else lengths)
        kind = "periodic, so the right end is left out" if domain.periodic else "a box, so both ends are in it"
        note = f"the grid of {shown(side.grid)} is taken as {kind}: {reason}."
        notes += [note] if note not in notes else []
        spaces.append(domain)
    return spaces


def _ends(path: object, alike: list[Function], periodic: bool | None) -> tuple[Ends, str]:
    """One convention for all axes, as a domain has."""
    verdicts = [_ends_of_axis(alike, axis) for axis in range(len(alike[0].grid))]
    repeated = [axis for axis, (ends, _) in enumerate(verdicts) if ends is Ends.REPEATED]
    if periodic is not None:
        if periodic and repeated:
            raise RaffiaError(
                f"{path}: functions of {_repeating(alike, repeated[0])} repeat their first point at the right end of axis "
                f"{repeated[0] + 1}, and a periodic grid leaves the right end out. Drop the last point from the file, or pass "
                "periodic=False (--box)."
            )
        return Ends.PERIODIC if periodic else Ends.BOX, "as asked for"
    ends, reason = together(verdicts)
    if ends is Ends.REPEATED:
        raise RaffiaError(
            f"{path}: functions of {_repeating(alike, repeated[0])} have one value at both ends of axis {repeated[0] + 1}. "
            "Is their grid a box with both ends in it, or periodic with its first point repeated? "
            "Pass periodic=False (--box), or drop the last point from the file."
        )
    if ends is Ends.UNCLEAR:
        raise RaffiaError(
            f"{path} does not say whether its grid is periodic: pass domain=Domain(dim, periodic=…), on the command line --periodic "
            f"or --box. {alike[0].name} does not show it, as {reason}. If it holds no functions but parameters, pass domain=Vectors()."
        )
    around = [axis for axis, verdict in enumerate(verdicts) if verdict[0] is Ends.PERIODIC]
    if around and ends is not Ends.PERIODIC:
        reason += f" (axis {around[0] + 1} looks periodic, but a domain is so in all of its axes or in none)"
    return ends, reason


def _repeating(alike: list[Function], axis: int) -> str:
    return next(g.name for g in alike for f in g.glance if by_values(f, 2 + axis)[0] is Ends.REPEATED)


def _ends_of_axis(alike: list[Function], axis: int) -> tuple[Ends, str]:
    """Values that jump make a box; else coordinates speak before values."""
    values = together([by_values(f, 2 + axis) for g in alike for f in g.glance])
    lines = [g.places.axes[axis] for g in alike if g.places.axes and g.places.axes[axis] is not None]
    coordinates = together([by_coordinates(x) for x in lines if x is not None]) if lines else (Ends.UNCLEAR, "")
    return values if values[0] in (Ends.BOX, Ends.REPEATED) or coordinates[0] is Ends.UNCLEAR else coordinates


def _lengths(side: Function, ends: Ends, extent: Extent) -> tuple[float, ...]:
    dim = len(side.grid)
    if extent is not None:
        lengths = tuple(float(length) for length in np.atleast_1d(extent))
        if len(lengths) not in (1, dim):
            raise RaffiaError(f"extent=… ({FLAGS['extent']}) needs one length, or {dim}; got {extent}.")
        return lengths * dim if len(lengths) == 1 else lengths
    around = ends is Ends.PERIODIC
    axes = side.places.axes or (None,) * dim
    return tuple(
        1.0 if x is None else float(f"{abs(float(x[-1] - x[0])) / (len(x) - 1) * (len(x) - 1 + around):.6g}") for x in axes
    )
