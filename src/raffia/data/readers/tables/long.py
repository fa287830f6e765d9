"""Tables with a row for each point of a sample: columns that name the sample, the place in it, and values there."""

from dataclasses import dataclass, replace

import numpy as np

from raffia.data.readers.layout import LONG, Layout
from raffia.data.readers.tables.groups import Groups
from raffia.data.readers.tables.parse import Table
from raffia.data.readers.tables.words import names_places, names_samples
from raffia.errors import RaffiaError

ORDERLY = 0.02  # of the rows of a sample: how many may be out of order, as measured strains are
DISTINCT = 0.9  # of the rows of a sample: how many places must differ
FEWEST = 3  # rows a sample, on average


@dataclass(frozen=True)
class Found:
    """How a table may be long, and whether that is `certain` by what was said or by the names of its columns."""

    layout: Layout
    certain: bool


def recognised(table: Table, asked: Layout) -> Found | None:
    """Which columns name samples and places, as far as it was not said; None for tables that are not long."""
    columns = table.numbers | table.texts
    by_name = tuple(name for name in columns if names_samples(name) and _repeats(columns[name]))
    ids = asked.samples or by_name or tuple(name for name in columns if _in_blocks(columns[name]))
    told = tuple(name for name in asked.coordinates if name in table.numbers)
    certain = bool(asked.samples or by_name or told)
    if not ids:
        return None
    groups = Groups.of([column(table, name) for name in ids])
    varying = [name for name in table.numbers if name not in ids and not groups.constant(table.numbers[name])]
    places = told or tuple(_places(table, varying, groups, certain))
    if not places or not set(varying) - set(places) | set(asked.functions):
        return None
    return Found(replace(asked, table=LONG, samples=ids, coordinates=places), certain)


def column(table: Table, name: str) -> np.ndarray:
    """A column that names samples: all its cells must be filled."""
    values = table.texts.get(name, table.numbers.get(name))
    if values is None:
        raise RaffiaError(
            f"there is no column {name!r} for sample_column=… (--sample-column). It has {', '.join(table.names[:24])}."
        )
    empty = values == "" if name in table.texts else np.isnan(values.astype(np.float64))
    if np.any(empty):
        raise RaffiaError(f"{table.path}: {name} names the samples, and is empty in row {int(np.argmax(empty)) + 1}.")
    return values


def _places(table: Table, varying: list[str], groups: Groups, certain: bool) -> list[str]:
    """Columns by usual names for places that are distinct within samples, else the first one that is sorted in each."""
    usual = [name for name in varying if names_places(name)] if certain else []
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
