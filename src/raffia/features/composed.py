"""Iterated random features: a recurrence with a few parameters, which a search learns, and random fields."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, FeatureMap, Prepared, Range, channelled, per_channel, shift_and_scale, sum_of
from raffia.features.recurrence import FUNCTIONS, RATES, Smoothed
from raffia.measures import GaussianField
from raffia.spaces import Boundary, Domain, Grid, Nodes, Space, interpolate, modes_of
from raffia.spaces.spectral import Series

Numbers = float | Float[Tensor, "..."]
NEARLY_ZERO = 0.02  # of the largest output: outputs as small as this at the boundary are made of sines


@dataclass(repr=False, eq=False)
class IteratedFeatures(FeatureMap):
    """A few steps of a fixed-point iteration for an elliptic equation that need not be known.

    φ(a; θ) = p_L,  p₀ = K₀[s₀ (1 + w R₀)],  p_l = K_l[s₀ (1 + w R_l) + β_l s₁ p_{l−1} + γ_l ∇s₂·∇p_{l−1} + ζ_l ∇^⊥(M s₃)·∇p_{l−1}].

    K_l = (τ² + |k|²)^(−α_l/2) and M = max(|k|, 1)^(−power) are radial multipliers. q is (a − shift)/scale, smoothed by
    e^(−(smoothing·|k|)²/2). The four functions are s_i = c₀ + c₁ q + c₂ tanh q, with c₁ and c₂ for each channel. R_l are random fields. The
    unit of length is the longest side over π, on a torus over 2π. On a line the last term is ζ_l v ∂p + δ_l p ∂v with v = M s₃; in three
    dimensions there is none.

    They represent a few steps of a fixed-point iteration: elliptic problems of moderate contrast (Darcy flow is α = 2, s₀ = f/a,
    γ ∇s₂ = ∇log a), transport and reaction for a short time. They do not represent resonances (Helmholtz), transport over long times, or
    sources that do not depend on a and are not smooth. They are linear in 1 + w R, so a trained model is one recurrence, and more than
    (iterations + 1) · n_modes + 1 of them are linearly dependent.

    Good values: `suited(a, y, domain)` and normalize=False, since outputs without their mean are not what they represent, then `tune`.

    Parameters
    ----------
    iterations
        L, the number of steps.
    alpha, tau
        The exponents α_l and the shift τ of K_l. Here and below, one number serves for all steps, and a search then learns one.
    source, growth, potential, stream
        The coefficients (c₀, c₁, c₂) of s₀, s₁, s₂ and s₃; a number is c₀.
    beta, gamma, zeta, delta
        β_l, γ_l, ζ_l and δ_l.
    power
        The exponent of M.
    weight, field_tau, field_regularity, n_modes
        w, and the inverse length scale, the regularity and the number of modes of R_l.
    smoothing, shift, scale
        The smoothing and the normalisation of the input. Jumps of a on a coarse grid need more smoothing.
    boundary
        Series in K_l: "dirichlet" in sines, for outputs that vanish at the boundary, "neumann" in cosines; one for all axes or for each.
    start
        A function u₀ on any grid: then p₀ = u₀ (1 + w R₀).
    domain
        The space of the inputs.

    Examples
    --------
    >>> from raffia import Domain
    >>> from raffia.features import IteratedFeatures
    >>> features = IteratedFeatures(iterations=2, n_modes=32, domain=Domain(2))
    """

    normalized: ClassVar[bool] = False
    start_from_current_values: ClassVar[bool] = True

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
    shift: Numbers = 0.0
    scale: Numbers = 1.0
    n_modes: int = 128
    boundary: Boundary | tuple[Boundary, ...] = "neumann"
    start: Float[Tensor, "..."] | None = None
    domain: Space = field(default_factory=lambda: Domain(2, periodic=False))

    @classmethod
    def suited(cls, a: Tensor, y: Tensor, domain: Space) -> "IteratedFeatures":
        """Features for these pairs: normalised inputs, and sines if outputs nearly vanish at the boundary of a box."""
        shift, scale = shift_and_scale(a, domain)
        plain: Boundary = "neumann"
        kind = getattr(modes_of(y, domain.one_channel.grid_of(y), NEARLY_ZERO), "boundary", plain)
        return cls(shift=shift, scale=scale, boundary=kind, domain=domain)

    @property
    def theta_shape(self) -> tuple[int, int]:
        """The coefficients of one field for each p_l."""
        return (self.iterations + 1, self.n_modes)

    @property
    def work_per_value(self) -> int:
        """The products of all iterations."""
        return self.iterations + 1

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The parameters of all active terms."""
        region, dim, steps = self.region, self.region.dim, self.iterations
        rates = RATES[: {1: 4, 2: 3}.get(dim, 2) if steps else 0]
        counts = {"alpha": steps + 1} | dict.fromkeys(rates, steps)
        counts = {name: count for name, count in counts.items() if torch.as_tensor(getattr(self, name)).ndim}
        ranges: dict[str, Range | Choice] = {
            "alpha": Range(0.0, 4.0, log=False, count=counts.get("alpha")),
            "tau": Range(0.05, 20.0),
            "weight": Range(0.02, 50.0),
            "smoothing": Range(1e-3, 1.0),
            "field_tau": Range(0.5 / region.longest, 50.0 / region.longest),
            "field_regularity": Range(1.1, 6.0),
        }
        ranges |= {"power": Range(0.0, 4.0, log=False)} if dim < 3 else {}
        functions = FUNCTIONS[: 4 if dim < 3 else 3]
        ranges |= {name: Range(-3.0, 3.0, log=False, count=1 + 2 * self.domain.channels) for name in functions}
        return ranges | {name: Range(-3.0, 3.0, log=False, count=counts.get(name)) for name in rates}

    def prepare(self, theta: Float[Tensor, "m fields modes"], grid: Nodes) -> tuple[Tensor]:
        """1 + w R_l on the grid, in which features are linear."""
        draws = GaussianField(self.region, self.region.natural_boundary, self.field_tau, self.field_regularity, self.n_modes)
        return (1 + self.weight * draws(theta, self.region.grid(*grid.one_channel.shape)),)

    def combination(self, theta: Tensor, coef: Float[Tensor, "m *columns"], grid: Nodes) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) is the recurrence with Σ_j coef_j (1 + w R_jl), made once."""
        size = max(1, 2**22 // (grid.one_channel.size * (self.iterations + 1)))
        parts = zip(theta.split(size), coef.reshape(len(coef), -1).split(size), strict=True)
        fields = sum_of(torch.einsum("jc,j...->c...", c, self.prepare(t, grid)[0]) for t, c in parts)
        return lambda a: self.evaluate(a, (fields,)) if coef.ndim > 1 else self.evaluate(a, (fields,))[:, 0]

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Products on the grid, multipliers on coefficients; arrays are (*grid, m, n)."""
        grid, fields = self.region.grid_of(a), prepared[0].movedim((1, 0), (0, -1))[..., None].contiguous()
        series = Series(grid, "periodic" if self.region.periodic else self.boundary)
        functions = [self._several(name, 1 + 2 * self.domain.channels, a) for name in FUNCTIONS]
        rates = [self._several(name, self.iterations, a) for name in RATES]
        source, reactions, flows = self._smoothed(a, grid).couplings(functions, rates, self._several("power", 1, a))
        radial = (series.squares.to(a) + self._several("tau", 1, a) ** 2).log()[..., None, None]
        K = [torch.exp(-alpha / 2 * radial) for alpha in self._several("alpha", self.iterations + 1, a)]
        if self.start is None:
            p = K[0] * series.analysis(source * fields[0])
        else:
            begun = interpolate(self.start, self.region.grid_of(self.start), grid).to(a)
            p = series.analysis(begun[..., None, None] * fields[0]).expand(*radial.shape[:-2], -1, len(a))
        for F, multiplier, reaction, flow in zip(fields[1:], K[1:], reactions, flows, strict=True):
            value, slopes = series.with_gradient(p)
            driven = torch.addcmul(source * F, reaction, value)
            for velocity, slope in zip(flow, slopes, strict=True):
                driven = torch.addcmul(driven, velocity, slope)
            p = multiplier * series.analysis(driven)
        return series.synthesis(p).movedim((-1, -2), (0, 1))

    def _smoothed(self, a: Tensor, grid: Grid) -> Smoothed:
        """q, from all channels normalised."""
        channels = channelled(a, self.domain)
        q = (channels - per_channel(self.shift, channels)) / per_channel(self.scale, channels)
        series = Series(grid, self.region.natural_boundary)
        damping = torch.exp(-(self._several("smoothing", 1, a) ** 2) * series.squares.to(a)[..., None, None] / 2)
        q, slopes = series.with_gradient(damping * series.analysis(q.movedim((0, 1), (-1, -2))))
        return Smoothed(series, q, slopes, torch.tanh(q))

    def _several(self, name: str, count: int, like: Tensor) -> Float[Tensor, "count"]:
        given = torch.as_tensor(getattr(self, name), dtype=like.dtype, device=like.device)
        if given.ndim > 1 or (given.ndim and len(given) != count):
            raise RaffiaError(f"IteratedFeatures({name}=…) must be one number or {count}; got shape {tuple(given.shape)}.")
        return given.expand(count)
