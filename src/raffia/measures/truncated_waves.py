"""Sums of a few waves with random amplitudes and phases, of height one."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures.base import Measure
from raffia.measures.noise import Rows, uniform_noise
from raffia.spaces import Grid


@dataclass(repr=False, eq=False)
class TruncatedWaves(Measure):
    """Sums of a few sine waves with random amplitudes and phases, divided by their height: the initial states of APEBench in 1D.

    u = Σ_k A_k sin(2πkx/L + φ_k), k = 1 … cutoff, divided by max|u| on the grid; A_k uniform on (−1, 1), φ_k on (0, 2π).

    Parameters
    ----------
    cutoff
        The number of waves.

    Examples
    --------
    >>> from raffia import Domain
    >>> from raffia.measures import TruncatedWaves
    >>> TruncatedWaves().sample(2, Domain(1).grid(32), seed=0).shape
    torch.Size([2, 32])
    """

    cutoff: int = 5

    def sample(self, rows: Rows, grid: Grid, seed: int) -> Float[Tensor, "rows points"]:
        """Draws on a circle."""
        if not grid.domain.periodic or grid.domain.dim != 1:
            raise RaffiaError(f"TruncatedWaves needs a grid on a circle, Domain(1); got {grid.domain}.")
        k = torch.arange(1, self.cutoff + 1, dtype=torch.float64)
        amplitudes, phases = uniform_noise(rows, (2, self.cutoff), seed, "waves").unbind(1)
        x = grid.axes()[0] / grid.domain.extents[0]
        waves = torch.sin(2 * math.pi * (k[:, None] * x + phases[..., None]))
        u = ((2 * amplitudes - 1)[..., None] * waves).sum(1)
        return u / u.abs().amax(1, keepdim=True)
