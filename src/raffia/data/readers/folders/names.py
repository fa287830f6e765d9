"""What the names of files say: their order, and numbers in them."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

NUMBER = re.compile(r"((?:(?<=[_=\s])-)?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


def natural(path: Path) -> tuple:
    """A key to sort by: run2 comes before run10, and numbers by their size."""
    pieces = NUMBER.split(str(path.with_suffix("")))
    return tuple((1, float(piece), piece) if number % 2 else (0, 0.0, piece) for number, piece in enumerate(pieces)), path.name


def numbers(files: Sequence[Path], places: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...], list[str]] | None:
    """The numbers in the names of files, (files, numbers), which of them they are, and the text before each.

    They are those at `places`, or where none are given those that are not the same in all; None where names differ in more than
    numbers, or not at all.
    """
    pieces = [NUMBER.split(file.stem) for file in files]
    if len({tuple(piece[::2]) for piece in pieces}) != 1 or len(pieces[0]) == 1:
        return None
    values = np.array([[float(number) for number in piece[1::2]] for piece in pieces])
    chosen = places or tuple(int(column) for column in np.flatnonzero((values != values[0]).any(0)))
    if not chosen or max(chosen) >= values.shape[1]:
        return None
    return values[:, list(chosen)], chosen, [pieces[0][2 * column].strip(" _-=") for column in chosen]
