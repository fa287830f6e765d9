"""Rows of a table that belong together, and what is the same in them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Groups:
    """Rows by their sample: `order` has the rows of the first sample, then those of the next; `starts` is where each begins."""

    order: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, keys: list[np.ndarray]) -> "Groups":
        """Rows with equal keys are a sample; samples are in the order of their first rows."""
        codes = np.zeros(len(keys[0]), dtype=np.int64)
        for key in keys:
            inverse = np.unique(key, return_inverse=True)[1]
            codes = np.unique(codes * (int(inverse.max()) + 1) + inverse, return_inverse=True)[1]
        first = np.unique(codes, return_index=True)[1]
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        codes = rank[codes]
        order = np.argsort(codes, kind="stable")
        return cls(order, np.concatenate([[0], np.flatnonzero(np.diff(codes[order])) + 1]))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> np.ndarray:
        """How many rows each sample has."""
        return np.diff(np.append(self.starts, len(self.order)))

    @property
    def numbers(self) -> np.ndarray:
        """The number of the sample that each row of `order` belongs to."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def first(self) -> np.ndarray:
        """The first row of each sample."""
        return self.order[self.starts]

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """The values of each sample."""
        return np.split(values[self.order], self.starts[1:])

    def sorted_by(self, places: list[np.ndarray]) -> "Groups":
        """The same samples, with their rows sorted by the first of the places, then by the next."""
        return Groups(self.order[np.lexsort([*(place[self.order] for place in reversed(places)), self.numbers])], self.starts)

    def constant(self, values: np.ndarray) -> bool:
        """Whether a column has one value in each sample."""
        there = values[self.order]
        return bool(np.array_equal(there, np.repeat(there[self.starts], self.sizes), equal_nan=values.dtype.kind == "f"))

    def distinct(self, places: list[np.ndarray]) -> float:
        """The share of rows that are at a place of their own in their sample."""
        columns = [self.numbers, *(place[self.order] for place in places)]
        order = np.lexsort(columns)
        differ = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
        return (1 + int(np.count_nonzero(differ))) / len(order)

    def disorder(self, values: np.ndarray) -> float:
        """The share of rows that a column does not rise at, or not fall at; 1 where it does not begin again with each sample."""
        steps = np.diff(values[self.order].astype(np.float64))
        across = self.starts[1:] - 1
        within = np.delete(steps, across)
        shares = []
        for sign in (1.0, -1.0):
            again = bool((sign * steps[across] < 0).all())
            shares.append(np.count_nonzero(~(sign * within > 0)) / len(values) if again else 1.0)
        return min(shares)
