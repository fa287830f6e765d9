"""Chains that sample a posterior: preconditioned Crank–Nicolson, and ∞-MALA, which follows gradients."""

import time
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from raffia.checks import check_count, check_seed
from raffia.errors import RaffiaError
from raffia.inverse.chains import Chains
from raffia.inverse.laplace import Laplace
from raffia.inverse.problem import InverseProblem
from raffia.inverse.target import State, Target
from raffia.inverse.walk import Stride, advance, mean_of

WANTED, WANTED_SLOPED = 0.3, 0.57  # shares of accepted proposals that are best, or nearly, in theory and practice

Advance = Callable[[State, float], tuple[State, Bool[Tensor, "n"]]]


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
    target = Target(problem, reference)
    return run(target, False, WANTED, steps, chains, burn_in, start, step, keep_every, seed)


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
    target = Target(problem, reference)
    return run(target, True, WANTED_SLOPED, steps, chains, burn_in, start, step, keep_every, seed)


def run(
    target: Target,
    sloped: bool,
    wanted: float,
    steps: int,
    chains: int,
    burn_in: int,
    start: Tensor | None,
    step: float,
    keep_every: int,
    seed: int,
) -> Chains:
    """Chains of Metropolis–Hastings steps on a target."""
    check_arguments(steps, chains, burn_in, step, keep_every, seed)
    begun = time.perf_counter()
    generator = torch.Generator(target.problem.place).manual_seed(seed)
    state = first_state(target, chains, start, sloped, generator)
    stride, kept, misfits, accepted = Stride.of(step, wanted), [], [], []
    for number in range(burn_in + steps):
        state, moved = advance(target, state, stride.step, generator)
        if number < burn_in:
            stride = stride.after(float(mean_of(moved)))
        else:
            accepted.append(mean_of(moved))
            if (number - burn_in + 1) % keep_every == 0:
                kept.append(target.xi(state.eta))
                misfits.append(misfit_of(target, state))
    share = float(torch.stack(accepted).mean())
    proposals = (burn_in + steps) * chains
    seconds = time.perf_counter() - begun
    return Chains(torch.stack(kept, 1), torch.stack(misfits, 1), share, stride.step, proposals + chains, proposals, seconds)


def misfit_of(target: Target, state: State) -> Float[Tensor, "n"]:
    """Φ, from ψ."""
    return state.potential if target.reference is None else state.potential - target.reference.excess(state.eta)


def first_state(target: Target, chains: int, start: Tensor | None, sloped: bool, generator: torch.Generator) -> State:
    """Where chains begin; refused where Φ is no number there."""
    size = target.problem.size
    if start is None:
        eta = torch.randn(chains, size, generator=generator, device=generator.device, dtype=torch.float64)
    else:
        begin = torch.as_tensor(start).detach().to(generator.device, torch.float64)
        if begin.shape != (chains, size) or not torch.isfinite(begin).all():
            raise RaffiaError(f"start must be finite and of shape ({chains}, {size}); got shape {tuple(begin.shape)}.")
        eta = target.eta(begin)
    state = target.at(eta, sloped)
    bad = (~torch.isfinite(state.potential)).nonzero()
    if len(bad):
        raise RaffiaError(
            f"the forward map gives no finite misfit where chain {int(bad[0])} of {chains} begins. Pass start=…, such as "
            "laplace(…).draws(chains), where it does."
        )
    return state


def check_arguments(steps: int, chains: int, burn_in: int, step: float, keep_every: int, seed: int) -> None:
    """Refuse what cannot be run."""
    for name, value in (("steps", steps), ("chains", chains), ("keep_every", keep_every)):
        check_count(name, value)
    check_seed("seed", seed)
    if burn_in:
        check_count("burn_in", burn_in)
    if not 0 < step < 1:
        raise RaffiaError(f"step must lie between 0 and 1: it is β, and √(1 − β²) of a state is kept; got {step!r}.")
    if keep_every > steps:
        raise RaffiaError(f"keep_every must be at most the number of steps, {steps}; got {keep_every}.")
