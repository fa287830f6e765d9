"""The wave equation on a torus, solved exactly."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.measures import Measure, Pushforward
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Spectrum
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class Wave(Evolution, Problem):
    """The wave equation ∂²u/∂t² = c² Δu on a torus, with the map u(0) ↦ u(T) from a state at rest.

    Initial states are N(0, C) with C ∝ (−Δ + τ²)^(−α) and standard deviation one at a point. The solution is exact,
    û_k(t) = cos(c|k|t) û_k(0).

    Parameters
    ----------
    speed
        c.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    velocity
        Whether states are (u, ∂u/∂t), in two channels. Only then does a state determine the next one.
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    domain
        The torus; it sets the dimension.

    Examples
    --------
    >>> from raffia.problems import Wave
    >>> a, y = Wave(velocity=True).dataset(2, points=16, seed=0)
    >>> y.shape
    torch.Size([2, 2, 16, 16])
    """

    degree: ClassVar[int] = 0

    speed: Positive = 1.0
    time: Times = 0.3
    velocity: bool = False
    tau: Positive = 7.0
    regularity: float = 4.0
    fine_points: FinePoints = 64
    domain: Domain = field(default_factory=lambda: Domain(2))

    @property
    def channels(self) -> int:
        """u, or u and its velocity."""
        return 1 + self.velocity

    @property
    def input_measure(self) -> Measure:
        """ν = N(0, C), mean zero, at rest."""
        law = self.periodic_field(1.0, degree=1)
        return Pushforward(law, lambda g: torch.stack([g, torch.zeros_like(g)], dim=1)) if self.velocity else law

    def flow(self, u: Float[Tensor, "n *state"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times *state"]:
        """Every mode swings by itself: û(t) = cos(γt) û + sin(γt)/γ v̂, v̂(t) = −γ sin(γt) û + cos(γt) v̂, γ = c|k|."""
        spectrum = Spectrum(grid, u.device, degree=1)
        states = spectrum.of(u) if self.velocity else spectrum.of(torch.stack([u, torch.zeros_like(u)], dim=1))
        position, velocity = states.unbind(1)
        rate, found = self.speed * spectrum.squared.sqrt(), []
        for t in times:
            later = (rate * t).cos() * position + t * torch.sinc(rate * t / torch.pi) * velocity
            swing = -rate * (rate * t).sin() * position + (rate * t).cos() * velocity
            found.append(torch.stack([later, swing], dim=1) if self.velocity else later)
        return spectrum.values(torch.stack(found, dim=1))
