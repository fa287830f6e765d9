"""Tables in long format: each row is a point of a sample, with columns for the sample, the coordinates of the point and its values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from raffia.data.readers.layout import LONG, Curves, Layout, common
from raffia.data.readers.tables.headers import is_position, names_samples
from raffia.data.readers.tables.parse import Table
from raffia.data.readers.tables.wide import PARAMETERS, SAMPLE, labels, together, variable
from raffia.data.readers.variable import Variable, optional
from raffia.errors import RaffiaError

ORDERLY = 0.02  # of the rows of a sample: how many may be out of order, as measured strains are
DISTINCT = 0.9  # of the rows of a sample: how many places must differ
FEWEST = 3  # rows a sample, on average
MOST = 2**17  # samples
NODES = "nodes"
Places = dict[str, tuple[np.ndarray, tuple[str, ...]]]
"""Coordinates with the names of their axes, by name."""
Axes = tuple[Curves | None, tuple[str, ...], Places, list[str]]
"""Curves along a line if values are such, the names of axes, coordinates, and notes."""


@dataclass(frozen=True)
class Groups:
    """Rows by their sample: `order` has those of the first sample, then those of the next; `starts` is where each begins in it.

    `samples` is the index of the sample of each row of `order`.
    """

    order: np.ndarray
    samples: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, keys: dict[str, np.ndarray], places: Sequence[np.ndarray] = ()) -> "Groups":
        """Rows with equal keys are a sample, in the order of their first rows. Within a sample, rows are sorted by the places."""
        codes = optional("pandas", "Table").DataFrame(keys).groupby(list(keys), sort=False).ngroup().to_numpy()
        order = np.lexsort([*places[::-1], codes])
        return cls(order, codes[order], np.flatnonzero(np.diff(codes[order], prepend=-1)))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def first(self) -> np.ndarray:
        """The first row of each sample."""
        return self.order[self.starts]

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """The values of each sample."""
        return np.split(values[self.order], self.starts[1:])

    def constant(self, values: np.ndarray) -> bool:
        """Whether a column has one value in each sample."""
        there = values[self.order]
        return bool(np.array_equal(there, there[self.starts][self.samples], equal_nan=values.dtype.kind == "f"))

    def distinct(self, places: list[np.ndarray]) -> float:
        """The share of rows that are at a place of their own in their sample."""
        rows = np.stack([self.samples, *(place[self.order] for place in places)], axis=1)
        return len(np.unique(rows, axis=0)) / len(rows)

    def disorder(self, values: np.ndarray) -> float:
        """The share of rows where a column does not rise, or not fall; 1 if it does not begin again with each sample."""
        steps = np.diff(values[self.order].astype(np.float64))
        across = self.starts[1:] - 1
        within = np.delete(steps, across)
        ways = [sign for sign in (1.0, -1.0) if (sign * steps[across] < 0).all()]
        return min((np.count_nonzero(~(sign * within > 0)) / len(values) for sign in ways), default=1.0)


def recognised(table: Table, asked: Layout) -> tuple[Layout | None, bool]:
    """The columns of samples and places of a table that may be long, and whether that is certain by options or names of columns."""
    columns = table.numbers | table.texts
    by_name = tuple(name for name in columns if names_samples(name) and _repeats(columns[name]))
    ids = asked.samples or by_name or tuple(name for name in columns if _in_blocks(columns[name]))
    given = tuple(name for name in asked.coordinates if name in table.numbers)
    certain = bool(asked.samples or by_name or given)
    if not ids:
        return None, certain
    groups = Groups.of({name: column(table, name) for name in ids})
    varying = [name for name in table.numbers if name not in ids and not groups.constant(table.numbers[name])]
    places = given or tuple(_places(table, varying, groups, certain))
    if not places or not set(varying) - set(places) | set(asked.functions):
        return None, certain
    return replace(asked, table=LONG, samples=ids, coordinates=places), certain


def column(table: Table, name: str) -> np.ndarray:
    """A column that names samples: all its cells must be filled."""
    values = table.texts.get(name, table.numbers.get(name))
    if values is None:
        raise RaffiaError(f"there is no column {name!r} for sample_column=… (--sample-column). It has {table.listed()}.")
    empty = values == "" if name in table.texts else np.isnan(values.astype(np.float64))
    if np.any(empty):
        raise RaffiaError(f"{table.path}: {name} names the samples, and is empty in row {int(np.argmax(empty)) + 1}.")
    return values


def variables(table: Table, layout: Layout) -> dict[str, Variable]:
    """Labels and parameters, which are the same in all rows of a sample, and all other columns as functions."""
    groups = _groups(table, layout)
    curves, axes, coordinates, notes = _axes(table, layout, groups)
    layout = layout if curves is None else curves.in_other_files(layout)
    table = replace(table, notes=(*table.notes, *notes))
    texts = {name: values[groups.first] for name, values in table.texts.items()}
    labelled = [name for name in layout.samples if name in table.numbers and names_samples(name)]  # others are parameters
    texts |= {name: table.numbers[name][groups.first].astype(str).astype(object) for name in labelled}
    numbers = {name: values for name, values in table.numbers.items() if name not in (*texts, *layout.coordinates)}
    stays = [name for name, values in numbers.items() if name not in layout.functions and groups.constant(values)]
    if missing := set(layout.parameters) - {*stays}:
        raise RaffiaError(f"{table.path}: {', '.join(sorted(missing))} must stay the same in every sample, as in training.")
    constant = {name: numbers[name][groups.first] for name in layout.parameters or stays}
    layout = replace(layout, parameters=tuple(constant), functions=tuple(name for name in numbers if name not in constant))
    if len(constant) > 1:
        note = f"{PARAMETERS} are {', '.join(constant)}, which stay the same in every sample."
        arrays = together(replace(table, notes=(*table.notes, note)), layout, constant)
    else:
        arrays = {name: variable(table, name, values, (SAMPLE,), layout) for name, values in constant.items()}
    for name in layout.functions:
        if curves is not None:
            values = np.stack([curves.values(index, curve) for index, curve in enumerate(groups.split(numbers[name]))])
        else:
            shape = [len(coordinates[axis][0]) for axis in axes]
            values = numbers[name][groups.order].reshape(len(groups), *shape)
        arrays[name] = variable(table, name, values, (SAMPLE, *axes), layout)
    arrays |= {name: variable(table, name, values, dims, layout) for name, (values, dims) in coordinates.items()}
    return arrays | labels(table, texts, layout)


def _places(table: Table, varying: list[str], groups: Groups, certain: bool) -> list[str]:
    """Columns by usual names for places that are distinct within samples, else the first one that is sorted in each."""
    usual = [name for name in varying if is_position(name)] if certain else []
    for dim in range(1, min(3, len(usual)) + 1):
        if groups.distinct([table.numbers[name] for name in usual[:dim]]) >= DISTINCT:
            return usual[:dim]
    most = ORDERLY if certain else 0.0
    return [name for name in varying if groups.disorder(table.numbers[name]) <= most][:1]


def _repeats(values: np.ndarray) -> bool:
    """Whether values come again, at least three times on average, and there are several."""
    return 2 <= len(np.unique(values)) <= len(values) / FEWEST


def _in_blocks(values: np.ndarray) -> bool:
    """Whether values stay the same over several rows, at least three on average."""
    blocks = 1 + int(np.count_nonzero(values[1:] != values[:-1]))
    return 2 <= blocks <= len(values) / FEWEST


def _groups(table: Table, layout: Layout) -> Groups:
    """The rows of each sample, those of fields sorted by their places."""
    missing = [name for name in layout.coordinates if name not in table.numbers]
    if missing:
        raise RaffiaError(
            f"there is no column of numbers {missing[0]!r} for coordinates=… (--coordinates). It has {table.listed()}."
        )
    keys = {name: column(table, name) for name in layout.samples}
    several = layout.coordinates if len(layout.coordinates) > 1 else ()  # curves are sorted one by one
    groups = Groups.of(keys, [table.numbers[name] for name in several])
    if len(groups) > MOST:
        raise RaffiaError(f"it is a long table of more than {MOST} samples. Write them as an array, into an .npz file.")
    lone = groups.first[np.bincount(groups.samples) < 2]
    if len(lone):
        raise RaffiaError(
            f"{table.path}: {len(lone)} of {len(groups)} samples, by {' and '.join(layout.samples)}, have a single row, such as row "
            f"{int(lone[0]) + 1}. If each row is a sample, pass table='wide' (--table wide); else leave them out."
        )
    return groups


def _axes(table: Table, layout: Layout, groups: Groups) -> Axes:
    """Where values are: along a line that curves share, on a grid, or on scattered nodes, which all samples share."""
    places, listed = layout.coordinates, " and ".join(layout.coordinates)
    notes = [f"{len(groups)} samples, distinguished by {' and '.join(layout.samples)}, with values along {listed}."]
    each = groups.split(np.stack([table.numbers[name].astype(np.float64) for name in places], axis=1))
    if len(places) == 1:
        curves = common(table.path, places[0], [nodes[:, 0] for nodes in each], layout)
        return curves, places, {places[0]: (curves.points, places)}, [*notes, *curves.notes]
    nodes, size = each[0], np.abs(each[0]).max() or 1.0
    if any(other.shape != nodes.shape or not np.abs(other - nodes).max() <= 1e-9 * size for other in each):
        raise RaffiaError(
            f"{table.path}: samples have their values at different places {', '.join(places)}, and only curves are resampled. Write all on "
            "one grid or at the same nodes."
        )
    lines: Places = {name: (np.unique(x), (name,)) for name, x in zip(places, nodes.T, strict=True)}
    if len(nodes) == np.prod([len(line) for line, _ in lines.values()]) == len(np.unique(nodes, axis=0)):
        return None, places, lines, notes
    scattered = {name: (x, (NODES,)) for name, x in zip(places, nodes.T, strict=True)}
    return None, (NODES,), {NODES: (nodes, (NODES, "axis")), **scattered}, notes
