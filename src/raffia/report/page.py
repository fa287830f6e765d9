"""One self-contained HTML page of tables, pictures and words: no other file, no script, no network. All text is escaped."""

import base64
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from raffia.storage import atomic

DOTS_PER_INCH = 110
MOST_BYTES = 1_000_000  # of a picture, before it is written in base64: a page of a few stays below 5 MB
READABLE, NARROW, WIDEST = (
    4.2,
    21.5,
    80.0,
)  # in rem: an inch of a picture one can read, what a phone holds, what anybody scrolls
LONG = 30  # letters, beyond which the text of a cell wraps
STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto; padding: 1.2rem; max-width: 62rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; border-top: 1px solid #ddd; padding-top: 1.2rem }
img { max-width: 100%; height: auto; display: block } figure { margin: 1rem 0 }
figcaption, .settings { color: #555; font-size: .92rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; margin: .4rem 0 1rem }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap }
th { border-bottom: 2px solid #999; white-space: normal; vertical-align: bottom; overflow-wrap: normal }
th:first-child, td:first-child, td.text { text-align: left } td.text { white-space: normal; min-width: 14rem }
caption span { position: sticky; left: 0; display: inline-block; max-width: min(60rem, calc(100vw - 2.4rem)) }
@media (max-width: 40rem) { img { min-width: var(--least) } table { font-size: .78rem } th, td { padding: .22rem .3rem } }
.facts th, .facts td { text-align: left; vertical-align: top; white-space: normal; border-bottom: 1px solid #e4e4e4 }
.facts th { font-weight: normal; color: #555; min-width: 7rem; overflow-wrap: normal }
caption { text-align: left; color: #555; padding: .3rem 0; caption-side: top } summary { cursor: pointer; color: #1f6fb2 }
nav a { margin-right: .9rem; white-space: nowrap } a { color: #1f6fb2 } code { font-size: .9em }
pre { background: #f5f5f5; padding: .7rem .9rem; overflow-x: auto; line-height: 1.45 }
"""


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header; more than eight of them are folded."""

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
    inches: float | None = None
    """How wide it is; None is by its pixels, at 110 of them an inch."""

    @classmethod
    def of(cls, figure: Figure, caption: str) -> "Picture":
        """From a matplotlib figure; in fewer colours and coarser, if it would take too much of a page."""
        buffer, scale = io.BytesIO(), 1.0
        figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH)
        if buffer.tell() > MOST_BYTES:
            whole = Image.open(buffer).convert("RGB")
            while buffer.tell() > MOST_BYTES:
                size = (max(1, round(scale * whole.width)), max(1, round(scale * whole.height)))
                buffer = io.BytesIO()
                whole.resize(size).quantize(256).save(buffer, "png")
                scale *= 0.8
        return cls(caption, base64.b64encode(buffer.getvalue()).decode(), round(figure.get_figwidth(), 3))

    @property
    def least_width(self) -> float:
        """In rem: a small screen scrolls the picture rather than shrinking it below this."""
        pixels = int.from_bytes(base64.b64decode(self.png[:32])[16:20], "big")
        return min(WIDEST, READABLE * (pixels / DOTS_PER_INCH if self.inches is None else self.inches))


@dataclass(frozen=True)
class Section:
    """A title, and beneath it, in this order, whatever of these there is; the `lead` before all but the small print."""

    title: str
    anchor: str
    small: str = ""
    """A line in small print: how it was made."""
    label: str = ""
    """What links call it, where that is not the title; it then stands in brackets after the title."""
    facts: Mapping[str, str] = field(default_factory=dict)
    pictures: Sequence[Picture] = ()
    text: str | Sequence[str] = ()
    """One paragraph, or several."""
    points: Sequence[str] = ()
    """A list with bullets."""
    code: str = ""
    tables: Sequence[Table] = ()
    lead: str = ""
    """A paragraph that comes first: what the pictures then show."""


def write(
    path: str | os.PathLike[str],
    title: str,
    introduction: str,
    sections: Sequence[Section],
    links: Mapping[str, str] | None = None,
) -> None:
    """Write the page; atomic. `links` to other pages, by what they say, follow the introduction."""
    others = "".join(f' <a href="{escape(address)}">{escape(words)}</a>.' for words, address in (links or {}).items())
    inner = "".join(f'<a href="#{escape(s.anchor)}">{escape(s.label or s.title)}</a> ' for s in sections)
    body = "\n".join(_section(section) for section in sections)
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>"
        f"<p>{escape(introduction)}{others}</p><nav>{inner}</nav>\n{body}\n</body></html>\n"
    )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _section(section: Section) -> str:
    label = f" <small>({escape(section.label)})</small>" if section.label else ""
    paragraphs = [section.text] if isinstance(section.text, str) else section.text
    parts = [
        f'<section id="{escape(section.anchor)}"><h2>{escape(section.title)}{label}</h2>',
        f'<p class="settings">{escape(section.small)}</p>' if section.small else "",
        f"<p>{escape(section.lead)}</p>" if section.lead else "",
        _facts(section.facts) if section.facts else "",
        *map(_picture, section.pictures),
        *(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs),
        "<ul>" + "".join(f"<li>{escape(point)}</li>" for point in section.points) + "</ul>" if section.points else "",
        f"<pre><code>{escape(section.code)}</code></pre>" if section.code else "",
        *map(_table, section.tables),
        "</section>",
    ]
    return "".join(parts)


def _picture(picture: Picture) -> str:
    keys = ' tabindex="0"' if picture.least_width > NARROW else ""  # what scrolls is to be reached without a mouse
    caption = escape(picture.caption)
    return (
        f'<figure><div class="scroll"{keys}><img alt="{caption}" style="--least: {picture.least_width:.1f}rem" '
        f'src="data:image/png;base64,{escape(picture.png)}"></div><figcaption>{caption}</figcaption></figure>'
    )


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in facts.items())
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _cell(text: str) -> str:
    """A number or a word to the right, in line with others; sentences to the left."""
    kind = ' class="text"' if len(text) > LONG else ""
    return f"<td{kind}>{escape(text)}</td>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in table.rows)
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    whole = f'<div class="scroll"><table><caption><span>{escape(table.caption)}</span></caption>{body}</table></div>'
    return f"<details><summary>{escape(table.caption)}</summary>{whole}</details>" if len(table.rows) > 8 else whole
