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
    """The Kuramoto–Sivashinsky equation ∂u/∂t + u ∂u/∂x + ∂²u/∂x² + ν ∂⁴u/∂x⁴ = 0 on a circle, with the map u(0) ↦ u(T).

    Waves longer than 2π√ν grow, shorter ones are damped. For ν = 1 solutions are chaotic on circles longer than about 22.
    Initial states are those of a Gaussian field N(0, C), C ∝ (−Δ + τ²)^(−α), after the time `warm_up`: close to the
    attractor.

    Parameters
    ----------
    viscosity
        ν.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    warm_up
        How long the Gaussian field evolves before u(0); 0 starts from the field itself.
    deviation
        The standard deviation of that field at a point.
    tau, regularity
        τ and α of that field.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The largest time step.
    domain
        The circle, of length 64 by default.

    Examples
    --------
    >>> from raffia.problems import KuramotoSivashinsky
    >>> a, y = KuramotoSivashinsky(time=1.0, warm_up=5.0).dataset(2, points=64, seed=0)
    >>> y.shape
    torch.Size([2, 64])
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
