"""Iterated random features: a recurrence that knows no equation, whose few numbers a search learns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, sum_of
from raffia.features.hyperparameters import Choice, Range
from raffia.features.smoothed import Smoothed
from raffia.measures import GaussianField
from raffia.spaces import Boundary, Domain, Grid, Nodes, Space, carry
from raffia.spaces.spectral import Series

Numbers = float | Float[Tensor, "..."]

FUNCTIONS, RATES = ("source", "growth", "potential", "stream"), ("beta", "gamma", "zeta", "delta")


@dataclass(repr=False, eq=False)
class IteratedFeatures(FeatureMap):
    """φ(a; θ) = p_L,  p₀ = K₀[s₀ (1 + w R₀)],  p_l = K_l[s₀ (1 + w R_l) + β_l s₁ p_{l−1} + γ_l ∇s₂·∇p_{l−1} + ζ_l ∇^⊥(M s₃)·∇p_{l−1}].

    K_l = (τ² + |k|²)^(−α_l/2) are radial multipliers, in sines on a box if `boundary` is "dirichlet", which suits outputs that vanish
    there, in cosines if it is "neumann", in waves on a torus; M = max(|k|, 1)^(−power). s_i = c₀ + c₁ q + c₂ tanh q, with a c₁ and a c₂
    for each channel, are `source`, `growth`, `potential` and `stream`; q is the input, smoothed by e^(−(smoothing·|k|)²/2). R_l are random
    fields N(0, C) with `field_tau` and `field_regularity`. Lengths are in units of the longest side over π, or on a torus over 2π. A number
    serves where several are meant. On a line the last term is ζ_l v ∂p + δ_l p ∂v with v = M s₃, and in three dimensions there is none.
    With a function u₀ for `start`, given on any grid, such as the mean output, p₀ = u₀ (1 + w R₀).

    They represent what a few steps of a fixed-point iteration give: elliptic problems with moderate contrast (Darcy flow is α = 2,
    s₀ = f/a, γ ∇s₂ = ∇log a), a short time of transport and reaction. They do not represent oscillating resonances (Helmholtz), long
    times of transport, or sources that neither a nor a smooth field makes. A feature is linear in 1 + w R, so that a trained model is one
    recurrence, however many features it has, and more than (iterations + 1) · n_modes + 1 features are linearly dependent.

    Good values: normalised inputs (`normalize=True`, or "function" where outputs vanish at the boundary), and all others by `tune`.
    """

    iterations: int = 3
    alpha: Numbers = 1.0
    tau: Numbers = 1.0
    source: Numbers = 0.5
    growth: Numbers = 0.5
    potential: Numbers = 0.5
    stream: Numbers = 0.5
    beta: Numbers = 0.1
    gamma: Numbers = 0.1
    zeta: Numbers = 0.1
    delta: Numbers = 0.1
    power: Numbers = 1.0
    weight: Numbers = 1.0
    smoothing: Numbers = 0.1
    field_tau: Numbers = 10.0
    field_regularity: Numbers = 3.0
    n_modes: int = 128
    boundary: Literal["neumann", "dirichlet"] = "neumann"
    start: Float[Tensor, "..."] | None = None
    domain: Space = field(default_factory=lambda: Domain(2, periodic=False))

    @property
    def theta_shape(self) -> tuple[int, int]:
        """A field for each p_l, by its coefficients."""
        return (self.iterations + 1, self.n_modes)

    @property
    def work_per_value(self) -> int:
        """The products of every iteration."""
        return self.iterations + 1

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """All numbers, those of terms that there are."""
        dim, channels = self._region.dim, self.domain.channels
        ranges: dict[str, Range | Choice] = {
            "alpha": Range(0.0, 4.0, log=False, count=self._own("alpha", self.iterations + 1)),
            "tau": Range(0.05, 20.0),
            "weight": Range(0.02, 50.0),
            "smoothing": Range(1e-3, 1.0),
            "field_tau": Range(0.5, 50.0),
            "field_regularity": Range(1.1, 6.0),
        }
        ranges |= {"power": Range(0.0, 4.0, log=False)} if dim < 3 else {}
        ranges |= {name: Range(-3.0, 3.0, log=False, count=1 + 2 * channels) for name in FUNCTIONS[: 4 if dim < 3 else 3]}
        rates = RATES[: {1: 4, 2: 3}.get(dim, 2)] if self.iterations else ()
        return ranges | {name: Range(-3.0, 3.0, log=False, count=self._own(name, self.iterations)) for name in rates}

    def _own(self, name: str, count: int) -> int | None:
        """How many numbers there are to search: one that serves all iterations, or a vector."""
        return count if torch.as_tensor(getattr(self, name)).ndim else None

    def values_on(self, grid: Nodes) -> Nodes:
        """Functions of one channel."""
        return grid.one_channel

    def __call__(self, a: Float[Tensor, "n *input"], theta: Float[Tensor, "m fields modes"]) -> Float[Tensor, "n m *grid"]:
        """Evaluate every feature on the grid of a."""
        return self.evaluate(a, self.prepare(theta, self.domain.grid_of(a)))

    def prepare(self, theta: Float[Tensor, "m fields modes"], grid: Nodes) -> tuple[Tensor]:
        """1 + w R_l on the grid, in which features are linear."""
        law: Boundary = "periodic" if self._region.periodic else "neumann"
        draws = GaussianField(self._region, law, self.field_tau, self.field_regularity, self.n_modes)
        return (1 + self.weight * draws(theta, self._region.grid(*grid.one_channel.shape)),)

    def combination(
        self, theta: Float[Tensor, "m fields modes"], coef: Float[Tensor, "m *columns"], grid: Nodes
    ) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) is the recurrence with Σ_j coef_j (1 + w R_jl), made once."""
        size = max(1, 2**22 // (grid.one_channel.size * (self.iterations + 1)))
        parts = zip(theta.split(size), coef.reshape(len(coef), -1).split(size), strict=True)
        fields = sum_of(torch.einsum("jc,j...->c...", c, self.prepare(t, grid)[0]) for t, c in parts)
        return lambda a: self.evaluate(a, (fields,)) if coef.ndim > 1 else self.evaluate(a, (fields,))[:, 0]

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Products on the grid, multipliers on coefficients; arrays are (*grid, m, n)."""
        grid = self._region.grid_of(a)
        fields = prepared[0].movedim((1, 0), (0, -1))[..., None].contiguous()
        series = Series(grid, "periodic" if self._region.periodic else self.boundary)
        source, reactions, flows = self._couplings(a, grid)
        radial = (series.squares.to(a) + self._several("tau", 1, a) ** 2).log()[..., None, None]
        multipliers = [torch.exp(-alpha / 2 * radial) for alpha in self._several("alpha", self.iterations + 1, a)]
        if self.start is None:
            p = multipliers[0] * series.analysis(source * fields[0])
        else:
            begun = carry(self.start, self._region.grid_of(self.start), grid).to(a)
            p = series.analysis(begun[..., None, None] * fields[0]).expand(*radial.shape[:-2], -1, len(a))
        for level in range(self.iterations):
            value, slopes = series.with_gradient(p)
            driven = torch.addcmul(source * fields[level + 1], reactions[level], value)
            for flow, slope in zip(flows[level], slopes, strict=True):
                driven = torch.addcmul(driven, flow, slope)
            p = multipliers[level + 1] * series.analysis(driven)
        return series.synthesis(p).movedim((-1, -2), (0, 1))

    def _couplings(self, a: Tensor, grid: Grid) -> tuple[Tensor, list[Tensor], list[list[Tensor]]]:
        """s₀, and for every iteration what multiplies p and each of its derivatives, (*grid, 1, n): all that depends on a alone."""
        series = Series(grid, "periodic" if self._region.periodic else "neumann")
        channels = a if self.domain.has_components else a[:, None]
        q = Smoothed.of(channels, series, self._several("smoothing", 1, a))
        source, growth, potential, stream = (self._several(name, 1 + 2 * channels.shape[1], a) for name in FUNCTIONS)
        beta, gamma, zeta, delta = (self._several(name, self.iterations, a) for name in RATES)
        grown, fallen, (v, slopes) = q.function(growth), q.gradient(potential), q.filtered(stream, self._several("power", 1, a))
        across = {1: [v], 2: [-slopes[-1], slopes[0]]}.get(len(slopes), [])
        rates = [*zip(beta, gamma, zeta, delta, strict=True)]
        reactions = [b * grown + d * slopes[0] if len(slopes) == 1 else b * grown for b, _, _, d in rates]
        flows = [[g * f + z * u for f, u in zip_longest(fallen, across, fillvalue=0.0)] for _, g, z, _ in rates]
        return q.function(source), reactions, flows

    def _several(self, name: str, count: int, like: Tensor) -> Float[Tensor, "count"]:
        given = torch.as_tensor(getattr(self, name), dtype=like.dtype, device=like.device)
        if given.ndim > 1 or (given.ndim and len(given) != count):
            raise RaffiaError(
                f"IteratedFeatures({name}=…) must be a number or a vector of {count}; got shape {tuple(given.shape)}."
            )
        return given.expand(count)

    @property
    def _region(self) -> Domain:
        """The torus or box of the inputs."""
        domain = self.domain.one_channel
        if not isinstance(domain, Domain) or domain.dim < 1:
            raise RaffiaError(f"IteratedFeatures needs functions on a grid of a line, a square or a cube; got {self.domain!r}.")
        return domain
