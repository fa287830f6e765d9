"""Velocities between walls, which they do not cross.

Along axes with ends a stream function is a series of sines, so that ∇^⊥ of it is tangential at walls; a potential is one of cosines, so
that ∇ of it is; component i of a vector potential is one of cosines along axis i and of sines along others, so that the curl is. What
multiplies a given velocity leaves its component across a wall as it is there.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.flows import Flow, Held
from raffia.spaces import Boundary
from raffia.spaces.spectral import Series
from raffia.spaces.splines import image_within


class Within(Flow):
    """A flow in a domain with walls; functions are represented by their values."""

    longest = math.pi

    def image(self, f: Held) -> Tensor:
        """Spline coefficients from values."""
        return image_within(f, self.grid)

    def blurred(self, f: Held) -> Held:
        """Apply G in cosines, as a correction of f, so that waves outside the series stay."""
        series = self._series("neumann", "neumann")
        taken = (1 - self.blur(series.squares.to(self.like)))[..., None, None, None]
        return f - series.synthesis(taken * series.analysis(f.movedim((0, 1, 2), (-3, -2, -1)))).movedim(
            (-3, -2, -1), (0, 1, 2)
        )

    def filtered(self, f: Held) -> Held:
        """Apply M to component i in sines along axis i, as a correction, so that the component is unchanged where they vanish."""
        parts = []
        for axis, part in enumerate(f.unbind(2)):
            series = self._series("dirichlet", "neumann", axis)
            changed = (self._multiplier(series) - 1) * series.analysis(part.movedim((0, 1), (-2, -1)))
            parts.append(self.turn * (part + series.synthesis(changed).movedim((-2, -1), (0, 1))))
        return torch.stack(parts, 2)

    def potential(self, f: Held, along: Boundary, across: Boundary, axis: int) -> list[Held]:
        """Series of sines ("dirichlet") and cosines ("neumann")."""
        series = self._series(along, across, axis)
        value, slopes = series.with_gradient(self._multiplier(series) * series.analysis(f.movedim((0, 1), (-2, -1))))
        return [part.movedim((-2, -1), (0, 1)) for part in (value, *slopes)]

    def _series(self, along: Boundary, across: Boundary, axis: int = 0) -> Series:
        """The series with one condition along an axis and another along the others."""
        kinds = self.grid.domain.kinds
        words = tuple("periodic" if kind.periodic else along if i == axis else across for i, kind in enumerate(kinds))
        return Series(self.grid, words)

    def _multiplier(self, series: Series) -> Float[Tensor, "*ranks m 1"]:
        return self.multiplier(series.squares.to(self.like)).movedim(0, -1)[..., None]
