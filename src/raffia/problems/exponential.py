"""Exponential integrators for ∂u/∂t = Lu + N(u) on a torus where L is diagonal in Fourier space: û_k' = ℓ_k û_k + N̂_k(û).

The linear part is solved exactly, however stiff, and the nonlinear part by the Runge–Kutta method of order 4 of Cox and Matthews
(2002), whose coefficients are φ functions.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import torch
from jaxtyping import Float, Inexact
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Grid
from raffia.spaces.spectral import wavenumbers

Modes = Inexact[Tensor, "*batch_and_modes"]
Slope = Callable[[Tensor], Tensor]

NUMBERS_IN_CACHE, NUMBERS_ON_DEVICE = 2**17, 2**25
MOST_STEPS = 10**9
INACCURATE, LOOKED_AT = 1e-3, 4  # the error of the time steps above which to warn, and of how many samples it is estimated


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The Fourier coefficients of real functions on a grid, all but those that products would alias onto.

    Kept are the wavenumbers with |j| (degree + 1) < points along each axis: products of `degree` functions then alias onto dropped ones
    only. For squares that is the 2/3 rule; `degree` 1 drops nothing but the highest wave of an even grid.
    """

    grid: Grid
    device: torch.device
    degree: int = 2

    @cached_property
    def waves(self) -> tuple[Float[Tensor, "..."], ...]:
        """The wavenumbers 2πj/L along each axis, with the others' axes of length one."""
        *others, last = wavenumbers(self.grid)
        axes = zip((*others, last[: self._last]), self.grid.domain.extents, strict=True)
        return tuple((2 * math.pi / extent * j).to(self.device) for j, extent in axes)

    @cached_property
    def squared(self) -> Float[Tensor, "*modes"]:
        """|k|², so that the symbol of the Laplacian is −|k|²."""
        return reduce(torch.add, (k.square() for k in self.waves))

    @cached_property
    def kept(self) -> Float[Tensor, "*modes"]:
        """1 for Fourier coefficients that the grid keeps without aliasing, 0 for the others."""
        limits = [math.pi * 2 / h / (self.degree + 1) * (1 - 1e-12) for h in self.grid.spacings]
        return reduce(torch.mul, ((k.abs() < limit).double() for k, limit in zip(self.waves, limits, strict=True)))

    def of(self, u: Tensor) -> Tensor:
        """û_k, those that are kept."""
        return torch.fft.rfftn(u, dim=self._axes, norm="forward")[..., : self._last] * self.kept

    def values(self, v: Tensor) -> Tensor:
        """u at the nodes."""
        return torch.fft.irfftn(v, s=self.grid.shape, dim=self._axes, norm="forward")

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(-len(self.grid.shape), 0))

    @property
    def _last(self) -> int:
        """How many coefficients of the last axis are stored: the kept ones of a real transform."""
        return math.ceil(self.grid.shape[-1] / (self.degree + 1))


def phi(z: Modes) -> tuple[Modes, Modes, Modes]:
    """φ₁, φ₂ and φ₃, where φ_j(z) = Σ_i z^i / (i + j)!: by that series for |z| < 1, elsewhere by φ_(j+1) = (φ_j − 1/j!) / z, φ₀ = exp."""
    small = z.abs() < 1
    safe, inner = torch.where(small, 1, z), torch.where(small, z, 0)
    before, found = torch.exp(safe), []
    for j in (1, 2, 3):
        before = (before - 1 / math.factorial(j - 1)) / safe
        series = torch.zeros_like(z)
        for i in range(20, -1, -1):
            series = series * inner + 1 / math.factorial(i + j)
        found.append(torch.where(small, series, before))
    return found[0], found[1], found[2]


