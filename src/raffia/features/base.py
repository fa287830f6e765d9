"""Random feature pairs (φ, μ): random operators φ(·; θ) with θ white noise in coefficient space (def:rfm).

A new map is one short file: `theta_shape` is the shape of one θ, and `__call__` evaluates φ. All hyperparameters enter in `__call__`,
never in `draw`. So θ can be drawn anywhere, and φ can be differentiated in its hyperparameters.

Optional methods make a map faster without changing its values:

* `prepare` computes what depends on θ and the grid alone, once; `evaluate`, which replaces `__call__`, uses it.
* `precompute` computes what depends on the input alone, once for all tiles of features.
* `combination` is the trained operator Σ_j α_j φ(·; θ_j), which may have a shortcut.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.measures.noise import Rows, white_noise
from raffia.spaces import Domain, Nodes, Space
from raffia.transforms import is_tracked


@dataclass(frozen=True)
class Range:
    """A number between `low` and `high`, searched on a logarithmic scale by default; `count` of them for a vector."""

    low: float
    high: float
    log: bool = True
    count: int | None = None

    def at(self, place: float) -> float:
        """From low at 0 to high at 1, on the scale of the search."""
        if self.log:
            return math.exp((1 - place) * math.log(self.low) + place * math.log(self.high))
        return (1 - place) * self.low + place * self.high

    @property
    def middle(self) -> float:
        """Half-way between the ends, on the scale of the search."""
        return self.at(0.5)


@dataclass(frozen=True)
class Choice:
    """One of several values, tried in turn."""

    options: tuple[Any, ...]


def region_of(space: Space, name: str) -> Domain:
    """The torus or box of inputs with one or several channels; other spaces are refused by the features of that name."""
    domain = space.one_channel
    if not isinstance(domain, Domain) or domain.dim < 1:
        raise RaffiaError(f"{name} needs functions on a grid of an interval, rectangle or box; got {space!r}.")
    return domain


def channelled(f: Float[Tensor, "n *input"], space: Space) -> Float[Tensor, "n channels *grid"]:
    """Functions with an axis of channels, also where there is only one."""
    return f if space.has_components else f[:, None]


def shift_and_scale(a: Float[Tensor, "n *input"], space: Space) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of each channel; 1 for constant ones."""
    a = channelled(a, space).double()
    scale, shift = torch.std_mean(a, [axis for axis in range(a.ndim) if axis != 1])
    return shift, torch.where(scale > 0, scale, 1.0)


def per_channel(values: float | Tensor, f: Float[Tensor, "n channels *grid"]) -> Float[Tensor, "channels *ones"]:
    """One number for all channels or one for each, shaped to be subtracted from f or to divide it."""
    numbers = torch.as_tensor(values, dtype=f.dtype, device=f.device)
    return numbers.expand(f.shape[1]).reshape(-1, *[1] * (f.ndim - 2))


EXPENSIVE = 16
"""Features with more intermediate values for each value are not evaluated more often than necessary."""

Prepared = tuple[Tensor, ...]
"""The result of `prepare`: tensors with one row for each feature."""


