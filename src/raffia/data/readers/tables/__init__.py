"""Tables in text files as named arrays: whether a row is a sample or a point of one is recognised, or asked for."""

from pathlib import Path
from typing import Any

from raffia.data.readers.layout import COLUMNS, LONG, POINTS, WIDE, Layout
from raffia.data.readers.tables import long, wide
from raffia.data.readers.tables.parse import Table, parsed, table
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError


def variables(path: Path, asked: Layout) -> dict[str, Variable]:
    """The arrays of a table in a text file, all of which is read."""
    return _arranged(parsed(path), asked)


def of_frame(path: Path, frame: Any, asked: Layout) -> dict[str, Variable]:
    """The arrays of a pandas DataFrame."""
    return _arranged(table(path, frame, [str(name) for name in frame.columns], True, []), asked)


def _arranged(table: Table, asked: Layout) -> dict[str, Variable]:
    """The arrays of a table. What the layout does not say is recognised, and if that is unclear, asked for."""
    if asked.table in ("", POINTS) and (on_nodes := wide.nodes(table)):
        return on_nodes
    if asked.table == POINTS:
        return wide.points(table)
    if asked.table == COLUMNS:
        return wide.columns(table)
    if asked.table == WIDE:
        return wide.variables(table)
    if asked.parameters and not {*asked.samples, *asked.coordinates} <= set(table.names):
        missing = [name for name in asked.parameters if name not in table.numbers]
        if missing:
            raise RaffiaError(
                f"{table.path}: there is no column of numbers {' or '.join(missing)}, which the training had. A table with a row for each "
                f"sample needs {', '.join(asked.parameters)}; it has {table.listed()}."
            )
        return wide.variables(table, asked.parameters)  # a row of parameters for each sample, and no values to compare with
    return _recognised(table, asked)


def _recognised(table: Table, asked: Layout) -> dict[str, Variable]:
    layout, certain = long.recognised(table, asked) if table.headed or asked.samples else (None, False)
    given = asked.table == LONG or bool(asked.samples)
    if given and layout is None:
        raise RaffiaError(
            f"{table.path}: no columns tell where in a sample a row is, of {table.listed()}. Pass "
            "sample_column=… (--sample-column) and coordinates=… (--coordinates)."
        )
    if layout is not None and not given and set(layout.coordinates) & set(asked.wanted):
        layout = None  # places in a sample are no input or output of it: rows are samples
    if layout is not None and (given or certain):
        return long.variables(table, layout)
    if layout is not None:
        names, places = " and ".join(layout.samples), " and ".join(layout.coordinates)
        raise RaffiaError(
            f"{table.path}: is each row a sample, or a point of one? {names} stay the same over several rows while {places} rises, as in a "
            f"table of curves. If each row is a sample, pass table='wide' (--table wide); if {names} tell samples apart, pass "
            + " ".join(f"--sample-column {name!r}" for name in layout.samples)
            + " (sample_column=…)."
        )
    if wide.may_be_columns(table) and not set(table.names) & set(asked.wanted):
        raise RaffiaError(
            f"{table.path}: is each row a sample, or each column? {table.names[0]} rises from row to row, as coordinates do. If each row "
            f"is a sample, pass table='wide' (--table wide); if {table.names[0]} are the coordinates of functions in the other columns, "
            "pass table='columns' (--table columns)."
        )
    return wide.variables(table)
