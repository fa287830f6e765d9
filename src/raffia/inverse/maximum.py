"""The most probable unknown: the minimum of Φ(ξ) + |ξ|²/2, by Gauss–Newton steps."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.inverse.linearised import Linearised
from raffia.inverse.problem import InverseProblem
from raffia.validation import check_count

LEAST_DAMPING, FIRST_DAMPING, MOST_DAMPING = 1e-12, 1e-3, 1e12
LEAST_RATIO = 1e-4
"""Of the decrease that the quadratic model predicts, below which a step is tried again with more damping."""
DAMPING_FACTORS = {0.75: 0.1, 0.25: 1.0, LEAST_RATIO: 4.0}
"""By how much the damping changes after a step whose ratio is above each of these."""
MOST_PRODUCTS = 200
"""Products with the Hessian, for one step."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Maximum:
    """The most probable ξ, and how it was computed.

    `xi` has the shape (size,); `prior(xi)` is the input that it stands for.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, maximum_a_posteriori
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> best = maximum_a_posteriori(problem)
    >>> best.xi.shape, best.converged
    (torch.Size([8]), True)
    """

    xi: Float[Tensor, "size"]
    objective: float
    """Φ(ξ) + |ξ|²/2."""
    misfit: float
    """Φ(ξ): about half the number of observations where the model and its noise explain them."""
    gradient: float
    """|∇(Φ + |ξ|²/2)| there, relative to that at the start."""
    iterations: int
    evaluations: int
    """How often the forward map was evaluated, products with derivatives not counted."""
    converged: bool


def maximum_a_posteriori(
    problem: InverseProblem, start: Tensor | None = None, tolerance: float = 1e-6, iterations: int = 200
) -> Maximum:
    """Find the most probable unknown: the minimum of Φ(ξ) + |ξ|²/2, by Gauss–Newton steps with damping.

    Parameters
    ----------
    problem
        The inverse problem. Its forward map must be differentiable.
    start
        ξ to begin from, of shape (size,); None is 0.
    tolerance
        The gradient to reach, relative to that at the start.
    iterations
        The largest number of steps. If it is reached, `converged` is false.

    Returns
    -------
    Maximum
        The most probable ξ, of shape (size,), and how it was computed.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, maximum_a_posteriori
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> prior(maximum_a_posteriori(problem).xi[None]).shape
    torch.Size([1, 16])
    """
    check_count("iterations", iterations)
    if not 0 < tolerance < 1:
        raise RaffiaError(f"tolerance must lie between 0 and 1; got {tolerance!r}.")
    xi = torch.zeros(problem.size) if start is None else torch.as_tensor(start).detach()
    if xi.shape != (problem.size,) or not torch.isfinite(xi).all():
        raise RaffiaError(f"start must be finite numbers of shape ({problem.size},); got shape {tuple(xi.shape)}.")
    return _gauss_newton(problem, xi.to(problem.place, torch.float64), tolerance, iterations)


def _gauss_newton(problem: InverseProblem, xi: Tensor, tolerance: float, iterations: int) -> Maximum:
    damping, evaluations, first = FIRST_DAMPING, 0, 0.0
    for iteration in range(iterations + 1):
        jacobian = Linearised(problem.residuals, xi)
        evaluations += 1
        gradient = jacobian.transposed(jacobian.value[None])[0] + xi
        size = float(gradient.norm())
        first = first or max(size, 1e-300)
        misfit = float(jacobian.value.square().sum()) / 2
        total = misfit + float(xi.square().sum()) / 2
        if size <= tolerance * first or iteration == iterations:
            break
        step: Tensor | None = None
        while step is None and damping < MOST_DAMPING:
            rtol = min(0.1, (size / first) ** 0.5)
            step, ratio = _damped(problem, jacobian, (xi, gradient, total), damping, rtol)
            damping = _next_damping(damping, ratio)
            evaluations += 1
        if step is None:  # no step of any length goes down: the minimum, to rounding
            break
        xi = xi + step
    return Maximum(
        xi=xi,
        objective=total,
        misfit=misfit,
        gradient=size / first,
        iterations=iteration,
        evaluations=evaluations,
        converged=size <= tolerance * first,
    )


def _damped(
    problem: InverseProblem, jacobian: Linearised, here: tuple[Tensor, Tensor, float], damping: float, rtol: float
) -> tuple[Tensor | None, float]:
    """A step that lowers the objective, or None, and the decrease relative to that of the quadratic model.

    `here` is ξ with the gradient and the objective there.
    """
    xi, gradient, total = here

    def product(v: Tensor) -> Tensor:
        return jacobian.transposed(jacobian @ v[None])[0] + v

    step = _conjugate_gradients(lambda v: product(v) + damping * v, -gradient, rtol)
    there = xi + step
    with torch.no_grad():
        after = float(problem.misfit(there[None])) + float(there.square().sum()) / 2
    promised = -float(gradient @ step) - float(step @ product(step)) / 2
    ratio = (total - after) / promised if promised > 0 else -1.0
    return (step if ratio > LEAST_RATIO else None), ratio


def _next_damping(damping: float, ratio: float) -> float:
    """More damping after a poor step, less after a good one."""
    for limit, factor in DAMPING_FACTORS.items():
        if ratio > limit:
            return max(LEAST_DAMPING, damping * factor)
    return 10 * damping


def _conjugate_gradients(product: Callable[[Tensor], Tensor], b: Tensor, rtol: float) -> Tensor:
    """x with |product(x) − b| ≤ rtol |b|, or after many products."""
    x, r, p = torch.zeros_like(b), b, b
    square = goal = float(b @ b)
    for _ in range(MOST_PRODUCTS):
        if square <= rtol**2 * goal:
            break
        q = product(p)
        length = square / float(p @ q)
        x, r = x + length * p, r - length * q
        square, before = float(r @ r), square
        p = r + square / before * p
    return x
