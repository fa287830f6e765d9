"""The recurrence of iterated features: its hyperparameters, the functions of the input, and its steps."""

from dataclasses import dataclass
from itertools import zip_longest

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import Choice, Range
from raffia.spaces import Domain
from raffia.spaces.spectral import Series

Part = Float[Tensor, "*grid_1_n"]
Numbers = Float[Tensor, "_"]

FUNCTIONS, RATES = ("source", "growth", "potential", "stream"), ("beta", "gamma", "zeta", "delta")


def searched(region: Domain, channels: int, iterations: int, vectors: set[str]) -> dict[str, Range | Choice]:
    """The hyperparameters of active terms: one for all iterations or, if named in `vectors`, one for each."""
    dim = region.dim
    functions, rates = FUNCTIONS[: 4 if dim < 3 else 3], RATES[: {1: 4, 2: 3}.get(dim, 2) if iterations else 0]
    ranges: dict[str, Range | Choice] = {
        "alpha": Range(0.0, 4.0, log=False, count=iterations + 1 if "alpha" in vectors else None),
        "tau": Range(0.05, 20.0),
        "weight": Range(0.02, 50.0),
        "smoothing": Range(1e-3, 1.0),
        "field_tau": Range(0.5 / region.longest, 50.0 / region.longest),
        "field_regularity": Range(1.1, 6.0),
    }
    ranges |= {"power": Range(0.0, 4.0, log=False)} if dim < 3 else {}
    ranges |= {name: Range(-3.0, 3.0, log=False, count=1 + 2 * channels) for name in functions}
    return ranges | {name: Range(-3.0, 3.0, log=False, count=iterations if name in vectors else None) for name in rates}


@dataclass(frozen=True, eq=False)
class Smoothed:
    """q̂ = e^(−(length·|k|)²/2) â, with its gradient; on a box as a series of cosines. Arrays are (*grid, channels, n)."""

    series: Series
    q: Float[Tensor, "*grid_channels_n"]
    slopes: list[Tensor]
    tanh: Float[Tensor, "*grid_channels_n"]

    @classmethod
    def of(cls, a: Float[Tensor, "n channels *grid"], series: Series, length: Numbers) -> "Smoothed":
        """Compute q and ∇q by two transforms."""
        damping = torch.exp(-(length**2) * series.squares.to(a)[..., None, None] / 2)
        q, slopes = series.with_gradient(damping * series.analysis(a.movedim((0, 1), (-1, -2))))
        return cls(series, q, slopes, torch.tanh(q))

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


def recurrence(
    p: Float[Tensor, "*ranks_m_n"],
    couplings: tuple[Part, list[Part], list[list[Part]]],
    fields: Tensor,
    K: list[Tensor],
    series: Series,
) -> Float[Tensor, "*grid_m_n"]:
    """Iterate p ↦ K_l[s₀ F_l + terms in p and ∇p] for l = 1, 2, …, products on the grid, K_l on coefficients. Return p on the grid."""
    source, reactions, flows = couplings
    for F, multiplier, reaction, flow in zip(fields, K, reactions, flows, strict=True):
        value, slopes = series.with_gradient(p)
        driven = torch.addcmul(source * F, reaction, value)
        for velocity, slope in zip(flow, slopes, strict=True):
            driven = torch.addcmul(driven, velocity, slope)
        p = multiplier * series.analysis(driven)
    return series.synthesis(p)
