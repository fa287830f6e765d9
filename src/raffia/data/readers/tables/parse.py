"""The cells of a table: columns of numbers and of texts, by name."""

import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import guarded
from raffia.data.readers.tables.dialect import Dialect, decoded, is_number, sniffed
from raffia.data.readers.tables.headers import named
from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError

INDEX = ("", "index", "id", "no", "nr", "row", "unnamed: 0", "column 1")
FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[-+]?\d+$)")  # the exponent of 1.2D-01
TRIED = 1000  # cells of a long column, which are texts if fewer than a tenth of them are numbers
WIDEST = 256  # characters of a text that are kept


@dataclass(frozen=True)
class Table:
    """Columns of numbers (`numbers`) and of texts (`texts`) in the order of the file; `headed` is whether it names them."""

    path: Path
    names: tuple[str, ...]
    numbers: dict[str, np.ndarray]
    texts: dict[str, np.ndarray]
    units: dict[str, str]
    headed: bool
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(next(iter((self.numbers | self.texts).values())))


def parsed(path: Path) -> Table:
    """The table in a text file."""
    text, notes = decoded(path)
    dialect = sniffed(path, text)
    body = "\n".join(text.split("\n")[dialect.skipped :])
    if dialect.comment:
        body = re.sub(rf"(?m)^\s*{re.escape(dialect.comment)}.*\n?", "", body)
    frame = _frame(path, body, dialect)
    headers = dialect.header or tuple(str(number) for number in range(1, frame.shape[1] + 1))
    names, units = named([*headers, *[""] * (frame.shape[1] - len(headers))])
    columns = {name: frame[at] for at, name in enumerate(names)}
    return _table(path, columns, units, bool(dialect.header), [*notes, *dialect.notes])


def _frame(path: Path, body: str, dialect: Dialect) -> Any:
    """The cells, by pandas: a column of numbers only is one of floats or integers."""
    pandas = _pandas()
    if not body.strip():
        raise RaffiaError(f"{path} is no table: there are no rows below the names of its columns.")
    cells = {"sep": r"\s+" if dialect.delimiter == " " else dialect.delimiter, "decimal": dialect.decimal}
    columns = {"header": None, "names": range(dialect.width), "index_col": False}
    with guarded(path):
        return pandas.read_csv(io.StringIO(body), skipinitialspace=True, low_memory=False, **cells, **columns)


def _table(path: Path, columns: dict[str, Any], units: dict[str, str], headed: bool, notes: list[str]) -> Table:
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, np.ndarray] = {}
    for position, (name, column) in enumerate(columns.items()):
        if name == f"column {position + 1}" and column.isna().all():
            continue  # a delimiter at the end of every line
        values, percent = _numbers(path, name, column)
        if values is None:
            texts[name] = column.fillna("").astype(str).str.strip().to_numpy(dtype=object)
        elif position == 0 and name.lower() in INDEX and headed and len(values) > 1 and _counts(values):
            notes.append("the first column counts the rows, and is left out.")
        elif (first := re.sub(r" \(\d+\)$", "", name)) != name and np.array_equal(numbers.get(first, ()), values):
            notes.append(f"{first} stands there twice with the same values, and is read once.")
        else:
            numbers[name] = values
            if percent:
                units.setdefault(name, "%")
                notes.append(f"{name} is in per cent: the numbers before the signs are taken.")
    if not numbers and not texts:
        raise RaffiaError(f"{path} is no table: it has no values.")
    return Table(path, tuple(columns), numbers, texts, units, headed, tuple(notes))


def _numbers(path: Path, name: str, column: Any) -> tuple[np.ndarray | None, bool]:
    """The numbers of a column, and whether they are in per cent; None for texts. A few texts among numbers are refused."""
    if column.dtype.kind in "fiu":
        return column.to_numpy(), False
    if column.dtype.kind == "b":
        return column.to_numpy().astype(np.int64), False
    cells = column.dropna().astype(str).str.strip()
    if len(cells) > 2 * TRIED and sum(map(is_number, cells[:TRIED])) < TRIED / 10:
        return None, False
    bare = cells.str.removesuffix("%").str.strip()
    usual = bare.str.replace(",", ".", regex=False).str.replace(FORTRAN, "e", regex=True)
    found = _pandas().to_numeric(usual, errors="coerce")
    missing = int(found.isna().sum())
    if len(cells) and not missing:
        whole = np.full(len(column), np.nan)
        whole[cells.index.to_numpy()] = found.to_numpy(dtype=np.float64)
        return whole, bool((bare != cells).any())
    if 2 * missing < len(cells):
        row = int(found.index[found.isna()][0])
        raise RaffiaError(
            f"{name} holds {cells[row][:40]!r} in row {row + 1}, among numbers. Correct it, leave the cell empty, or take the column out."
        )
    return None, False


def _counts(values: np.ndarray) -> bool:
    return bool(values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(len(values))))


def _pandas() -> Any:
    return optional("pandas", "Table")
