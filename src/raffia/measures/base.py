"""Probability measures on functions."""

from abc import ABC, abstractmethod

from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.measures.noise import Rows
from raffia.spaces import Grid


class Measure(BaseEstimator, ABC):
    """A law of random functions that can be drawn on any grid."""

    @abstractmethod
    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """Draw functions on a grid; function i is a function of (seed, i) alone. `rows` is a count or a range."""
