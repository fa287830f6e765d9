"""Carried random features: the input moved along velocities that are made from it, as a flow does."""

import math
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared
from raffia.features.hyperparameters import Choice, Range
from raffia.spaces import Domain, Grid, Nodes, Space, carry
from raffia.spaces.between import values_at
from raffia.spaces.followed import followed
from raffia.spaces.spectral import wavenumbers

Number = float | Float[Tensor, ""]

FORCED = 0.1  # of the deviation of outputs: a mean change that is larger is a source
SHAPES = 4  # random numbers of a multiplier


@dataclass(repr=False, eq=False)
class CarriedFeatures(FeatureMap):
    """φ(a; θ) = p_L with p₀ = q and p_l(x) = G p_{l−1}(x − u_l(x)) + gain f(x)/L, u_l = (s_θ/L) (±turn ∇^⊥ + climb ∇) M_θ p_{l−1}.

    On a torus; q is (a − shift)/scale. M_θ = max(|k|, 1)^(−power) (1 + shape·r_θ(|k|)) with r_θ a random smooth function,
    s_θ = 1 + spread·ξ_θ, and G = e^(−damping |k|²/L). f is `source`/scale, a function given on any grid, or None. On a line the velocity
    is (±turn + climb ∂) M_θ p; in three dimensions there is no turn. Lengths are such that the longest side is 2π. L is `steps`: each
    traces back to the middle of the way first. ± is `sense`, which a search tries both ways.

    They represent transport by a velocity that the input itself makes, for times in which particles move many grid spacings, where
    expansions in powers of the velocity fail; vorticity has turn and power = 2. They do not represent reactions, but for what
    coefficients="modal", which gives each wavenumber its own, adds to them: diffusion, a mean function and a linear map.

    Good values: `suited(a, y, domain)`, then `tune` with modal coefficients.
    """

    steps: int = 1
    sense: Literal[1, -1] = 1
    turn: Number = 0.3
    climb: Number = 0.1
    power: Number = 1.0
    spread: Number = 0.3
    shape: Number = 0.1
    damping: Number = 1e-3
    gain: Number = 0.5
    shift: Number = 0.0
    scale: Number = 1.0
    source: Float[Tensor, "..."] | None = None
    domain: Space = field(default_factory=lambda: Domain(2))

    @classmethod
    def suited(cls, a: Tensor, y: Tensor, domain: Space, **more: object) -> "CarriedFeatures":
        """Features for such pairs: inputs are normalised, and what outputs have on the mean that inputs have not is a source."""
        scale, shift = torch.std_mean(a.double())
        gained = (y - a).double().mean(0)
        own = {"shift": float(shift), "scale": float(scale) or 1.0, "domain": domain}
        much = max(FORCED, 4 / math.sqrt(len(a))) * float(y.double().std())  # a mean of few pairs has noise
        source = gained if float(gained.std()) > much else None
        return cls(**own | {"source": source} | more)  # type: ignore[arg-type]

    @property
    def theta_shape(self) -> tuple[int]:
        """How far to go, and the numbers of a multiplier."""
        return (1 + SHAPES,)

    @property
    def work_per_value(self) -> int:
        """Of splines and transforms, in as many steps as a search tries; a search needs few of them."""
        return 64 if self.domain.dim == 1 else 24

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """All numbers, and how many steps to take."""
        ranges: dict[str, Range | Choice] = {
            "climb": Range(-5.0, 5.0, log=False),
            "power": Range(0.0, 4.0, log=False),
            "spread": Range(0.01, 1.0),
            "shape": Range(1e-3, 1.0),
            "damping": Range(1e-6, 0.3),
            "steps": Choice((1, 4)),
        }
        ranges |= {} if self.source is None else {"gain": Range(-5.0, 5.0, log=False)}
        return ranges | ({"turn": Range(0.01, 5.0), "sense": Choice((1, -1))} if self.domain.dim < 3 else {})

    def values_on(self, grid: Nodes) -> Nodes:
        """Functions."""
        return grid

    def __call__(self, a: Float[Tensor, "n *grid"], theta: Float[Tensor, "m numbers"]) -> Float[Tensor, "n m *grid"]:
        """Evaluate every feature on the grid of a."""
        return self.evaluate(a, (theta,))

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Features first, then samples, then the grid."""
        if self.steps < 1 or not (self.domain.gridded and self.domain.periodic) or not 1 <= self.domain.dim <= 3:
            raise RaffiaError(
                f"CarriedFeatures needs steps >= 1 and functions of one channel on a torus; got steps={self.steps!r} and {self.domain!r}."
            )
        grid, (theta,) = cast(Grid, self.domain.grid_of(a)), prepared
        axes = tuple(range(-len(grid.shape), 0))
        longest = max(grid.domain.extents)
        axes_of = zip(wavenumbers(grid), grid.shape, grid.domain.extents, strict=True)
        waves = [torch.where(2 * k.abs() == points, 0.0, k).to(a) * longest / extent for k, points, extent in axes_of]
        squares = reduce(torch.add, [k.square() for k in waves])
        multiplier, blur = self._multiplier(theta, squares), torch.exp(-self.damping * squares / self.steps)
        way = ((1 + self.spread * theta[:, 0]) / self.steps).repeat_interleave(len(a)).reshape(-1, *[1] * (len(grid.shape) + 1))
        units = 2 * math.pi / max(grid.domain.extents) * torch.tensor(grid.spacings).to(a)
        way = way / units.reshape(-1, *[1] * len(grid.shape))
        nodes = (grid.nodes() / torch.tensor(grid.spacings, dtype=torch.float64)).movedim(-1, 0).to(a)
        p = ((a - self.shift) / self.scale).expand(len(theta), *a.shape)
        driven = torch.zeros((), dtype=a.dtype, device=a.device)
        if self.source is not None:
            given = carry(self.source, cast(Grid, self.domain.grid_of(self.source)), grid).to(a)
            driven = self.gain / (self.steps * self.scale) * given
        twice = followed(a)  # a search, which follows hyperparameters alone, needs one derivative
        for _ in range(self.steps):
            spectrum = torch.fft.rfftn(p, dim=axes)
            velocity = torch.stack(self._velocity(multiplier * spectrum, waves), 2).flatten(0, 1)  # (m n, dim, *spectrum)
            half = nodes - way / 2 * torch.fft.irfftn(velocity, s=grid.shape, dim=axes)
            there = nodes - way * values_at(velocity, half, grid, twice)
            p = values_at((blur * spectrum).flatten(0, 1)[:, None], there, grid, twice).reshape(p.shape) + driven
        return p.transpose(0, 1)

    def _multiplier(self, theta: Tensor, squares: Float[Tensor, "*spectrum"]) -> Float[Tensor, "m 1 *spectrum"]:
        """M_θ, zero for the mean."""
        length = squares.sqrt()
        phase = math.pi * length / (length + 4)
        random = sum(theta[:, j].reshape(-1, *[1] * squares.ndim) * torch.cos((j - 1) * phase) for j in range(1, 1 + SHAPES))
        falling = squares.clamp(min=1) ** (-torch.as_tensor(self.power, dtype=squares.dtype, device=squares.device) / 2)
        return ((squares > 0) * falling * (1 + self.shape * random / math.sqrt(SHAPES)))[:, None]

    def _velocity(self, potential: Tensor, waves: list[Tensor]) -> list[Tensor]:
        """The spectra of its components."""
        slopes = [1j * k * potential for k in waves]
        if len(waves) == 1:
            return [self.sense * self.turn * potential + self.climb * slopes[0]]
        across = [slopes[1], -slopes[0]] if len(waves) == 2 else [torch.zeros_like(potential)] * 3
        return [self.sense * self.turn * u + self.climb * v for u, v in zip(across, slopes, strict=True)]
