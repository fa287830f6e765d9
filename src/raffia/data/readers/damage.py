"""Damaged files: errors that name the file, a guard around foreign libraries, words of a file read as numbers, and XML.

The parsers of raffia raise `Damaged` where a file contradicts itself. Only calls of other libraries are `guarded`, as those raise
nearly anything on damaged bytes. An error of any other kind is a fault of raffia, and reaches the caller as it is.
"""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, fromstring

import numpy as np

from raffia.errors import RaffiaError

T = TypeVar("T")
MOST_MARKS = 2**18  # of XML: two for most elements


class Damaged(RaffiaError):
    """The content of a file contradicts itself; `naming` adds the name of the file."""


def damaged_if(contradicted: object, reason: str) -> None:
    """Refuse a file whose content contradicts itself."""
    if contradicted:
        raise Damaged(reason)


@contextmanager
def naming(path: Path, name: str | None = None) -> Iterator[None]:
    """Name the file, and the variable if given, in errors about its content; extreme values in it are no reason to warn."""
    try:
        with np.errstate(all="ignore"):
            yield
    except Damaged as error:
        raise _damaged(path, name, str(error)) from None
    except RaffiaError as error:
        raise error if path.name in str(error) else RaffiaError(f"{path}: {error}") from None
    except OSError as error:
        raise RaffiaError(f"{path} cannot be read ({error.strerror or error}).") from None


@contextmanager
def guarded(path: Path, name: str | None = None) -> Iterator[None]:
    """Turn whatever a foreign library raises on a file into a `RaffiaError` that names the file, and the variable if given."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is damaged is an error, or read as it should be
            yield
    except RaffiaError:
        raise
    except Exception as error:  # from struct.error to SystemError
        reason = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
        raise _damaged(path, name, reason) from None


def _damaged(path: Path, name: str | None, reason: str) -> RaffiaError:
    variable = f", variable {name}," if name else ""
    return RaffiaError(f"{os.fspath(path)}{variable} is damaged or not of its kind ({reason}).")


def integer(word: str | bytes | None) -> int:
    """A word of a file as an integer."""
    try:
        return int(word or "")
    except (ValueError, OverflowError):
        raise Damaged(f"{word!r:.40} stands where an integer should") from None


def numbers(text: str, dtype: Any = np.float64) -> np.ndarray:
    """The words of a text as numbers; of floating-point ones Fortran's exponents, as in 1.2D-01, are read too."""
    kind, words = np.dtype(dtype), text.split()
    parsed = np.float64 if kind.kind == "f" else np.int64
    text = text.replace("D", "E").replace("d", "e") if kind.kind == "f" else text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy only warns where a text ends before its end
            values: np.ndarray = np.fromstring(text, parsed, sep=" ") if words else np.empty(0, parsed)
    except (ValueError, OverflowError, DeprecationWarning):
        values = np.empty(0, parsed)
    damaged_if(len(values) != len(words), "a list of numbers holds other words")
    return values.astype(kind)


def entry(known: Mapping[Any, T], key: object, what: str) -> T:
    """What a table has for a word of a file."""
    if key not in known:
        raise Damaged(f"its {what} is {key!r:.40}")
    return known[key]


def tree(path: Path, text: bytes) -> Element:
    """The root of a text in XML, without entities, which make much of little. A document type and the file that it names are ignored."""
    if b"<!ENTITY" in text or b"\0" in text:  # UTF-16 has bytes of zero, and would hide an entity
        raise RaffiaError(
            "it defines entities, which may unpack to anything, or is no UTF-8. Remove <!ENTITY …>, or write it as UTF-8."
        )
    if text.count(b"<") > MOST_MARKS:
        raise RaffiaError(f"it has more than {MOST_MARKS} marks of XML. Write several files.")
    with guarded(path):
        return fromstring(text)
