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
    """The Allen–Cahn equation ∂u/∂t = ε² Δu + u − u³ on a torus of 1 to 3 dimensions, with the map u(0) ↦ u(T).

    Initial states are N(0, C) with C ∝ (−Δ + τ²)^(−α). Interfaces tanh(x / ε√2) form within a few units of time. They need
    two or three grid points per ε. Later they move by their curvature, in times of order 1/ε².

    Parameters
    ----------
    width
        ε, the width of interfaces.
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
    >>> from raffia.problems import AllenCahn
    >>> a, y = AllenCahn(width=0.1, time=1.0, fine_points=32).dataset(2, points=16, seed=0)
    >>> y.shape
    torch.Size([2, 16, 16])
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
