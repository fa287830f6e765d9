"""The functions of the input in the recurrence of iterated features."""

from dataclasses import dataclass
from itertools import zip_longest

from jaxtyping import Float
from torch import Tensor

from raffia.spaces.spectral import Series

Part = Float[Tensor, "*grid_1_n"]
Numbers = Float[Tensor, "_"]

FUNCTIONS, RATES = ("source", "growth", "potential", "stream"), ("beta", "gamma", "zeta", "delta")


@dataclass(frozen=True, eq=False)
class Smoothed:
    """q̂ = e^(−(length·|k|)²/2) â, with its gradient; on a box as a series of cosines. Arrays are (*grid, channels, n)."""

    series: Series
    q: Float[Tensor, "*grid_channels_n"]
    slopes: list[Tensor]
    tanh: Float[Tensor, "*grid_channels_n"]

    def function(self, c: Numbers) -> Part:
        """s = c₀ + Σ (c₁ q + c₂ tanh q), with c₁ and c₂ for each channel."""
        return c[0] + (c[1::2, None] * self.q + c[2::2, None] * self.tanh).sum(-2, keepdim=True)

    def gradient(self, c: Numbers) -> list[Part]:
        """∇s, by the chain rule."""
        steep = c[1::2, None] + c[2::2, None] * (1 - self.tanh.square())
        return [(steep * slope).sum(-2, keepdim=True) for slope in self.slopes]

    def filtered(self, c: Numbers, power: Numbers) -> tuple[Part, list[Part]]:
        """M s and its gradient, M = max(|k|, 1)^(−power)."""
        falling = self.series.squares.to(self.q)[..., None, None].clamp(min=1) ** (-power / 2)
        return self.series.with_gradient(falling * self.series.analysis(self.function(c)))

    def couplings(
        self, functions: list[Numbers], rates: list[Numbers], power: Numbers
    ) -> tuple[Part, list[Part], list[list[Part]]]:
        """s₀, then for every step the coefficients of p, β s₁ (+ δ ∂v on a line), and of its derivatives, γ ∇s₂ + ζ ∇^⊥v, or ζ v."""
        source, growth, potential, stream = functions
        grown, fallen, (v, slopes) = self.function(growth), self.gradient(potential), self.filtered(stream, power)
        across = {1: [v], 2: [-slopes[-1], slopes[0]]}.get(len(slopes), [])
        steps = [*zip(*rates, strict=True)]
        reactions = [b * grown + d * slopes[0] if len(slopes) == 1 else b * grown for b, _, _, d in steps]
        flows = [[g * f + z * u for f, u in zip_longest(fallen, across, fillvalue=0.0)] for _, g, z, _ in steps]
        return self.function(source), reactions, flows
