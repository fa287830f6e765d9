"""The cells of a table in a text file: its encoding, delimiter, decimal mark, comments and header, and its columns by name."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import Damaged, guarded
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


LOOKED = 32  # lines that are looked at
ENOUGH, LONGEST = 2**18, 2**22  # characters that are looked at, if they are three lines, and of a single line
MOST = 2**14  # columns
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "white space"}
COMMENTS = ("#", "%", "//", "!")
NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)?\.?|[.,]\d+)(?:[eEdD][-+]?\d+)?\s*%?|[-+]?(?:nan|inf)", re.IGNORECASE)
MISSING = ("", "na", "n/a", "#n/a", "null", "none", "-nan", "<na>")


@dataclass(frozen=True)
class Dialect:
    """How a text writes its table, whose rows are all that follows line `skipped`.

    `headed` is whether the header has names; it may also have the numbers of columns alone.
    """

    delimiter: str
    decimal: str
    comment: str
    header: tuple[str, ...]
    headed: bool
    skipped: int
    width: int
    notes: tuple[str, ...] = ()


def decoded(path: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a note if its encoding is unusual."""
    content, notes = path.read_bytes(), tuple[str, ...]()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with guarded(path):
            text, notes = content.decode("utf-16"), ("the text is UTF-16.",)
    elif b"\0" in content:
        raise RaffiaError(f"{path} is damaged or no table: it holds bytes that are no text. Export it as text (CSV).")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text, notes = content.decode("latin-1"), ("the text is no UTF-8, so it is taken for Latin-1.",)
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def sniffed(path: Path, text: str) -> Dialect:
    """The dialect of a text, by its first lines."""
    body, comment, above = _first_lines(path, text)
    if not body:
        raise RaffiaError(f"{path} is no table: it has no lines with values.")
    delimiter = max(DELIMITERS, key=lambda mark: _score(mark, [line for _, line in body]))
    rows = [cells(line, delimiter) for _, line in body]
    below = rows[1:] or rows
    commas, stops = (
        sum(bool(re.search(rf"\d{mark}\d", cell)) for row in below for cell in row if is_number(cell)) for mark in ",."
    )
    header, headed, notes = _header(rows, above, delimiter)
    above_rows = int(header is rows[0])
    if delimiter != "," or commas > stops:
        notes.insert(0, f"columns are separated by {DELIMITERS[delimiter]}{', decimals by commas' if commas > stops else ''}.")
    width = len(header) or max(len(row) for row in rows)
    longest = max(len(row) - (not row[-1]) for row in below)
    if header and longest > width + 1:
        raise RaffiaError(f"{path}: its header names {width} columns, and a row below has {longest} cells. Name all, or none.")
    if width > MOST:
        raise RaffiaError(f"{path} has more than {MOST} columns. Write it with a row for each point, or as an .npz file.")
    if header and longest == width + 1:  # as R writes the names of rows, without a name for their column
        header = ["", *header]
        notes.append("the first column has no name: there is one name less than columns.")
    elif header and len(below[0]) == width + 1:  # a delimiter at the end of every row
        header = [*header, ""]
    skipped = body[above_rows][0] if len(body) > above_rows else len(text.splitlines())
    return Dialect(
        delimiter, "," if commas > stops else ".", comment, tuple(header), headed, skipped, len(header) or width, tuple(notes)
    )


def cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, without quotes and blanks around them."""
    if delimiter == " ":
        line = re.sub(r"\s+", " ", line.strip())
    if delimiter not in line:
        return [line.strip().strip('"')]
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error as error:
        raise Damaged(f"{error} in its first lines") from None


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, however its decimals are written."""
    return NUMBER.fullmatch(cell) is not None


def _first_lines(path: Path, text: str) -> tuple[list[tuple[int, str]], str, str]:
    """The first lines that are neither empty nor comments, each with its number; the mark of comments, and the last one above."""
    lines: list[tuple[int, str]] = []
    start, at, comment, above = 0, 0, None, ""
    while len(lines) < LOOKED and start < len(text) and (len(lines) < 3 or start < ENOUGH):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start > LONGEST:
            raise RaffiaError(f"{path} is no table: line {at + 1} has {end - start} characters.")
        line = text[start:end]
        if line.strip():
            comment = next((mark for mark in COMMENTS if line.startswith(mark)), "") if comment is None else comment
            if not (comment and line.startswith(comment)):
                lines.append((at, line))
            elif not lines:
                above = line[len(comment) :].strip()
        start, at = end + 1, at + 1
    return lines, comment or "", above


def _score(delimiter: str, lines: list[str]) -> tuple[bool, float, int]:
    """How well a delimiter explains lines: as many cells in all but the first, most of them numbers, and more than one."""
    rows = [cells(line, delimiter) for line in lines[1:] or lines]
    counts = [len(row) for row in rows]
    common = max(set(counts), key=counts.count)
    if common < 2:
        return False, 0.0, 0
    numbers = sum(bool(NUMBER.fullmatch(cell)) or cell.lower() in MISSING for row in rows for cell in row) / sum(counts)
    return counts.count(common) >= 0.9 * len(rows), round(numbers, 2), common


def _header(rows: Sequence[list[str]], above: str, delimiter: str) -> tuple[list[str], bool, list[str]]:
    """The cells that name or number the columns, whether they are names, and notes."""
    first, below = rows[0], rows[1:]
    if below and _counts_columns(first, below):
        return first, False, ["the first line is taken for the numbers of columns, as it counts them."]
    if _names(first, below):
        return first, True, []
    if below and _in_steps(first) and not any(map(_in_steps, below[:3])):
        return first, True, ["the first line is taken for the names of columns, as it counts in equal steps."]
    named = next((names for mark in (delimiter, " ") if len(names := cells(above, mark)) == len(first)), [])
    if above and named and not all(map(is_number, named)):
        return named, True, ["the names of the columns are in the last line of the comment."]
    return [], False, ["there is no line with the names of columns."] if any(map(is_number, first)) and below else []


def _names(first: list[str], below: Sequence[list[str]]) -> bool:
    """Whether the first row has a text above numbers, or, where all rows are texts, a different one in each column."""
    if not below:
        return not all(map(is_number, first))
    for column, cell in enumerate(first):
        under = [row[column] for row in below if column < len(row)]
        if cell and not is_number(cell) and cell.lower() not in MISSING and any(map(is_number, under)):
            return True
    return not any(map(is_number, first)) and len(set(first)) == len(first) > 1


def _counts_columns(first: list[str], below: Sequence[list[str]]) -> bool:
    """Whether a row has the numbers of columns: it counts from 0 or 1, and its like is not below it."""
    counted = len(first) > 1 and first in ([str(i + start) for i in range(len(first))] for start in (0, 1))
    if not counted or any(re.fullmatch(r"[-+]?\d*", cell) for row in below for cell in row):
        return False
    for columns in zip(first, *below[:2], strict=False):
        if all(re.fullmatch(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?", cell) for cell in columns):
            steps = np.diff(np.array(columns, float))
            if len(set(steps.round(9))) == 1 and steps.any():
                return False  # a column goes on in equal steps, from the first row on
    return True


def _in_steps(row: list[str]) -> bool:
    """Whether a row counts in equal steps; a text at its start may name the index."""
    numbers = [float(cell) for cell in row if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", cell)]
    if len(numbers) < 4 or len(numbers) < len(row) - 2:
        return False
    steps = [b - a for a, b in pairwise(numbers)]
    return min(steps) > 0 and max(steps) - min(steps) <= 1e-6 * max(map(abs, numbers))
