"""Columns of a table by their names, also those within a run, and ranges of them such as 1100..2500 or u_10..u_50."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from raffia.data.readers.tables.headers import UNITS
from raffia.data.readers.variable import Rows, Variable

Variables = dict[str, Variable]
Place = tuple[Variable, int | None]  # a column: an array of its own, or at a place in a run


def selected(arrays: Variables, names: Iterable[str]) -> Variables:
    """The arrays, and those that names mean beside them; what a name does not mean is left for others to say."""
    found = dict(arrays)
    for name in names:
        if name not in found:
            found |= _column(arrays, name) or _range(arrays, name)
    return found


def _column(arrays: Variables, name: str) -> Variables:
    """A column within a run, or one that is named with its units."""
    places = _columns(arrays)
    short = match[1] if (match := UNITS.fullmatch(name)) else name
    for column in (name, short):
        if column in places:
            variable, place = places[column]
            return {name: variable if place is None else _joined(name, [places[column]], flat=True)}
    return {}


def _range(arrays: Variables, name: str) -> Variables:
    """Columns from one to another, by their names or by the numbers in the names; coordinates of a run go with it."""
    first, dots, last = name.partition("..")
    places = _columns(arrays)
    order = list(places)
    if not dots:
        return {}
    if first in places and last in places and order.index(first) <= order.index(last):
        chosen = [places[column] for column in order[order.index(first) : order.index(last) + 1]]
    else:
        chosen = _between(arrays, first, last)
    if not chosen:
        return {}
    found = {name: _joined(name, chosen)}
    run = chosen[0][0]
    line = arrays.get((run.dims or ("", ""))[-1])
    if line is not None and all(variable is run for variable, _ in chosen) and line.dims == (line.name,):
        values = line.read()[[place for _, place in chosen if place is not None]]
        named = f"columns of {name}"
        found[named] = Variable.of_array(named, values, (named,), _units(line), run.path, notes=line.notes, layout=line.layout)
    return found


def _between(arrays: Variables, first: str, last: str) -> list[Place]:
    """The columns of a run whose coordinates lie between two numbers."""
    try:
        low, high = float(first), float(last)
    except ValueError:
        return []
    for run in arrays.values():
        line = arrays.get((run.dims or ("",))[-1])
        if "columns" in run.attributes and line is not None and line.dims == (line.name,):
            places = np.flatnonzero((line.read() >= low) & (line.read() <= high))
            if len(places):
                return [(run, int(place)) for place in places]
    return []


def _columns(arrays: Variables) -> dict[str, Place]:
    """All columns of tables in their order, by name."""
    places: dict[str, Place] = {}
    for variable in arrays.values():
        if variable.layout is None or not variable.numeric or variable.dims == (variable.name,):
            continue
        for place, column in enumerate(variable.attributes.get("columns", ())):
            places.setdefault(column, (variable, place))
        if len(variable.shape) == 1:
            places[variable.name] = (variable, None)
    return places


def _joined(name: str, places: list[Place], flat: bool = False) -> Variable:
    """An array of these columns; one alone is a number a sample."""
    run = places[0][0]
    n, sample = run.shape[0], (run.dims or ("sample",))[0]
    shape, dims = ((n,), (sample,)) if flat else ((n, len(places)), (sample, f"columns of {name}"))
    dtype = np.result_type(*[variable.dtype for variable, _ in places]).str
    load = partial(_read, places, flat)
    return Variable(name, shape, dtype, dims, _units(run), run.path, load, notes=run.notes, layout=run.layout)


def _units(run: Variable) -> dict[str, Any]:
    return {key: value for key, value in run.attributes.items() if key == "units"}


def _read(places: list[Place], flat: bool, rows: Rows) -> np.ndarray:
    held: dict[str, np.ndarray] = {}
    for variable, _ in places:
        if variable.name not in held:
            held[variable.name] = variable.read(rows)
    columns = [held[variable.name] if place is None else held[variable.name][:, place] for variable, place in places]
    return columns[0] if flat else np.stack(columns, axis=1)
