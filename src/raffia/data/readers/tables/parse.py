"""The cells of a table: columns of numbers and of texts, by name."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import guarded
from raffia.data.readers.tables.dialect import decoded, is_number, sniffed
from raffia.data.readers.tables.headers import named
from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError

INDEX = ("", "index", "id", "no", "nr", "row", "unnamed: 0", "column 1")
FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[-+]?\d+$)")  # the exponent of 1.2D-01
TRIED = 1000  # cells of a long column, which are texts if fewer than a tenth of them are numbers
WIDEST = 256  # characters of a text that are read


@dataclass(frozen=True)
class Table:
    """Columns of numbers (`numbers`) and of texts (`texts`) in the order of the file; `headed` is whether it names them."""

    path: Path
    names: tuple[str, ...]
    numbers: dict[str, np.ndarray]
    texts: dict[str, np.ndarray]
    units: dict[str, str]
    headed: bool
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter((self.numbers | self.texts).values())))

    def listed(self) -> str:
        """The names of the first columns, for messages."""
        return ", ".join(self.names[:24])


def parsed(path: Path) -> Table:
    """The table in a text file, whose cells pandas reads in the dialect of the file."""
    text, notes = decoded(path)
    dialect = sniffed(path, text)
    body = "\n".join(text.split("\n")[dialect.skipped :])
    if dialect.comment:
        body = re.sub(rf"(?m)^\s*{re.escape(dialect.comment)}.*\n?", "", body)
    if not body.strip():
        raise RaffiaError(f"{path} is no table: there are no rows below the names of its columns.")
    cells = {"sep": r"\s+" if dialect.delimiter == " " else dialect.delimiter, "decimal": dialect.decimal}
    columns = {"header": None, "names": range(dialect.width), "index_col": False}
    pandas = optional("pandas", "Table")
    with guarded(path):
        frame = pandas.read_csv(io.StringIO(body), skipinitialspace=True, low_memory=False, **cells, **columns)
    headers = dialect.header or [str(number) for number in range(1, frame.shape[1] + 1)]
    headers = [*headers, *[""] * (frame.shape[1] - len(headers))]
    return table(path, frame, headers, dialect.headed, [*notes, *dialect.notes])


def table(path: Path, frame: Any, headers: Sequence[str], headed: bool, notes: list[str]) -> Table:
    """The columns of a frame of pandas, which are numbers or texts."""
    units, numbers, texts = named(headers), dict[str, np.ndarray](), dict[str, np.ndarray]()
    for place, name in enumerate(units):
        column = frame.iloc[:, place]
        if name == f"column {place + 1}" and column.isna().all():
            continue  # a delimiter at the end of every line
        values, percent = _numbers(name, column)
        if values is None:
            texts[name] = column.fillna("").astype(str).str.strip().to_numpy(dtype=object)
        elif place == 0 and name.lower() in INDEX and headed and len(values) > 1 and _counts(values):
            notes.append("the first column counts the rows, and is left out.")
        elif (first := re.sub(r" \(\d+\)$", "", name)) != name and np.array_equal(numbers.get(first, ()), values):
            notes.append(f"{first} stands there twice with the same values, and is read once.")
        else:
            numbers[name] = values
            if percent:
                units[name] = units[name] or "%"
                notes.append(f"{name} is in per cent: the numbers before the signs are taken.")
    if not numbers and not texts:
        raise RaffiaError(f"{path} is no table: it has no values.")
    known = {name: unit for name, unit in units.items() if unit}
    return Table(path, tuple(units), numbers, texts, known, headed, tuple(notes))


def _numbers(name: str, column: Any) -> tuple[np.ndarray | None, bool]:
    """The numbers of a column, and whether they are in per cent; None for texts. A few texts among numbers are refused."""
    if column.dtype.kind in "fiub":
        return column.to_numpy(dtype=np.int64 if column.dtype.kind == "b" else None), False
    cells = column.dropna().astype(str).str.strip()
    if len(cells) > 2 * TRIED and sum(map(is_number, cells[:TRIED])) < TRIED / 10:
        return None, False
    bare = cells.str.removesuffix("%").str.strip()
    usual = bare.str.replace(",", ".", regex=False).str.replace(FORTRAN, "e", regex=True)
    values = optional("pandas", "Table").to_numeric(usual, errors="coerce")
    missing = int(values.isna().sum())
    if len(cells) and not missing:
        return values.reindex(column.index).to_numpy(dtype=np.float64), bool((bare != cells).any())
    if 2 * missing < len(cells):
        row = int(values.index[values.isna()][0])
        raise RaffiaError(
            f"{name} holds {cells[row][:40]!r} in row {row + 1}, among numbers. Correct it, leave the cell empty, or take the column out."
        )
    return None, False


def _counts(values: np.ndarray) -> bool:
    return bool(values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(len(values))))
