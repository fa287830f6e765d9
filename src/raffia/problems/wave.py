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
    """∂²u/∂t² = c² Δu on a torus, u(0) = a ~ N(0, C), C ∝ (−Δ + τ²)^(−α), ∂u/∂t(0) = 0; F†: a ↦ u(T).

    û_k(t) = cos(c|k|t) û_k(0). `speed` is c; a has standard deviation one at a point. With `velocity=True` states are
    (u, ∂u/∂t), in two channels, which start at rest: then, and only then, the next state of a trajectory is a function of the last.
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
