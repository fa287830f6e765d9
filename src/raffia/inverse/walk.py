"""Steps of many chains at once that keep N(0, I) where there are no data: Crank–Nicolson proposals, along gradients or not.

η' = ρ η − (1 − ρ) ∇ψ(η) + β ζ, ζ ~ N(0, I), ρ = √(1 − β²), accepted by Metropolis and Hastings: ∞-MALA of Cotter, Roberts, Stuart & White
(2013), and preconditioned Crank–Nicolson where ∇ψ is left out. Acceptance depends on ψ alone, never on the number of coordinates.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from raffia.inverse.target import State, Target

LARGEST_LOGIT = 7.0  # β is at most 0.999


@dataclass(frozen=True)
class Stride:
    """β as it is adapted: its logit goes up where more proposals than wanted are accepted, by ever smaller amounts."""

    logit: float
    wanted: float
    seen: int = 0

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
        gain = 4 / (10 + self.seen) ** 0.6
        return replace(self, logit=min(self.logit + gain * (accepted - self.wanted), LARGEST_LOGIT), seen=self.seen + 1)


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


def mean_of(moved: Bool[Tensor, "n"]) -> Float[Tensor, ""]:
    """The share of chains that moved, still where it was computed."""
    return moved.double().mean()
