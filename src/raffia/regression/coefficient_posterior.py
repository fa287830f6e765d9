"""The law of the coefficients given the data, for the linear-Gaussian model.

Minimising ‖y − Aα/m‖² + (λ/m)‖α‖² is finding the mean of the posterior of α for white noise of variance s² in embedded
coordinates and the prior α ~ N(0, s² m/λ). Its covariance is s² m (G + λ)⁻¹, so at a new input

    Var F(x) = s² φ(x)ᵀ (G + λ)⁻¹ φ(x) / m.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class CoefficientLaw:
    """The Gaussian law of the coefficients given the data: mean α and covariance s² m (G + λ)⁻¹, through G + λ = L Lᵀ."""

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
