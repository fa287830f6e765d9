"""How a text file writes its table: encoding, delimiter, decimal mark, comments, and whether its first line names the columns."""

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

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
    """What was found of a text: the rows below its header are all that follows line `skipped`."""

    delimiter: str
    decimal: str
    comment: str
    header: tuple[str, ...]
    skipped: int
    width: int
    notes: tuple[str, ...] = ()


def decoded(path: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and how it was encoded if that is unusual."""
    content = path.read_bytes()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        with guarded(path):
            return _lines(content.decode("utf-16")), ("the text is UTF-16.",)
    if b"\0" in content:
        raise RaffiaError(f"{path} is damaged or no table: it holds bytes that are no text. Export it as text (CSV).")
    try:
        return _lines(content.decode("utf-8-sig")), ()
    except UnicodeDecodeError:
        return _lines(content.decode("latin-1")), ("the text is no UTF-8, so it is taken for Latin-1.",)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
    headed, notes = _headed(rows)
    header = tuple(rows[0]) if headed else ()
    if not headed and above:
        named = next((names for mark in (delimiter, " ") if len(names := cells(above, mark)) == len(rows[0])), [])
        if named and not all(map(is_number, named)):
            header, notes = tuple(named), ["the names of the columns are in the last line of the comment."]
    if delimiter != "," or commas > stops:
        notes.insert(0, f"columns are separated by {DELIMITERS[delimiter]}{', decimals by commas' if commas > stops else ''}.")
    width = len(header) or max(len(row) for row in rows)
    longest = max(len(row) - (not row[-1]) for row in below)
    if header and longest > width + 1:
        raise RaffiaError(f"{path}: its header names {width} columns, and a row below has {longest} cells. Name all, or none.")
    if width > MOST:
        raise RaffiaError(f"{path} has more than {MOST} columns. Write it with a row for each point, or as an .npz file.")
    if header and longest == width + 1:  # as R writes the names of rows, without a name for their column
        header, width = ("", *header), width + 1
        notes.append("the first column has no name: there is one name less than columns.")
    elif header and len(below[0]) == width + 1:  # a delimiter at the end of every row
        header, width = (*header, ""), width + 1
    skipped = body[headed][0] if headed and len(body) > 1 else body[0][0] if not headed else len(text.splitlines())
    return Dialect(delimiter, "," if commas > stops else ".", comment, header, skipped, width, tuple(notes))


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
    found: list[tuple[int, str]] = []
    start, at, comment, above = 0, 0, None, ""
    while len(found) < LOOKED and start < len(text) and (len(found) < 3 or start < ENOUGH):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if end - start > LONGEST:
            raise RaffiaError(f"{path} is no table: line {at + 1} has {end - start} characters.")
        line = text[start:end]
        if line.strip():
            comment = next((mark for mark in COMMENTS if line.startswith(mark)), "") if comment is None else comment
            if not (comment and line.startswith(comment)):
                found.append((at, line))
            elif not found:
                above = line[len(comment) :].strip()
        start, at = end + 1, at + 1
    return found, comment or "", above


def _score(delimiter: str, lines: list[str]) -> tuple[bool, float, int]:
    """How well a delimiter explains lines: as many cells in all but the first, most of them numbers, and more than one."""
    rows = [cells(line, delimiter) for line in lines[1:] or lines]
    counts = [len(row) for row in rows]
    common = max(set(counts), key=counts.count)
    if common < 2:
        return False, 0.0, 0
    numbers = sum(bool(NUMBER.fullmatch(cell)) or cell.lower() in MISSING for row in rows for cell in row) / sum(counts)
    return counts.count(common) >= 0.9 * len(rows), round(numbers, 2), common


def _headed(rows: Sequence[list[str]]) -> tuple[bool, list[str]]:
    """Whether the first row names the columns."""
    first, below = rows[0], rows[1:]
    if not below:
        return not all(map(is_number, first)), []
    for column, cell in enumerate(first):
        under = [row[column] for row in below if column < len(row)]
        if cell and not is_number(cell) and cell.lower() not in MISSING and any(map(is_number, under)):
            return True, []
    if any(map(is_number, first)):
        if _in_steps(first) and not any(map(_in_steps, below[:3])):
            return True, ["the first line is taken for the names of columns, as it counts in equal steps."]
        return False, ["there is no line with the names of columns."]
    return len(set(first)) == len(first) and len(first) > 1, []


def _in_steps(row: list[str]) -> bool:
    """Whether a row counts in equal steps; what is no number at its start may name the index."""
    numbers = [float(cell) for cell in row if re.fullmatch(r"[-+]?\d+(?:\.\d+)?", cell)]
    if len(numbers) < 4 or len(numbers) < len(row) - 2:
        return False
    steps = [b - a for a, b in pairwise(numbers)]
    return min(steps) > 0 and max(steps) - min(steps) <= 1e-6 * max(map(abs, numbers))
