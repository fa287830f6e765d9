"""The Brownian bridge as a random feature on (0, 1): the scalar example of the paper (ex:bb)."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import Choice, FeatureMap, Range
from raffia.spaces import POINT, Domain, Nodes


@dataclass(repr=False, eq=False)
class BrownianBridge(FeatureMap):
    """Random paths of a Brownian bridge, number ↦ number: the first example of the paper.

    φ(x; θ) = Σ_j θ_j √2 sin(jπx) / (jπ)^s, for s = 1 with kernel k_μ(x, x') = min(x, x') − x x'   (eqn:bb, eqn:bb_kernel).

    Inputs and outputs are numbers. Paths have about s − ½ derivatives.

    Parameters
    ----------
    n_modes
        The number of sines. For s = 1 the error of the kernel is at most 2/(π² n_modes).
    smoothness
        s.
    domain
        `Domain(0)`, a point.

    Examples
    --------
    >>> from raffia import RandomFeatureModel
    >>> from raffia.features import BrownianBridge
    >>> model = RandomFeatureModel(BrownianBridge(), n_features=500, ridge=1e-6)
    """

    normalized: ClassVar[bool] = False

    n_modes: int = 1000
    smoothness: float | Float[Tensor, ""] = 1.0
    domain: Domain = field(default_factory=lambda: Domain(0))

    @property
    def theta_shape(self) -> tuple[int]:
        """One coefficient for each sine."""
        return (self.n_modes,)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The decay of the coefficients."""
        return {"smoothness": Range(0.55, 6.0)}

    def values_on(self, grid: Nodes) -> Nodes:
        """A point: the features are scalar."""
        return POINT

    def __call__(self, a: Float[Tensor, "n"], theta: Float[Tensor, "m modes"]) -> Float[Tensor, "n m"]:
        """Evaluate every bridge at every point."""
        wave = math.pi * torch.arange(1, self.n_modes + 1, dtype=theta.dtype, device=theta.device)
        return math.sqrt(2) * torch.sin(a[:, None] * wave) / wave**self.smoothness @ theta.T
