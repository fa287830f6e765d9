"""A table with the parameters of each sample, beside the file or the folder that holds the samples."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from raffia.data.infer.names import Variables
from raffia.data.options import Names, listed
from raffia.data.readers import variables
from raffia.data.readers.folders import NAMES, NUMBERS
from raffia.data.readers.layout import WIDE, Layout
from raffia.data.readers.tables.wide import selected
from raffia.data.readers.variable import Rows, Variable
from raffia.errors import RaffiaError

FLAG = "parameters=… (--parameters)"


def with_parameters(place: Path, arrays: Variables, path: Path, input: Names | None) -> tuple[Variables, list[str]]:
    """The arrays of a dataset together with those of its table of parameters, and which are inputs: all of it, unless said.

    Rows of the table go with files by their names in one of its columns, by the numbers in their names, or in order.
    """
    table = variables(path, Layout(WIDE))
    matched, key = _matched(path, table, arrays)
    if twice := sorted(set(matched) & set(arrays)):
        raise RaffiaError(f"{FLAG}: {path} has {', '.join(twice)}, as {place} has. Rename the column.")
    found = selected(arrays | matched, listed(input))
    numbers = [name for name, v in matched.items() if v.numeric and name != key and v.dims != (name,)]
    if not numbers:
        raise RaffiaError(f"{FLAG}: {path} has no columns of numbers, beside those that name files.")
    return found, listed(input) or numbers


def _matched(path: Path, table: Variables, arrays: Variables) -> tuple[Variables, str]:
    """The arrays of a table, a row for each file, and the column that tells which."""
    if NAMES not in arrays:
        return table, ""
    files = [str(name) for name in arrays[NAMES].read()]
    for name, column in table.items():
        if not column.numeric and len(column.shape) == 1:
            known = {Path(str(text)).name: row for row, text in enumerate(column.read())}
            known |= {Path(file).stem: row for file, row in known.items()}
            rows = [known.get(file, known.get(Path(file).stem)) for file in files]
            if any(row is not None for row in rows):
                return _taken(path, table, files, rows, f"by the names of files in {name}"), name
    if NUMBERS in arrays and arrays[NUMBERS].shape[1] == 1:
        wanted = arrays[NUMBERS].read()[:, 0]
        for name, column in table.items():
            if column.numeric and len(column.shape) == 1 and column.dims != (name,):
                values = list(column.read())
                if len(set(values)) == len(values) and set(wanted) <= set(values):
                    rows = [values.index(number) for number in wanted]
                    return _taken(path, table, files, rows, f"by the numbers in the names of files, in {name}"), name
    count = next((v.shape[0] for v in table.values() if v.dims != (v.name,)), 0)
    if count != len(files):
        raise RaffiaError(
            f"{FLAG}: {path} has {count} rows for {len(files)} files, and no column of it names them. Add one with the names of the files."
        )
    return _taken(path, table, files, list(range(count)), "in the order of the files"), ""


def _taken(path: Path, table: Variables, files: list[str], rows: list[int | None], how: str) -> Variables:
    missing = [file for file, row in zip(files, rows, strict=True) if row is None]
    if missing:
        raise RaffiaError(f"{FLAG}: {path} has no row for {len(missing)} of {len(files)} files, such as {missing[0]}.")
    order = np.array(rows, dtype=np.int64)
    note = f"parameters are from {path.name}, {how}."
    return {name: v if v.dims == (name,) else _reordered(v, order, note) for name, v in table.items()}


def _reordered(variable: Variable, order: np.ndarray, note: str) -> Variable:
    shape = (len(order), *variable.shape[1:])
    return replace(variable, shape=shape, load=partial(_rows, variable, order), notes=(*variable.notes, note))


def _rows(variable: Variable, order: np.ndarray, rows: Rows) -> np.ndarray:
    return variable.read()[order if rows is None else order[rows]]
