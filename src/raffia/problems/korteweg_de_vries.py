"""The Korteweg–de Vries equation on the circle: solitons, dispersive waves, nothing that smooths."""

from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor

from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Slope, Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class KortewegDeVries(Evolution, Problem):
    """The Korteweg–de Vries equation ∂u/∂t + u ∂u/∂x + δ² ∂³u/∂x³ = 0 on the circle, with the map u(0) ↦ u(T).

    Initial states are N(0, C) with C ∝ (−Δ + τ²)^(−α). Zabusky and Kruskal (1965) have δ = 0.022 on a circle of length 2.

    Parameters
    ----------
    dispersion
        δ². Smaller values make more and thinner solitons, which need more `fine_points`.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    deviation
        The standard deviation of the initial states at a point.
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The largest time step; the fastest waves allow 2.8 / (max|u| k_max).
    domain
        The circle, `Domain(1)` by default.

    Examples
    --------
    >>> from raffia.problems import KortewegDeVries
    >>> u = KortewegDeVries().trajectories(2, points=64, steps=3, dt=0.01, seed=0)
    >>> u.shape
    torch.Size([2, 4, 64])
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    smoothing: ClassVar[str] = "dispersion"

    dispersion: Positive = 5e-4
    time: Times = 0.5
    deviation: Positive = 0.5
    tau: Positive = 7.0
    regularity: float = 4.0
    fine_points: FinePoints = 256
    step: Positive = 5e-4
    domain: Domain = field(default_factory=lambda: Domain(1))

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k = iδ²k³ and N(u) = −∂(u²/2)/∂x."""
        (k,) = spectrum.waves
        return 1j * self.dispersion * k**3, lambda v: -0.5j * k * spectrum.of(spectrum.values(v).square())
