"""The cells of a table in a text file: its encoding, delimiter, decimal mark, comments and header, and its columns by name."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from raffia.data.readers.damage import Damaged, guarded
from raffia.data.readers.tables.headers import named
from raffia.data.readers.variable import optional
from raffia.errors import RaffiaError

LOOKED = 16  # lines that are looked at
LONGEST = 2**19  # characters of such a line
MOST = 2**14  # columns
DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "white space"}
COMMENTS = ("#", "%", "//", "!")
NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)?\.?|[.,]\d+)(?:[eEdD][-+]?\d+)?\s*%?|[-+]?(?:nan|inf)", re.IGNORECASE)
DECIMAL = re.compile(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?")
INTEGER = re.compile(r"[-+]?\d*")
MISSING = ("", "na", "n/a", "#n/a", "null", "none", "-nan", "<na>")
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
    text, notes = _decoded(path)
    lines = text.split("\n")
    start = next((line for line in lines if line.strip()), "")
    comment = next((mark for mark in COMMENTS if start.startswith(mark)), "\n")  # which no line has
    filled = (place for place, line in enumerate(lines) if line.strip() and not line.startswith(comment))
    places = list(islice(filled, LOOKED))
    if not places:
        raise RaffiaError(f"{path} is no table: it has no lines with values.")
    longest = max(places, key=lambda place: len(lines[place]))
    if len(lines[longest]) > LONGEST:
        raise RaffiaError(f"{path} is no table: line {longest + 1} has {len(lines[longest])} characters.")
    rows, dialect = _dialect([lines[place] for place in places], notes)
    above = [line[len(comment) :].strip() for line in lines[: places[0]] if line.startswith(comment)]
    header, headed, note = _header(rows, (above or [""])[-1], dialect["sep"])
    first = int(header is rows[0])
    header = _completed(path, rows, header, notes := [*notes, *filter(None, [note])])
    lines = [line for line in lines[(*places, len(lines))[first] :] if not line.lstrip().startswith(comment)]
    if not any(map(str.strip, lines)):
        raise RaffiaError(f"{path} is no table: there are no rows below the names of its columns.")
    dialect |= {"sep": r"\s+"} if dialect["sep"] == " " else {}
    pandas, columns = optional("pandas", "Table"), {"header": None, "names": range(len(header)), "index_col": False}
    with guarded(path):
        frame = pandas.read_csv(io.StringIO("\n".join(lines)), skipinitialspace=True, low_memory=False, **dialect, **columns)
    return table(path, frame, header, headed, notes)


def _dialect(body: list[str], notes: list[str]) -> tuple[list[list[str]], dict[str, str]]:
    """The cells of the first lines, and the mark between them and that of decimals; a note if they are unusual."""
    delimiter = max(DELIMITERS, key=lambda mark: _score(mark, body))
    rows = [cells(line, delimiter) for line in body]
    numbers = [cell for row in rows[1:] or rows for cell in row if is_number(cell)]
    commas, stops = (sum(bool(re.search(rf"\d{mark}\d", cell)) for cell in numbers) for mark in (",", "[.]"))
    if delimiter != "," or commas > stops:
        notes.append(f"columns are separated by {DELIMITERS[delimiter]}{', decimals by commas' if commas > stops else ''}.")
    return rows, {"sep": delimiter, "decimal": "," if commas > stops else "."}


def _completed(path: Path, rows: list[list[str]], header: list[str], notes: list[str]) -> list[str]:
    """The header with a name for every column: some have none, or no column has."""
    below = rows[1:] or rows
    longest, width = max(len(row) - (not row[-1]) for row in below), len(header) or max(map(len, rows))
    if header and longest > width + 1:
        raise RaffiaError(f"{path}: its header names {width} columns, and a row below has {longest} cells. Name all, or none.")
    if width > MOST:
        raise RaffiaError(f"{path} has more than {MOST} columns. Write it with a row for each point, or as an .npz file.")
    if header and longest == width + 1:  # as R writes the names of rows, without a name for their column
        notes.append("the first column has no name: there is one name less than columns.")
        return ["", *header]
    if header and len(below[0]) == width + 1:  # a delimiter at the end of every row
        return [*header, ""]
    return header or [str(number + 1) for number in range(width)]


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
        elif place == 0 and name.lower() in INDEX and headed and len(values) > 1 and _counts_rows(values):
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


def _counts_rows(values: np.ndarray) -> bool:
    return bool(values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(len(values))))


def _decoded(path: Path) -> tuple[str, list[str]]:
    """The text of a file, and a note if its encoding is unusual."""
    content = path.read_bytes()
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in content and not wide:
        raise RaffiaError(f"{path} is damaged or no table: it holds bytes that are no text. Export it as text (CSV).")
    try:
        text = content.decode("utf-16", "replace") if wide else content.decode("utf-8-sig")
        notes = ["the text is UTF-16."] if wide else []
    except UnicodeDecodeError:
        text, notes = content.decode("latin-1"), ["the text is no UTF-8, so it is taken for Latin-1."]
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, without quotes and blanks around them."""
    text = " ".join(line.split()) if delimiter == " " else line
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error as error:
        raise Damaged(f"{error} in its first lines") from None


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, however its decimals are written."""
    return NUMBER.fullmatch(cell) is not None


def _score(delimiter: str, lines: list[str]) -> tuple[bool, float, int]:
    """How well a delimiter explains lines: as many cells in all but the first, most of them numbers, and more than one."""
    rows = [cells(line, delimiter) for line in lines[1:] or lines]
    counts = [len(row) for row in rows]
    common = max(set(counts), key=counts.count)
    if common < 2:
        return False, 0.0, 0
    numbers = sum(is_number(cell) or cell.lower() in MISSING for row in rows for cell in row) / sum(counts)
    return counts.count(common) >= 0.9 * len(rows), round(numbers, 2), common


def _header(rows: Sequence[list[str]], above: str, delimiter: str) -> tuple[list[str], bool, str]:
    """The cells that name or number the columns, whether they are names, and a note."""
    first, below = rows[0], rows[1:]
    if below and _counts_columns(first, below):
        return first, False, "the first line is taken for the numbers of columns, as it counts them."
    if _names(first, below):
        return first, True, ""
    if below and _in_steps(first) and not any(map(_in_steps, below[:3])):
        return first, True, "the first line is taken for the names of columns, as it counts in equal steps."
    words = next((words for mark in (delimiter, " ") if len(words := cells(above, mark)) == len(first)), [])
    if above and words and not all(map(is_number, words)):
        return words, True, "the names of the columns are in the last line of the comment."
    return [], False, "there is no line with the names of columns." if any(map(is_number, first)) and below else ""


def _names(first: list[str], below: Sequence[list[str]]) -> bool:
    """Whether the first row has a text above numbers, or, where all rows are texts, a different one in each column."""
    if not below:
        return not all(map(is_number, first))
    for column, cell in enumerate(first):
        text = cell and not is_number(cell) and cell.lower() not in MISSING
        if text and any(is_number(row[column]) for row in below if column < len(row)):
            return True
    return not any(map(is_number, first)) and len(set(first)) == len(first) > 1


def _counts_columns(first: list[str], below: Sequence[list[str]]) -> bool:
    """Whether a row has the numbers of columns: it counts from 0 or 1, and its like is not below it."""
    counted = len(first) > 1 and first in ([str(i + start) for i in range(len(first))] for start in (0, 1))
    if not counted or any(INTEGER.fullmatch(cell) for row in below for cell in row):
        return False
    columns = [column for column in zip(first, *below[:2], strict=False) if all(map(DECIMAL.fullmatch, column))]
    return not any(_equal_steps(column, 1e-9) for column in columns)  # which would go on from the first row


def _in_steps(row: list[str]) -> bool:
    """Whether a row counts in equal steps; a text at its start may name the index."""
    numbers = [cell for cell in row if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", cell)]
    return len(numbers) >= max(4, len(row) - 2) and float(numbers[0]) < float(numbers[-1]) and _equal_steps(numbers, 1e-6)


def _equal_steps(row: Sequence[str], tolerance: float) -> bool:
    """Whether numbers go on in equal steps, which are not none."""
    values = np.array(row, float)
    steps = np.diff(values)
    return len(steps) > 0 and bool(np.ptp(steps) <= tolerance * np.abs(values).max() and steps.any())
