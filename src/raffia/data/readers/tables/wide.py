"""Tables whose columns are numbers of a sample or functions: a row a sample, a column a sample, or one sample with rows for points.

Columns are chosen by name, and several at once: 1100..2500 or u_10..u_50, 'c*', or 3:24 by their places.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import filter as matching
from functools import partial

import numpy as np

from raffia.data.readers.layout import COLUMNS, POINTS, WIDE, Layout
from raffia.data.readers.meshes.cells import Cells
from raffia.data.readers.meshes.content import Content
from raffia.data.readers.tables.headers import UNITS, Run, dates, is_position, names_samples, runs
from raffia.data.readers.tables.parse import DECIMAL, WIDEST, Table
from raffia.data.readers.variable import Rows, Variable, check_count, rows_of
from raffia.errors import RaffiaError

FEW = 8  # so many columns with a common stem are rather parameters than a function
FEWEST = 4  # points that a function has
PARAMETERS = "parameters"
SAMPLE = "sample"  # the name of the axis that counts samples
COMPONENT = re.compile(r"(.+)[:_](\d)")
NODES_OF_PARAVIEW = "Points"


def variables(table: Table, parameters: tuple[str, ...] = ()) -> dict[str, Variable]:
    """A row a sample: a number a sample for each column, an array for each run of columns, and the numbers in their names.

    Columns that were `parameters` of a long table are one array, as there.
    """
    layout = Layout(WIDE)
    arrays = together(table, layout, {name: table.numbers[name] for name in parameters}) if len(parameters) > 1 else {}
    whole = [] if table.headed or len(table.numbers) < 2 else [Run(table.path.stem, tuple(table.numbers))]
    groups = whole or runs(list(table.numbers))
    starts = {run.columns[0]: run for run in groups}
    inside = {column for run in groups for column in run.columns}
    check_count(table.path, len(table.numbers) - len(inside) + len(groups))
    for name, values in table.numbers.items():
        if name in starts:
            arrays |= _run(table, starts[name], layout)
        elif name not in inside:
            arrays[name] = variable(table, name, values, (SAMPLE,), layout)
    return arrays | labels(table, table.texts, layout)


def may_be_columns(table: Table) -> bool:
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
    return rises and (alike or (len(others) > FEW and (first in table.texts or is_position(first))))


def columns(table: Table) -> dict[str, Variable]:
    """A column a sample: one array with a row for each column, coordinates along its columns, and the numbers in their names."""
    layout, first, name = Layout(COLUMNS), table.names[0], table.path.stem
    across = [column for column in table.numbers if column != first]
    if not across:
        raise RaffiaError("table='columns' (--table columns) needs a column of coordinates and more, with values.")
    place = first if first in table.numbers else f"rows of {name}"
    joined = np.stack([table.numbers[column] for column in across])
    arrays = {name: variable(table, name, joined, (SAMPLE, place), layout)}
    for run in runs(across):
        if run.numbers is not None and len(run.columns) == len(across):
            known = dict(zip(run.columns, run.numbers, strict=True))
            numbers = np.array([known[column] for column in across])
            arrays["column numbers"] = variable(table, "column numbers", numbers, (SAMPLE,), layout)
    if first in table.numbers:
        arrays[first] = variable(table, first, table.numbers[first], (first,), layout)
    return arrays


def points(table: Table) -> dict[str, Variable]:
    """One sample: each column as a function along the rows; without names, all of them as one array."""
    layout, rows = Layout(POINTS), f"rows of {table.path.stem}"
    if not table.headed and len(table.numbers) > 1:
        joined = np.stack(list(table.numbers.values()), axis=1)
        return {table.path.stem: variable(table, table.path.stem, joined, (rows, "columns"), layout)}
    place = next((name for name, values in table.numbers.items() if is_position(name) and _rises(values)), rows)
    return {name: variable(table, name, values, (place,), layout) for name, values in table.numbers.items()}


def nodes(table: Table) -> dict[str, Variable]:
    """The fields of a table that ParaView wrote on its nodes, which are the columns Points:0 to Points:2; nothing of other tables."""
    fields: dict[str, list[np.ndarray]] = {}
    for name, values in table.numbers.items():
        match = COMPONENT.fullmatch(name)
        fields.setdefault(match[1] if match else name, []).append(values)
    if len(coordinates := fields.pop(NODES_OF_PARAVIEW, [])) != 3:
        return {}
    data = {name: np.stack(several, axis=1) for name, several in fields.items()}
    return Content(np.stack(coordinates, axis=1), Cells.joined([]), data).variables(table.path)


def variable(
    table: Table, name: str, values: np.ndarray, dims: tuple[str, ...], layout: Layout, columns: tuple[str, ...] = ()
) -> Variable:
    """Return values from a table as a `Variable`, with the units and the names of its columns."""
    units = {"units": table.units[name]} if name in table.units else {}
    listed = {"columns": columns} if columns else {}
    return Variable.of_array(table.path, name, values, dims, attributes=units | listed, notes=table.notes, layout=layout)


def together(table: Table, layout: Layout, columns: dict[str, np.ndarray]) -> dict[str, Variable]:
    """One array of the parameters of each sample."""
    joined, dims = np.stack(list(columns.values()), axis=1), (SAMPLE, f"{PARAMETERS} by name")
    return {PARAMETERS: variable(table, PARAMETERS, joined, dims, layout, columns=tuple(columns))}


def labels(table: Table, texts: dict[str, np.ndarray], layout: Layout) -> dict[str, Variable]:
    """Texts, which name samples."""
    arrays = {}
    for name, values in texts.items():
        kind = f"<U{min(WIDEST, max((len(text) for text in values), default=1) or 1)}"
        load = partial(rows_of, values)  # which a variable gives as texts of its kind
        arrays[name] = Variable(table.path, name, values.shape, kind, load, dims=(SAMPLE,), notes=table.notes, layout=layout)
    return arrays


def _run(table: Table, run: Run, layout: Layout) -> dict[str, Variable]:
    """The array of some columns, and coordinates for its columns if their names have them."""
    table = replace(table, notes=(*table.notes, run.note)) if run.note else table
    values = np.stack([table.numbers[column] for column in run.columns], axis=1)
    places = f"columns of {run.name}"
    arrays = {run.name: variable(table, run.name, values, (SAMPLE, places), layout, columns=run.columns)}
    if run.numbers is not None and not run.labels and len(run.columns) > FEW:
        line = variable(table, places, np.array(run.numbers), (places,), layout)
        arrays[places] = replace(line, attributes={"units": run.units}) if run.units else line
    return arrays


def _rises(values: np.ndarray) -> bool:
    """Whether values rise or fall, from each row to the next."""
    steps = np.diff(values.astype(np.float64))
    return len(steps) > 0 and bool((steps > 0).all() or (steps < 0).all())


Column = tuple[Variable, int | None]
"""A column of a table: an array of its own, or one at a place in a run."""


def selected(arrays: dict[str, Variable], names: Iterable[str]) -> dict[str, Variable]:
    """The arrays, and those that names mean beside them; names without a meaning are left out, for others to refuse.

    A name is that of a column, also with its units; FIRST..LAST are columns between two names, or those named by
    numbers between two; a name with * matches columns;
    FIRST:LAST are columns by their places, from 0, without the last.
    """
    every, columns = dict(arrays), _columns(arrays)
    for name in names:
        if name not in every and (chosen := _meant(columns, name)):
            every |= _joined(arrays, name, chosen)
    return every


def _columns(arrays: dict[str, Variable]) -> dict[str, Column]:
    """All columns of tables in their order, by name."""
    columns: dict[str, Column] = {}
    for v in arrays.values():
        if v.layout is None or not v.numeric or v.dims == (v.name,):
            continue
        for place, column in enumerate(v.attributes.get("columns", ())):
            columns.setdefault(column, (v, place))
        if len(v.shape) == 1:
            columns[v.name] = (v, None)
    return columns


def _meant(columns: dict[str, Column], name: str) -> list[Column]:
    """The columns that a name means."""
    order, every = list(columns), list(columns.values())
    bare = match[1] if (match := UNITS.fullmatch(name)) else name
    if name in columns or bare in columns:
        return [columns.get(name) or columns[bare]]
    first, _, last = name.partition("..")
    if first in columns and last in columns:
        return every[order.index(first) : order.index(last) + 1]
    if DECIMAL.fullmatch(first) and DECIMAL.fullmatch(last):
        inside = [column for column in order if DECIMAL.fullmatch(column) and float(first) <= float(column) <= float(last)]
        return [columns[column] for column in inside]
    if "*" in name:
        return [columns[column] for column in matching(order, name)]
    start, colon, stop = name.partition(":")
    if colon and all(part.isdigit() or not part for part in (start, stop)):
        return every[int(start or 0) : int(stop or len(order))]
    return []


def _joined(arrays: dict[str, Variable], name: str, columns: list[Column]) -> dict[str, Variable]:
    """An array of these columns, or of one as a number a sample; and their coordinates if they are of one function that has such."""
    run, places = columns[0][0], [place for _, place in columns if place is not None]
    several, single = {v.name: v for v, _ in columns}, len(columns) == 1

    def read(rows: Rows) -> np.ndarray:
        values = {key: v.read(rows) for key, v in several.items()}
        chosen = [values[v.name] if place is None else values[v.name][:, place] for v, place in columns]
        return chosen[0] if single else np.stack(chosen, axis=1)

    dims, shape = ((run.dims or ("",))[0], f"columns of {name}"), (run.shape[0], len(columns))
    rank, dtype = 1 if single else 2, np.result_type(*[v.dtype for v in several.values()]).str
    units = {key: value for key, value in run.attributes.items() if key == "units"}
    found = {name: replace(run, name=name, shape=shape[:rank], dims=dims[:rank], dtype=dtype, load=read, attributes=units)}
    line = arrays.get((run.dims or ("",))[-1])
    if not single and len(several) == 1 and line is not None and line.dims == (line.name,) and len(places) == len(columns):
        x, more = line.read()[places], {"attributes": line.attributes, "notes": line.notes, "layout": line.layout}
        found[dims[1]] = Variable.of_array(run.path, dims[1], x, dims[1:], **more)
    return found
