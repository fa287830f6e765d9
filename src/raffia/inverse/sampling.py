"""Chains that sample a posterior: preconditioned Crank–Nicolson, alone or with a surrogate that makes the proposals."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.inverse.chains import Chains
from raffia.inverse.laplace import Laplace
from raffia.inverse.metropolis import State, StepSize, Target, advance
from raffia.inverse.problem import InverseProblem
from raffia.validation import check_count, check_seed

Walk = Callable[[State, float], tuple[State, Tensor, float]]


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
    """Sample the posterior by preconditioned Crank–Nicolson steps, which need no derivatives.

    A proposal ξ' = √(1 − β²) ξ + β ζ with ζ ~ N(0, I) is accepted with probability min(1, exp(Φ(ξ) − Φ(ξ'))). With a
    `reference`, proposals keep that Gaussian instead of the prior. Chains then go far in one step even if the data are
    informative, and the posterior is the same.

    Parameters
    ----------
    problem
        The inverse problem.
    steps, chains
        The number of steps that count, and the number of chains, which are computed as one batch.
    burn_in
        The number of steps before those. β is adapted in them, until three in ten proposals are accepted.
    reference
        A Gaussian approximation, by `laplace`.
    start
        ξ to begin from; None draws from the reference or the prior.
    step
        β at the start.
    keep_every
        Store each of so many states.
    seed
        The seed of all random numbers.

    Returns
    -------
    Chains
        Samples of shape (chains, draws, size).

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, pcn
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> pcn(problem, steps=20, chains=4, burn_in=20).draws.shape
    torch.Size([4, 20, 8])
    """
    sampler = Sampler(steps=steps, chains=chains, burn_in=burn_in, start=start, step=step, keep_every=keep_every, seed=seed)
    return sampler.run(Target(problem, reference))


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
    """Sample the posterior of an expensive problem, with proposals from a cheap one (Christen & Fox, 2005).

    A chain takes `inner` steps on the surrogate, from ξ to ξ'. The expensive problem accepts ξ' with probability
    min(1, exp(Δ(ξ) − Δ(ξ'))), where Δ is its Φ minus that of the surrogate. The samples are those of the expensive problem,
    however poor the surrogate is. A poor one lowers the acceptance. Steps that the surrogate rejects cost no solve.

    Parameters
    ----------
    problem, surrogate
        The two inverse problems, with the same prior.
    inner
        The number of steps on the surrogate before each solve.
    steps, chains, burn_in, reference, start, step, keep_every, seed
        As in `pcn`. In the first half of `burn_in` the surrogate alone is used.

    Returns
    -------
    Chains
        Samples of shape (chains, draws, size). `solves` of `proposals` were made.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, GaussianField
    >>> from raffia.inverse import InverseProblem, Prior, delayed_acceptance
    >>> prior = Prior(GaussianField(n_modes=8), Domain(1).grid(16))
    >>> problem = InverseProblem(lambda a: a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> cheap = InverseProblem(lambda a: 1.01 * a, prior, data=torch.zeros(16, dtype=torch.float64), noise=0.1)
    >>> delayed_acceptance(problem, cheap, steps=20, chains=4, burn_in=20).draws.shape
    torch.Size([4, 20, 8])
    """
    check_count("inner", inner)
    if problem.size != surrogate.size or problem.place != surrogate.place:
        raise RaffiaError(
            f"problem and surrogate must have one prior and device; got {problem.size} and {surrogate.size} coordinates, on "
            f"{problem.place} and {surrogate.place}."
        )
    sampler = Sampler(steps=steps, chains=chains, burn_in=burn_in, start=start, step=step, keep_every=keep_every, seed=seed)
    return sampler.run(Target(surrogate, reference), Target(problem, reference), inner)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sampler:
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

    def run(self, target: Target, judge: Target | None = None, inner: int = 1) -> Chains:
        """Draws from a target; or from that of a `judge`, where `inner` steps on the target make the proposals."""
        begun = time.perf_counter()
        state, generator = self._first_state(target)
        adapted = self.burn_in if judge is None else self.burn_in // 2
        walk = partial(_walk, target, inner=inner, generator=generator)
        state, step = _adapted(walk, state, self.step, adapted)
        judged = state if judge is None else judge.at(state.eta)
        records: list[tuple[Tensor, Tensor]] = []
        tried: list[int] = []
        accepted: list[int] = []
        for number in range(1 - self.burn_in + adapted, self.steps + 1):
            there, moved, _ = walk(state, step)
            tried.append(int(moved.sum()))
            if judge is None:
                state = judged = there
            else:
                moved, judged = _judge(judge, (state, there), judged, moved, generator)
                state = there.where(moved, state)
            accepted.append(int(moved.sum()))
            if number > 0 and number % self.keep_every == 0:
                records.append((judge or target).whitened(judged))
        draws, misfits = (torch.stack(parts, 1) for parts in zip(*records, strict=True))
        tries = self.steps * self.chains if judge is None else sum(tried[-self.steps :])
        proposals = (self.burn_in + self.steps) * self.chains * inner
        return Chains(
            draws=draws,
            misfits=misfits,
            acceptance=sum(accepted[-self.steps :]) / max(1, tries),
            step=step,
            solves=self.chains + (proposals if judge is None else sum(tried)),
            proposals=proposals,
            seconds=time.perf_counter() - begun,
        )

    def _first_state(self, target: Target) -> tuple[State, torch.Generator]:
        """Where chains begin, and the generator of their steps. States where Φ is not finite are refused."""
        generator = torch.Generator(target.problem.place).manual_seed(self.seed)
        shape = self.chains, target.problem.size
        if self.start is None:
            eta = torch.randn(shape, generator=generator, device=generator.device, dtype=torch.float64)
        else:
            xi = torch.as_tensor(self.start, dtype=torch.float64).detach().to(generator.device)
            if xi.shape != shape or not torch.isfinite(xi).all():
                raise RaffiaError(f"start must be finite and of shape {shape}; got shape {tuple(xi.shape)}.")
            eta = target.eta(xi)
        state = target.at(eta)
        bad = (~torch.isfinite(state.potential)).nonzero()
        if len(bad):
            raise RaffiaError(
                f"the forward map gives no finite misfit where chain {int(bad[0])} of {self.chains} begins. Pass start=…, such as "
                "laplace(…).draws(chains), where it does."
            )
        return state, generator


def _adapted(walk: Walk, state: State, step: float, count: int) -> tuple[State, float]:
    """Where so many steps take chains, and the β that they came to."""
    size = StepSize.of(step)
    for _ in range(count):
        state, _, share = walk(state, size.step)
        size = size.after(share)
    return state, size.step


def _walk(
    target: Target, state: State, step: float, *, inner: int, generator: torch.Generator
) -> tuple[State, Bool[Tensor, "n"], float]:
    """Where `inner` steps take chains, which of them moved, and the share of the proposals that were accepted."""
    ever, share = torch.zeros(len(state.eta), dtype=torch.bool, device=state.eta.device), 0.0
    for _ in range(inner):
        state, moved = advance(target, state, step, generator)
        ever, share = ever | moved, share + float(moved.double().mean()) / inner
    return state, ever, share


def _judge(
    judge: Target, move: tuple[State, State], judged: State, moved: Bool[Tensor, "n"], generator: torch.Generator
) -> tuple[Bool[Tensor, "n"], State]:
    """Which of the chains that moved stay where they came to, and ψ of the judge where each then is; only they are solved for."""
    (here, there), rows = move, moved.nonzero().flatten()
    potential = judged.potential.clone()
    if len(rows):
        potential[rows] = judge.at(there.eta[rows]).potential
    gain = (judged.potential - here.potential) - (potential - there.potential)
    chance = torch.rand(len(moved), generator=generator, device=potential.device, dtype=potential.dtype)
    stay = moved & (chance.log() < gain)
    return stay, State(there.eta, potential).where(stay, judged)
