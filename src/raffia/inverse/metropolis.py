"""Metropolis–Hastings steps of many chains at once, for a density exp(−ψ(η)) with respect to N(0, I).

η' = ρ η − (1 − ρ) ∇ψ(η) + β ζ, ζ ~ N(0, I), ρ = √(1 − β²), is proposed: ∞-MALA of Cotter, Roberts, Stuart & White (2013), and
preconditioned Crank–Nicolson where ∇ψ is left out. Acceptance depends on ψ alone, never on the number of coordinates.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from raffia.inverse.laplace import Laplace
from raffia.inverse.problem import InverseProblem

LARGEST_LOGIT = 7.0  # β is at most 0.999


@dataclass(frozen=True, eq=False)
class State:
    """Where chains are, one a row, and what a step needs to know of it."""

    eta: Float[Tensor, "n size"]
    potential: Float[Tensor, "n"]
    slope: Float[Tensor, "n size"] | None
    """∇ψ, for steps that follow it."""

    def where(self, chosen: Bool[Tensor, "n"], other: "State") -> "State":
        """This for the chosen chains, the other for the rest."""
        slope = None if self.slope is None or other.slope is None else torch.where(chosen[:, None], self.slope, other.slope)
        eta = torch.where(chosen[:, None], self.eta, other.eta)
        return State(eta, torch.where(chosen, self.potential, other.potential), slope)


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

    def potential(self, eta: Float[Tensor, "n size"]) -> Float[Tensor, "n"]:
        """ψ(η)."""
        misfit = self.problem.misfit(self.xi(eta))
        return misfit if self.reference is None else misfit + self.reference.excess(eta)

    def whitened(self, state: State) -> tuple[Float[Tensor, "n size"], Float[Tensor, "n"]]:
        """ξ and the misfit Φ of a state."""
        excess = 0.0 if self.reference is None else self.reference.excess(state.eta)
        return self.xi(state.eta), state.potential - excess

    def at(self, eta: Float[Tensor, "n size"], sloped: bool) -> State:
        """ψ there, with its gradient if wanted."""
        if not sloped:
            with torch.no_grad():
                return State(eta, self.potential(eta), None)
        with torch.enable_grad():
            x = eta.detach().requires_grad_()
            potential = self.potential(x)
            (slope,) = torch.autograd.grad(potential.sum(), x)
        return State(eta, potential.detach(), slope)


@dataclass(frozen=True)
class Stride:
    """β as it is adapted: its logit goes up where more proposals than wanted are accepted, by ever smaller amounts."""

    logit: float
    wanted: float
    steps: int = 0

    @classmethod
    def of(cls, step: float, wanted: float) -> "Stride":
        """A stride that begins with β = `step`."""
        return cls(math.log(step / (1 - step)), wanted)

    @property
    def step(self) -> float:
        """β."""
        return 1 / (1 + math.exp(-self.logit))

    def after(self, accepted: float) -> "Stride":
        """The stride after a step of which so much was accepted."""
        gain = 4 / (10 + self.steps) ** 0.6
        return replace(self, logit=min(self.logit + gain * (accepted - self.wanted), LARGEST_LOGIT), steps=self.steps + 1)


def advance(target: Target, state: State, step: float, generator: torch.Generator) -> tuple[State, Bool[Tensor, "n"]]:
    """All chains a step further, and which of them moved. Proposals with a ψ that is not a number are not accepted."""
    rho, eta = math.sqrt(1 - step**2), state.eta
    noise = torch.randn(eta.shape, generator=generator, device=eta.device, dtype=eta.dtype)
    proposed = rho * eta + step * noise
    if state.slope is not None:
        proposed = proposed - (1 - rho) * state.slope
    there = target.at(proposed, state.slope is not None)
    gain = state.potential - there.potential + _pull(there, eta, rho) - _pull(state, proposed, rho)
    chance = torch.rand(len(eta), generator=generator, device=eta.device, dtype=eta.dtype)
    moved = chance.log() < gain
    return there.where(moved, state), moved


def _pull(state: State, to: Tensor, rho: float) -> Tensor | float:
    """log of the density of the proposal `to`, with respect to that without a slope."""
    if state.slope is None:
        return 0.0
    along = (state.slope * (to - rho * state.eta)).sum(-1)
    return -(along + (1 - rho) / 2 * state.slope.square().sum(-1)) / (1 + rho)
