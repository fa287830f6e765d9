"""Tables with a row for each sample: columns of numbers, and runs of columns that are functions."""

from dataclasses import replace
from functools import partial

import numpy as np

from raffia.data.readers.layout import WIDE, Layout
from raffia.data.readers.tables.headers import Run, runs
from raffia.data.readers.tables.parse import WIDEST, Table
from raffia.data.readers.variable import Rows, Variable, check_count

FEW = 8  # so many columns with a common stem are rather parameters than a function
PARAMETERS = "parameters"
SAMPLE = "sample"  # the name of the axis that counts samples


def variables(table: Table, parameters: tuple[str, ...] = ()) -> dict[str, Variable]:
    """A number a sample for each column, an array for each run of them, and the numbers in their names as its coordinates.

    Columns that were `parameters` of a long table are one array, as there.
    """
    layout = Layout(WIDE)
    found = together(table, layout, {name: table.numbers[name] for name in parameters}) if len(parameters) > 1 else {}
    whole = [] if table.headed or len(table.numbers) < 2 else [Run(table.path.stem, tuple(table.numbers))]
    groups = whole or runs(list(table.numbers))
    starts = {run.columns[0]: run for run in groups}
    inside = {column for run in groups for column in run.columns}
    check_count(table.path, len(table.numbers) - len(inside) + len(groups))
    for name, values in table.numbers.items():
        if name in starts:
            found |= _run(table, starts[name], layout)
        elif name not in inside:
            found[name] = variable(table, name, values, (SAMPLE,), layout)
    return found | labels(table, table.texts, layout)


def variable(
    table: Table, name: str, values: np.ndarray, dims: tuple[str, ...], layout: Layout, columns: tuple[str, ...] = ()
) -> Variable:
    """An array of a table, made of these columns."""
    units = {"units": table.units[name]} if name in table.units else {}
    listed = {"columns": columns} if columns else {}
    return Variable.of_array(name, values, dims, units | listed, table.path, notes=table.notes, layout=layout)


def together(table: Table, layout: Layout, columns: dict[str, np.ndarray]) -> dict[str, Variable]:
    """One array of the parameters of each sample."""
    joined, dims = np.stack(list(columns.values()), axis=1), (SAMPLE, f"{PARAMETERS} by name")
    return {PARAMETERS: variable(table, PARAMETERS, joined, dims, layout, tuple(columns))}


def labels(table: Table, texts: dict[str, np.ndarray], layout: Layout) -> dict[str, Variable]:
    """Texts, which name samples."""
    held = {}
    for name, values in texts.items():
        kind = f"<U{min(WIDEST, max((len(text) for text in values), default=1) or 1)}"
        load = partial(_texts, values, kind)
        held[name] = Variable(name, values.shape, kind, (SAMPLE,), {}, table.path, load, notes=table.notes, layout=layout)
    return held


def _run(table: Table, run: Run, layout: Layout) -> dict[str, Variable]:
    values = np.stack([table.numbers[column] for column in run.columns], axis=1)
    places = f"columns of {run.name}"
    found = {run.name: variable(table, run.name, values, (SAMPLE, places), layout, run.columns)}
    if run.numbers is not None and len(run.columns) > FEW:
        line = variable(table, places, np.array(run.numbers), (places,), layout)
        found[places] = replace(line, attributes={"units": run.units}) if run.units else line
    return found


def _texts(values: np.ndarray, kind: str, rows: Rows) -> np.ndarray:
    return (values if rows is None else values[rows]).astype(kind)
