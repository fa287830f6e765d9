"""Advected random features: the input moved along velocities that are computed from it."""

import math
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import Choice, FeatureMap, Prepared, Range, shift_and_scale
from raffia.features.flows import SHAPES, Around, Flow, Number, multiplier
from raffia.features.velocities import Numbers, Roles, Velocity, mixed
from raffia.features.walls import Within
from raffia.spaces import Domain, Grid, Space, interpolate
from raffia.transforms import is_tracked

FORCED = 0.1
"""A mean change of the outputs above this share of their standard deviation is used as a source."""


@dataclass(repr=False, eq=False)
class CarriedFeatures(FeatureMap):
    """The input, moved along a velocity that it has or from which it is computed: features for transport.

    φ(a; θ) = p_L with p₀ = q and p_l(x) = G p_{l−1}(x − u_l(x)) + gain f(x)/L, u_l = (s_θ/L) (±turn ∇^⊥ + climb ∇) M_θ p_{l−1}.

    q is (a − shift)/scale, and f is `source`/scale. M_θ = max(|k|, 1)^(−power) (1 + shape·r_θ(|k|)) with a random smooth function r_θ,
    s_θ = 1 + spread·ξ_θ, and G = e^(−damping |k|²/L). Each of the L steps uses the midpoint rule. The unit of length is the longest side
    over 2π, or over π along non-periodic axes. There M_θ acts on sines for ∇^⊥ and on cosines for ∇, so no velocity crosses a wall, and
    power > 1 keeps it bounded at walls.

    On a line the velocity is (±turn + climb ∂) M_θ p. In three dimensions a single channel has a gradient velocity only. Three channels
    are a vorticity, with velocity ±turn curl M_θ p, which advects each channel; vortex stretching is not represented. If the
    velocity is given, it is the same in all steps, u = (s_θ/L) (±turn) M_θ v, and particles stop at walls. With several channels, q is a
    random sum of them. A velocity, or the channels it is computed from, is divided by its root mean square and not shifted.

    They represent transport over many grid spacings, where expansions in powers of the velocity fail; for a vorticity, power is 2. They do
    not represent reactions. coefficients="modal" adds diffusion, a mean function and a linear map.

    Good values: `suited(a, y, domain)`, then `tune` with modal coefficients.

    Parameters
    ----------
    steps
        L.
    sense
        The sign ±, which a search tries both ways for one channel.
    turn, climb
        The rates of the divergence-free and the gradient part of the velocity.
    power, shape, spread
        The parameters of M_θ and s_θ.
    damping
        The rate of diffusion in G.
    gain, source
        The factor of the source, and a function on any grid, or None.
    shift, scale
        The normalisation of the input.
    velocity
        "made" computes the velocity from the input. "first" or "last" takes it from as many channels as dimensions.
    domain
        The space of the inputs.

    Examples
    --------
    >>> from raffia import Domain
    >>> from raffia.features import CarriedFeatures
    >>> features = CarriedFeatures(steps=2, power=2.0, domain=Domain(2))
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
    shift: Numbers = 0.0
    scale: Numbers = 1.0
    source: Float[Tensor, "..."] | None = None
    velocity: Velocity = "made"
    domain: Space = field(default_factory=lambda: Domain(2))

    @classmethod
    def suited(cls, a: Tensor, y: Tensor, domain: Space) -> "CarriedFeatures":
        """Features for these pairs: normalised inputs, and the mean difference of outputs and inputs as a source.

        If inputs have channels, the first ones are taken as the velocity until a search finds other parameters.
        """
        shift, scale = shift_and_scale(a, domain)
        if domain.has_components:
            return cls(shift=shift, scale=scale, velocity="first", power=0.0, domain=domain)
        source = (y - a).double().mean(0)
        much = max(FORCED, 4 / math.sqrt(len(a))) * float(y.double().std())  # the mean of few pairs is noisy
        return cls(
            shift=float(shift),
            scale=float(scale),
            power=1.0 if domain.periodic else 1.5,
            source=source if float(source.std()) > much else None,
            domain=domain,
        )

    @property
    def theta_shape(self) -> tuple[int]:
        """ξ_θ, the coefficients of r_θ, and with several channels a weight for each."""
        return (1 + SHAPES + self._roles.weights,)

    @property
    def any_grid(self) -> bool:
        """Not between walls, where many features are nearly equal and their coefficients amplify what differs between grids."""
        return bool(self._roles.region.periodic)

    @property
    def work_per_value(self) -> int:
        """An estimate for splines and transforms in all time steps that a search may try."""
        return 64 if self.domain.dim == 1 else 24

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The active parameters, the number of steps, and the source of the velocity."""
        return self._roles.searched(self.source is not None)

    def evaluate(self, a: Float[Tensor, "n *input"], prepared: Prepared) -> Float[Tensor, "n m *grid"]:
        """Features first, then samples, functions and the grid."""
        self._roles.check(self.steps, self.source is not None)
        grid, (theta,) = self._roles.region.grid_of(a), prepared
        flow, weights = self._flow(theta, grid, a), theta[:, 1 + SHAPES :]
        nodes = (grid.nodes() / torch.tensor(grid.spacings, dtype=torch.float64)).movedim(-1, 0).to(a)
        each = (-1, *[1] * len(grid.shape))
        way = ((1 + self.spread * theta[:, 0]) / self.steps).reshape(-1, 1, 1, *each[1:])
        way = way / (flow.longest / grid.domain.longest * torch.tensor(grid.spacings, dtype=torch.float64).to(a)).reshape(each)
        driven = torch.zeros((), dtype=a.dtype, device=a.device)
        if self.source is not None:
            given = interpolate(self.source, self._roles.region.grid_of(self.source), grid).to(a)
            driven = self.gain / (self.steps * self.scale) * given
        carried, vector = self._roles.parts(a, self.shift, self.scale)
        p = carried[None] if vector is None else mixed(carried[None], weights)
        velocity = None if vector is None else flow.filtered(flow.held(vector[None]))
        for _ in range(self.steps):
            f = flow.held(p)
            u = flow.made(f) if velocity is None else velocity
            half = nodes - way / 2 * flow.values(u)
            p = flow.at(flow.blurred(f), nodes - way * flow.at(u, half)) + driven
        return mixed(p, weights)[:, :, 0].transpose(0, 1)

    def _flow(self, theta: Tensor, grid: Grid, a: Tensor) -> Flow:
        """Around a torus, or within walls."""
        return (Around if grid.domain.periodic else Within)(
            grid,
            lambda squares: multiplier(squares, theta[:, 1 : 1 + SHAPES], self.power, self.shape),
            lambda squares: torch.exp(-self.damping * squares / self.steps),
            self.sense * self.turn,
            self.climb,
            is_tracked(a),  # a search, which follows hyperparameters alone, needs one derivative
            a,
        )

    @property
    def _roles(self) -> Roles:
        return Roles(self.domain, self.velocity)
