"""The operator-valued kernel of a random feature pair (eqn:kernel_expectation, eqn:kernel_empirical)."""

from jaxtyping import Float
from torch import Tensor

from raffia.features.base import FeatureMap


def empirical_kernel(
    feature_map: FeatureMap, theta: Float[Tensor, "m *theta"], a: Float[Tensor, "n *grid"], b: Float[Tensor, "n2 *grid"]
) -> Float[Tensor, "n points n2 points"]:
    """k^(m)(a_i, b_j) = (1/m) Σ_l φ(a_i; θ_l) ⊗ φ(b_j; θ_l) as matrices in embedded coordinates, (n, K, n', K).

    (f ⊗ g) h = ⟨g, h⟩ f, so embed(k(a, b) h) = kernel · embed(h). For scalar features K = 1: take [:, 0, :, 0]. This is a
    dense object for small problems and for tests; training never needs it.
    """
    left, right = _embedded(feature_map, theta, a), _embedded(feature_map, theta, b)
    return (left.flatten(1).T @ right.flatten(1)).reshape(*left.shape[1:], *right.shape[1:]) / len(theta)


def _embedded(feature_map: FeatureMap, theta: Tensor, a: Tensor) -> Float[Tensor, "m n points"]:
    return feature_map.values_on(feature_map.domain.grid_of(a)).embed(feature_map(a, theta).transpose(0, 1))
