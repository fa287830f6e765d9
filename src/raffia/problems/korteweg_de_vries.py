"""The Korteweg–de Vries equation on the circle: solitons, dispersive waves, nothing that smooths."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from raffia.measures import Measure
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution, periodic_field
from raffia.problems.exponential import Spectrum, integrate
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class KortewegDeVries(Evolution, Problem):
    """∂u/∂t + u ∂u/∂x + δ² ∂³u/∂x³ = 0 on the circle, u(0) = a ~ N(0, C), C ∝ (−Δ + τ²)^(−α); F†: a ↦ u(T).

    `dispersion` is δ²; smaller values make more and thinner solitons, which need more `fine_points`. Zabusky and Kruskal (1965)
    have δ = 0.022 on a circle of length 2. `deviation` is the standard deviation of a at a point. `step` is the time step; the
    fastest waves allow 2.8 / (max|u| k_max).
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)

    dispersion: Positive = 5e-4
    time: Times = 0.5
    deviation: Positive = 0.5
    tau: Positive = 7.0
    regularity: float = 4.0
    fine_points: FinePoints = 256
    step: Positive = 5e-4
    domain: Domain = field(default_factory=lambda: Domain(1))

    @property
    def input_measure(self) -> Measure:
        """ν = N(0, C), mean zero."""
        return periodic_field(self.domain, self.tau, self.regularity, self.fine_points, self.deviation)

    @property
    def smoother(self) -> str:
        """More dispersion."""
        return f", or a larger dispersion than {self.dispersion:g}"

    def flow(self, u: Float[Tensor, "n points"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times points"]:
        """Exponential integration: ℓ_k = iδ²k³ and N(u) = −∂(u²/2)/∂x."""
        spectrum = Spectrum(grid, u.device)
        (k,) = spectrum.waves
        return integrate(
            u, times, spectrum, 1j * self.dispersion * k**3,
            lambda v: -0.5j * k * spectrum.of(spectrum.values(v).square()), self.step, name="KortewegDeVries",
        )  # fmt: skip
