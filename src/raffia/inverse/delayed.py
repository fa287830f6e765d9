"""Delayed acceptance: a surrogate makes the proposals and the true solver accepts or rejects them, so that few solves are needed."""

import time
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.inverse.chains import Chains
from raffia.inverse.laplace import Laplace
from raffia.inverse.metropolis import State, Stride, Target, advance
from raffia.inverse.problem import InverseProblem
from raffia.inverse.sampling import WANTED, Course
from raffia.validation import check_count


def delayed_acceptance(
    problem: InverseProblem,
    surrogate: InverseProblem,
    steps: int,
    chains: int = 64,
    burn_in: int = 200,
    inner: int = 1,
    reference: Laplace | None = None,
    start: Tensor | None = None,
    step: float = 0.2,
    keep_every: int = 1,
    seed: int = 0,
) -> Chains:
    """Sample the posterior of `problem`, whose forward map is expensive, with proposals of `inner` steps of `pcn` on that of `surrogate`.

    A chain that the surrogate has taken from ξ to ξ' is accepted there with probability min(1, exp(Δ(ξ) − Δ(ξ'))), Δ = Φ − Φ of the
    surrogate: steps that the surrogate rejects cost no solve, and what is sampled is the posterior of `problem`, however poor the
    surrogate is (Christen & Fox, 2005); a poor one costs acceptance. `solves` of `proposals` were made. The first half of burning in is
    the surrogate's alone, and adapts β. Both problems have the same prior; other arguments are those of `pcn`.
    """
    course = Course(steps=steps, chains=chains, burn_in=burn_in, start=start, step=step, keep_every=keep_every, seed=seed)
    check_count("inner", inner)
    if problem.size != surrogate.size or problem.place != surrogate.place:
        raise RaffiaError(
            f"problem and surrogate must have one prior and device; got {problem.size} and {surrogate.size} coordinates, on "
            f"{problem.place} and {surrogate.place}."
        )
    begun = time.perf_counter()
    true, cheap = Target(problem, reference), Target(surrogate, reference)
    state, generator = course.begun(cheap, False)
    stride, kept = Stride.of(step, WANTED), []
    for _ in range(burn_in // 2):
        state, _, share = _walk(cheap, state, stride.step, inner, generator)
        stride = stride.after(share)
    judged = true.at(state.eta, False)
    accepted, promoted, solves = (torch.zeros((), dtype=torch.int64, device=problem.place) for _ in range(3))
    for number in range(burn_in // 2 - burn_in + 1, steps + 1):
        there, moved, _ = _walk(cheap, state, stride.step, inner, generator)
        stay, judged = _judge(true, (state, there), judged, moved, generator)
        state, solves = there.where(stay, state), solves + moved.sum()
        if number > 0:
            accepted, promoted = accepted + stay.sum(), promoted + moved.sum()
            kept += [true.whitened(judged)] * (number % keep_every == 0)
    proposals = (burn_in + steps) * chains * inner
    rate = float(accepted) / max(1, float(promoted))
    draws, misfits = (torch.stack(parts, 1) for parts in zip(*kept, strict=True))
    return Chains(
        draws=draws,
        misfits=misfits,
        acceptance=rate,
        step=stride.step,
        solves=chains + int(solves),
        proposals=proposals,
        seconds=time.perf_counter() - begun,
    )


def _walk(
    cheap: Target, state: State, step: float, inner: int, generator: torch.Generator
) -> tuple[State, Bool[Tensor, "n"], float]:
    """Where the surrogate takes chains, which of them it moved, and the share of its steps that were accepted."""
    ever, share = torch.zeros(len(state.eta), dtype=torch.bool, device=state.eta.device), 0.0
    for _ in range(inner):
        state, moved = advance(cheap, state, step, generator)
        ever, share = ever | moved, share + float(moved.double().mean()) / inner
    return state, ever, share


def _judge(
    true: Target, move: tuple[State, State], judged: State, moved: Bool[Tensor, "n"], generator: torch.Generator
) -> tuple[Bool[Tensor, "n"], State]:
    """Which of the chains that moved stay where they came to, and ψ of the true posterior where each then is; only they are solved for."""
    (here, there), rows = move, moved.nonzero().flatten()
    potential = judged.potential.clone()
    if len(rows):
        potential[rows] = true.at(there.eta[rows], False).potential
    gain = (judged.potential - here.potential) - (potential - there.potential)
    chance = torch.rand(len(moved), generator=generator, device=potential.device, dtype=potential.dtype)
    stay = moved & (chance.log() < gain)
    return stay, replace(there, potential=potential).where(stay, judged)
