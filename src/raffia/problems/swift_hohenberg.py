"""The Swift–Hohenberg equation on a torus: stripes and hexagons of one wavelength."""

import math
from dataclasses import dataclass, field

from torch import Tensor

from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class SwiftHohenberg(Evolution, Problem):
    """The Swift–Hohenberg equation ∂u/∂t = r u − (1 + Δ)² u + g u² − u³ on a torus, with the map u(0) ↦ u(T).

    Initial states are N(0, C) with C ∝ (−Δ + τ²)^(−α). Waves with |k| near 1 grow, at most at rate r.

    Parameters
    ----------
    growth
        r > 0.
    quadratic
        g: 0 makes stripes, about 1 and more makes hexagons.
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
        The torus, of side 16π by default: eight wavelengths.

    Examples
    --------
    >>> from raffia.problems import SwiftHohenberg
    >>> a, y = SwiftHohenberg(time=1.0).dataset(1, points=32, seed=0)
    >>> y.shape
    torch.Size([1, 32, 32])
    """

    growth: float = 0.3
    quadratic: float = 0.0
    time: Times = 10.0
    deviation: Positive = 0.5
    tau: Positive = 0.5
    regularity: float = 4.0
    fine_points: FinePoints = 96
    step: Positive = 0.1
    domain: Domain = field(default_factory=lambda: Domain(2, extent=16 * math.pi))

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = r − (1 − |k|²)² and N(u) = g u² − u³."""

        def nonlinear(v: Tensor) -> Tensor:
            w = spectrum.values(v)
            return spectrum.of((self.quadratic - w) * w.square())

        return self.growth - (1 - spectrum.squared) ** 2, nonlinear
