"""Velocities computed from functions, and advection along them: the interface, and its form on tori."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.spaces import Boundary, Grid
from raffia.spaces.spectral import wavenumbers
from raffia.spaces.splines import image_around, values_at

Number = float | Float[Tensor, ""]
Functions = Float[Tensor, "m n functions *grid"]
Held = Tensor
"""Functions (m, n, functions, …) in the representation of a flow; the first size is 1 if all features share them."""


SHAPES = 4
"""Random coefficients of a multiplier."""


def multiplier(squares: Float[Tensor, "*modes"], numbers: Tensor, power: Number, shape: Number) -> Float[Tensor, "m *modes"]:
    """M_θ = max(|k|, 1)^(−power) (1 + shape·r_θ(|k|)), with r_θ a sum of four cosines."""
    length = squares.sqrt()
    phase = math.pi * length / (length + 4)
    random = sum(numbers[:, j].reshape(-1, *[1] * squares.ndim) * torch.cos(j * phase) for j in range(SHAPES))
    falling = squares.clamp(min=1) ** (-torch.as_tensor(power, dtype=squares.dtype, device=squares.device) / 2)
    return falling * (1 + shape * random / math.sqrt(SHAPES))


@dataclass(frozen=True, eq=False)
class Flow(ABC):
    """The flow that advects features: M_θ and G as functions of |k|², and the rates `turn` and `climb`."""

    grid: Grid
    multiplier: Callable[[Tensor], Float[Tensor, "m *modes"]]
    blur: Callable[[Tensor], Float[Tensor, "*modes"]]
    turn: Number
    climb: Number
    twice: bool
    """Whether second derivatives may be needed."""
    like: Tensor
    """A tensor with the precision and on the device of all others."""

    longest: ClassVar[float]
    """The length of the longest side in the units of 1/|k|."""

    def held(self, p: Functions) -> Held:
        """The representation of functions in this flow: their values, if it has no other."""
        return p

    def values(self, f: Held) -> Functions:
        """The values at the nodes."""
        return f

    @abstractmethod
    def image(self, f: Held) -> Tensor:
        """Spline coefficients, for values between nodes."""

    @abstractmethod
    def blurred(self, f: Held) -> Held:
        """G f."""

    @abstractmethod
    def filtered(self, f: Held) -> Held:
        """turn M f, of a velocity f that is given."""

    @abstractmethod
    def potential(self, f: Held, along: Boundary, across: Boundary, axis: int) -> list[Held]:
        """M f of one function and its derivatives, with a condition at the ends of one axis and another at those of the others."""

    def made(self, f: Held) -> Held:
        """The velocity that functions make: (turn ∇^⊥ + climb ∇) M f, on a line (turn + climb ∂) M f, of three in space turn curl M f."""
        dim = len(self.grid.shape)
        if f.shape[2] == 3:
            each = [self.potential(part, "neumann", "dirichlet", axis)[1:] for axis, part in enumerate(f.unbind(2))]
            return torch.stack([self.turn * (each[k][j] - each[j][k]) for j, k in ((1, 2), (2, 0), (0, 1))], 2)
        climbed = self.potential(f[:, :, 0], "neumann", "neumann", 0)
        if dim == 3:
            return torch.stack([self.climb * slope for slope in climbed[1:]], 2)
        same = self.grid.domain.periodic  # without ends, conditions do not matter
        stream, *across = climbed if same else self.potential(f[:, :, 0], "dirichlet", "dirichlet", 0)
        turned = [stream] if dim == 1 else [across[1], -across[0]]
        return torch.stack([self.turn * u + self.climb * v for u, v in zip(turned, climbed[1:], strict=True)], 2)

    def at(self, f: Held, positions: Float[Tensor, "m n dim *grid"]) -> Functions:
        """Values at positions in units of the spacings."""
        image = self.image(f.flatten(0, 1)).unflatten(0, f.shape[:2])
        image = image.expand(len(positions), *image.shape[1:]).flatten(0, 1)
        return values_at(image, positions.flatten(0, 1), self.grid, self.twice).unflatten(0, positions.shape[:2])


class Around(Flow):
    """On a torus, functions are held by their spectra."""

    longest = 2 * math.pi

    @cached_property
    def _waves(self) -> list[Tensor]:
        """Along each axis; the highest of an even circle has no derivative."""
        domain = self.grid.domain
        axes = zip(wavenumbers(self.grid), self.grid.shape, domain.extents, strict=True)
        return [torch.where(2 * k.abs() == n, 0.0, k).to(self.like) * domain.longest / extent for k, n, extent in axes]

    @cached_property
    def _squares(self) -> Tensor:
        return reduce(torch.add, [k.square() for k in self._waves])

    @cached_property
    def _multiplier(self) -> Tensor:
        return self.multiplier(self._squares)

    def held(self, p: Functions) -> Held:
        """Spectra."""
        return torch.fft.rfftn(p, dim=tuple(range(3, p.ndim)))

    def values(self, f: Held) -> Functions:
        """A transform back."""
        return torch.fft.irfftn(f, s=self.grid.shape, dim=tuple(range(3, f.ndim)))

    def image(self, f: Held) -> Tensor:
        """From spectra."""
        return image_around(f, self.grid)

    def blurred(self, f: Held) -> Held:
        """A product."""
        return self.blur(self._squares) * f

    def filtered(self, f: Held) -> Held:
        """A product."""
        return self.turn * (self._multiplier[:, None, None] * f)

    def potential(self, f: Held, along: Boundary, across: Boundary, axis: int) -> list[Held]:
        """Products. The mean has no part in it."""
        potential = ((self._squares > 0) * self._multiplier)[:, None] * f
        return [potential, *(1j * k * potential for k in self._waves)]
