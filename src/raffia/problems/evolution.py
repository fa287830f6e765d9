"""Flows of evolution equations on a torus: pairs u(0) ↦ u(T), and trajectories u(0), u(Δt), u(2Δt), …"""

import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures import GaussianField, Measure, Pushforward
from raffia.measures.noise import Rows, as_rows
from raffia.problems.base import check_tensor, grid_with, refined
from raffia.problems.exponential import Slope, Spectrum, integrate
from raffia.problems.parameters import (
    Count,
    FinePoints,
    Positive,
    Times,
    check,
    check_parameters,
    check_regularity,
    has_several,
)
from raffia.spaces import Channels, Domain, Grid, Space, resample

UNRESOLVED = 1e-4  # relative size of the last modes, above which a solution may be off by per cents
NUMBERS_AT_ONCE = 2**25
MODES_OF_DEVIATION = 10_000  # the same number for every grid, so that a grid does not change what is drawn
BALLS = (1.0, 2.0, math.pi, 4 / 3 * math.pi)  # the volume of the unit ball in dimension 0 to 3


class Evolution:
    """What problems with a time share. `class Heat(Evolution, Problem)` defines `terms`, or `flow`.

    Inputs on any grid are interpolated to at least `fine_points` points along an axis. The solution is evaluated on their
    grid. `time` is T > 0, or increasing times (T₁, T₂, …), and then `solve` returns (n, times, *grid).

    Examples
    --------
    >>> from raffia.problems import AllenCahn, Evolution
    >>> issubclass(AllenCahn, Evolution)
    True
    """

    domain: Domain
    time: Times
    tau: float
    regularity: float
    deviation: float | None
    fine_points: FinePoints
    step: float | None

    degree: ClassVar[int] = 2
    """Modes are kept up to points / (degree + 1); 0 where nothing is lost on any grid."""
    dimensions: ClassVar[tuple[int, ...]] = (1, 2, 3)
    """Those that the domain may have."""
    whole: ClassVar[bool] = False
    """Whether times are whole numbers."""
    smoothing: ClassVar[str] = ""
    """The parameter whose larger values make solutions smoother, named in warnings."""

    @property
    def input_measure(self) -> Measure:
        """ν = N(0, C), the distribution of u(0), with mean zero and the standard deviation `deviation` at a point."""
        return self.periodic_field(self.deviation)

    def terms(self, spectrum: Spectrum) -> tuple[Tensor, Slope]:
        """ℓ_k and N of û_k' = ℓ_k û_k + N̂_k(û), for exponential integration; equations that are solved otherwise override `flow`."""
        raise NotImplementedError(f"{type(self).__name__} must define terms, or flow.")

    def flow(self, u: Float[Tensor, "n *state"], grid: Grid, times: Sequence[float]) -> Float[Tensor, "n times *state"]:
        """u at increasing times, from u(0), in float64: exponential integration with steps of at most `step`."""
        spectrum = Spectrum(grid, u.device)
        linear, nonlinear = self.terms(spectrum)
        return integrate(u, times, spectrum, linear, nonlinear, step=self.step or math.inf, name=type(self).__name__)

    @property
    def channels(self) -> int:
        """How many functions a state consists of."""
        return 1

    @property
    def space(self) -> Space:
        """The space of states."""
        return self.domain if self.channels == 1 else Channels(self.domain, self.channels)

    @property
    def times(self) -> tuple[float, ...]:
        """The output times."""
        return tuple(self.time) if isinstance(self.time, (tuple, list)) else (self.time,)

    def periodic_field(self, deviation: float | None, degree: int = 2) -> Measure:
        """N(0, C) on the torus, C = τ^(2α−d) (−Δ + τ²)^(−α).

        It has about as many modes as an equation of this degree keeps on `fine_points` points. With a `deviation`, draws are scaled so
        that this is their standard deviation at a point.
        """
        dim, radius = self.domain.dim, (self.fine_points - 1) // (degree + 1)
        field = GaussianField(self.domain, "periodic", self.tau, self.regularity, max(1, int(BALLS[dim] * radius**dim)))
        if deviation is None:
            return field
        total = GaussianField(self.domain, "periodic", self.tau, self.regularity, MODES_OF_DEVIATION).variances.sum()
        scale = deviation / math.sqrt(float(total) / math.prod(self.domain.extents))
        return Pushforward(field, lambda g: scale * g)

    def grid_to_solve_on(self, grid: Grid) -> Grid:
        """The grid on which inputs on `grid` are solved: at least `fine_points` points along each axis, all nodes of `grid` among them."""
        return refined(grid, self.fine_points)

    def check_together(self) -> None:
        """Refuse domains, laws and times that this equation does not have."""
        name = type(self).__name__
        if not self.domain.periodic or self.domain.dim not in self.dimensions:
            allowed = " or ".join(map(str, self.dimensions))
            raise RaffiaError(f"{name}(domain=…) must be a torus of dimension {allowed}; got {self.domain}.")
        check_regularity(self)
        self._check_whole(f"{name}(time=…)", self.times)

    def check_step(self, dt: Any, name: str = "trajectories(dt=…)") -> None:
        """Refuse what cannot be the time between states of a trajectory; `name` is what it is called."""
        check(name, Positive, dt)
        self._check_whole(name, (dt,))

    def solve(self, a: Float[Tensor, "n *grid"]) -> Float[Tensor, "n *times_and_grid"]:
        """u(T) on the grid of a; (n, times, *grid) when `time` has several."""
        check_parameters(self)
        self._check(a)
        grid = self.domain.grid_of(a)
        fine = self.grid_to_solve_on(grid)
        end = self._checked_flow(resample(a.double(), grid, fine), fine, self.times)
        end = resample(end, fine, grid).to(a.dtype)
        return end if has_several(self.time) else end[:, 0]

    def trajectories(
        self, n: Rows, points: int | tuple[int, ...], steps: int, dt: float, seed: int = 0
    ) -> Float[Tensor, "n steps_and_start *grid"]:
        """Draw trajectories u(0), u(Δt), …, u(steps·Δt). Trajectory i depends on the seed and on i only, whatever the grid.

        Parameters
        ----------
        n
            The number of trajectories, or a range of their indices.
        points
            The number of points along each axis, or one number for each axis.
        steps, dt
            The number of steps, and the time Δt between two states.
        seed
            The seed of the initial states.

        Returns
        -------
        Tensor
            States of shape (n, steps + 1, *grid), with channels before the grid if there are several.
        """
        check_parameters(self)
        check("trajectories(steps=…)", Count, steps)
        self.check_step(dt)
        if not math.isfinite(dt * steps):
            raise RaffiaError(f"trajectories(dt=…) times steps must be finite; got dt={dt!r} and steps={steps}.")
        target, rows = grid_with(self.domain, points, type(self).__name__), as_rows(n, "n")
        times = [dt * i for i in range(1, steps + 1)]
        fine = refined(target, self.fine_points)
        size, parts = max(1, NUMBERS_AT_ONCE // (fine.size * self.channels * (steps + 1))), []
        for first in range(rows.start, rows.stop, size):
            u = self.input_measure.sample(range(first, min(first + size, rows.stop)), fine, seed)
            self._check(u)
            whole = torch.cat([u[:, None], self._checked_flow(u, fine, times)], dim=1)
            parts.append(resample(whole, fine, target))
        return torch.cat(parts)

    def _checked_flow(self, u: Tensor, grid: Grid, times: Sequence[float]) -> Tensor:
        end = self.flow(u, grid, times)
        name = type(self).__name__
        if not torch.isfinite(end).all():
            raise RaffiaError(f"{name}: the integration did not stay finite. Pass a smaller step=, or more fine_points.")
        if self.degree:
            self._warn_if_unresolved(end.detach(), grid)
        return end

    def _warn_if_unresolved(self, u: Float[Tensor, "n times *state"], grid: Grid) -> None:
        """Warn where the last kept modes are not small: a resolved solution has a spectrum that falls exponentially."""
        dim = len(grid.shape)
        size = u.square().flatten(2).mean(-1).sqrt().clamp(min=1e-300)
        for axis, points in enumerate(grid.shape, -dim):
            last = points // (self.degree + 1)
            others = [d for d in range(-dim - (self.channels > 1), 0) if d != axis]
            modes = torch.fft.rfft(u, dim=axis, norm="forward").abs()
            amplitudes = modes.square().mean(others).sqrt() if others else modes
            amplitudes = amplitudes[..., 1 : last + 1] / size[..., None]
            half, end = (float(amplitudes[..., k - max(1, last // 8) : k].mean(-1).max()) for k in (max(1, last // 2), last))
            if end > UNRESOLVED:
                decay = max(math.log(half / end) / (last / 2), 1e-3) if half > end else 1e-3
                need = 2 ** math.ceil(math.log2((self.degree + 1) * (last + math.log(end / UNRESOLVED) / decay)))
                smoother = f", or a larger {self.smoothing} than {getattr(self, self.smoothing):g}" if self.smoothing else ""
                warnings.warn(
                    f"{type(self).__name__} is not resolved: with {points} points the last modes of a solution still have "
                    f"{end:.1g} of its size. Pass fine_points={min(max(need, 2 * points), 64 * points)} or more{smoother}.",
                    stacklevel=4,
                )
                return

    def _check_whole(self, name: str, times: Sequence[float]) -> None:
        if self.whole and any(time != round(time) for time in times):
            given = times[0] if len(times) == 1 else tuple(times)
            raise RaffiaError(f"{type(self).__name__} has whole steps, so {name} must be whole numbers; got {given}.")

    def _check(self, a: Tensor) -> None:
        check_tensor(a)
        shape = ", ".join(["n", *([str(self.channels)] if self.channels > 1 else []), *["points"] * self.domain.dim])
        wrong = a.ndim != 1 + self.space.ndim or (self.channels > 1 and a.shape[1] != self.channels)
        if wrong or not torch.isfinite(a).all():
            raise RaffiaError(f"a must be finite and of shape ({shape}); got shape {tuple(a.shape)}.")
