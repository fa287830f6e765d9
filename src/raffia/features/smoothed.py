"""An input after smoothing, and the pointwise functions of it that iterated features are made of."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.spaces.spectral import Series

Part = Float[Tensor, "*grid_1_n"]
Numbers = Float[Tensor, "_"]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """q̂ = e^(−(length·|k|)²/2) â, with its gradient; on a box as a series of cosines. Arrays are (*grid, channels, n)."""

    series: Series
    q: Float[Tensor, "*grid_channels_n"]
    slopes: list[Tensor]
    tanh: Float[Tensor, "*grid_channels_n"]

    @classmethod
    def of(cls, a: Float[Tensor, "n channels *grid"], series: Series, length: Numbers) -> "Smoothed":
        """By two transforms."""
        damping = torch.exp(-(length**2) * series.squares.to(a)[..., None, None] / 2)
        q, slopes = series.with_gradient(damping * series.analysis(a.movedim((0, 1), (-1, -2))))
        return cls(series, q, slopes, torch.tanh(q))

    def function(self, c: Numbers) -> Part:
        """s = c₀ + Σ (c₁ q + c₂ tanh q), with two numbers for each channel."""
        return c[0] + (c[1::2, None] * self.q + c[2::2, None] * self.tanh).sum(-2, keepdim=True)

    def gradient(self, c: Numbers) -> list[Part]:
        """∇s, by the chain rule."""
        steep = c[1::2, None] + c[2::2, None] * (1 - self.tanh.square())
        return [(steep * slope).sum(-2, keepdim=True) for slope in self.slopes]

    def filtered(self, c: Numbers, power: Numbers) -> tuple[Part, list[Part]]:
        """M s and its gradient, M = max(|k|, 1)^(−power)."""
        falling = self.series.squares.to(self.q)[..., None, None].clamp(min=1) ** (-power / 2)
        return self.series.with_gradient(falling * self.series.analysis(self.function(c)))
