"""The roles of input channels in advection: velocity, source of a velocity, or advected; and the hyperparameters that follow."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, Range, channelled, per_channel, region_of
from raffia.spaces import Domain, Space

Velocity = Literal["made", "first", "last"]
Numbers = float | Float[Tensor, "..."]


@dataclass(frozen=True)
class Roles:
    """The roles for inputs in a space: the velocity is computed from them, or consists of their first or last channels."""

    space: Space
    velocity: str

    @property
    def region(self) -> Domain:
        """The torus or box of the inputs."""
        return region_of(self.space, "CarriedFeatures")

    @property
    def weights(self) -> int:
        """The number of random weights of advected functions: one for each of several channels."""
        return self.space.channels if self.space.has_components else 0

    @property
    def alone(self) -> bool:
        """Whether the velocity is computed from a single channel."""
        return self.weights == 0 and self.velocity == "made"

    def check(self, steps: int, sourced: bool) -> None:
        """Refuse invalid roles."""
        dim, count = self.region.dim, self.space.channels
        given = self.velocity in ("first", "last") and dim <= count
        fits = dim <= 3 and (given or self.alone or (self.velocity, count, dim) == ("made", 3, 3))
        if steps < 1 or not fits or (sourced and not self.alone):
            raise RaffiaError(
                "CarriedFeatures needs steps >= 1, one to three dimensions and one channel (in three also three, a vorticity), or "
                "velocity='first' or 'last' and a channel for each dimension; a source needs a single channel. "
                f"Got steps={steps!r}, velocity={self.velocity!r}, {'a' if sourced else 'no'} source and {self.space!r}."
            )

    def searched(self, sourced: bool) -> dict[str, Range | Choice]:
        """The active parameters, the number of steps, and which channels are the velocity."""
        dim, count = self.space.dim, self.space.channels
        steep = self.velocity == "made" and not self.region.periodic  # a smaller power makes velocities without bounds at walls
        ways = ("first", "made") if count == dim == 3 else ("first", "last")
        ranges: dict[str, tuple[bool, Range | Choice]] = {
            "climb": (self.alone, Range(-5.0, 5.0, log=False)),
            "power": (True, Range(1.0 if steep else 0.0, 4.0, log=False)),
            "spread": (True, Range(0.01, 1.0)),
            "shape": (True, Range(1e-3, 1.0)),
            "damping": (True, Range(1e-6, 0.3)),
            "steps": (True, Choice((1, 4))),
            "gain": (sourced, Range(-5.0, 5.0, log=False)),
            "turn": (dim < 3 or not self.alone, Range(0.01, 5.0)),
            "sense": (dim < 3 and self.alone, Choice((1, -1))),  # a velocity, or a vorticity, has one
            "velocity": (self.weights > 0 and (count > dim or count == dim == 3), Choice(ways)),
        }
        return {name: searched for name, (active, searched) in ranges.items() if active}

    def parts(self, a: Tensor, shift: Numbers, scale: Numbers) -> tuple[Float[Tensor, "n functions *grid"], Tensor | None]:
        """The advected functions, and the velocity if it is given, with root mean square one and without a shift."""
        channels, dim = channelled(a, self.space), self.region.dim
        shifts, scales = per_channel(shift, channels), per_channel(scale, channels)
        normalised = (channels - shifts) / scales
        if self.alone:
            return normalised, None
        which = slice(-dim, None) if self.velocity == "last" else slice(dim)
        vector = channels[:, which] / (scales[which] ** 2 + shifts[which] ** 2).mean().sqrt()
        return (vector, None) if self.velocity == "made" else (normalised, vector)


def mixed(p: Float[Tensor, "m n functions *grid"], weights: Tensor) -> Float[Tensor, "features n 1 *grid"]:
    """Random sums of several functions; a single one is unchanged."""
    return p if p.shape[2] == 1 else torch.einsum("mc,mnc...->mn...", weights, p.expand(len(weights), *p.shape[1:]))[:, :, None]