class FeatureMap(BaseEstimator, ABC):
    """A random operator φ(·; θ): the base class of all families of features.

    A subclass is a dataclass with a property `theta_shape` and a method `__call__(a, theta)`. It takes functions (n, *grid)
    and random numbers (m, *theta_shape). It returns functions (n, m, *grid), or numbers (n, m).

    Examples
    --------
    See `examples/plot_15_own_solver.py` in the gallery for a map of your own.

    >>> import torch
    >>> from raffia.features import FourierFeatures
    >>> features = FourierFeatures(16)
    >>> features(torch.rand(3, 32, dtype=torch.float64), features.draw(5, seed=0)).shape
    torch.Size([3, 5, 32])
    """

    normalized: ClassVar[bool] = True
    """Whether `raffia.fit` normalises the data by default. False if hyperparameters have the units of the data."""

    start_from_current_values: ClassVar[bool] = False
    """Whether a search starts from the current hyperparameters only, compares ordinary coefficients, and ends on the grid of the data.

    For maps whose search from random values usually fails.
    """

    fine: ClassVar[bool] = False
    """Whether features depend on lengths that a coarse grid does not resolve. On a line, a search then uses a finer grid."""

    fitted_to_data: ClassVar[bool] = False
    """Whether the map itself is estimated from the pairs, so that leave-one-out errors with a fixed map are too small."""

    few: ClassVar[bool] = False
    """Whether features are so few that coefficients need no penalty: a ridge is then as small as rounding allows."""

    sourced: bool = True
    """Whether a model with a coefficient for each mode has a mean function too, for sources that are fixed in space."""

    kept: Any = None
    """The indices of the features of a model, if it does not use the first ones."""

    domain: Any
    """The `Space` of the inputs, and of the values of φ if they are functions (with one channel)."""

    @property
    def pool(self) -> "FeatureMap":
        """The map from which features are selected; usually the map itself."""
        return self

    @property
    @abstractmethod
    def theta_shape(self) -> tuple[int, ...]:
        """The shape of one θ, independent of the grid."""

    def __call__(self, a: Float[Tensor, "n *input"], theta: Float[Tensor, "m *theta"]) -> Float[Tensor, "n m *grid_or_none"]:
        """φ(a_i; θ_j) on the grid of a: shape (n, m, *grid), or (n, m) when φ is a number. A map defines this or `evaluate`."""
        return self.evaluate(a, self.prepare(theta, self.domain.grid_of(a)))

    def values_on(self, grid: Nodes) -> Nodes:
        """The nodes of φ(a; θ) for inputs on `grid`: `grid` with one channel. Scalar features override it and return `POINT`."""
        return grid.one_channel

    @final
    @property
    def region(self) -> Domain:
        """The torus or box of the inputs, for maps that need a grid."""
        return region_of(self.domain, type(self).__name__)

    @property
    def any_grid(self) -> bool:
        """Whether features are the same functions on every grid; else models compute them on the grid of the training."""
        return True

    @property
    def work_per_value(self) -> int:
        """The approximate number of intermediate values for one value of φ. Searches use fewer features if it is large."""
        return 1

    @final
    @property
    def expensive(self) -> bool:
        """Whether features take so long that they are not evaluated more often than necessary."""
        return self.work_per_value > EXPENSIVE

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The hyperparameters that a search varies, by the names of constructor arguments; none by default."""
        return {}

    @final
    def draw(self, rows: Rows, seed: int) -> Float[Tensor, "rows *theta"]:
        """White noise in float64 on the CPU; row j depends on (seed, j) alone."""
        return white_noise(rows, self.theta_shape, seed, stream="theta")

    def prepare(self, theta: Float[Tensor, "m *theta"], grid: Any) -> Prepared:
        """Precompute what depends on θ and the grid alone; the default is θ itself."""
        return (theta,)

    def evaluate(self, a: Float[Tensor, "n *grid"], prepared: Prepared) -> Float[Tensor, "n m *grid_or_none"]:
        """φ(a_i; θ_j) from the result of `prepare`."""
        return self(a, prepared[0])

    def precompute(self, a: Float[Tensor, "n *grid"]) -> Callable[[Prepared], Tensor]:
        """The function `evaluate(a, ·)`, with what depends on the input alone computed once for all tiles of features."""
        return lambda prepared: self.evaluate(a, prepared)

    def coordinates(self, a: Float[Tensor, "n *input"]) -> Float[Tensor, "n size"]:
        """Coordinates of inputs for the kernel: their squares add up to a squared norm."""
        raise RaffiaError(f"{type(self).__name__} has no kernel in closed form, so n_features must be a number, not inf.")

    def kernel_of(self, x: Float[Tensor, "n size"], y: Float[Tensor, "n2 size"]) -> Float[Tensor, "n n2"]:
        """k(a, b) for inputs with coordinates x and y, for maps whose kernel has a closed form."""
        raise RaffiaError(f"{type(self).__name__} has no kernel in closed form, so n_features must be a number, not inf.")

    @final
    def kernel(self, a: Float[Tensor, "n *input"], b: Float[Tensor, "n2 *input"]) -> Float[Tensor, "n n2"]:
        """k(a, b) = E φ(a; θ) φ(b; θ): the limit of infinitely many features, which `n_features=inf` trains with."""
        return self.kernel_of(self.coordinates(a), self.coordinates(b))

    def combination(
        self, theta: Float[Tensor, "m *theta"], coef: Float[Tensor, "m *columns"], grid: Any
    ) -> Callable[[Tensor], Tensor]:
        """The operator a ↦ Σ_j coef_j φ(a; θ_j) on a grid. The default streams over the features."""
        prepared = self.prepare(theta, grid)

        def combined(a: Float[Tensor, "n *input"]) -> Float[Tensor, "n *output"]:
            size, features = tile_size(a), self.precompute(a)
            parts = zip(tiles(prepared, size), coef.split(size), strict=True)
            return sum_of(_weighted(features(part), weights) for (part, _), weights in parts)

        return combined


def tiles(prepared: Prepared, size: int) -> Iterator[tuple[Prepared, int]]:
    """Slices of `size` features, each with the index of its first one."""
    for start in range(0, len(prepared[0]), size):
        yield tuple(part[start : start + size] for part in prepared), start


def tile_size(a: Tensor) -> int:
    """The number of features to evaluate at once for these inputs."""
    return max(1, tile_elements(a.device) // max(1, a.numel()))


def tile_elements(device: torch.device) -> int:
    """The number of feature values to compute at once: what fits the cache of a CPU, or fills a GPU."""
    return 2**19 if device.type == "cpu" else 2**26


def rows_of(phi: Float[Tensor, "n m *grid"]) -> Float[Tensor, "m n_times_points"]:
    """A row for each feature, with its values at all samples and nodes. No copy if φ was computed with features first."""
    return phi.transpose(0, 1).reshape(phi.shape[1], -1)


def sum_of(parts: Iterator[Tensor]) -> Tensor:
    """The sum of tensors, in place unless derivatives are needed."""
    total = next(parts)
    for part in parts:
        total = total + part if is_tracked(total) else total.add_(part)
    return total


def _weighted(phi: Tensor, coef: Tensor) -> Tensor:
    """Return Σ_j coef_j φ_j for one tile of features φ, (n, m, *grid) or (n, m) for scalar features.

    `coef` is (m,) for outputs of one channel, and (m, columns) for several channels or for scalar features.
    """
    n, _, *grid = phi.shape
    if not grid:
        return phi @ coef
    if coef.ndim == 2:
        return (coef.mT @ rows_of(phi)).reshape(-1, n, *grid).transpose(0, 1)
    if phi.transpose(0, 1).is_contiguous():
        return (coef @ rows_of(phi)).reshape(n, *grid)
    return torch.matmul(coef, phi.flatten(2)).reshape(n, *grid)


def empirical_kernel(
    feature_map: FeatureMap, theta: Float[Tensor, "m *theta"], a: Float[Tensor, "n *grid"], b: Float[Tensor, "n2 *grid"]
) -> Float[Tensor, "n points n2 points"]:
    """The kernel of finitely many features, k(a_i, b_j) = (1/m) Σ_l φ(a_i; θ_l) ⊗ φ(b_j; θ_l), as a dense matrix.

    (f ⊗ g) h = ⟨g, h⟩ f, so embed(k(a, b) h) = kernel · embed(h). It is for small problems and for tests.

    Parameters
    ----------
    feature_map
        φ.
    theta
        Random numbers of m features, (m, *theta_shape).
    a, b
        Functions, (n, *grid) and (n', *grid).

    Returns
    -------
    Tensor
        Matrices of shape (n, K, n', K) for functions on K points; K = 1 for scalar features.

    Examples
    --------
    >>> import torch
    >>> from raffia.features import FourierFeatures, empirical_kernel
    >>> features, a = FourierFeatures(16), torch.rand(3, 32, dtype=torch.float64)
    >>> empirical_kernel(features, features.draw(20, seed=0), a, a[:2]).shape
    torch.Size([3, 32, 2, 32])
    """
    left, right = _embedded(feature_map, theta, a), _embedded(feature_map, theta, b)
    return (left.flatten(1).T @ right.flatten(1)).reshape(*left.shape[1:], *right.shape[1:]) / len(theta)


def _embedded(feature_map: FeatureMap, theta: Tensor, a: Tensor) -> Float[Tensor, "m n points"]:
    return feature_map.values_on(feature_map.domain.grid_of(a)).embed(feature_map(a, theta).transpose(0, 1))
