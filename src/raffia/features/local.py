"""Local random features: a pointwise function of the input and its derivatives, smoothed over a short length."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.activations import activate
from raffia.features.base import Choice, FeatureMap, Prepared, Range, channelled
from raffia.spaces import Domain, Space
from raffia.spaces.spectral import Series

Number = float | Float[Tensor, ""]

POWERS = 3
"""Powers of the Laplacian, from Δ⁰ to Δ²: derivatives up to the fifth order."""


@dataclass(repr=False, eq=False)
class LocalFeatures(FeatureMap):
    """A pointwise function of the smoothed input and its derivatives: features for one time step.

    φ(a; θ) = σ(amplitude · Σ_j θ_j ℓ^{o_j} D_j G a + bias·θ₀), with D_j one of 1, Δ, Δ² and their ∂₁ … ∂_d, of order o_j.

    G = e^(−(ℓ|k|)²/2) smooths over the `length` ℓ. The unit of length is the longest side over π, on a torus over 2π. Along non-periodic
    axes, series are in cosines. Each channel has random coefficients of its own. Features have only a few random coefficients, so any
    number of them costs one matrix product.

    They represent local operators: one time step of an evolution equation, with coefficients="modal" for its linear, global part. They do
    not represent influence from far away.

    Good values: a length of a few grid spacings, normalize=True, coefficients="modal", then `tune`.

    Parameters
    ----------
    length
        ℓ, the smoothing length.
    amplitude, bias
        The scale of the argument of σ, and of its random shift.
    activation
        σ: "gelu", "tanh", "elu" or "sin".
    domain
        The space of the inputs.

    Examples
    --------
    >>> from raffia import LocalFeatures, RandomFeatureModel
    >>> model = RandomFeatureModel(LocalFeatures(0.05), 512, ridge="auto", normalize=True, coefficients="modal")
    """

    fine: ClassVar[bool] = True

    length: Number = 0.1
    amplitude: Number = 0.3
    bias: Number = 0.5
    activation: Literal["gelu", "tanh", "elu", "sin"] = "gelu"
    domain: Space = field(default_factory=lambda: Domain(1))

    @property
    def theta_shape(self) -> tuple[int]:
        """A shift, then for each channel one coefficient for each derivative."""
        return (1 + self.domain.channels * POWERS * (1 + self.region.dim),)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """All parameters, and the pointwise function."""
        ranges: dict[str, Range | Choice] = {
            "length": Range(1e-3, 1.0),
            "amplitude": Range(0.02, 50.0),
            "bias": Range(1e-3, 30.0),
        }
        return ranges | {"activation": Choice(("gelu", "tanh"))}

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Derivatives, then one product."""
        return self.precompute(a)(prepared)

    def precompute(self, a: Float[Tensor, "n *input"]) -> Callable[[Prepared], Tensor]:
        """Derivatives once, then one product for each tile of features."""
        grid = self.region.grid_of(a)
        series = Series(grid, self.region.natural_boundary)
        length = torch.as_tensor(self.length, dtype=a.dtype, device=a.device)
        squares = length**2 * series.squares.to(a)[..., None, None]
        smooth = torch.exp(-squares / 2) * series.analysis(channelled(a, self.domain).movedim((0, 1), (-1, -2)))
        parts: list[Tensor] = []
        for _ in range(POWERS):
            value, slopes = series.with_gradient(smooth)
            parts += [value, *(length * slope for slope in slopes)]
            smooth = -squares * smooth
        fields = torch.stack(parts).movedim((-2, -1), (0, 2)).flatten(0, 1).flatten(1)  # (channels · derivatives, n · points)

        def features(prepared: Prepared) -> Float[Tensor, "n m *grid"]:
            (theta,) = prepared
            waves = (self.amplitude * theta[:, 1:]) @ fields + self.bias * theta[:, :1]
            return activate(self.activation, waves.reshape(len(theta), len(a), *grid.shape)).transpose(0, 1)

        return features
