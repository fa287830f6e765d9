"""Advection with constant speed on a torus, solved exactly, jumps included."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure, Pushforward
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Spectrum, integrate
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class Advection(Evolution, Problem):
    """Transport by a constant velocity c on a torus: ∂u/∂t + c·∇u = 0, with the map u(0) ↦ u(T) = u(· − cT, 0).

    Let g ~ N(0, C) with C ∝ (−Δ + τ²)^(−α) and standard deviation one at a point. Initial states are g or, with jumps, its
    sign, as in de Hoop et al. (2022). Smooth states are shifted exactly. Jumps are shifted by whole grid points, to the
    nearest one.

    Parameters
    ----------
    speed
        c: one number for all axes, or one for each.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    profile
        "smooth" or "jumps".
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    domain
        The torus; it sets the dimension.

    Examples
    --------
    >>> from raffia.problems import Advection
    >>> a, y = Advection(time=0.25).dataset(2, points=64, seed=0)
    >>> bool((y - a.roll(16, -1)).abs().max() < 1e-12)
    True
    """

    degree: ClassVar[int] = 0

    speed: float | tuple[float, ...] = 1.0
    time: Times = 0.5
    profile: Literal["smooth", "jumps"] = "smooth"
    tau: Positive = 3.0
    regularity: float = 2.0
    fine_points: FinePoints = 256
    domain: Domain = field(default_factory=lambda: Domain(1))

    @property
    def input_measure(self) -> Measure:
        """ν = N(0, C), or its signs."""
        law = self.periodic_field(1.0, degree=1)
        return law if self.profile == "smooth" else Pushforward(law, lambda g: torch.where(g >= 0, 1.0, -1.0).to(g))

    def check_together(self) -> None:
        """A speed for each axis, where there are several."""
        super().check_together()
        if torch.tensor(self.speed).numel() not in (1, self.domain.dim):
            raise RaffiaError(f"Advection(speed=…) must be one number, or {self.domain.dim}, one per axis; got {self.speed}.")

    def grid_to_solve_on(self, grid: Grid) -> Grid:
        """Jumps are moved on the grid as it is, since their interpolant on a finer one would ring."""
        return grid if self.profile == "jumps" else super().grid_to_solve_on(grid)

    def flow(self, u: Float[Tensor, "n *shape"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times *shape"]:
        """Whole grid points, or ℓ_k = −i c·k and no N, for which exponential integration is exact."""
        speeds = torch.tensor(self.speed, dtype=torch.float64).expand(self.domain.dim).tolist()
        if self.profile == "jumps":
            shifts = [[round(c * t / h) for c, h in zip(speeds, grid.spacings, strict=True)] for t in times]
            return torch.stack([u.roll(shift, tuple(range(1, u.ndim))) for shift in shifts], dim=1)
        spectrum = Spectrum(grid, u.device, degree=1)
        linear = -1j * reduce(torch.add, (c * k for c, k in zip(speeds, spectrum.waves, strict=True)))
        return integrate(u, times, spectrum, linear, torch.zeros_like)