def stepper(
    linear: Modes, nonlinear: Slope, h: float, driven: Callable[[float], Tensor] | None = None
) -> Callable[..., Tensor]:
    """Return the step v(t) ↦ v(t + h), with local error h⁵; a forcing that depends on t alone is `driven`, and steps take v and t."""
    whole, (p1, p2, p3) = torch.exp(h * linear), phi(h * linear)

    def slope(v: Tensor, t: float) -> Tensor:
        return nonlinear(v) if driven is None else nonlinear(v) + driven(t)

    half, q = torch.exp(h / 2 * linear), h / 2 * phi(h / 2 * linear)[0]
    f1, f2, f3 = h * (p1 - 3 * p2 + 4 * p3), 2 * h * (p2 - 2 * p3), h * (4 * p3 - p2)

    def fourth(v: Tensor, t: float = 0.0) -> Tensor:
        n = slope(v, t)
        middle = half * v
        a = torch.addcmul(middle, q, n)
        na = slope(a, t + h / 2)
        nb = slope(torch.addcmul(middle, q, na), t + h / 2)
        nc = slope(torch.addcmul(half * a, q, 2 * nb - n), t + h)
        return torch.addcmul(whole * v, f1, n).addcmul_(f2, na.add_(nb)).addcmul_(f3, nc)

    return fourth


def integrate(
    u: Float[Tensor, "n *state"],
    times: Sequence[float],
    spectrum: Spectrum,
    linear: Modes,
    nonlinear: Slope,
    step: float = math.inf,
    name: str = "integrate",
) -> Float[Tensor, "n times *state"]:
    """u at increasing times, from u(0). `linear` is ℓ_k, `nonlinear` maps û to N̂; both may have channels before the axes of the modes.

    Every interval between times has equal steps, none longer than `step`. Warns as `name` where steps look too long.
    """
    size = max(1, (NUMBERS_IN_CACHE if u.device.type == "cpu" else NUMBERS_ON_DEVICE) // max(1, u[0].numel()))
    found = u.new_empty(len(u), len(times), *u.shape[1:])
    longest, steps = 0.0, 0
    for part, into in zip(u.split(size), found.split(size), strict=True):
        v, now, h, steps = spectrum.of(part), 0.0, 0.0, 0
        for column, stop in enumerate(times):
            count = whole_steps((stop - now) / step * (1 - 1e-9), name)
            if abs(h - (stop - now) / count) > 1e-12 * h:
                h = (stop - now) / count
                advance = stepper(linear, nonlinear, h)
            for _ in range(count):
                v = advance(v)
            into[:, column], now, steps, longest = spectrum.values(v), stop, steps + count, max(longest, h)
    if torch.isfinite(found).all():
        states = spectrum.of(torch.stack([u[:LOOKED_AT], found[:LOOKED_AT, -1]]))
        _warn_if_inaccurate(name, states, linear, nonlinear, longest, steps)
    return found


def whole_steps(steps: float, name: str) -> int:
    """At least one, and no more than anybody waits for."""
    if not steps <= MOST_STEPS:
        raise RaffiaError(f"{name} would take {steps:.1g} steps, more than 10**9. Pass a shorter time=, or a larger step=.")
    return max(1, math.ceil(steps))


def _warn_if_inaccurate(name: str, v: Tensor, linear: Tensor, nonlinear: Slope, h: float, steps: int) -> None:
    """Warn where a step and two half steps differ by much, for all steps together; those from the start count once, as transients do."""
    half = stepper(linear, nonlinear, h / 2)
    one, two = stepper(linear, nonlinear, h)(v), half(half(v))
    start, end = ((one - two).flatten(2).norm(dim=-1) / two.flatten(2).norm(dim=-1).clamp(min=1e-300)).amax(1).tolist()
    error = start + steps * end
    if error > INACCURATE:
        enough = h * (INACCURATE / error) ** (1 / 4) / 2 if math.isfinite(error) else h / 10
        warnings.warn(
            f"{name} is not resolved in time: steps of {h:.2g} make an error of about {error:.1g}. "
            f"Pass step={enough:.1g} or less.",
            stacklevel=6,
        )
