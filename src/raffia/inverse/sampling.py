"""Chains that sample a posterior: preconditioned Crank–Nicolson, and ∞-MALA, which follows gradients."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.inverse.chains import Chains
from raffia.inverse.laplace import Laplace
from raffia.inverse.metropolis import State, Stride, Target, advance
from raffia.inverse.problem import InverseProblem
from raffia.validation import check_count, check_seed

WANTED, WANTED_SLOPED = 0.3, 0.57  # shares of accepted proposals that are best, or nearly, in theory and practice


@dataclass(frozen=True, eq=False, kw_only=True)
class Course:
    """The arguments that all samplers share; those that cannot be run are refused."""

    steps: int
    chains: int
    burn_in: int
    start: Tensor | None
    step: float
    keep_every: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("steps", "chains", "keep_every", *(["burn_in"] if self.burn_in else [])):
            check_count(name, getattr(self, name))
        check_seed("seed", self.seed)
        if not 0 < self.step < 1:
            raise RaffiaError(f"step must lie between 0 and 1: it is β, and √(1 − β²) of a state is kept; got {self.step!r}.")
        if self.keep_every > self.steps:
            raise RaffiaError(f"keep_every must be at most the number of steps, {self.steps}; got {self.keep_every}.")

    def begun(self, target: Target, sloped: bool) -> tuple[State, torch.Generator]:
        """Return the first states of chains and the generator of their steps; refuse states where Φ is not finite."""
        generator = torch.Generator(target.problem.place).manual_seed(self.seed)
        size = target.problem.size
        if self.start is None:
            eta = torch.randn(self.chains, size, generator=generator, device=generator.device, dtype=torch.float64)
        else:
            begin = torch.as_tensor(self.start, dtype=torch.float64).detach().to(generator.device)
            if begin.shape != (self.chains, size) or not torch.isfinite(begin).all():
                raise RaffiaError(f"start must be finite and of shape ({self.chains}, {size}); got shape {tuple(begin.shape)}.")
            eta = target.eta(begin)
        state = target.at(eta, sloped)
        bad = (~torch.isfinite(state.potential)).nonzero()
        if len(bad):
            raise RaffiaError(
                f"the forward map gives no finite misfit where chain {int(bad[0])} of {self.chains} begins. Pass start=…, such as "
                "laplace(…).draws(chains), where it does."
            )
        return state, generator


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
    course = Course(steps=steps, chains=chains, burn_in=burn_in, start=start, step=step, keep_every=keep_every, seed=seed)
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
    course = Course(steps=steps, chains=chains, burn_in=burn_in, start=start, step=step, keep_every=keep_every, seed=seed)
    return run(Target(problem, reference), course, True, WANTED_SLOPED)


def run(target: Target, course: Course, sloped: bool, wanted: float) -> Chains:
    """Run chains on a target; the step is adapted while burning in until the share of proposals that is wanted is accepted."""
    begun = time.perf_counter()
    state, generator = course.begun(target, sloped)
    stride, kept, accepted = Stride.of(course.step, wanted), [], torch.zeros((), device=generator.device)
    for number in range(1 - course.burn_in, course.steps + 1):
        state, moved = advance(target, state, stride.step, generator)
        share = moved.double().mean()
        if number < 1:
            stride = stride.after(float(share))
        else:
            accepted = accepted + share / course.steps
            kept += [target.whitened(state)] * (number % course.keep_every == 0)
    draws, misfits = (torch.stack(parts, 1) for parts in zip(*kept, strict=True))
    proposals = (course.burn_in + course.steps) * course.chains
    return Chains(
        draws=draws,
        misfits=misfits,
        acceptance=float(accepted),
        step=stride.step,
        solves=proposals + course.chains,
        proposals=proposals,
        seconds=time.perf_counter() - begun,
    )
