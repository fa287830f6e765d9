"""Evolution equations as APEBench counts them: by how difficult each of their terms is for a network on a grid."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure, Pushforward, TruncatedWaves
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Spectrum, stepper, whole_steps
from raffia.problems.parameters import Count, FinePoints, FromZero, Times
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class Scenario(Evolution, Problem):
    """∂u/∂t = Σ_j a_j ∂ʲu/∂xʲ − (b/2) ∂(u²)/∂x on a circle of length 1; F†: u(0) ↦ u(1), one step of a trajectory.

    The difficulties of Koehler, Niedermayr, Westermann & Thuerey (2024): `linear` are γ_j = a_j Nʲ 2ʲ⁻¹ and `convection` is δ = b N,
    on N = `points` points. Burgers' equation is linear=(0, 0, 1.5), convection=-1.5, the Korteweg–de Vries equation with
    hyperviscosity (0, 0, 0, -14, -9) and -2, that of Kuramoto and Sivashinsky (0, 0, -2, 0, -18) and -1 with `warm_up` 500, the steps
    before a trajectory begins. As there, a step of time 1 is one of ETDRK2 on that grid, with the 2/3 rule: that scheme is the map,
    so nothing is said where it does not resolve the equation. `cutoff` is the highest wavenumber of the initial conditions.
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    degree: ClassVar[int] = 0
    whole: ClassVar[bool] = True

    linear: tuple[float, ...] = (0.0, 0.0, 1.5)
    convection: float = -1.5
    warm_up: FromZero = 0
    cutoff: Count = 5
    points: Count = 160
    time: Times = 1.0
    fine_points: FinePoints = 160
    domain: Domain = field(default_factory=lambda: Domain(1))

    @property
    def input_measure(self) -> Measure:
        """Truncated Fourier series of height one, or where they are after the first steps."""
        law = TruncatedWaves(self.cutoff)
        return Pushforward(law, replace(self, time=float(self.warm_up), warm_up=0).solve) if self.warm_up else law

    def check_together(self) -> None:
        """Waves that a grid holds."""
        super().check_together()
        if 2 * self.cutoff >= self.fine_points:
            raise RaffiaError(
                f"Scenario(cutoff=…) must be below half of fine_points, or waves are aliased; got cutoff={self.cutoff} "
                f"and fine_points={self.fine_points}."
            )

    def flow(self, u: Float[Tensor, "n points"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times points"]:
        """Whole steps of ETDRK2."""
        spectrum, n = Spectrum(grid, u.device), self.points
        (k,) = spectrum.waves
        zero = torch.zeros_like(k, dtype=torch.complex128)
        symbol = sum((gamma * 2 / (2 * n) ** j * (1j * k) ** j for j, gamma in enumerate(self.linear)), zero)
        flux = -0.5j * self.convection / n * k
        advance = stepper(symbol, lambda v: flux * spectrum.of(spectrum.values(v).square()), 1.0, order=2)
        v, now, found = spectrum.of(u), 0, []
        for stop in times:
            for _ in range(whole_steps(float(stop) - now, "Scenario")):
                v = advance(v)
            now = round(stop)
            found.append(spectrum.values(v))
        return torch.stack(found, 1)
