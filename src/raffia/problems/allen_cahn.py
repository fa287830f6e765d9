"""The Allen–Cahn equation on a torus: two phases, separated by thin interfaces that shrink."""

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class AllenCahn(Evolution, Problem):
    """∂u/∂t = ε² Δu + u − u³ on a torus of 1 to 3 dimensions, u(0) = a ~ N(0, C), C ∝ (−Δ + τ²)^(−α); F†: a ↦ u(T).

    `width` is ε: interfaces tanh(x / ε√2) form within a few units of time and need two or three grid points per ε; then they move by their
    curvature, in time 1/ε². `domain` sets the dimension, `deviation` the standard deviation of a
    at a point.
    """

    smoothing: ClassVar[str] = "width"

    width: Positive = 0.05
    time: Times = 5.0
    deviation: Positive = 0.5
    tau: Positive = 7.0
    regularity: float = 4.0
    fine_points: FinePoints = 64
    step: Positive = 0.1
    domain: Domain = field(default_factory=lambda: Domain(2))

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = 1 − ε²|k|² and N(u) = −u³."""
        return 1 - self.width * self.width * spectrum.squared, lambda v: -spectrum.of(spectrum.values(v) ** 3)
