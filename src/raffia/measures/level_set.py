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
    """Piecewise constant functions with two values, divided by the zero level set of a Gaussian field.

    a = `high` where g > 0 and `low` elsewhere, g ~ N(0, τ^(2α−d) (−Δ + τ²)^(−α)) with Neumann conditions.

    The eigenfunctions are the paper's (eqn:eig_neumann). The authors' own data have axis modes (k₁ = 0 or k₂ = 0) of twice that
    variance, which gives slightly larger regions.
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
