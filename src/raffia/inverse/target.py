"""A posterior as samplers see it: a density exp(−ψ(η)) with respect to N(0, I), in coordinates η of a Gaussian reference."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from raffia.inverse.laplace import Laplace
from raffia.inverse.problem import InverseProblem


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
