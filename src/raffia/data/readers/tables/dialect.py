"""How a text file writes its table: encoding, delimiter, decimal mark, comments, and whether its first line names the columns."""

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from raffia.data.readers.damage import Damaged, guarded
from raffia.errors import RaffiaError

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
