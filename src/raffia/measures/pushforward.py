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
    """The distribution of F(g) for functions g of another distribution.

    Parameters
    ----------
    of
        The distribution of g.
    by
        F, from functions (n, *grid) to functions on the same grid, with channels before the grid if there are several.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.measures import Pushforward
    >>> bool((Pushforward(GaussianField(n_modes=8), torch.exp).sample(3, Domain(1).grid(16), seed=0) > 0).all())
    True
    """

    of: Measure
    by: Callable[[Tensor], Tensor]

    def expansion(self, grid: Any) -> tuple[int, Callable[[Tensor], Tensor]]:
        """F after the expansion of g."""
        size, made = self.of.expansion(grid)
        return size, lambda xi: self.by(made(xi))

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """F of each draw."""
        return self.by(self.of.sample(rows, grid, seed))


@dataclass(repr=False, eq=False)
class Copies(Measure):
    """The distribution of (g₁, …, g_c) with independent draws of the distribution `of`; c is `channels`."""

    of: Measure
    channels: int

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows channels *shape"]:
        """Draw i consists of the draws c·i, …, c·i + c − 1 of `of`."""
        rows = as_rows(rows)
        drawn = self.of.sample(range(self.channels * rows.start, self.channels * rows.stop), grid, seed)
        return drawn.unflatten(0, (len(rows), self.channels))
