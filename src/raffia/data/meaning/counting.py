"""Which axis of an array of trajectories counts them: as was said, by names, or as the one without coordinates."""

from collections.abc import Sequence

from raffia.data.formats.variable import Variable
from raffia.data.meaning import attributes
from raffia.data.meaning.columns import CHANNEL
from raffia.data.meaning.lines import goes_one_way
from raffia.data.meaning.names import COORDINATES, FLAGS, Variables, shown
from raffia.data.meaning.samples import ONE, SamplesAxis
from raffia.data.meaning.times import is_time
from raffia.errors import RaffiaError

FEW = 4  # so many are channels of one state, where nothing tells; more count trajectories


def asked(v: Variable, axis: SamplesAxis) -> tuple[bool, int | None, list[str]]:
    """Whether an axis was said for the trajectories of an array, which, and what to say of it; None where they are one."""
    words = {word.strip() for word in str(axis).strip("()[]").removesuffix(",").split(",")}
    word = words.pop()
    if words or axis is None:
        return False, None, []  # several arrays have several
    if word == ONE:
        return True, None, [f"{v.name} is one trajectory, as was said."]
    numbers = {str(number): number % len(v.shape) for number in range(-len(v.shape), len(v.shape))}
    if word not in numbers:
        return False, None, []
    return True, numbers[word], [f"trajectories are along axis {numbers[word]}, as was said."]


def check_asked(path: object, v: Variable, axis: SamplesAxis, said: bool) -> None:
    """Refuse what names no axis of an array of trajectories."""
    if axis is not None and not said:
        raise RaffiaError(
            f"{path}: {FLAGS['samples_axis']} (samples_axis=…) must be the axis of {v.name} {shown(v.shape)} that counts trajectories, "
            f"from 0, or {ONE} where they are one; got {axis!r}."
        )


def counting(v: Variable, axis: int, arrays: Variables, beside: Sequence[Variable]) -> tuple[int | None, list[str]]:
    """The axis that counts trajectories, where time is along `axis`, and what to say of it; None where they are one."""
    places = [place for place in range(len(v.shape)) if place != axis]
    named = [place for place in places if v.dims and attributes.counts_samples(v.dims[place], arrays.get(v.dims[place]))]
    if len(named) == 1:
        return named[0], _said(named[0], f"which is called {(v.dims or ())[named[0]]}")
    bare = _without_coordinates(v, places, arrays)
    if axis:
        return (None if axis == len(v.shape) - 1 and not bare else 0), []
    as_long = [place for place in bare if any(other.shape[:1] == (v.shape[place],) for other in beside)]
    if len(as_long) == 1:
        return as_long[0], _said(as_long[0], f"as long as {beside[0].name}")
    if len(bare) == 1 < len(places) and v.shape[bare[0]] > FEW:
        back = (
            f"as the others have coordinates; {FLAGS['samples_axis']} {ONE} (samples_axis={ONE!r}) takes all for one trajectory"
        )
        return bare[0], _said(bare[0], back)
    ways = f"{FLAGS['samples_axis']} {bare[0]} (samples_axis={bare[0]})" if bare else ""
    return None, [
        f"{v.name} is taken for one trajectory; where axis {bare[0]} counts trajectories, pass {ways}."
    ] if bare else []


def _said(place: int, reason: str) -> list[str]:
    return [f"trajectories are along axis {place}, {reason}."] if place else []


def _without_coordinates(v: Variable, places: Sequence[int], arrays: Variables) -> list[int]:
    """The axes that have neither coordinates nor a name of a place or of channels; all of them, where lengths do not tell."""
    named = [place for place in places if v.dims and not _is_place(v.dims[place], arrays)]
    if v.dims and len(named) < len(places):
        return named
    lines = [o for o in arrays.values() if o.numeric and attributes.word(o.name) in COORDINATES and not is_time(o) and _line(o)]
    left, lengths = list(places), sorted(max(o.shape) for o in lines)
    if lengths == sorted(v.shape[place] for place in places):
        return []
    for length in lengths:
        as_long = [place for place in left if v.shape[place] == length]
        if len(as_long) > lengths.count(length):
            return list(places)
        left = [place for place in left if place not in as_long[:1]]
    return left


def _is_place(dim: str, arrays: Variables) -> bool:
    x = arrays.get(dim)
    line = x is not None and x.dims == (dim,)
    return line or attributes.is_place(dim, x) or attributes.word(dim) in COORDINATES or dim.lower() in CHANNEL


def _line(v: Variable) -> bool:
    """Whether numbers along one axis go up, or down, all the way, as coordinates do and parameters do not."""
    return len(v.shape) - v.shape.count(1) == 1 and goes_one_way(v)
