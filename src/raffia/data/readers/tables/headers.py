"""The names of columns: units, words for samples and coordinates, and columns that are one function at the numbers in their names."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

UNITS = re.compile(r"(.*\S)(?:\s+[\[(]([^\[\]()]+)[\])]|\[([^\[\]()]+)\])")
NUMBERED = re.compile(r"(.*?)(?:\s*=\s*|[\s_.\[(]*)((?:(?<![^\s_=])[-+])?(?:\d+\.\d+|\d+)(?:[eE][-+]?\d+)?)[\])]?")
MEASURED = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([^\W\d_]{1,3}(?:-1)?)")
SAMPLES = {
    "id", "sample", "samples", "run", "test", "specimen", "case", "experiment", "trial", "subject", "curve", "series", "repeat",
    "replicate", "simulation", "sim", "realization", "realisation", "instance", "patient", "station", "site", "profile",
}  # fmt: skip
PLACES = {
    "x", "y", "z", "t", "r", "s", "time", "lat", "lon", "latitude", "longitude", "strain", "wavelength", "wavenumber", "frequency",
    "freq", "position", "distance", "depth", "height", "displacement", "angle", "theta", "day", "hour", "month", "year", "date",
}  # fmt: skip


def words(name: str) -> set[str]:
    """The words of a name, as in TestID, test_id or "test id"."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)}


def names_samples(name: str) -> bool:
    """Whether a column of this name usually names the sample that a row belongs to."""
    return bool(words(name) & SAMPLES)


def is_position(name: str) -> bool:
    """Return whether an array of this name usually holds coordinates, such as x, time or "x coordinate"."""
    every = words(name)
    return bool(every & PLACES) and (len(every) == 1 or "coordinate" in every)


def named(headers: Iterable[str]) -> dict[str, str]:
    """A name for each column, which occurs once and has no units, and its units."""
    whole = [header.strip() for header in headers]
    split = [(match[1], match[2] or match[3]) if (match := UNITS.fullmatch(header)) else (header, "") for header in whole]
    alike = Counter(name for name, _ in {*zip((name for name, _ in split), whole, strict=True)})
    units: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for number, (header, (name, unit)) in enumerate(zip(whole, split, strict=True), 1):
        chosen = first = (header if alike[name] > 1 else name) or f"column {number}"
        while chosen in units:
            counts[first] += 1
            chosen = f"{first} ({counts[first] + 1})"
        units[chosen] = unit
    return units


@dataclass(frozen=True)
class Run:
    """Columns that are one function, in order, with the numbers in their names if these are more than a count.

    The numbers are coordinates, unless they are not in order: then they are `labels`.
    """

    name: str
    columns: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    units: str = ""
    labels: bool = False
    note: str = ""

    @classmethod
    def of(cls, stem: str, units: str, members: list[tuple[str, float]]) -> "Run":
        """Return the columns `members` (name, number) as one function; `stem` is the part before the numbers.

        Columns named by numbers alone, without a stem, are sorted by these numbers. All others keep the order of the file.
        """
        ordered = members if stem else sorted(members, key=lambda member: member[1])
        columns, numbers = zip(*ordered, strict=True)
        name = stem or f"{columns[0]}..{columns[-1]}"
        steps = [b - a for a, b in pairwise(numbers)]
        labels, counted = min(steps) < 0 < max(steps), numbers[0] in (0, 1) and set(steps) == {1.0}
        note = "" if ordered == members else f"the columns of {name} are sorted by the numbers that are their names."
        if labels:
            note = f"the columns of {name} stay in the order of the file: the numbers in their names are taken for labels."
        return cls(name, columns, None if counted else numbers, units, labels, note)


def runs(names: Sequence[str]) -> list[Run]:
    """Columns whose names have a common stem and a number, or are numbers, months or dates."""
    groups: dict[tuple[str, str], list[tuple[str, float]]] = {}
    days = dates(names)
    for name in names:
        match, measured = NUMBERED.fullmatch(name[:100]), MEASURED.fullmatch(name)
        if days is not None and name in days.columns:
            continue
        if measured is not None:
            groups.setdefault(("", measured[2]), []).append((name, float(measured[1])))
        elif match is not None and len(name) < 100:
            groups.setdefault((match[1].rstrip(" _-.=[("), ""), []).append((name, float(match[2])))
    several = [
        Run.of(*key, members)
        for key, members in groups.items()
        if len(members) > 1 and len({number for _, number in members}) == len(members)
    ]
    return several + ([] if days is None else [days])


def dates(names: Sequence[str]) -> Run | None:
    """Columns that go through months, days of months or dates, each later than the one before."""
    dated = [(day, name) for name in names if (day := _day(name)) is not None]
    if len(dated) < 3 or any(later[0] <= earlier[0] for earlier, later in pairwise(dated)):
        return None
    return Run(f"{dated[0][1]}..{dated[-1][1]}", tuple(name for _, name in dated))


def _day(name: str) -> int | None:
    """A number that grows with the date in a name."""
    bare = f"2000 {re.sub('[ _.-]', '', name)}"
    for text, form in ((name, "%Y-%m-%d"), (name, "%Y-%m"), (bare, "%Y %b%d"), (bare, "%Y %b"), (bare, "%Y %B")):
        with suppress(ValueError):
            return datetime.strptime(text, form).toordinal()
    return None
