"""Burgers' equation of a velocity in the plane or in space: waves that steepen, meet and merge."""

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from raffia.measures import Measure
from raffia.measures.pushforward import Copies
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class VectorBurgers(Evolution, Problem):
    """Burgers' equation ∂u/∂t + (u·∇)u = ε Δu for a velocity on a torus of 2 or 3 dimensions, with the map u(0) ↦ u(T).

    Arrays are (n, dim, *grid). The components of u(0) are independent, each N(0, C) with C ∝ (−Δ + τ²)^(−α).

    Parameters
    ----------
    viscosity
        ε. Fronts are about 4ε/max|u| wide, and need two or three grid points.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    deviation
        The standard deviation of the initial states at a point.
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The largest time step.
    domain
        The torus; it sets the dimension.

    Examples
    --------
    >>> from raffia.problems import VectorBurgers
    >>> a, y = VectorBurgers(viscosity=0.1, time=0.1, fine_points=32).dataset(1, points=16, seed=0)
    >>> y.shape
    torch.Size([1, 2, 16, 16])
    """

    dimensions: ClassVar[tuple[int, ...]] = (2, 3)
    smoothing: ClassVar[str] = "viscosity"

    viscosity: Positive = 0.01
    time: Times = 0.5
    deviation: Positive = 0.5
    tau: Positive = 5.0
    regularity: float = 4.0
    fine_points: FinePoints = 128
    step: Positive = 0.01
    domain: Domain = field(default_factory=lambda: Domain(2))

    @property
    def channels(self) -> int:
        """The number of components of the velocity, one for each axis."""
        return self.domain.dim

    @property
    def input_measure(self) -> Measure:
        """ν: independent components, each N(0, C)."""
        return Copies(self.periodic_field(self.deviation), self.channels)

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = −ε|k|² and N(u) = −Σ_j u_j ∂_j u."""
        channel = -1 - len(spectrum.grid.shape)

        def nonlinear(v: Tensor) -> Tensor:
            velocity = spectrum.values(v).unsqueeze(channel - 1).unbind(channel)  # the component u_j, beside all components
            products = [w * spectrum.values(1j * k * v) for w, k in zip(velocity, spectrum.waves, strict=True)]
            return -spectrum.of(torch.stack(products).sum(0))

        return -self.viscosity * spectrum.squared, nonlinear
