"""Feature maps made from another one: projected so that linear equalities hold, or reduced to some of its features."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raffia.constraints import Equality, project_features
from raffia.features.base import FeatureMap, Prepared
from raffia.spaces import Nodes, Space


class OfAnother:
    """Hands over to the map `of`; what is done to its features, the map that is made of it says."""

    of: FeatureMap

    @property
    def domain(self) -> Space:
        """That of the map."""
        return self.of.domain

    @property
    def theta_shape(self) -> tuple[int, ...]:
        """That of the map."""
        return self.of.theta_shape

    @property
    def work_per_value(self) -> int:
        """That of the map."""
        return self.of.work_per_value

    def values_on(self, grid: Nodes) -> Nodes:
        """Where those of the map are."""
        return self.of.values_on(grid)

    def prepare(self, theta: Float[Tensor, "m *theta"], grid: Nodes) -> Prepared:
        """As the map does."""
        return self.of.prepare(theta, grid)


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

    def precompute(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """As the map does, projected."""
        features = self.of.precompute(a)
        return lambda prepared: self._project(a, features(prepared))

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """That of the map, projected once."""
        combined, one = self.of.combination(theta, coef, grid), grid.one_channel
        numbers = not self.values_on(grid).shape
        return combined if numbers else lambda a: project_features(self.equalities, combined(a), one)

    def _project(self, a: Tensor, phi: Tensor) -> Tensor:
        """Feature-first, as features were computed: assembly then needs no copy."""
        if phi.ndim == 2:
            return phi
        return project_features(self.equalities, phi.transpose(0, 1), self.domain.grid_of(a).one_channel).transpose(0, 1)


@dataclass(repr=False, eq=False)
class Selected(OfAnother, FeatureMap):
    """φ(a; θ_j) of the map `of` for j in `kept`, in this order; a model of them has as many features."""

    of: FeatureMap
    kept: Int[Tensor, "m"]

    @property
    def pool(self) -> FeatureMap:
        """The map."""
        return self.of

    def __call__(self, a: Float[Tensor, "n *input"], theta: Float[Tensor, "m *theta"]) -> Float[Tensor, "n m *grid_or_none"]:
        """Those of the map."""
        return self.of(a, theta)

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m *grid_or_none"]:
        """As the map does."""
        return self.of.evaluate(a, prepared)

    def precompute(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """As the map does."""
        return self.of.precompute(a)

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """As the map does."""
        return self.of.combination(theta, coef, grid)
