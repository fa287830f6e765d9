"""Features whose values meet linear equalities, so that every sum of them does."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from raffia.constraints import Equality, shaped
from raffia.features.base import FeatureMap, Prepared
from raffia.features.wrapper import OfAnother
from raffia.spaces import Nodes


@dataclass(repr=False, eq=False)
class Projected(OfAnother, FeatureMap):
    """Pφ(a; θ), functions for which these equalities prescribe zero, with P linear: a projection, as a rule. Numbers stay."""

    of: FeatureMap
    equalities: tuple[Equality, ...]

    def __call__(self, a: Float[Tensor, "n *input"], theta: Float[Tensor, "m *theta"]) -> Float[Tensor, "n m *grid_or_none"]:
        """Those of the map, projected."""
        return self._project(a, self.of(a, theta))

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m *grid_or_none"]:
        """As the map does, projected."""
        return self._project(a, self.of.evaluate(a, prepared))

    def seen(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """As the map does, projected."""
        features = self.of.seen(a)
        return lambda prepared: self._project(a, features(prepared))

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """That of the map, projected once."""
        combined, one = self.of.combination(theta, coef, grid), grid.one_channel
        numbers = not self.values_on(grid).shape
        return combined if numbers else lambda a: shaped(self.equalities, combined(a), one)

    def _project(self, a: Tensor, phi: Tensor) -> Tensor:
        """Feature-first, as features were computed: assembly then needs no copy."""
        if phi.ndim == 2:
            return phi
        return shaped(self.equalities, phi.transpose(0, 1), self.domain.grid_of(a).one_channel).transpose(0, 1)
