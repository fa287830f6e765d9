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

    @property
    def middle(self) -> float:
        """Half-way between the ends, on the scale of the search."""
        return math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2


@dataclass(frozen=True)
class Choice:
    """One of several values, tried in turn."""

    options: tuple[Any, ...]
