"""How samples lie in tables and in folders of files: what the caller says of it, or what was found, so that other files are read alike."""

from dataclasses import dataclass

from raffia.errors import RaffiaError

WIDE, LONG, COLUMNS, POINTS = "wide", "long", "columns", "points"
SAMPLES, PARTS = "samples", "parts"


@dataclass(frozen=True)
class Layout:
    """Where samples are in a table or a folder; what is empty is for the reader to find.

    A `table` is "wide" (a row is a sample), "long" (a row is a point of a sample), "columns" (a column is a sample, rows are
    points) or "points" (the rows are the points of one sample). In a long one, the columns `samples` name the sample, and
    `coordinates` the place in it. Curves on different points are resampled to `points` points from `first` to `last`. The `files`
    of a folder are "samples", each one of them, or "parts" of the samples. The columns `parameters` are numbers of a sample,
    `functions` are none, even where they are constant, and the arrays `wanted` have a row for each; the `numbers` at these places
    in the names of files are inputs.
    """

    table: str = ""
    samples: tuple[str, ...] = ()
    coordinates: tuple[str, ...] = ()
    first: float | None = None
    last: float | None = None
    points: int | None = None
    files: str = ""
    parameters: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.table not in ("", WIDE, LONG, COLUMNS, POINTS):
            raise RaffiaError(f"table=… (--table) must be {WIDE}, {LONG} or {COLUMNS}; got {self.table!r}.")
        if self.files not in ("", SAMPLES, PARTS):
            raise RaffiaError(f"files=… (--files) must be {SAMPLES} or {PARTS}; got {self.files!r}.")
        if self.points is not None and not 2 <= self.points <= 2**20:
            raise RaffiaError(f"resample=… (--resample) must be at least 2 points, and no more than 2^20; got {self.points}.")


def resampling(text: str | int | None) -> tuple[float | None, float | None, int | None]:
    """First and last coordinate and the number of points, from "200" or "0:0.44:200"."""
    parts = [] if text is None else str(text).split(":")
    try:
        if len(parts) == 3 and float(parts[0]) < float(parts[1]):
            return float(parts[0]), float(parts[1]), int(parts[2])
        return None, None, int(parts[0]) if len(parts) == 1 else None if not parts else int("")
    except ValueError:
        raise RaffiaError(
            f"resample=… (--resample) must be a number of points, or FIRST:LAST:POINTS as in 0:0.44:200; got {text!r}."
        ) from None
