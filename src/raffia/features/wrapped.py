"""Feature maps made from another one: projected so that linear equalities hold, or reduced to some of its features."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from raffia.constraints import Equality, project_features
from raffia.features.base import FeatureMap, Prepared
from raffia.spaces import Nodes, Space


class Wrapper:
    """Delegates to the feature map `of`. A subclass may change the values of the features in `changed`."""

    of: FeatureMap

    def changed(self, a: Tensor, phi: Tensor) -> Tensor:
        """The features (n, m, *grid) for inputs a, changed."""
        return phi

    @property
    def domain(self) -> Space:
        """The space of the inputs."""
        return self.of.domain

    @property
    def theta_shape(self) -> tuple[int, ...]:
        """The shape of one θ."""
        return self.of.theta_shape

    @property
    def work_per_value(self) -> int:
        """The number of intermediate values for one value of φ."""
        return self.of.work_per_value

    def values_on(self, grid: Nodes) -> Nodes:
        """The nodes of the features."""
        return self.of.values_on(grid)

    def prepare(self, theta: Float[Tensor, "m *theta"], grid: Nodes) -> Prepared:
        """The precomputed tensors of the wrapped map."""
        return self.of.prepare(theta, grid)

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m *grid_or_none"]:
        """Evaluate the wrapped map and change its features."""
        return self.precompute(a)(prepared)

    def precompute(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """Precompute for the wrapped map."""
        features = self.of.precompute(a)
        return lambda prepared: self.changed(a, features(prepared))

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """The trained operator of the wrapped map."""
        return self.of.combination(theta, coef, grid)


@dataclass(repr=False, eq=False)
class Projected(Wrapper, FeatureMap):
    """Pφ(a; θ) with P linear, so that every sum satisfies the equalities with zero prescribed values. Scalar features are unchanged."""

    of: FeatureMap
    equalities: tuple[Equality, ...]

    def combination(self, theta: Tensor, coef: Tensor, grid: Nodes) -> Callable[[Tensor], Tensor]:
        """The trained operator of the wrapped map, projected once."""
        combined, one = self.of.combination(theta, coef, grid), grid.one_channel
        scalar = not self.values_on(grid).shape
        return combined if scalar else lambda a: project_features(self.equalities, combined(a), one)

    def changed(self, a: Tensor, phi: Tensor) -> Tensor:
        """Project features in the order (m, n, *grid) in which they were computed, so that later steps need no copy."""
        if phi.ndim == 2:
            return phi
        return project_features(self.equalities, phi.transpose(0, 1), self.domain.grid_of(a).one_channel).transpose(0, 1)


@dataclass(repr=False, eq=False)
class Selected(Wrapper, FeatureMap):
    """Some of the features of another map, as `RandomFeatureModel.prune` keeps them.

    φ(a; θ_j) of the map `of` for the indices j in `kept`, in this order.

    Parameters
    ----------
    of
        The map.
    kept
        The indices of its features, (m,).

    Examples
    --------
    >>> import torch
    >>> from raffia.features import FourierFeatures, Selected
    >>> Selected(FourierFeatures(16), torch.tensor([0, 5])).draw(2, seed=0).shape
    torch.Size([2, 17])
    """

    of: FeatureMap
    kept: Int[Tensor, "m"]

    @property
    def pool(self) -> FeatureMap:
        """The map from which features are selected."""
        return self.of
