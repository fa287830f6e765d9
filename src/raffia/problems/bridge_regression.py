"""One-dimensional regression of a Brownian bridge path (ex:bb): numbers in, numbers out."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure, uniform_noise, white_noise
from raffia.measures.noise import Rows
from raffia.problems.base import Problem
from raffia.problems.parameters import Count, Seed, check_parameters
from raffia.spaces import Domain, Grid


class UniformPoint(Measure):
    """Unif(0, 1) on the unit interval."""

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows"]:
        """Draw points; point i is a function of (seed, i) alone."""
        return uniform_noise(rows, (), seed, stream="input")


@dataclass(repr=False, eq=False)
class BridgeRegression(Problem):
    """One path of a Brownian bridge, number ↦ number: F†(x) = Σ_j ξ_j √2 sin(jπx) / (jπ) with x ~ Unif(0, 1).

    Parameters
    ----------
    path
        The seed that chooses the path ξ.
    n_modes
        The number of terms of the series.
    domain
        `Domain(0)`: inputs and outputs are numbers.

    Examples
    --------
    >>> from raffia.problems import BridgeRegression
    >>> x, y = BridgeRegression().dataset(5, seed=0)
    >>> x.shape, y.shape
    (torch.Size([5]), torch.Size([5]))
    """

    path: Seed = 0
    n_modes: Count = 1000
    domain: Domain = field(default_factory=lambda: Domain(0))

    @property
    def input_measure(self) -> UniformPoint:
        """ν = Unif(0, 1)."""
        return UniformPoint()

    def check_together(self) -> None:
        """Numbers are functions on a point."""
        if self.domain.dim:
            raise RaffiaError(f"BridgeRegression(domain=…) must be Domain(0); got {self.domain}.")

    def solve(self, a: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        """The path at the points a."""
        check_parameters(self)
        wave = math.pi * torch.arange(1, self.n_modes + 1, dtype=a.dtype, device=a.device)
        xi = white_noise(1, (self.n_modes,), self.path, stream="bridge")[0].to(a)
        return math.sqrt(2) * torch.sin(a[:, None] * wave) @ (xi / wave)
