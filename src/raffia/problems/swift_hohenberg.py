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
    """∂u/∂t = r u − (1 + Δ)² u + g u² − u³ on a torus of 1 to 3 dimensions, u(0) = a ~ N(0, C), C ∝ (−Δ + τ²)^(−α); F†: a ↦ u(T).

    `growth` is r > 0: waves with |k| near 1 grow, at most at rate r. `quadratic` is g: 0 makes stripes, about 1 and more hexagons. The
    default torus has side 16π, eight wavelengths. `deviation` is the standard deviation of a at a point.
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
