"""How many features and samples the theorems ask for, and how fast errors fall in practice (thm:rate, thm:converge)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from raffia.errors import RaffiaError


@dataclass(frozen=True)
class Plan:
    """Sizes that a theorem asks for."""

    n_features: int
    n_samples: int
    ridge: float


def plan(epsilon: float) -> Plan:
    """m ≥ 11 ε⁻², n ≥ 10 ε⁻⁴, λ = 10 ε⁻²: then ‖F† − F‖ ≤ C ‖F†‖_H ε in L²(ν) with probability 0.999   (thm:rate).

    The numbers 11 and 10 are the theorem's, "not optimized". C is an absolute constant that the paper does not state, ‖F†‖_H the
    norm of the target in the space of the kernel, which must contain it; features and target must be bounded. The λ of the
    theorem is ours: sums over samples are not averaged. In practice far fewer samples do: see `rate`.
    """
    if not 0 < epsilon < 1:
        raise RaffiaError(f"epsilon must be between 0 and 1; got {epsilon!r}.")
    return Plan(math.ceil(11 * epsilon**-2), math.ceil(10 * epsilon**-4), 10 * epsilon**-2)


def schedule(step: int, delta: Callable[[int], float] = lambda step: (step + 1) ** -2.0) -> Plan:
    """m ≃ δ⁻¹ log(2/δ), n ≃ δ⁻² log(2/δ), λ ≃ m: sizes along which the model converges almost surely   (thm:converge).

    `delta` is any summable sequence in (0, 1), here (l + 1)⁻², l = 1, 2, …; constants that the theorem leaves open are one. The
    target may lie outside the space of the kernel, whose integral operator must be injective.
    """
    if step < 1:
        raise RaffiaError(f"step must be 1 or more; got {step}.")
    d = delta(step)
    if not 0 < d < 1:
        raise RaffiaError(f"delta must have values between 0 and 1; got {d!r} at step {step}.")
    m = math.ceil(math.log(2 / d) / d)
    return Plan(m, math.ceil(math.log(2 / d) / d**2), float(m))


@dataclass(frozen=True)
class Rate:
    """error ≈ constant · size^exponent, with a 95 % confidence interval of the exponent."""

    exponent: float
    interval: tuple[float, float]
    constant: float


def rate(sizes: Sequence[int], errors: Sequence[Sequence[float]]) -> Rate:
    """Fit the rate to errors of shape (sizes, repetitions), on logarithmic scales, by least squares."""
    table = np.asarray(errors, dtype=float)
    if table.ndim != 2 or len(table) != len(sizes) or table.size < 3 or len(set(sizes)) < 2 or not (table > 0).all():
        raise RaffiaError(f"rate needs positive errors (sizes, repetitions), two sizes and three errors; got {table.shape}.")
    x = np.repeat(np.log(np.asarray(sizes, dtype=float)), table.shape[1])
    fit = stats.linregress(x, np.log(table).ravel())
    half = stats.t.ppf(0.975, table.size - 2) * fit.stderr
    return Rate(float(fit.slope), (float(fit.slope - half), float(fit.slope + half)), float(math.exp(fit.intercept)))
