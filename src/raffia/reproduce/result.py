"""What an experiment leaves behind: tables, pictures and remarks, in one JSON file a page is made from."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from raffia.errors import RaffiaError
from raffia.files import atomic


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header."""

    caption: str
    header: list[str]
    rows: list[list[str]]

    @classmethod
    def of_curves(cls, caption: str, head: str, x: Sequence[object], curves: Mapping[str, Sequence[float]]) -> "Table":
        """A row for each x, a column for each curve."""
        rows = [[str(value), *(f"{curve[i]:.4f}" for curve in curves.values())] for i, value in enumerate(x)]
        return cls(caption, [head, *curves], rows)

    @classmethod
    def of_cells(cls, caption: str, head: str, rows: Sequence[int], columns: Sequence[int], *arrays: np.ndarray) -> "Table":
        """The entries of several arrays of one shape, side by side in each cell."""
        cells = [[" | ".join(f"{array[i, j]:.4f}" for array in arrays) for j in range(len(columns))] for i in range(len(rows))]
        return cls(caption, [head, *map(str, columns)], [[str(name), *row] for name, row in zip(rows, cells, strict=True)])


@dataclass(frozen=True)
class Picture:
    """A PNG in base64, so that a page needs no other file."""

    caption: str
    png: str

    @classmethod
    def of(cls, figure: Figure, caption: str) -> "Picture":
        """From a matplotlib figure."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
        return cls(caption, base64.b64encode(buffer.getvalue()).decode())


@dataclass
class Result:
    """One figure or table of the paper, beside ours."""

    item: str
    title: str
    settings: str
    remark: str
    """Where we differ from the authors, and why."""
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)
    """What tests and readers of the file look at."""
    seconds: float = 0.0
    authors_seconds: float | None = None
    made: dict[str, Any] = field(default_factory=dict)
    """Scale, device and version; a result made otherwise is made again."""

    def write(self, path: Path) -> None:
        """One JSON file; atomic."""
        with atomic(path) as temporary:
            temporary.write_text(json.dumps(asdict(self), allow_nan=False))


def read(path: Path) -> Result:
    """A result written by `Result.write`."""
    try:
        content = json.loads(path.read_text())
        content["tables"] = [Table(**table) for table in content["tables"]]
        content["pictures"] = [Picture(**picture) for picture in content["pictures"]]
        return Result(**content)
    except (ValueError, TypeError, KeyError) as error:
        raise RaffiaError(
            f"{path} is damaged or no result of raffia reproduce ({error}): delete it, and it is made again."
        ) from None


def percent(ours: float, theirs: float) -> str:
    """The relative difference."""
    return f"{ours / theirs - 1:+.1%}" if abs(ours / theirs - 1) >= 5e-4 else "0.0%"
