"""What the names of columns say: units, and which columns are values of one function at the numbers or dates in their names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

UNITS = re.compile(r"(.*\S)(?:\s+[\[(]([^\[\]()]+)[\])]|\[([^\[\]()]+)\])")
NUMBERED = re.compile(r"(.*?)(?:\s*=\s*|[\s_.\[(]*)((?:(?<![^\s_=])[-+])?(?:\d+\.\d+|\d+)(?:[eE][-+]?\d+)?)[\])]?")
MEASURED = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*([^\W\d_]{1,3}(?:-1)?)")
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
DATED = re.compile(r"([a-z]{3,9})[\s_.-]*(\d{1,2})?")
DAY = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")


@dataclass(frozen=True)
class Run:
    """Columns that are one function, in order, with the numbers in their names where these are more than a count."""

    name: str
    columns: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    units: str = ""


def named(headers: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Names for columns, each once, without units; and the units by name."""
    whole = [header.strip() for header in headers]
    short = [(match[1], match[2] or match[3]) if (match := UNITS.fullmatch(header)) else (header, "") for header in whole]
    alike: dict[str, set[str]] = {}
    for header, (name, _) in zip(whole, short, strict=True):
        alike.setdefault(name, set()).add(header)
    taken: dict[str, int] = {}
    names: list[str] = []
    units: dict[str, str] = {}
    for number, (header, (name, unit)) in enumerate(zip(whole, short, strict=True), 1):
        chosen = (name if len(alike[name]) == 1 else header) or f"column {number}"
        count = taken[chosen] = taken.get(chosen, 0) + 1
        while count > 1 and f"{chosen} ({count})" in taken:
            count = taken[chosen] = count + 1
        names.append(chosen if count == 1 else f"{chosen} ({count})")
        taken.setdefault(names[-1], 1)
        if unit:
            units[names[-1]] = unit
    return names, units


def runs(names: Sequence[str]) -> list[Run]:
    """Columns whose names have a common stem and a number, or are numbers, months or days."""
    groups: dict[tuple[str, str], list[tuple[float, str]]] = {}
    days = dates(names)
    dated = set() if days is None else set(days.columns)
    for name in names:
        if name not in dated and (found := _numbered(name)) is not None:
            stem, number, unit = found
            groups.setdefault((stem, unit), []).append((number, name))
    several = [_run(stem, unit, members) for (stem, unit), members in groups.items() if _distinct(members)]
    return several + ([] if days is None else [days])


def dates(names: Sequence[str]) -> Run | None:
    """Columns that go through months, days of months, or dates, each later than the one before."""
    found = [(day, name) for name in names if (day := _day(name)) is not None]
    if len(found) < 3 or any(later[0] <= earlier[0] for earlier, later in pairwise(found)):
        return None
    return Run(f"{found[0][1]}..{found[-1][1]}", tuple(name for _, name in found))


def counts(numbers: Sequence[float]) -> bool:
    """Whether numbers count from 0 or 1."""
    return numbers[0] in (0, 1) and all(number == numbers[0] + i for i, number in enumerate(numbers))


def _numbered(name: str) -> tuple[str, float, str] | None:
    """The stem, the number and the unit of a name that ends in a number."""
    if (match := MEASURED.fullmatch(name)) is not None:
        return "", float(match[1]), match[2]
    match = NUMBERED.fullmatch(name) if len(name) < 100 else None
    return None if match is None else (match[1].rstrip(" _-.=[("), float(match[2]), "")


def _distinct(members: list[tuple[float, str]]) -> bool:
    return len(members) > 1 and len({number for number, _ in members}) == len(members)


def _run(stem: str, unit: str, members: list[tuple[float, str]]) -> Run:
    ordered = sorted(members)
    numbers = tuple(number for number, _ in ordered)
    name = stem or f"{ordered[0][1]}..{ordered[-1][1]}"
    return Run(name, tuple(column for _, column in ordered), None if counts(numbers) else numbers, unit)


def _day(name: str) -> int | None:
    """A number that grows with the date in a name: a month, a day of a month, a weekday, or a date of a year."""
    if (match := DAY.fullmatch(name)) is not None:
        return 372 * int(match[1]) + 31 * int(match[2]) + int(match[3] or 0)
    match = DATED.fullmatch(name.lower())
    known = [cycle.index(word) for cycle in (MONTHS, WEEKDAYS) for word in cycle if match and word.startswith(match[1])]
    return 40 * known[0] + int(match[2] or 0) if match and known else None
