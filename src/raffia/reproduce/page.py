"""A result of an experiment as a section of a page."""

from raffia.page import Section
from raffia.reproduce.result import Result


def anchor(item: str) -> str:
    """A name that a link and a file can have."""
    return item.replace(":", "-")


def section(result: Result) -> Section:
    """Its settings and what it took in small print, then pictures, the remark and tables."""
    took = f"{result.seconds:.0f} s on {result.made.get('device', '')}, scale {result.made.get('scale', '')}"
    if result.authors_seconds is not None:
        took += f"; the authors' logs: {result.authors_seconds:,.0f} s for one realisation, on hardware of 2020"
    return Section(
        result.title,
        anchor(result.item),
        small=f"{result.settings}. {took}.",
        label=result.item,
        pictures=result.pictures,
        text=result.remark,
        tables=result.tables,
    )
