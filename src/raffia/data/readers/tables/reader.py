"""A table in a text file as named arrays, once it is known whether its rows are samples or points of them."""

from pathlib import Path

from raffia.data.readers.layout import COLUMNS, LONG, POINTS, WIDE, Layout
from raffia.data.readers.tables import columns, long, samples, wide
from raffia.data.readers.tables.parse import Table, parsed
from raffia.data.readers.variable import Variable
from raffia.errors import RaffiaError


def variables(path: Path, asked: Layout) -> dict[str, Variable]:
    """The arrays of a table; the whole file is read. What was not asked for is recognised, and where it is unclear, asked for."""
    table = parsed(path)
    if asked.table == POINTS:
        return columns.points(table)
    if asked.table == COLUMNS:
        return columns.samples(table)
    if asked.table == WIDE:
        return wide.variables(table)
    if asked.parameters and not {*asked.samples, *asked.coordinates} <= set(table.names):
        _check_parameters(table, asked.parameters)
        return wide.variables(table, asked.parameters)  # a row of parameters for each sample, and no values to compare with
    return _recognised(table, asked)


def _check_parameters(table: Table, wanted: tuple[str, ...]) -> None:
    missing = [name for name in wanted if name not in table.numbers]
    if missing:
        raise RaffiaError(
            f"{table.path}: there is no column of numbers {' or '.join(missing)}, which the training had. A table with a row for each "
            f"sample needs {', '.join(wanted)}; it has {', '.join(table.names[:24])}."
        )


def _recognised(table: Table, asked: Layout) -> dict[str, Variable]:
    found = long.recognised(table, asked) if table.headed or asked.samples else None
    told = asked.table == LONG or bool(asked.samples)
    if told and found is None:
        raise RaffiaError(
            f"{table.path}: no columns tell where in a sample a row is, of {', '.join(table.names[:24])}. Pass "
            "sample_column=… (--sample-column) and coordinates=… (--coordinates)."
        )
    if found is not None and not told and set(found.layout.coordinates) & set(asked.wanted):
        found = None  # places in a sample are no input or output of it: rows are samples
    if found is not None and (told or found.certain):
        return samples.variables(table, found.layout)
    if found is not None:
        names, places = " and ".join(found.layout.samples), " and ".join(found.layout.coordinates)
        raise RaffiaError(
            f"{table.path}: is each row a sample, or a point of one? {names} stay the same over several rows while {places} rises, as in a "
            f"table of curves. If each row is a sample, pass table='wide' (--table wide); if {names} tell samples apart, pass "
            + " ".join(f"--sample-column {name!r}" for name in found.layout.samples)
            + " (sample_column=…)."
        )
    return _across(table, asked)


def _across(table: Table, asked: Layout) -> dict[str, Variable]:
    """A row a sample, unless columns may be."""
    if columns.unclear(table) and not set(table.names) & set(asked.wanted):
        raise RaffiaError(
            f"{table.path}: is each row a sample, or each column? {table.names[0]} rises from row to row, as coordinates do. If each row "
            f"is a sample, pass table='wide' (--table wide); if {table.names[0]} are the coordinates of functions in the other columns, "
            "pass table='columns' (--table columns)."
        )
    return wide.variables(table)
