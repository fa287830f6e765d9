"""Viscous Burgers' equation on the circle (eqn:burgers_ibvp): the flow a = u(0) ↦ u(T)."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from raffia.measures import GaussianField
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.problems.exponential import Spectrum, stepper, whole_steps
from raffia.problems.parameters import FinePoints, Positive, Times
from raffia.spaces import Domain, Grid, resample

Forcing = Callable[[float, Tensor], Tensor] | Float[Tensor, "points"]

NUMBERS_IN_CACHE = 2**17
NEGLIGIBLE = 1e-11  # the part of a solution's largest mode below which higher ones are left out
LONGEST, STEEPEST = 2.5, 1 / 12  # steps: beside 1 / (U k_max), and beside ε / U²
FEWEST_POINTS, FEWEST_STEPS = (
    32,
    64,
)  # of a sample, and to a time in steps as long as the last before it


@dataclass(repr=False, eq=False)
class Burgers(Evolution, Problem):
    """Burgers' equation ∂u/∂t + ∂(u²/2)/∂x = ε ∂²u/∂x² + f on the circle, with the map u(0) ↦ u(T).

    Initial states are N(0, τ^(2α−1) (−Δ + τ²)^(−α)). The equation is solved by a pseudospectral method with the 2/3 rule and
    an exponential integrator of order four. Each sample has as many modes as are not negligible.

    Parameters
    ----------
    viscosity
        ε > 0. Small values make thin shocks, which need about 4·max|a|/ε points.
    time
        T > 0, or increasing times (T₁, T₂, …). Then `solve` returns (n, times, *grid).
    forcing
        f: None, its values on an equispaced grid, or a function of (t, x).
    tau, regularity
        τ and α of the distribution of the initial states.
    fine_points
        The least number of points along an axis on which the equation is solved.
    step
        The time step. None chooses one for a relative error near 1e-8, for each sample, again as it changes.
    domain
        The circle, `Domain(1)` by default.

    Examples
    --------
    >>> from raffia.problems import Burgers
    >>> a, y = Burgers(viscosity=0.05, fine_points=256).dataset(3, points=64, seed=0)
    >>> a.shape, y.shape
    (torch.Size([3, 64]), torch.Size([3, 64]))
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    smoothing: ClassVar[str] = "viscosity"

    viscosity: Positive = 0.01
    time: Times = 1.0
    forcing: Forcing | None = None
    tau: Positive = 7.0
    regularity: float = 2.5
    fine_points: FinePoints = 1024
    step: Positive | None = None
    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def input_measure(self) -> GaussianField:
        """ν = N(0, C), mean zero   (eqn:prior_burgers)."""
        return GaussianField(self.domain, "periodic", self.tau, self.regularity, n_modes=2 * ((self.fine_points - 1) // 2))

    def flow(self, u: Float[Tensor, "n points"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times points"]:
        """Solve for u at increasing times. Each sample has its own numbers of modes and time steps, chosen anew as it gets smoother."""
        end, now = u.new_empty(len(u), len(times), grid.shape[0]), 0.0
        modes = torch.fft.rfft(u, norm="forward")[:, : _kept(grid.shape[0])]
        for column, time in enumerate(times):
            for instant in [time] if self.step is not None else _instants(now, time):
                modes = self._advanced(modes, grid, now, instant)
                now = instant
            end[:, column] = torch.fft.irfft(modes, n=grid.shape[0], norm="forward")
        return end

    def _advanced(self, modes: Complex[Tensor, "n modes"], grid: Grid, now: float, stop: float) -> Complex[Tensor, "n modes"]:
        """Integrate from `now` to `stop`. A sample that turns out to need more modes is integrated again with more."""
        found, bound = torch.zeros_like(modes), self._bound(modes.detach(), grid, now, stop)
        points = (
            torch.full_like(bound, grid.shape[0]) if self.step or self.forcing is not None else _points(modes.detach(), grid)
        )
        waiting = torch.ones_like(bound, dtype=torch.bool)
        while waiting.any():
            rates = self._steps_per_unit_time(bound, points, stop)
            for size, rate in torch.stack([points, rates], 1)[waiting].unique(dim=0).tolist():
                rows = torch.nonzero(waiting & (points == size) & (rates == rate)).flatten()
                kept = _kept(int(size))
                batch = NUMBERS_IN_CACHE // int(size) if modes.device.type == "cpu" else len(rows)
                for some in rows.split(max(1, batch)):
                    found[some, :kept] = self._integrate(modes[some, :kept], grid.domain.grid(int(size)), rate, now, stop)
            waiting = waiting & (points < torch.minimum(_points(found.detach(), grid), 2 * points))
            points = torch.where(waiting, 2 * points, points)
        return found

    def _integrate(
        self, v: Complex[Tensor, "n modes"], grid: Grid, rate: float, now: float, stop: float
    ) -> Complex[Tensor, "n modes"]:
        spectrum, x = Spectrum(grid, v.device), grid.axes()[0].to(v.device)
        count = whole_steps((stop - now) * rate, "Burgers")
        h, flux = (stop - now) / count, -0.5j * spectrum.waves[0]
        advance = stepper(
            -self.viscosity * spectrum.squared,
            lambda v: flux * spectrum.of(spectrum.values(v).square()),
            h,
            driven=None if self.forcing is None else lambda t: spectrum.of(self._forcing(t, x, grid)),
        )
        for i in range(count):
            v = advance(v, now + i * h)
        return v

    def _bound(self, modes: Complex[Tensor, "n modes"], grid: Grid, now: float, stop: float) -> Float[Tensor, "n"]:
        """|u| ≤ max|u(now)| + (stop − now) max|f|: the maximum principle."""
        x = grid.axes()[0].to(modes.device)
        instants = torch.linspace(now, stop, 17, dtype=torch.float64).tolist() if callable(self.forcing) else [now]
        forces = [self._forcing(t, x, grid).abs().max() for t in instants] if self.forcing is not None else [0.0]
        return torch.fft.irfft(modes, n=grid.shape[0], norm="forward").abs().amax(-1) + (stop - now) * float(max(forces))

    def _steps_per_unit_time(self, bound: Float[Tensor, "n"], points: Float[Tensor, "n"], stop: float) -> Float[Tensor, "n"]:
        """Rounded up to a half power of two so that samples can share a batch."""
        if self.step is not None:
            return torch.full_like(bound, 1 / self.step)
        k_max = 2 * math.pi / self.domain.extents[0] * (points // 3)
        rate = torch.maximum(bound * k_max / LONGEST, bound**2 / (STEEPEST * self.viscosity))
        return 2 ** ((2 * rate.clamp(min=FEWEST_STEPS / stop).log2()).ceil() / 2)

    def _forcing(self, t: float, x: Tensor, grid: Grid) -> Tensor:
        if callable(self.forcing):
            return torch.as_tensor(self.forcing(t, x), dtype=x.dtype, device=x.device).expand(x.shape)
        values = torch.as_tensor(self.forcing, dtype=x.dtype, device=x.device)
        return resample(values, self.domain.grid_of(values), grid)


def _instants(now: float, stop: float) -> Iterator[float]:
    """Times at which numbers of modes and steps are chosen anew: they double, as solutions change fastest at the beginning."""
    while now < stop:
        now = stop if 2 * now >= stop else max(2 * now, stop / 64)
        yield now


def _kept(points: int) -> int:
    """How many modes a grid keeps, by the 2/3 rule: products of these alias onto dropped modes only."""
    return -(-points // 3)


def _points(modes: Complex[Tensor, "n modes"], grid: Grid) -> Float[Tensor, "n"]:
    """The number of points that each sample needs now, with a margin: that of the grid, half of it, a quarter of it …"""
    size = modes.abs()
    number = torch.arange(modes.shape[1], device=modes.device)
    last = torch.where(size > NEGLIGIBLE * size.amax(1, keepdim=True), number, 0).amax(1)
    points = torch.full_like(size[:, 0], grid.shape[0])
    fewer = grid.shape[0]
    while fewer % 2 == 0 and fewer // 2 >= FEWEST_POINTS:
        fewer //= 2
        points[last < 0.8 * _kept(fewer) - 1] = fewer
    return points
