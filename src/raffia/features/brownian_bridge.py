"""The Brownian bridge as a random feature on (0, 1): the scalar example of the paper (ex:bb)."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import FeatureMap
from raffia.spaces import Domain


@dataclass(repr=False, eq=False)
class BrownianBridge(FeatureMap):
    """φ(x; θ) = Σ_j θ_j √2 sin(jπx) / (jπ), with kernel k_μ(x, x') = min(x, x') − x x'   (eqn:bb, eqn:bb_kernel).

    Inputs and outputs are numbers. The truncated series has a kernel that is off by at most 2/(π² n_modes).
    """

    n_modes: int = 1000
    domain: Domain = field(default_factory=lambda: Domain(0))

    @property
    def theta_shape(self) -> tuple[int]:
        """One coefficient a sine."""
        return (self.n_modes,)

    def __call__(self, a: Float[Tensor, "n"], theta: Float[Tensor, "m modes"]) -> Float[Tensor, "n m"]:
        """Evaluate every bridge at every point."""
        wave = math.pi * torch.arange(1, self.n_modes + 1, dtype=theta.dtype, device=theta.device)
        return math.sqrt(2) * torch.sin(a[:, None] * wave) / wave @ theta.T
