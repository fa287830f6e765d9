"""Distributions made from another one: of functions of a draw, and of several independent draws as channels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from raffia.measures.base import Measure
from raffia.measures.noise import Rows, as_rows
from raffia.spaces import Grid


@dataclass(repr=False, eq=False)
class Pushforward(Measure):
    """The law of F(g), g ~ `of`; `by` is F, which takes and gives samples on one grid."""

    of: Measure
    by: Callable[[Tensor], Tensor]

    def expansion(self, grid: Any) -> tuple[int, Callable[[Tensor], Tensor]]:
        """F of what numbers make of g."""
        size, made = self.of.expansion(grid)
        return size, lambda xi: self.by(made(xi))

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """F of each draw."""
        return self.by(self.of.sample(rows, grid, seed))


@dataclass(repr=False, eq=False)
class Copies(Measure):
    """The law of (g₁, …, g_c), all of the law `of` and independent; c is `channels`."""

    of: Measure
    channels: int

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows channels *shape"]:
        """Draw i has the draws c·i, …, c·i + c − 1 of the law."""
        rows = as_rows(rows)
        drawn = self.of.sample(range(self.channels * rows.start, self.channels * rows.stop), grid, seed)
        return drawn.unflatten(0, (len(rows), self.channels))
