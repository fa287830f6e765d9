"""Probability measures on functions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures.noise import Rows
from raffia.spaces import Grid


class Measure(BaseEstimator, ABC):
    """A distribution of random functions that can be sampled on any grid, by `sample(rows, grid, seed)`.

    Function i depends on the seed and on i only.

    Examples
    --------
    >>> from raffia import Domain, GaussianField
    >>> GaussianField(n_modes=8).sample(3, Domain(1).grid(16), seed=0).shape
    torch.Size([3, 16])
    """

    @abstractmethod
    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """Draw functions on a grid. Draw i depends on (seed, i) alone. `rows` is a count or a range."""

    def expansion(self, grid: Any) -> tuple[int, Callable[[Float[Tensor, "n numbers"]], Float[Tensor, "n *shape"]]]:
        """The number of independent standard normal variables ξ behind a draw on the grid, and the map from ξ to the draw."""
        raise RaffiaError(f"{type(self).__name__} has no Gaussian variables: pass a GaussianField, or a Pushforward of one.")
