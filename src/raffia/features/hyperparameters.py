"""What a feature map lets a search vary: ranges of numbers, and choices among a few."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """A number between `low` and `high`, searched on a logarithmic scale unless told otherwise; `count` of them for a vector."""

    low: float
    high: float
    log: bool = True
    count: int | None = None

    def at(self, place: float) -> float:
        """From low at 0 to high at 1, on the scale of the search."""
        if self.log:
            return math.exp((1 - place) * math.log(self.low) + place * math.log(self.high))
        return (1 - place) * self.low + place * self.high

    @property
    def middle(self) -> float:
        """Half-way between the ends, on the scale of the search."""
        return self.at(0.5)


@dataclass(frozen=True)
class Choice:
    """One of several values, tried in turn."""

    options: tuple[Any, ...]
