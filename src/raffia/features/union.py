"""Several feature maps together: each feature belongs to one of them, at random."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import Choice, FeatureMap, Range
from raffia.spaces import Grid, Nodes, Space


@dataclass(repr=False, eq=False)
class Union(FeatureMap):
    """Features of several maps in one model.

    φ(a; θ) = c_i φ_i(a; θ') with i drawn by the first entry of θ. So μ is a mixture, and about m·share_i of m features belong to map i.

    Parameters
    ----------
    maps
        Feature maps on one domain, all with functions or all with numbers as values. A parameter of map i is `map{i}__name`, as in
        set_params(map0__tau=3.0).
    scales
        The factors c_i; 1 by default.
    shares
        The probabilities of the maps; equal by default.

    Examples
    --------
    >>> from raffia.features import FourierFeatures, Union
    >>> features = Union((FourierFeatures(tau=3.0), FourierFeatures(tau=12.0)), shares=(0.7, 0.3))
    """

    maps: tuple[FeatureMap, ...]
    scales: Float[Tensor, "maps"] | tuple[float, ...] | None = None
    shares: tuple[float, ...] | None = None

    @property
    def domain(self) -> Space:
        """The space of the inputs."""
        return self._check()

    @property
    def theta_shape(self) -> tuple[int]:
        """The choice of the map, then as many entries as the largest of them needs."""
        sizes = [math.prod(feature_map.theta_shape) for feature_map in self.maps]
        if min(sizes) < 1:
            raise RaffiaError(f"Union(maps=…) needs maps of one random number or more; got {sizes}. Check their n_modes.")
        return (1 + max(sizes),)

    @property
    def hyperparameters(self) -> dict[str, Range | Choice]:
        """The hyperparameters of the maps, and their scales."""
        own: dict[str, Range | Choice] = {"scales": Range(1e-3, 1e3, count=len(self.maps))}
        for i, feature_map in enumerate(self.maps):
            own |= {f"map{i}__{name}": what for name, what in feature_map.hyperparameters.items()}
        return own

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as in scikit-learn; the maps are called map0, map1, …."""
        own = super().get_params(deep=False)
        own["scales"] = torch.ones(len(self.maps), dtype=torch.float64) if self.scales is None and deep else self.scales
        for i, feature_map in enumerate(self.maps if deep else ()):
            own |= {f"map{i}": feature_map} | {f"map{i}__{name}": value for name, value in feature_map.get_params().items()}
        return own

    def values_on(self, grid: Nodes) -> Nodes:
        """The nodes of the features, the same for all maps."""
        self._check()
        places = {feature_map.values_on(grid) for feature_map in self.maps}
        if len(places) > 1:
            raise RaffiaError("Union(maps=…): some maps have functions as values and others numbers; use maps of one kind.")
        return places.pop()

    def __call__(self, a: Float[Tensor, "n *grid"], theta: Float[Tensor, "m size"]) -> Float[Tensor, "n m *grid_or_none"]:
        """Evaluate each map for its own features."""
        _ = self.values_on(self.domain.grid_of(a))
        members = self._members(theta)
        phi = torch.cat([self._scale(i) * self.maps[i](a, own) for i, _, own in members], dim=1)
        return phi.index_select(1, torch.cat([index for _, index, _ in members]).argsort())

    def combination(
        self, theta: Float[Tensor, "m *theta"], coef: Float[Tensor, "m *columns"], grid: Grid
    ) -> Callable[[Tensor], Tensor]:
        """The sum of the operators of the maps, each by its own shortcut."""
        members = self._members(theta)
        operators = [self.maps[i].combination(own, self._scale(i) * coef[index], grid) for i, index, own in members]
        return lambda a: torch.stack([operator(a) for operator in operators]).sum(0)

    def _members(self, theta: Tensor) -> list[tuple[int, Tensor, Tensor]]:
        """For each map that has features: its number, the indices of its features, and their θ."""
        shares = torch.tensor(self.shares or (1.0,) * len(self.maps), dtype=torch.float64)
        ends = (shares.cumsum(0) / shares.sum()).to(theta.device)
        which = torch.bucketize(torch.special.ndtr(theta[:, 0].double()), ends[:-1])
        members = []
        for i, shape in enumerate(feature_map.theta_shape for feature_map in self.maps):
            index = (which == i).nonzero()[:, 0]
            if len(index):
                members.append((i, index, theta[index, 1 : 1 + math.prod(shape)].reshape(-1, *shape)))
        return members

    def _scale(self, i: int) -> float | Tensor:
        return 1.0 if self.scales is None else self.scales[i]

    def _check(self) -> Space:
        """Check the arguments, and return the domain. Each map is asked once, since nested unions would multiply calls."""
        if not self.maps or not all(isinstance(feature_map, FeatureMap) for feature_map in self.maps):
            raise RaffiaError(f"Union(maps=…) must be a tuple of feature maps; got {self.maps!r}.")
        domains = [feature_map.domain for feature_map in self.maps]
        if len(set(domains)) > 1:
            raise RaffiaError(f"Union(maps=…) needs maps of one domain; got {domains}.")
        for name, given in (("scales", self.scales), ("shares", self.shares)):
            if given is not None and len(given) != len(self.maps):
                raise RaffiaError(f"Union({name}=…) needs one number for each of the {len(self.maps)} maps; got {len(given)}.")
        return domains[0]
