"""Evolution equations as APEBench counts them: by how difficult each of their terms is for a network on a grid."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import Measure, Pushforward, TruncatedWaves
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Spectrum, phi, whole_steps
from raffia.problems.parameters import Count, FinePoints, FromZero, Times
from raffia.spaces import Domain, Grid


@dataclass(repr=False, eq=False)
class Scenario(Evolution, Problem):
    """One step of a linear equation with convection on the circle, as in APEBench: the map u(0) ↦ u(1).

    ∂u/∂t = Σ_j a_j ∂ʲu/∂xʲ − (b/2) ∂(u²)/∂x, by the difficulties of Koehler, Niedermayr, Westermann & Thuerey (2024). Three
    scenarios:

    * Burgers' equation: linear=(0, 0, 1.5), convection=1.5;
    * the Korteweg–de Vries equation with hyperviscosity: linear=(0, 0, 0, -14, -9), convection=2;
    * the Kuramoto–Sivashinsky equation: linear=(0, 0, -2, 0, -18), convection=1, warm_up=500.

    A step is one of ETDRK2 as exponax 0.1.0 computes it, to rounding. That scheme is the map, even where it does not resolve
    the equation.

    Parameters
    ----------
    linear
        γ_j = a_j Nʲ 2ʲ⁻¹ on N = `points` points.
    convection
        b N, with the sign of exponax; APEBench's `convection_delta` is −b N.
    warm_up
        The number of steps before a trajectory begins.
    cutoff
        The highest wavenumber of the initial states.
    points
        N.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    fine_points
        The least number of points along an axis on which the equation is solved.
    domain
        The circle, `Domain(1)` by default.

    Examples
    --------
    >>> from raffia.problems import Scenario
    >>> u = Scenario().trajectories(2, points=160, steps=3, dt=1.0, seed=0)
    >>> u.shape
    torch.Size([2, 4, 160])
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    degree: ClassVar[int] = 0

    linear: tuple[float, ...] = (0.0, 0.0, 1.5)
    convection: float = 1.5
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
        """Raise an error unless times are whole numbers and `cutoff` is below half of `fine_points`."""
        super().check_together()
        _check_whole("Scenario(time=…)", self.times)
        if 2 * self.cutoff >= self.fine_points:
            raise RaffiaError(f"Scenario(cutoff=…) must be below half of fine_points={self.fine_points}; got {self.cutoff}.")

    def check_step(self, dt: Any, name: str = "trajectories(dt=…)") -> None:
        """Only whole steps."""
        super().check_step(dt, name)
        _check_whole(name, (dt,))

    def flow(self, u: Float[Tensor, "n points"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times points"]:
        """Whole steps of ETDRK2, as exponax 0.1.0 has it."""
        spectrum, n = Spectrum(grid, u.device, degree=0), self.points
        (k,) = spectrum.waves
        zero = torch.zeros_like(k, dtype=torch.complex128)
        symbol = sum((gamma * 2 / (2 * n) ** j * (1j * k) ** j for j, gamma in enumerate(self.linear)), zero)
        phi_1, phi_2 = (coefficient.real for coefficient in phi(symbol)[:2])
        decay, flux = torch.exp(symbol), -0.5j * self.convection / n * k
        low = torch.arange(len(k), device=u.device) <= 2 / 3 * (grid.shape[0] // 2) - 1

        def nonlinear(v: Tensor) -> Tensor:
            return flux * spectrum.of(spectrum.values(low * v).square())

        now, states = 0, []
        for stop in times:
            for _ in range(whole_steps(float(stop) - now, "Scenario")):
                v = spectrum.of(u)
                before = nonlinear(v)
                v = decay * v + phi_1 * before
                u = spectrum.values(v + phi_2 * (nonlinear(v) - before))
            now = round(stop)
            states.append(u)
        return torch.stack(states, 1)


def _check_whole(name: str, times: Sequence[float]) -> None:
    if any(time != round(time) for time in times):
        given = times[0] if len(times) == 1 else tuple(times)
        raise RaffiaError(f"Scenario has whole steps, so {name} must be whole numbers; got {given}.")
