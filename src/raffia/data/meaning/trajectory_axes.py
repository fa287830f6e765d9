"""Which axes of an array count trajectories and their states: as asked for, by names and coordinates, or by values."""

from collections.abc import Sequence

import numpy as np
import torch

from raffia.data.meaning import attributes
from raffia.data.meaning.columns import CHANNEL
from raffia.data.meaning.convention import Ends, by_values
from raffia.data.meaning.coordinates import goes_one_way, lengths
from raffia.data.meaning.names import COORDINATES, Variables, shown
from raffia.data.meaning.samples import ONE, axes_asked
from raffia.data.meaning.smoothness import Look
from raffia.data.meaning.times import is_time
from raffia.data.options import FLAGS, SamplesAxis
from raffia.data.pace import UNRELATED
from raffia.data.readers import Variable
from raffia.errors import RaffiaError

FEW = 4  # entries along an axis: so many are channels of a state, where nothing else decides
GROWTH = 0.2  # of the logarithm of the size of values: a change along an axis that is more than chance


def asked(v: Variable, axis: SamplesAxis) -> tuple[bool, int | None, list[str]]:
    """Return whether an axis of trajectories was asked for, which, and a note; None where they are one."""
    axes = axes_asked(axis)
    if len(axes) != 1 or not (axes[0] is None or -len(v.shape) <= axes[0] < len(v.shape)):
        return False, None, []  # several arrays have several
    if axes[0] is None:
        return True, None, [f"{v.name} is one trajectory, as was said."]
    place = axes[0] % len(v.shape)
    return True, place, [f"trajectories are along axis {place}, as was said."]


def check_asked(path: object, v: Variable, axis: SamplesAxis, valid: bool) -> None:
    """Refuse what names no axis of an array of trajectories."""
    if axis is not None and not valid:
        raise RaffiaError(
            f"{path}: {FLAGS['samples_axis']} (samples_axis=…) must be the axis of {v.name} {shown(v.shape)} that counts trajectories, "
            f"from 0, or {ONE} where they are one; got {axis!r}."
        )


def samples_axis(look: Look, time: int | None, arrays: Variables, beside: Sequence[Variable]) -> tuple[int | None, list[str]]:
    """Return the axis that counts trajectories, and a note; None for one trajectory.

    It has no coordinates, and entries along it have little in common. States along `time`, if that is known, and values along an axis
    of space are like their neighbours. Where values do not tell, trajectories are along the first axis.
    """
    v, last = look.variable, len(look.shape) - 1
    places = [axis for axis in range(len(v.shape)) if axis != time]
    named = [axis for axis in places if v.dims and attributes.counts_samples(v.dims[axis], arrays.get(v.dims[axis]))]
    if len(named) == 1:
        return named[0], _note(named[0], f"which is called {(v.dims or ())[named[0]]}")
    bare = without_coordinates(v, places, arrays)
    if time is not None and not bare:
        return None, []
    as_long = [axis for axis in bare if any(other.shape[:1] == (v.shape[axis],) for other in beside)]
    if len(as_long) == 1:
        return as_long[0], _note(as_long[0], f"as long as {beside[0].name}")
    several = [axis for axis in bare if v.shape[axis] > FEW]
    if time == 0 and several == bare and len(bare) == 1 < len(places):
        return bare[0], _note(bare[0], "as the others have coordinates")
    unlike = {axis: look.ratios[axis] for axis in several if look.ratios[axis] > UNRELATED}
    if unlike and 0 not in unlike:
        axis = max(unlike, key=lambda axis: unlike[axis])
        return axis, _note(axis, "as neighbours along it have little in common")
    smooth = 0 not in bare or (0 in several and look.ratios[0] <= UNRELATED)
    inside = time is not None and (0 < time < last or (last == 1 and bool(bare)))
    if time != 0 and (inside or not smooth):
        return 0, []
    others = [axis for axis in bare if time is not None or axis not in several]
    ways = [f"{FLAGS['samples_axis']} {axis} (samples_axis={axis})" for axis in others]
    return None, [f"{v.name} is taken for one trajectory; {' or '.join(ways)} says which axis counts several."] if ways else []


def time_axis(look: Look, samples: int | None, arrays: Variables) -> tuple[int, str] | None:
    """Return the axis of time and the reason, by coordinates, lengths and values; None where they do not decide."""
    places = [axis for axis in range(len(look.shape)) if axis != samples]
    bare = without_coordinates(look.variable, places, arrays)
    several = [axis for axis in bare if look.shape[axis] > FEW and look.ratios[axis] <= UNRELATED]
    sizes = [look.shape[axis] for axis in several]
    odd = [axis for axis, size in zip(several, sizes, strict=True) if sizes.count(size) == 1]
    if len(several) > 2 and len(odd) == 1 and odd[0] in (several[0], several[-1]):
        return odd[0], "the only one of another length"
    bounded = [axis for axis in several if not _periodic(look, axis, samples)]
    if len(bounded) == 1:
        axis = bounded[0]
        return axis, "as the other axis is periodic, or has fixed ends" if len(several) > 1 else "the only one that is left"
    changes = sorted(((look.growth(axis), axis) for axis in bounded), reverse=True)
    if len(changes) > 1 and changes[0][0] > max(GROWTH, 2 * changes[1][0]):
        return changes[0][1], "as the size of values changes along it, from one end to the other"
    return None


def swapped(look: Look, time: int, samples: int | None) -> bool:
    """Return whether neighbours along the axis of trajectories are alike, and those along the axis of time are not."""
    if samples is None or min(look.shape[time], look.shape[samples]) <= FEW:
        return False
    return look.ratios[samples] <= UNRELATED < look.ratios[time]


def without_coordinates(v: Variable, places: Sequence[int], arrays: Variables) -> list[int]:
    """Return the axes that have neither coordinates nor a name of a place or of channels; all of them, where lengths do not tell."""
    left = [axis for axis in places if not (v.dims and v.dims[axis] and _is_place(v.dims[axis], arrays))]
    if v.dims and all(v.dims) and len(left) < len(places):
        return left
    lines = {name: size for name, size in lengths(arrays).items() if not is_time(arrays[name]) and goes_one_way(arrays[name])}
    places, sizes = left, sorted(lines.values())
    if sizes == sorted(v.shape[axis] for axis in places):
        return []
    for length in sizes:
        as_long = [axis for axis in left if v.shape[axis] == length]
        if len(as_long) > sizes.count(length):
            return list(places)
        left = [axis for axis in left if axis not in as_long[:1]]
    return left


def _note(axis: int, reason: str) -> list[str]:
    return [f"trajectories are along axis {axis}, {reason}; {FLAGS['samples_axis']} says otherwise."] if axis else []


def _periodic(look: Look, axis: int, samples: int | None) -> bool:
    """Return whether an axis is periodic, or has the same value at both ends in all functions, as time hardly has."""
    rows = look.values.reshape(-1, *look.shape[1:])
    f = rows[None] if samples is None else np.moveaxis(rows, samples, 0)
    place = 1 + axis if samples is None or axis < samples else axis
    ends = by_values(torch.from_numpy(np.ascontiguousarray(f)), place)[0]
    return ends in (Ends.PERIODIC, Ends.FIXED, Ends.REPEATED)


def _is_place(dim: str, arrays: Variables) -> bool:
    x = arrays.get(dim)
    line = x is not None and x.dims == (dim,)
    return line or attributes.is_place(dim, x) or attributes.word(dim) in COORDINATES or dim.lower() in CHANNEL
