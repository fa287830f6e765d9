"""How chains are run: for how many steps, from where, and what is kept of them."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.checks import check_count, check_seed
from raffia.errors import RaffiaError
from raffia.inverse.target import State, Target


@dataclass(frozen=True, eq=False)
class Course:
    """What all kinds of chains are told; arguments that cannot be run are refused."""

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
        """Where chains begin, and what draws their steps; refused where Φ is no number there."""
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


@dataclass(frozen=True, eq=False)
class Kept:
    """Every so many states of chains, with their misfits Φ."""

    target: Target
    every: int
    states: list[Tensor] = field(default_factory=list)
    misfits: list[Tensor] = field(default_factory=list)

    def add(self, number: int, state: State) -> None:
        """The state after so many steps, if it is one to keep."""
        if number % self.every == 0:
            reference = self.target.reference
            self.states.append(self.target.xi(state.eta))
            self.misfits.append(state.potential if reference is None else state.potential - reference.excess(state.eta))

    def stacked(self) -> tuple[Float[Tensor, "chains kept size"], Float[Tensor, "chains kept"]]:
        """All of them, one after the other along each chain."""
        return torch.stack(self.states, 1), torch.stack(self.misfits, 1)
