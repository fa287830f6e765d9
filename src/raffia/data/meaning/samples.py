"""Which axis of arrays counts samples: as said, by the names of axes, by their lengths; asked for where values speak against it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from raffia.data.meaning import attributes
from raffia.data.meaning.coordinates import lengths, like_coordinates
from raffia.data.meaning.names import Variables, shapes, unpaired
from raffia.data.meaning.smoothness import TELLING, Look, against
from raffia.data.options import FLAGS, SamplesAxis
from raffia.data.readers import Variable
from raffia.errors import RaffiaError

ONE = "none"  # how it is said that arrays are one sample


@dataclass(frozen=True)
class Found:
    """The axis of the samples of each array, None where it is one sample, and why."""

    axes: tuple[int | None, ...]
    notes: tuple[str, ...] = ()


def samples_axes(ins: Sequence[Variable], outs: Sequence[Variable], pool: Variables, asked: SamplesAxis = None) -> Found:
    """The axis of the samples of inputs and outputs; `pool` are the other arrays of the file."""
    both = (*ins, *outs)
    for v in both:
        if not v.shape or 0 in v.shape:
            raise RaffiaError(f"{v.name} must hold at least one sample; it has shape {v.shape}.")
    if asked is not None:
        return _as_asked(both, asked)
    return by_names(both, pool) or _by_lengths(both, pool, unpaired(ins, outs))


def axes_asked(asked: SamplesAxis) -> list[int | None]:
    """Return the axes that "0", "0,1" or (0, 1) name, None for an array that is one sample; none where it is no such text."""
    words = [word.strip() for word in str(asked).strip("()[]").removesuffix(",").split(",")]
    try:
        return [None if word == ONE else int(word) for word in words]
    except ValueError:
        return []


def _as_asked(both: Sequence[Variable], asked: SamplesAxis) -> Found:
    axes = axes_asked(asked)
    axes = axes * len(both) if len(axes) == 1 else axes
    fits = len(axes) == len(both) and all(
        a is None or -len(v.shape) <= a < len(v.shape) for a, v in zip(axes, both, strict=True)
    )
    if not fits:
        raise RaffiaError(
            f"samples_axis=… ({FLAGS['samples_axis']}) must be the number of an axis, from 0, for all of {shapes(both)}, one for each with "
            f"commas between them, or {ONE} where they are one sample; got {asked!r}."
        )
    found = tuple(a if a is None else a % len(v.shape) for a, v in zip(axes, both, strict=True))
    counts = {1 if a is None else v.shape[a] for a, v in zip(found, both, strict=True)}
    if len(counts) > 1:
        raise RaffiaError(
            f"inputs and outputs must pair up; along {FLAGS['samples_axis']} {asked} they have {' and '.join(map(str, sorted(counts)))} "
            f"samples: {shapes(both)}."
        )
    one = "the arrays are one sample, as asked for."
    return Found(found, (one if found[0] is None else "samples are along the axis that was asked for.",))


def check_values(both: Sequence[Variable], axes: Sequence[int | None]) -> None:
    """Refuse samples along axes along which values are alike, and not along others."""
    known = [axis for axis in axes if axis is not None]
    if len(known) == len(both) and against([Look(v) for v in both], known):
        raise RaffiaError(
            f"{shapes(both)}: samples are along axis {', '.join(map(str, dict.fromkeys(known)))} in training, but here neighbours along it "
            "are alike, as values of one function are. Pass a file that is laid out like that of the training."
        )


def by_names(both: Sequence[Variable], pool: Variables) -> Found | None:
    """By the names of the axes, and what the coordinates of these names say of themselves; None where they say nothing."""
    if not all(v.dims for v in both):
        return None
    shared = [dim for dim in both[0].dims or () if all(dim in (v.dims or ()) for v in both)]
    tests: tuple[tuple[Callable[[str, Variable | None], bool], str], ...] = (
        (attributes.counts_samples, "its name says so"),
        (lambda dim, x: not attributes.is_place(dim, x), "no other axis that all arrays have counts anything but places"),
    )
    for test, reason in tests:
        named = [dim for dim in shared if test(dim, pool.get(dim))]
        if len(named) == 1:
            dim = named[0]
            others = [other for other in shared if other != dim and attributes.is_time(other, pool.get(other))]
            along = f"samples are along the axis {dim}, as {reason}" + (f", and not along {others[0]}" if others else "")
            return Found(tuple((v.dims or ()).index(dim) for v in both), (f"{along}.",))
        if len(named) > 1 and any(attributes.is_time(dim, pool.get(dim)) for dim in named):
            ways = [",".join(str((v.dims or ()).index(dim)) for v in both) for dim in named]
            raise _question(both, ways, f"along {' or '.join(named)}")
    if shared and all(attributes.is_place(dim, pool.get(dim)) for dim in shared) and len(shared) == len(both[0].dims or ()):
        raise RaffiaError(
            f"no axis counts samples: {shapes(both)} have the axes {', '.join(shared)}, which are places. If the file is one sample, pass "
            f"{FLAGS['samples_axis']} {ONE} (samples_axis={ONE!r}); a model needs several, for example one file each."
        )
    return None


def _by_lengths(both: Sequence[Variable], pool: Variables, otherwise: str) -> Found:
    """By axes of equal length, the first ones before others, unless values or coordinates speak against it."""
    in_columns = len({v.shape[-1] for v in both}) == 1 and all(len(v.shape) > 1 for v in both)
    if len({v.shape[0] for v in both}) == 1:
        return _in_rows(both, pool, in_columns)
    counts = sorted({n for v in both for n in (v.shape[0], v.shape[-1]) if all(n in (o.shape[0], o.shape[-1]) for o in both)})
    if not counts:
        raise RaffiaError(otherwise)
    counts = [n for n in counts if n not in _lengths(pool)] or counts
    found = [tuple(0 if v.shape[0] == n else len(v.shape) - 1 for v in both) for n in counts]
    if len(counts) > 1:
        where = f"along the first axis of either array: they pair up as {' or as '.join(map(str, counts))} samples"
        raise _question(both, [",".join(map(str, axes)) for axes in found], where)
    if in_columns and not (_marked(both, pool, 0) or against([Look(v) for v in both], [0 for _ in both])):
        raise RaffiaError(
            f"{otherwise} If there are {counts[0]} along the last axis, pass {FLAGS['samples_axis']} -1 (samples_axis=-1)."
        )
    pinned = any(len(v.shape) < 3 and min(v.shape) < TELLING for v in both)  # by an array of parameters, which has no other way
    if not in_columns and not pinned and against([Look(v) for v in both], found[0]):
        where = f"where lengths agree, {counts[0]} of them; but neighbours there are alike, as values of one function are"
        raise _question(both, [",".join(map(str, found[0]))], where)
    last = [v for v, axis in zip(both, found[0], strict=True) if axis]
    notes = [
        f"{v.name}: samples are along the last axis, where it has {counts[0]} entries as the other arrays have." for v in last
    ]
    return Found(found[0], tuple(notes))


def _in_rows(both: Sequence[Variable], pool: Variables, in_columns: bool) -> Found:
    """All arrays have as many rows, and maybe as many columns too."""
    rows, columns, looks = tuple(0 for _ in both), tuple(len(v.shape) - 1 for v in both), [Look(v) for v in both]
    note = f"samples, along the first axis, are like those next to them; {FLAGS['samples_axis']} says otherwise."
    found = Found(rows, (note,) if any(look.alike[0] for look in looks if len(look.shape) > 1) else ())
    if _marked(both, pool, -1):
        return found
    if in_columns and _marked(both, pool, 0):
        timeless = {name: v for name, v in pool.items() if not attributes.is_time(name, v)}
        if against(looks, rows) or (_marked(both, timeless, 0) and not against(looks, columns)):
            return Found(columns, ("samples are along the last axis, as coordinates go along the first.",))
        raise _question(
            both, ["0", "-1"], "along the first axis, as there are coordinates or times for each, or along the last"
        )
    if in_columns and against(looks, rows):
        where = "along the first axis or the last: neighbours along the first are alike, as values of one function are"
        raise _question(both, ["0", "-1"], where)
    return found


def _question(both: Sequence[Variable], ways: Sequence[str], where: str) -> RaffiaError:
    commands = " or ".join(f"{FLAGS['samples_axis']} {way}" for way in ways)
    return RaffiaError(
        f"samples may be {where}: {shapes(both)}. Pass {commands} (samples_axis=…), the number of their axis, counted from 0"
        f"{', of each array' if any(',' in way for way in ways) else ''}."
    )


def _lengths(pool: Variables) -> set[int]:
    """Return how many entries the coordinates of a file have: those along axes, and nodes."""
    tables = [v for v in pool.values() if v.numeric and len(v.shape) == 2 and v.shape[1] in (2, 3) and like_coordinates(v)]
    return {*lengths(pool).values(), *(v.shape[0] for v in tables if v.shape[0] > TELLING)}


def _marked(both: Sequence[Variable], pool: Variables, axis: int) -> bool:
    """Whether the file has coordinates as long as one end of an array, and none as long as the other, so that it counts points."""
    known = _lengths(pool)
    there = [v for v in both if len(v.shape) > 1 and v.shape[axis] in known and v.shape[axis] != v.shape[-1 - axis]]
    return bool(there) and not any(v.shape[-1 - axis] in known for v in both)
