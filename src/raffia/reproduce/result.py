"""What an experiment leaves behind: tables, pictures and remarks, in one JSON file, and the section of a page made from it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from raffia.errors import RaffiaError
from raffia.pages import Picture, Section, Table
from raffia.storage import atomic


@dataclass(kw_only=True)
class Result:
    """One figure or table of the paper, compared with ours."""

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


def anchor(item: str) -> str:
    """A name that a link and a file can have."""
    return item.replace(":", "-")


def section(result: Result) -> Section:
    """Its settings and what it took in small print, then pictures, the remark and tables."""
    took = f"{result.seconds:.0f} s on {result.made.get('device', '')}, scale {result.made.get('scale', '')}"
    return Section(
        title=result.title,
        anchor=anchor(result.item),
        label=result.item,
        small=f"{result.settings}. {took}.",
        pictures=result.pictures,
        text=[result.remark],
        tables=result.tables,
    )
