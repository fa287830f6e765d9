"""Self-contained HTML pages of tables, pictures and text: one file, with no script and no network. All text is escaped."""

import base64
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
from jinja2 import Environment
from matplotlib.figure import Figure
from PIL import Image

from raffia.storage import atomic

DOTS_PER_INCH = 110
LARGEST_PICTURE = 1_000_000
"""Bytes of a picture, before base64, so that a page with a few of them stays below 5 MB."""
REM_PER_INCH, WIDEST_REM = 4.2, 80.0
"""How small an inch of a picture may be shown on a phone, and the widest picture to scroll, in rem."""
LAYOUT = {"phone": 21.5, "long_cell": 30, "folded": 8}
"""The width of a phone in rem; the letters beyond which a cell of a table wraps; the rows beyond which a table is folded."""


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header; a long table is folded.

    Examples
    --------
    >>> Table.of_cells("Errors", "n", [10], [64, 128], np.array([[0.1, 0.05]])).rows
    [['10', '0.1000', '0.0500']]
    """

    caption: str
    header: list[str]
    rows: list[list[str]]

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
    inches: float | None = None
    """The width; None takes it from the pixels, at 110 an inch."""

    @classmethod
    def of(cls, figure: Figure, caption: str) -> "Picture":
        """From a matplotlib figure, with fewer colours and pixels if the file would be too large."""
        buffer, scale = io.BytesIO(), 1.0
        figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
        if buffer.tell() > LARGEST_PICTURE:
            whole = Image.open(buffer).convert("RGB")
            while buffer.tell() > LARGEST_PICTURE:
                size = (max(1, round(scale * whole.width)), max(1, round(scale * whole.height)))
                buffer = io.BytesIO()
                whole.resize(size).quantize(256).save(buffer, "png")
                scale *= 0.8
        return cls(caption, base64.b64encode(buffer.getvalue()).decode(), round(figure.get_figwidth(), 3))

    @property
    def least_width(self) -> float:
        """The smallest width of the picture, in rem. A narrower screen scrolls the picture instead of shrinking it."""
        pixels = int.from_bytes(base64.b64decode(self.png[:32])[16:20], "big")
        return min(WIDEST_REM, REM_PER_INCH * (pixels / DOTS_PER_INCH if self.inches is None else self.inches))


@dataclass(frozen=True, kw_only=True)
class Section:
    """A title with, in this order, what there is of the rest; `lead` is a paragraph that comes before the pictures."""

    title: str
    anchor: str
    label: str = ""
    """What links call the section, if that is not its title."""
    small: str = ""
    """A line in small print: how the results were made."""
    lead: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()
    text: Sequence[str] = ()
    """Paragraphs."""
    points: Sequence[str] = ()
    """A list with bullets."""
    code: str = ""
    tables: Sequence[Table] = ()


def write(
    path: str | os.PathLike[str],
    title: str,
    introduction: str,
    sections: Sequence[Section],
) -> None:
    """Write a page atomically."""
    template = Environment(autoescape=True, trim_blocks=True).from_string(
        files("raffia").joinpath("pages.html").read_text("utf-8")
    )
    text = template.render(title=title, introduction=introduction, sections=sections, **LAYOUT)
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
