"""Some of the features of a map, by their numbers: what is left of a pool when the least useful ones are dropped."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raffia.features.base import FeatureMap, Prepared
from raffia.features.wrapper import OfAnother
from raffia.spaces import Nodes


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

    def seen(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """As the map does."""
        return self.of.seen(a)

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """As the map does."""
        return self.of.combination(theta, coef, grid)
