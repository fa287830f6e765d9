"""One self-contained HTML page of results: no other file, no script, no network."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from raffia.files import atomic
from raffia.reproduce.result import Result, Table

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.55 system-ui, sans-serif; color: #222; background: #fff; margin: 0 auto; padding: 1.2rem; max-width: 62rem }
h1 { font-size: 1.6rem; margin: .5rem 0 } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; border-top: 1px solid #ddd; padding-top: 1.2rem }
img { max-width: 100%; height: auto } figure { margin: 1rem 0 } figcaption, .settings { color: #555; font-size: .92rem }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; margin: .4rem 0 1rem }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap }
th { border-bottom: 2px solid #999 }
caption { text-align: left; color: #555; padding: .3rem 0; caption-side: top } summary { cursor: pointer; color: #1f6fb2 }
nav a { margin-right: .9rem; white-space: nowrap } a { color: #1f6fb2 } code { font-size: .9em }
"""


def write(path: Path, title: str, introduction: str, results: Sequence[Result]) -> None:
    """Write the page; atomic."""
    links = "".join(f'<a href="#{anchor(r.item)}">{escape(r.item)}</a> ' for r in results)
    body = "\n".join(_section(result) for result in results)
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1><p>{introduction}</p>"
        f"<nav>{links}</nav>\n{body}\n</body></html>\n"
    )
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def anchor(item: str) -> str:
    """A name that a link can have."""
    return item.replace(":", "-")


def _section(result: Result) -> str:
    pictures = "".join(
        f'<figure><img alt="{escape(picture.caption)}" src="data:image/png;base64,{picture.png}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
        for picture in result.pictures
    )
    took = f"{result.seconds:.0f} s on {escape(str(result.made.get('device', '')))}, scale {escape(str(result.made.get('scale', '')))}"
    if result.authors_seconds is not None:
        took += f"; the authors' logs: {result.authors_seconds:,.0f} s for one realisation, on hardware of 2020"
    return (
        f'<section id="{anchor(result.item)}"><h2>{escape(result.title)} <small>({escape(result.item)})</small></h2>'
        f'<p class="settings">{escape(result.settings)}. {took}.</p>{pictures}<p>{escape(result.remark)}</p>'
        + "".join(_table(table) for table in result.tables)
        + "</section>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    body = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    whole = f'<div class="scroll"><table><caption>{escape(table.caption)}</caption>{body}</table></div>'
    return f"<details><summary>{escape(table.caption)}</summary>{whole}</details>" if len(table.rows) > 8 else whole
