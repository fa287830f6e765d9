"""Laws of functions of random functions: lognormal coefficients, bounded wave speeds, states that a flow has reached."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor

from raffia.measures.base import Measure
from raffia.measures.noise import Rows
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
