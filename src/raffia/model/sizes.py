"""Numbers of a graph as formulas of its sizes: how many inputs there are, and how many points along each axis."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import fx

Sizes = tuple[int, ...]
ROUNDING = 1e-13
PARTS = ((1, 0), (2, 0), (2, 1))
"""What whole numbers are affine in: a size, half of it, rounded down or up."""
POWERS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
"""Of the number of spacings, that other numbers are proportional to: lengths, areas, what is divided by them, roots of them."""
FEWER = (0, -1, 1)
"""Spacings beside the points of an axis."""


def design(first: Sizes, changes: Sequence[Sequence[int]]) -> list[Sizes]:
    """Sizes to write operations down for: the first, each by itself changed, and where there are several, all of them together."""
    alone = [(*first[:axis], first[axis] + change, *first[axis + 1 :]) for axis, some in enumerate(changes) for change in some]
    together = [tuple(size + 3 * some[-1] for size, some in zip(first, changes, strict=True))]
    return [first, *alone, *(together if len(first) > 1 else [])]


@dataclass(frozen=True)
class Factor:
    """(constant + slope · ⌊(s + added) / halved⌋)^power, s one of the sizes."""

    size: int
    constant: int = 0
    slope: int = 1
    halved: int = 1
    added: int = 0
    power: float | None = None

    def at(self, sizes: Sizes) -> int | float:
        """Its value."""
        whole = self.constant + self.slope * ((sizes[self.size] + self.added) // self.halved)
        return whole if self.power is None else float(whole) ** self.power

    def node(self, graph: fx.Graph, sizes: Sequence[fx.Node]) -> fx.Node:
        """Its value in a graph, where sizes are nodes."""
        node = sizes[self.size]
        steps = (
            (operator.add, self.added, 0),
            (operator.floordiv, self.halved, 1),
            (operator.mul, self.slope, 1),
            (operator.add, self.constant, 0),
        )
        for step, number, nothing in steps:
            node = node if number == nothing else graph.call_function(step, (node, number))
        if self.power is None:
            return node
        node = graph.call_function(operator.mul, (node, 1.0))  # no whole number any more
        return node if self.power == 1 else graph.call_function(operator.pow, (node, self.power))


@dataclass(frozen=True)
class Formula:
    """A number times factors, one for each of some sizes."""

    number: int | float
    factors: tuple[Factor, ...]

    def at(self, sizes: Sizes) -> int | float:
        """Its value."""
        return math.prod((factor.at(sizes) for factor in self.factors), start=self.number)

    def node(self, graph: fx.Graph, sizes: Sequence[fx.Node]) -> fx.Node:
        """Its value in a graph, where sizes are nodes."""
        first, *others = [factor.node(graph, sizes) for factor in self.factors]
        total = first if self.number == 1 else graph.call_function(operator.mul, (first, self.number))
        for other in others:
            total = graph.call_function(operator.mul, (total, other))
        return total


def formula_of(values: Sequence[Any], rows: Sequence[Sizes]) -> Formula | None:
    """A formula that has these values, which differ, for these sizes; None where none of a few kinds has them."""
    whole = all(type(value) is int for value in values)
    if not whole and not all(type(value) is float and math.isfinite(value) and value for value in values):
        return None
    factors = []
    for size in range(len(rows[0])):
        alone = [i for i, row in enumerate(rows) if row[:size] + row[size + 1 :] == rows[0][:size] + rows[0][size + 1 :]]
        some = [values[i] for i in alone]
        if any(value != some[0] for value in some):
            factor = (_affine if whole else _power)(size, [rows[i] for i in alone], some)
            if factor is None:
                return None
            factors.append(factor)
    first = math.prod(factor.at(rows[0]) for factor in factors)
    found = Formula(values[0] // first if whole and first else values[0] / (first or math.nan), tuple(factors))
    fits = all(math.isclose(found.at(row), value, rel_tol=ROUNDING) for row, value in zip(rows, values, strict=True))
    return found if fits and factors else None


def _affine(size: int, rows: list[Sizes], values: list[int]) -> Factor | None:
    """Of whole numbers, without what all of them have as a factor."""
    shared = math.gcd(*values)
    values = [value // shared for value in values]
    for halved, added in PARTS:
        steps = [(row[size] + added) // halved for row in rows]
        other = next((i for i, step in enumerate(steps) if step != steps[0]), None)
        if other is None:
            continue
        slope = (values[other] - values[0]) // (steps[other] - steps[0])
        factor = Factor(size, values[0] - slope * steps[0], slope, halved, added)
        if all(factor.at(row) == value for row, value in zip(rows, values, strict=True)):
            return factor
    return None


def _power(size: int, rows: list[Sizes], values: list[float]) -> Factor | None:
    """Of other numbers, up to what they are multiplied by."""
    for fewer in FEWER:
        for power in POWERS:
            factor = Factor(size, fewer, power=power)
            ratios = [value / factor.at(row) for row, value in zip(rows, values, strict=True)]
            if all(math.isclose(ratio, ratios[0], rel_tol=ROUNDING) for ratio in ratios):
                return factor
    return None
