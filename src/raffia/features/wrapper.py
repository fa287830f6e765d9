"""What maps have in common that are made of another: where it lives, what it draws, what it prepares."""

from jaxtyping import Float
from torch import Tensor

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
