"""Tables whose rows are points: of one function a column, or, in a folder with a file for each sample, of all columns together."""

import numpy as np

from raffia.data.readers.layout import COLUMNS, POINTS, Layout
from raffia.data.readers.tables.headers import dates, runs
from raffia.data.readers.tables.parse import Table
from raffia.data.readers.tables.wide import FEW, SAMPLE, variable
from raffia.data.readers.tables.words import names_places, names_samples
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError

FEWEST = 4  # points that a function has


def unclear(table: Table) -> bool:
    """Whether columns may be samples: rows go through dates, or the first column rises, and the others are many or named alike."""
    first, others = table.names[0], [name for name in table.names[1:] if name in table.numbers]
    if len(table) < FEWEST or len(others) < 2 or set(table.texts) - {first} or names_samples(first):
        return False
    if first in table.texts:
        days = dates([str(text) for text in table.texts[first]])
        rises = days is not None and len(days.columns) == len(table)
    else:
        rises = first in table.numbers and _rises(table.numbers[first])
    alike = any(len(run.columns) == len(others) for run in runs(others))
    return rises and (alike or (len(others) > FEW and (first in table.texts or names_places(first))))


def samples(table: Table) -> dict[str, Variable]:
    """One array with a row for each column, coordinates along its columns, and the numbers in the names of columns."""
    layout, first = Layout(COLUMNS), table.names[0]
    across = [name for name in table.numbers if name != first]
    if not across:
        raise RaffiaError("table='columns' (--table columns) needs a column of coordinates and more, with values.")
    name = table.path.stem
    place = first if first in table.numbers else f"rows of {name}"
    joined = np.stack([table.numbers[column] for column in across])
    held = {name: variable(table, name, joined, (SAMPLE, place), layout)}
    for run in runs(across):
        if run.numbers is not None and len(run.columns) == len(across):
            known = dict(zip(run.columns, run.numbers, strict=True))
            numbers = np.array([known[column] for column in across])
            held["column numbers"] = variable(table, "column numbers", numbers, (SAMPLE,), layout)
    if first in table.numbers:
        held[first] = variable(table, first, table.numbers[first], (first,), layout)
    return held


def points(table: Table) -> dict[str, Variable]:
    """Each column as one function along the rows; without names, all of them as one array."""
    layout, rows = Layout(POINTS), f"rows of {table.path.stem}"
    if not table.headed and len(table.numbers) > 1:
        joined = np.stack(list(table.numbers.values()), axis=1)
        return {table.path.stem: variable(table, table.path.stem, joined, (rows, "columns"), layout)}
    place = next((name for name, values in table.numbers.items() if names_places(name) and _rises(values)), rows)
    return {name: variable(table, name, values, (place,), layout) for name, values in table.numbers.items()}


def _rises(values: np.ndarray) -> bool:
    """Whether values rise or fall, from each row to the next."""
    steps = np.diff(values.astype(np.float64))
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())
