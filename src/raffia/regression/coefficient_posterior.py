"""The posterior distribution of the coefficients under the linear-Gaussian model.

Minimising ‖y − Aα/m‖² + (λ/m)‖α‖² gives the posterior mean of α for white noise of variance s² in embedded coordinates and the
prior α ~ N(0, s² m/λ). The posterior covariance is s² m (G + λ)⁻¹, so at a new input

    Var F(x) = s² φ(x)ᵀ (G + λ)⁻¹ φ(x) / m.

Modal coefficients have this model in every block k, each with a noise variance s_k² of its own. The coefficient of ψ_k in a new output has
the variance s_k² (1 + v(k)ᴴ (G_k + λ_k)⁻¹ v(k) / m).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Inexact
from torch import Tensor

from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_ridge import ModalNoise
from raffia.regression.modal_stream import Features, factorised, ranges, squared


@dataclass(frozen=True, eq=False)
class CoefficientPosterior:
    """The Gaussian posterior of ordinary coefficients: mean α and covariance s² m (G + λ)⁻¹, through G + λ = L Lᵀ."""

    mean: Float[Tensor, "m"]
    factor: Float[Tensor, "m m"]
    scale: float

    def variance(self, phi: Float[Tensor, "m points"]) -> Float[Tensor, "points"]:
        """Var F at points where the features have the values φ."""
        factor = self.factor.to(phi.device)
        return self.scale / len(phi) * torch.linalg.solve_triangular(factor, phi, upper=False).square().sum(0)

    def sample(self, count: int, seed: int) -> Float[Tensor, "count m"]:
        """Draws of α."""
        generator = torch.Generator().manual_seed(seed)
        z = torch.randn(len(self.mean), count, dtype=self.mean.dtype, generator=generator).to(self.mean.device)
        step = torch.linalg.solve_triangular(self.factor.mT, z, upper=True)
        return self.mean + math.sqrt(self.scale * len(self.mean)) * step.mT


@dataclass(frozen=True, eq=False)
class ModalPosterior:
    """The Gaussian posterior of modal coefficients, through G_k + λ_k = L_k L_kᴴ. Blocks with an infinite ridge are fixed."""

    mean: Inexact[Tensor, "blocks p columns"]
    factors: Inexact[Tensor, "blocks p p"]
    fixed: Tensor
    noise: Float[Tensor, "blocks columns"]
    features: int

    def variance(self, V: Features) -> Float[Tensor, "blocks n columns"]:
        """The variance of the modes of new outputs, with noise."""
        squares = torch.cat([squared(self._half(part, V[part])).sum(1) for part in ranges(self.factors)])
        moves = torch.where(self.fixed[:, None].to(V.device), 0.0, squares / self.features)
        return (1 + moves)[..., None] * self.noise[:, None].to(V.device)

    def moved(self, z: Inexact[Tensor, "count blocks p columns"]) -> Inexact[Tensor, "count blocks p columns"]:
        """Draws of the coefficients from standard normal z."""
        upper = self.factors.mH.to(z)
        step = torch.linalg.solve_triangular(upper, z.permute(1, 2, 0, 3).flatten(2).to(upper), upper=True)
        step = step.reshape(*step.shape[:2], len(z), -1).permute(2, 0, 1, 3)
        size = torch.where(self.fixed[:, None], 0.0, self.noise.sqrt()).to(z.device)[:, None]
        return self.mean.to(z) + math.sqrt(self.features) * size * step

    def _half(self, part: slice, V: Tensor) -> Tensor:
        return torch.linalg.solve_triangular(self.factors[part].to(V), V, upper=False)


def modal_posterior(statistics: ModalEquations | ModalDual, ridges: Tensor, coef: Tensor, noise: ModalNoise) -> ModalPosterior:
    """From statistics, ridges (λ₀, λ₁, …), the coefficients for them, (1 + blocks, p, columns), and the noise."""
    equations, own = statistics.primal, ridges[1:].to(statistics.twice)
    factors = torch.empty_like(equations.grams)
    for part in ranges(equations.grams):
        factors[part] = factorised(equations.grams[part], own[part])[0]
    return ModalPosterior(coef[1:], factors, torch.isinf(own), noise.variance, statistics.features)
