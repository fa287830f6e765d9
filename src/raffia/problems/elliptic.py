"""What problems on a rectangle with a positive coefficient share: checks, and a warning where a grid does not resolve solutions."""

import math
import warnings
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Domain

UNRESOLVED = 0.01  # the mean relative error above which to warn


def check_rectangle(name: str, domain: Domain) -> None:
    """Refuse other domains."""
    if domain.dim != 2 or not domain.boxed:
        raise RaffiaError(f"{name}(domain=…) must be a rectangle, Domain(2, periodic=False); got {domain}.")


def check_coefficient(a: Tensor, what: str) -> None:
    """Refuse inputs that are not positive functions on a rectangle."""
    if a.ndim != 3 or min(a.shape[1:]) < 3:
        raise RaffiaError(
            f"a must have shape (n, r, r), functions on a rectangle with 3 points or more along each axis; got {tuple(a.shape)}. "
            "One function is a[None]."
        )
    bad = (~(torch.isfinite(a) & (a > 0)).flatten(1).all(-1)).nonzero()
    if len(bad):
        raise RaffiaError(
            f"a must be finite and strictly positive, {what}; a[{int(bad[0])}] is not. Remove that sample, or take exp of a logarithm."
        )


def warn_if_unresolved(
    name: str, u: Float[Tensor, "n r1 r2"], on_every: Callable[[int], Tensor], orders: tuple[int, int]
) -> None:
    """Warn where solutions change by much if every second or third point is left: Richardson's estimate of their error.

    `on_every(k)` solves on the grid of every k-th point. The order of convergence is between the two of `orders`; a third grid, if there
    is one, decides.
    """
    intervals = math.gcd(*(points - 1 for points in u.shape[1:]))
    step = next((k for k in (2, 3) if intervals % k == 0 and intervals >= 4 * k), None)
    if step is None:
        return
    coarse, (slowest, fastest) = on_every(step), (float(step**order) for order in orders)
    apart, rate = _difference(u, coarse), slowest
    if slowest < fastest and intervals % step**2 == 0 and apart > 0:
        rate = min(max(_difference(coarse, on_every(step**2)) / apart, slowest), fastest)
    error, points = apart / (rate - 1), max(u.shape[1:])
    if error > UNRESOLVED:
        need = (points - 1) * (error / UNRESOLVED) ** math.log(step, rate)
        warnings.warn(
            f"{name} is not resolved: with {points} points along an axis solutions are off by about {error:.1%} or more. "
            f"Pass fine_points={2 ** math.ceil(math.log2(need)) + 1} or more for data sets, or a on as many points to solve.",
            stacklevel=3,
        )


def _difference(u: Tensor, coarse: Tensor) -> float:
    """The mean relative difference of solutions on two grids, at the points that both have."""
    step = (u.shape[-1] - 1) // (coarse.shape[-1] - 1)
    shared = u[:, ::step, ::step].flatten(1)
    return float(((shared - coarse.flatten(1)).norm(dim=1) / shared.norm(dim=1).clamp(min=1e-300)).mean())
