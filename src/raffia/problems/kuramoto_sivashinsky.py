"""The Kuramoto–Sivashinsky equation on the circle: chaos in space and time."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from torch import Tensor

from raffia.measures import Measure, Pushforward
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, NotNegative, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class KuramotoSivashinsky(Evolution, Problem):
    """∂u/∂t + u ∂u/∂x + ∂²u/∂x² + ν ∂⁴u/∂x⁴ = 0 on a circle of length L; F†: u(0) ↦ u(T).

    `viscosity` is ν. Waves longer than 2π√ν grow, shorter ones are damped by the fourth derivative: for ν = 1 solutions are chaotic from
    L ≈ 22 on; the default L is 64 (`domain`). Initial conditions are where a field
    g ~ N(0, C), C ∝ (−Δ + τ²)^(−α), with standard deviation `deviation` at a point, is after the time `warm_up`: on the attractor, about;
    0 starts from g itself.
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    smoothing: ClassVar[str] = "viscosity"

    viscosity: Positive = 1.0
    time: Times = 5.0
    warm_up: NotNegative = 100.0
    deviation: Positive = 1.0
    tau: Positive = 0.5
    regularity: float = 4.0
    fine_points: FinePoints = 128
    step: Positive = 0.04
    domain: Domain = field(default_factory=lambda: Domain(1, extent=64.0))

    @property
    def input_measure(self) -> Measure:
        """ν: a Gaussian field, carried along by the flow for `warm_up`."""
        law = self.periodic_field(self.deviation)
        return Pushforward(law, replace(self, time=self.warm_up, warm_up=0.0).solve) if self.warm_up else law

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = k² − νk⁴ and N(u) = −∂(u²/2)/∂x."""
        (k,) = spectrum.waves
        return k**2 - self.viscosity * k**4, lambda v: -0.5j * k * spectrum.of(spectrum.values(v).square())
