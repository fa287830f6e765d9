"""Chains that sample a posterior: preconditioned Crank–Nicolson, and ∞-MALA, which follows gradients."""

import time

import torch
from torch import Tensor

from raffia.inverse.chains import Chains
from raffia.inverse.course import Course, Kept
from raffia.inverse.laplace import Laplace
from raffia.inverse.problem import InverseProblem
from raffia.inverse.target import Target
from raffia.inverse.walk import Stride, advance, mean_of

WANTED, WANTED_SLOPED = 0.3, 0.57  # shares of accepted proposals that are best, or nearly, in theory and practice


def pcn(
    problem: InverseProblem,
    steps: int,
    chains: int = 64,
    burn_in: int = 1000,
    reference: Laplace | None = None,
    start: Tensor | None = None,
    step: float = 0.2,
    keep_every: int = 1,
    seed: int = 0,
) -> Chains:
    """Preconditioned Crank–Nicolson: ξ' = √(1 − β²) ξ + β ζ is accepted with probability min(1, exp(Φ(ξ) − Φ(ξ'))). Needs no derivatives.

    With a `reference`, as `laplace` finds it, proposals keep that Gaussian instead of the prior, and chains go far in one step where
    data tell much; the posterior is the same. Chains begin at `start`, or at draws of the reference or the prior. While burning in,
    `burn_in` steps before those that count, β is adapted from `step` until three in ten proposals are accepted; after it, β is fixed.
    Every `keep_every`-th state is kept. All chains are one batch, where the data are, or on the device of the problem.
    """
    course = Course(steps, chains, burn_in, start, step, keep_every, seed)
    return run(Target(problem, reference), course, False, WANTED)


def mala(
    problem: InverseProblem,
    steps: int,
    chains: int = 64,
    burn_in: int = 1000,
    reference: Laplace | None = None,
    start: Tensor | None = None,
    step: float = 0.1,
    keep_every: int = 1,
    seed: int = 0,
) -> Chains:
    """∞-MALA: as `pcn`, with proposals ρ ξ − (1 − ρ) ∇Φ(ξ) + β ζ, ρ = √(1 − β²), and β adapted until 57 in 100 are accepted.

    A step costs a gradient, two or three times as much as one of `pcn`.
    """
    course = Course(steps, chains, burn_in, start, step, keep_every, seed)
    return run(Target(problem, reference), course, True, WANTED_SLOPED)


def run(target: Target, course: Course, sloped: bool, wanted: float) -> Chains:
    """Chains of Metropolis–Hastings steps on a target, adapted while burning in until the share that is wanted is accepted."""
    begun = time.perf_counter()
    state, generator = course.begun(target, sloped)
    stride, kept, accepted = Stride.of(course.step, wanted), Kept(target, course.keep_every), []
    for number in range(1 - course.burn_in, course.steps + 1):
        state, moved = advance(target, state, stride.step, generator)
        if number < 1:
            stride = stride.after(float(mean_of(moved)))
        else:
            accepted.append(mean_of(moved))
            kept.add(number, state)
    share, proposals = float(torch.stack(accepted).mean()), (course.burn_in + course.steps) * course.chains
    seconds = time.perf_counter() - begun
    return Chains(*kept.stacked(), share, stride.step, proposals + course.chains, proposals, seconds)
