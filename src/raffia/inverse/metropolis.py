"""Preconditioned Crank–Nicolson steps of many chains at once, for a density exp(−ψ(η)) with respect to N(0, I).

η' = √(1 − β²) η + β ζ, ζ ~ N(0, I), is proposed (Cotter, Roberts, Stuart & White, 2013). Acceptance depends on ψ alone, never on the
number of coordinates.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from raffia.inverse.laplace import Laplace
from raffia.inverse.problem import InverseProblem

LARGEST_LOGIT = 7.0  # β is at most 0.999
BEST_ACCEPTANCE = 0.3  # the share of accepted proposals that is best, or nearly, in theory and practice


@dataclass(frozen=True, eq=False)
class State:
    """Where chains are, one a row, and ψ there."""

    eta: Float[Tensor, "n size"]
    potential: Float[Tensor, "n"]

    def where(self, chosen: Bool[Tensor, "n"], other: "State") -> "State":
        """This for the chosen chains, the other for the rest."""
        eta = torch.where(chosen[:, None], self.eta, other.eta)
        return State(eta, torch.where(chosen, self.potential, other.potential))


@dataclass(frozen=True, eq=False)
class Target:
    """ψ(η) = Φ(ξ) + |ξ|²/2 − |η|²/2, ξ = reference(η); the prior itself is the reference where there is none, and ψ is Φ."""

    problem: InverseProblem
    reference: Laplace | None = None

    def xi(self, eta: Float[Tensor, "n size"]) -> Float[Tensor, "n size"]:
        """Whitened coordinates of the prior."""
        return eta if self.reference is None else self.reference(eta)

    def eta(self, xi: Float[Tensor, "n size"]) -> Float[Tensor, "n size"]:
        """Those of the reference."""
        return xi if self.reference is None else self.reference.inverse(xi)

    def whitened(self, state: State) -> tuple[Float[Tensor, "n size"], Float[Tensor, "n"]]:
        """ξ and the misfit Φ of a state."""
        excess = 0.0 if self.reference is None else self.reference.excess(state.eta)
        return self.xi(state.eta), state.potential - excess

    @torch.no_grad()
    def at(self, eta: Float[Tensor, "n size"]) -> State:
        """The state there."""
        misfit = self.problem.misfit(self.xi(eta))
        return State(eta, misfit if self.reference is None else misfit + self.reference.excess(eta))


@dataclass(frozen=True)
class StepSize:
    """β as it is adapted: its logit goes up where more proposals than wanted are accepted, by ever smaller amounts."""

    logit: float
    steps: int = 0

    @classmethod
    def of(cls, step: float) -> "StepSize":
        """One that begins with β = `step`."""
        return cls(math.log(step / (1 - step)))

    @property
    def step(self) -> float:
        """β."""
        return 1 / (1 + math.exp(-self.logit))

    def after(self, accepted: float) -> "StepSize":
        """The step size after a step in which this share of the proposals was accepted."""
        gain = 4 / (10 + self.steps) ** 0.6
        return StepSize(min(self.logit + gain * (accepted - BEST_ACCEPTANCE), LARGEST_LOGIT), self.steps + 1)


def advance(target: Target, state: State, step: float, generator: torch.Generator) -> tuple[State, Bool[Tensor, "n"]]:
    """All chains a step further, and which of them moved. Proposals with a ψ that is not a number are not accepted."""
    eta = state.eta
    noise = torch.randn(eta.shape, generator=generator, device=eta.device, dtype=eta.dtype)
    there = target.at(math.sqrt(1 - step**2) * eta + step * noise)
    chance = torch.rand(len(eta), generator=generator, device=eta.device, dtype=eta.dtype)
    moved = chance.log() < state.potential - there.potential
    return there.where(moved, state), moved
