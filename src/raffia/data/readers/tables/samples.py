"""The arrays of a long table: labels, parameters, and functions that each sample has a row of."""

from dataclasses import dataclass, replace

import numpy as np

from raffia.data.readers.curves import Curves, common
from raffia.data.readers.layout import Layout
from raffia.data.readers.tables.groups import Groups
from raffia.data.readers.tables.long import column
from raffia.data.readers.tables.parse import Table
from raffia.data.readers.tables.wide import PARAMETERS, SAMPLE, labels, together, variable
from raffia.data.readers.tables.words import names_samples
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

NODES = "nodes"
MOST = 2**17  # samples

Coordinates = dict[str, tuple[np.ndarray, tuple[str, ...]]]  # values, and the names of their axes


@dataclass(frozen=True)
class Fields:
    """Where the values of functions are: the rows of each sample in order, the names of axes, and coordinates along them."""

    groups: Groups
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    coordinates: Coordinates
    curves: Curves | None = None

    def of(self, values: np.ndarray) -> np.ndarray:
        """A column as (samples, *shape)."""
        if self.curves is None or self.curves.grid is None:
            return values[self.groups.order].reshape(len(self.groups), *self.shape)
        return np.stack([self.curves.values(number, curve) for number, curve in enumerate(self.groups.split(values))])


def variables(table: Table, layout: Layout) -> dict[str, Variable]:
    """Labels and parameters, which are the same in all rows of a sample, and all other columns as functions."""
    groups = Groups.of([column(table, name) for name in layout.samples])
    _check(table, layout, groups)
    fields, notes = _fields(table, layout, groups)
    layout = layout if fields.curves is None else fields.curves.told(layout)
    told = replace(table, notes=(*table.notes, *notes))
    first = groups.first
    texts = {name: values[first] for name, values in table.texts.items()}
    labelled = set(filter(names_samples, table.numbers))  # others that tell samples apart, as a Reynolds number, are parameters
    texts |= {name: table.numbers[name][first].astype(str).astype(object) for name in layout.samples if name in labelled}
    numbers = {name: values for name, values in table.numbers.items() if name not in (*texts, *layout.coordinates)}
    stays = {name for name, values in numbers.items() if name not in layout.functions and groups.constant(values)}
    if missing := set(layout.parameters) - stays:
        raise RaffiaError(f"{table.path}: {', '.join(sorted(missing))} must stay the same in every sample, as in training.")
    constant = {name: numbers[name][first] for name in layout.parameters or numbers if name in stays}
    layout = replace(layout, parameters=tuple(constant), functions=tuple(name for name in numbers if name not in constant))
    held = _parameters(told, layout, constant)
    for name, values in numbers.items():
        if name not in constant:
            held[name] = variable(told, name, fields.of(values), (SAMPLE, *fields.axes), layout)
    held |= {name: variable(told, name, values, dims, layout) for name, (values, dims) in fields.coordinates.items()}
    return held | labels(told, texts, layout)


def _parameters(table: Table, layout: Layout, constant: dict[str, np.ndarray]) -> dict[str, Variable]:
    """The numbers of a sample: one array of all, or the only one by its name."""
    if len(constant) < 2:
        return {name: variable(table, name, values, (SAMPLE,), layout) for name, values in constant.items()}
    note = f"{PARAMETERS} are {', '.join(constant)}, which stay the same in every sample."
    return together(replace(table, notes=(*table.notes, note)), layout, constant)


def _check(table: Table, layout: Layout, groups: Groups) -> None:
    for name in layout.coordinates:
        if name not in table.numbers:
            raise RaffiaError(
                f"there is no column of numbers {name!r} for coordinates=… (--coordinates). It has {', '.join(table.names[:24])}."
            )
    if len(groups) > MOST:
        raise RaffiaError(f"it is a long table of more than {MOST} samples. Write them as an array, into an .npz file.")
    lone = groups.first[groups.sizes < 2]
    if len(lone):
        raise RaffiaError(
            f"{table.path}: {len(lone)} of {len(groups)} samples, by {' and '.join(layout.samples)}, have a single row, such as row "
            f"{int(lone[0]) + 1}. If each row is a sample, pass table='wide' (--table wide); else leave them out."
        )


def _fields(table: Table, layout: Layout, groups: Groups) -> tuple[Fields, list[str]]:
    places = layout.coordinates
    rows = groups.sorted_by([table.numbers[name] for name in places])
    notes = [f"{len(groups)} samples, told apart by {' and '.join(layout.samples)}, with values along {' and '.join(places)}."]
    if moved := len(np.unique(groups.numbers[rows.order != groups.order])):
        notes.append(f"the rows of {moved} samples are sorted by {' and '.join(places)}.")
    if len(places) > 1:
        return _on_nodes(table, places, rows), notes
    curves = common(table.path, places[0], rows.split(table.numbers[places[0]].astype(np.float64)), layout)
    points = curves.points
    line: Coordinates = {places[0]: (points, (places[0],))}
    return Fields(rows, places, (len(points),), line, curves), [*notes, *([curves.note] if curves.note else [])]


def _on_nodes(table: Table, places: tuple[str, ...], rows: Groups) -> Fields:
    """Fields in several dimensions, on a grid or on scattered nodes, which all samples share."""
    nodes = rows.split(np.stack([table.numbers[name].astype(np.float64) for name in places], axis=1))
    size = np.abs(nodes[0]).max() or 1.0
    if any(other.shape != nodes[0].shape or not np.abs(other - nodes[0]).max() <= 1e-9 * size for other in nodes):
        raise RaffiaError(
            f"{table.path}: samples have their values at different places {', '.join(places)}, and only curves are resampled. Write all on "
            "one grid or at the same nodes."
        )
    lines = [np.unique(nodes[0][:, axis]) for axis in range(len(places))]
    shape = tuple(len(line) for line in lines)
    if len(nodes[0]) == np.prod(shape) and len(np.unique(nodes[0], axis=0)) == len(nodes[0]):
        return Fields(rows, places, shape, {name: (line, (name,)) for name, line in zip(places, lines, strict=True)})
    each: Coordinates = {name: (nodes[0][:, axis], (NODES,)) for axis, name in enumerate(places)}
    return Fields(rows, (NODES,), (len(nodes[0]),), {NODES: (nodes[0], (NODES, "axis")), **each})
