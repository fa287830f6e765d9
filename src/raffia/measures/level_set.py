"""Piecewise constant random coefficients: the level sets of a Gaussian field (eqn:prior_levelset)."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures.base import Measure
from raffia.measures.gaussian import GaussianField
from raffia.measures.noise import Rows
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class LevelSet(Measure):
    """Functions with two values: `high` where a Gaussian field is positive, `low` elsewhere, as in the paper (eqn:prior_levelset).

    The field is N(0, τ^(2α−d) (−Δ + τ²)^(−α)) with Neumann conditions. The authors' own data have axis modes (k₁ = 0 or k₂ =
    0) of twice that variance, which gives slightly larger regions.

    Parameters
    ----------
    low, high
        The two values.
    tau, regularity, n_modes
        τ, α and the number of modes of the field.
    domain
        A box.

    Examples
    --------
    >>> from raffia import Domain
    >>> from raffia.measures import LevelSet
    >>> LevelSet(n_modes=100).sample(2, Domain(2, periodic=False).grid(17), seed=0).unique().tolist()
    [3.0, 12.0]
    """

    low: float = 3.0
    high: float = 12.0
    tau: float = 3.0
    regularity: float = 2.0
    n_modes: int = 10_000
    domain: Domain = field(default_factory=lambda: Domain(2, periodic=False))

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows *shape"]:
        """Draw coefficients, one threshold for all."""
        if not 0 < self.low <= self.high:
            raise RaffiaError(f"LevelSet needs 0 < low <= high; got low={self.low}, high={self.high}.")
        g = GaussianField(self.domain, "neumann", self.tau, self.regularity, self.n_modes).sample(rows, grid, seed)
        return torch.where(g > 0, g.new_tensor(self.high), g.new_tensor(self.low))
