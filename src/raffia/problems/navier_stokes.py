"""The incompressible Navier–Stokes equations on the two-dimensional torus, in vorticity form."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure, Pushforward
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain, Grid

Forcing = Literal["diagonal", "kolmogorov"] | Callable[[Tensor, Tensor], Tensor]

FORCINGS: dict[str | None, Callable[[Tensor, Tensor], Tensor]] = {
    None: lambda x, y: torch.zeros_like(x),
    "diagonal": lambda x, y: 0.1 * (torch.sin(2 * math.pi * (x + y)) + torch.cos(2 * math.pi * (x + y))),
    "kolmogorov": lambda x, y: torch.cos(8 * math.pi * y),
}


@dataclass(repr=False, eq=False)
class NavierStokes(Evolution, Problem):
    """The Navier–Stokes equations for the vorticity ω on the unit torus, with the map ω(0) ↦ ω(T).

    ∂ω/∂t + u·∇ω = ν Δω + f with u = (∂ψ/∂y, −∂ψ/∂x) and −Δψ = ω. Initial states are N(0, c (−Δ + τ²)^(−α)). The defaults are
    those of Li et al. (2021); their ω(0) has the standard deviation 0.04, and moves little.

    Parameters
    ----------
    viscosity
        ν.
    forcing
        f: None for a decaying flow, "diagonal" for 0.1 (sin 2π(x+y) + cos 2π(x+y)), "kolmogorov" for cos 8πy, or a function
        of (x, y), whose mean is left out.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    variance
        c.
    deviation
        The standard deviation of ω(0) at a point, in place of c.
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The largest time step; the fastest waves allow 2.8 / (max|u| k_max).
    domain
        The torus, `Domain(2)`.

    Examples
    --------
    >>> from raffia.problems import NavierStokes
    >>> a, y = NavierStokes(viscosity=0.01, time=0.1).dataset(2, points=32, seed=0)
    >>> y.shape
    torch.Size([2, 32, 32])
    """

    dimensions: ClassVar[tuple[int, ...]] = (2,)
    smoothing: ClassVar[str] = "viscosity"

    viscosity: Positive = 1e-3
    forcing: Forcing | None = "diagonal"
    time: Times = 1.0
    variance: Positive = 7**1.5
    deviation: Positive | None = None
    tau: Positive = 7.0
    regularity: float = 2.5
    fine_points: FinePoints = 64
    step: Positive = 0.02
    domain: Domain = field(default_factory=lambda: Domain(2))

    @property
    def input_measure(self) -> Measure:
        """ν = N(0, C), mean zero."""
        law = self.periodic_field(self.deviation)
        if self.deviation is not None:
            return law
        return Pushforward(law, lambda g: math.sqrt(self.variance) / self.tau ** (self.regularity - 1) * g)

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = −ν|k|² and N(ω) = f − u·∇ω = f + (∂²/∂y² − ∂²/∂x²) u₁u₂ + ∂²/∂x∂y (u₁² − u₂²)."""
        kx, ky = spectrum.waves
        inverse = torch.where(spectrum.squared > 0, 1 / spectrum.squared, 0)
        to_u1, to_u2 = 1j * ky * inverse, -1j * kx * inverse
        across, along = kx**2 - ky**2, -kx * ky
        force = spectrum.of(self._force(spectrum.grid).to(spectrum.device)) * (spectrum.squared > 0)

        def nonlinear(v: Tensor) -> Tensor:
            u1, u2 = spectrum.values(to_u1 * v), spectrum.values(to_u2 * v)
            product, difference = spectrum.of(u1 * u2), spectrum.of((u1 - u2) * (u1 + u2))
            return torch.addcmul(force, across, product).addcmul_(along, difference)

        return -self.viscosity * spectrum.squared, nonlinear

    def _force(self, grid: Grid) -> Float[Tensor, "r1 r2"]:
        force = self.forcing if callable(self.forcing) else FORCINGS[self.forcing]
        values = torch.as_tensor(force(*grid.nodes().unbind(-1)), dtype=torch.float64)
        if (values.ndim and tuple(values.shape) != grid.shape) or not torch.isfinite(values).all():
            raise RaffiaError(
                f"NavierStokes(forcing=…) must give a finite value for each node; got shape {tuple(values.shape)}."
            )
        return values.expand(grid.shape)
