"""Columns of a table by name, and several at once: 1100..2500 or u_10..u_50, 'c*', or 3:24 by their places."""

from collections.abc import Iterable
from fnmatch import filter as matching
from functools import partial

import numpy as np

from raffia.data.readers.tables.headers import UNITS
from raffia.data.readers.variable import Rows, Variable

Variables = dict[str, Variable]
Place = tuple[Variable, int | None]  # a column: an array of its own, or at a place in a run


def selected(arrays: Variables, names: Iterable[str]) -> Variables:
    """The arrays, and those that names mean beside them; names without a meaning are left out, for others to refuse.

    A name is that of a column, also with its units; FIRST..LAST are columns between two names, or between two numbers that name
    columns; a name with * matches columns; FIRST:LAST are columns by their places, from 0, without the last.
    """
    every = dict(arrays)
    for name in names:
        if name not in every:
            every |= _meant(arrays, name)
    return every


def _meant(arrays: Variables, name: str) -> Variables:
    """The array that a name means."""
    places = _columns(arrays)
    order, match = list(places), UNITS.fullmatch(name)
    for column in (name, match[1] if match else name):
        if column in places:
            v, place = places[column]
            return {name: v if place is None else _joined(name, [places[column]], flat=True)}
    first, dots, last = name.partition("..")
    start, colon, stop = name.partition(":")
    chosen: list[str] = []
    if first in places and last in places:
        chosen = order[order.index(first) : order.index(last) + 1]
    elif dots:
        chosen = _between(arrays, first, last)
    elif "*" in name:
        chosen = matching(order, name)
    elif colon and all(part.isdigit() or not part for part in (start, stop)):
        chosen = order[int(start or 0) : int(stop or len(order))]
    if not chosen:
        return {}
    run = places[chosen[0]][0]
    found = {name: _joined(name, [places[column] for column in chosen])}
    line = arrays.get((run.dims or ("",))[-1])
    coordinates = line is not None and line.dims == (line.name,) and "columns" in run.attributes
    if line is not None and coordinates and all(places[column][0] is run for column in chosen):
        values = line.read()[[run.attributes["columns"].index(column) for column in chosen]]
        named = f"columns of {name}"
        found[named] = Variable.of_array(
            named, values, (named,), line.attributes, run.path, notes=line.notes, layout=line.layout
        )
    return found


def _between(arrays: Variables, first: str, last: str) -> list[str]:
    """The columns of a run whose coordinates lie between two numbers."""
    try:
        low, high = float(first), float(last)
    except ValueError:
        return []
    for run in arrays.values():
        line = arrays.get((run.dims or ("",))[-1])
        if "columns" in run.attributes and line is not None and line.dims == (line.name,):
            inside = (line.read() >= low) & (line.read() <= high)
            if inside.any():
                return [run.attributes["columns"][place] for place in np.flatnonzero(inside)]
    return []


def _columns(arrays: Variables) -> dict[str, Place]:
    """All columns of tables in their order, by name."""
    places: dict[str, Place] = {}
    for v in arrays.values():
        if v.layout is None or not v.numeric or v.dims == (v.name,):
            continue
        for place, column in enumerate(v.attributes.get("columns", ())):
            places.setdefault(column, (v, place))
        if len(v.shape) == 1:
            places[v.name] = (v, None)
    return places


def _joined(name: str, places: list[Place], flat: bool = False) -> Variable:
    """An array of these columns; a `flat` one is a number a sample."""
    run = places[0][0]
    n, sample = run.shape[0], (run.dims or ("sample",))[0]
    shape, dims = ((n,), (sample,)) if flat else ((n, len(places)), (sample, f"columns of {name}"))
    dtype = np.result_type(*[v.dtype for v, _ in places]).str
    units = {key: value for key, value in run.attributes.items() if key == "units"}
    return Variable(name, shape, dtype, dims, units, run.path, partial(_read, places, flat), notes=run.notes, layout=run.layout)


def _read(places: list[Place], flat: bool, rows: Rows) -> np.ndarray:
    values = {v.name: v.read(rows) for v in {v.name: v for v, _ in places}.values()}
    columns = [values[v.name] if place is None else values[v.name][:, place] for v, place in places]
    return columns[0] if flat else np.stack(columns, axis=1)
