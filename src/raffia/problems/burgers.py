"""Viscous Burgers' equation on the circle (eqn:burgers_ibvp): the flow a = u(0) ↦ u(T)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.measures import GaussianField
from raffia.problems.base import Problem
from raffia.problems.evolution import Evolution
from raffia.spaces import Domain, Grid, resample

Forcing = Callable[[float, Tensor], Tensor] | Float[Tensor, "points"]

SAMPLES_IN_CACHE = 128


@dataclass(repr=False, eq=False)
class Burgers(Evolution, Problem):
    """∂u/∂t + ∂(u²/2)/∂x = ε ∂²u/∂x² + f on the circle, u(0) = a ~ N(0, τ^(2α−1) (−Δ + τ²)^(−α)); F†: a ↦ u(T).

    Pseudospectral with the 2/3 rule, fourth-order Runge–Kutta with the exact heat semigroup as integrating factor. Inputs on
    any grid are interpolated to `fine_points` points or more, and the solution is evaluated back on their grid.

    `viscosity` is ε > 0; small values make thin shocks: give them enough `fine_points`, about 4·max|a|/ε. `time` is T > 0, or increasing
    times (T₁, T₂, …), reached in one integration, and `solve` returns (n, times, points). `forcing` is f: None, its values on an
    equispaced grid (steady), or a function of (t, x). `tau` and `regularity` are τ and α of the input measure.

    `step` is the time step; None chooses it for a relative error near 1e-8, from each sample alone: Δt ≤ min(5 / (U k_max), ε / (4U²))
    with U a bound for |u|. The second keeps every mode stable: ε k² Δt > log |R(iUkΔt)| for all k when Δt < 6 ε / U².
    """

    dimensions: ClassVar[tuple[int, ...]] = (1,)
    positive: ClassVar[tuple[str, ...]] = ("viscosity", "step")

    viscosity: float = 0.01
    time: float | tuple[float, ...] = 1.0
    forcing: Forcing | None = None
    tau: float = 7.0
    regularity: float = 2.5
    fine_points: int = 1024
    step: float | None = None
    domain: Domain = field(default_factory=lambda: Domain(1, periodic=True))

    @property
    def input_measure(self) -> GaussianField:
        """ν = N(0, C), mean zero   (eqn:prior_burgers)."""
        return GaussianField(self.domain, "periodic", self.tau, self.regularity, n_modes=2 * ((self.fine_points - 1) // 2))

    @property
    def smoother(self) -> str:
        """More viscosity."""
        return f", or a larger viscosity than {self.viscosity:g}"

    def flow(self, u: Float[Tensor, "n points"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times points"]:
        """u at increasing times; samples that need the same step share a batch."""
        steps = self._steps_per_unit_time(u, grid, times[-1])
        end = u.new_empty(len(u), len(times), grid.shape[0])
        size = SAMPLES_IN_CACHE if u.device.type == "cpu" else max(1, len(u))
        for rate in steps.unique().tolist():
            for rows in torch.nonzero(steps == rate).flatten().split(size):
                end[rows] = self._integrate(u[rows], grid, rate, times)
        return end

    def _integrate(
        self, u: Float[Tensor, "n points"], grid: Grid, rate: float, times: Sequence[float]
    ) -> Float[Tensor, "n times points"]:
        points, extent = grid.shape[0], self.domain.extents[0]
        index = torch.arange(points // 2 + 1, device=u.device)
        wave = 2 * math.pi / extent * index.to(u)
        kept = 3 * index < points  # the 2/3 rule: products of kept modes alias onto dropped ones only
        flux = torch.where(kept, -0.5j * wave, 0)
        x = grid.axes()[0].to(u.device)

        def slope(t: float, v: Tensor) -> Tensor:
            change = flux * torch.fft.rfft(torch.fft.irfft(v, n=points, norm="forward").square(), norm="forward")
            return change if self.forcing is None else change + kept * torch.fft.rfft(self._forcing(t, x, grid), norm="forward")

        v = torch.fft.rfft(u, norm="forward") * kept
        snapshots, t = [], 0.0
        for stop in times:
            count = max(1, math.ceil((stop - t) * rate))
            h = (stop - t) / count
            half = torch.exp(-self.viscosity * wave**2 * h / 2)
            whole = half * half
            for i in range(count):
                s = t + i * h
                k1 = slope(s, v)
                k2 = slope(s + h / 2, half * (v + h / 2 * k1))
                k3 = slope(s + h / 2, half * v + h / 2 * k2)
                k4 = slope(s + h, whole * v + h * half * k3)
                v = whole * (v + h / 6 * k1) + h / 3 * half * (k2 + k3) + h / 6 * k4
            snapshots.append(torch.fft.irfft(v, n=points, norm="forward"))
            t = stop
        return torch.stack(snapshots, dim=1)

    def _steps_per_unit_time(self, u: Float[Tensor, "n points"], grid: Grid, end: float) -> Float[Tensor, "n"]:
        """From each sample alone, rounded up to a half power of two so that samples can share a batch."""
        if self.step is not None:
            return torch.full((len(u),), 1 / self.step, dtype=u.dtype, device=u.device)
        x = grid.axes()[0].to(u.device)
        instants = torch.linspace(0, end, 65).tolist() if callable(self.forcing) else [0.0]
        forces = [self._forcing(t, x, grid).abs().max() for t in instants] if self.forcing is not None else [0.0]
        bound = u.abs().amax(-1) + end * float(max(forces))  # |u| ≤ max|a| + T max|f|: the maximum principle
        k_max = 2 * math.pi / self.domain.extents[0] * (grid.shape[0] // 3)
        rate = torch.maximum(bound * k_max / 5, 4 * bound**2 / self.viscosity)
        return 2 ** ((2 * rate.clamp(min=16 / end).log2()).ceil() / 2)

    def _forcing(self, t: float, x: Tensor, grid: Grid) -> Tensor:
        if callable(self.forcing):
            return torch.as_tensor(self.forcing(t, x), dtype=x.dtype, device=x.device).expand(x.shape)
        values = torch.as_tensor(self.forcing, dtype=x.dtype, device=x.device)
        return resample(values, self.domain.grid_of(values), grid)
