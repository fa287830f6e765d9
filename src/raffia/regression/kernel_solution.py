"""The solution of a model without features: what it takes of inputs, and what it makes of that."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import FeatureMap
from raffia.regression.dual_path import DualPath
from raffia.regression.solvers.base import Solution

Spread = Callable[[Tensor, Tensor], Tensor]
"""Posterior covariances between inputs, given by their coordinates, in units of the noise."""
PARTS = ("coef", "centres", "origin", "directions")


@dataclass(frozen=True, eq=False)
class KernelSolution(Solution):
    """Of a kernel, one row of coefficients for each of its centres; of a linear map, the intercept and one row for each direction."""

    centres: Float[Tensor, "n rank"] | None = None
    """The inputs it was trained on, as the kernel sees them; None for a linear map."""
    origin: Float[Tensor, "size"] | None = None
    directions: Float[Tensor, "rank size"] | None = None

    def __post_init__(self) -> None:
        """As they lie in files, lest products differ in the last bit."""
        for name in PARTS:
            if (part := getattr(self, name)) is not None:
                object.__setattr__(self, name, part.contiguous())

    def seen(self, x: Float[Tensor, "n size"]) -> Float[Tensor, "n rank"]:
        """What is taken of coordinates."""
        return project(x, self.origin, self.directions)

    def to(self, device: torch.device) -> "KernelSolution":
        """The same on another device."""
        return replace(self, **{name: part.to(device) for name in PARTS if (part := getattr(self, name)) is not None})


def project(x: Tensor, origin: Tensor | None, directions: Tensor | None) -> Tensor:
    """Coordinates in given directions from an origin; as they are where there are none."""
    return x if directions is None or origin is None else (x - origin) @ directions.mT


def seen(feature_map: FeatureMap, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """What the kernel takes of coordinates: all, or with `whitening` principal components with powers of their deviations as weights."""
    power = float(getattr(feature_map, "whitening", 0.0))
    if power == 0:
        return x, None, None
    origin = x.mean(0)
    path = DualPath.of_rows(x - origin)
    directions, deviations = path.directions, path.s.sqrt()
    assert directions is not None  # of rows
    kept = deviations > 1e-7 * deviations.max()
    deviations, directions = deviations[kept], directions[kept]
    weights = deviations**-power
    weights = weights * (deviations.norm() / (weights * deviations).norm())  # the same in all, so that length scales compare
    directions = weights[:, None] * directions
    return project(x, origin, directions), origin, directions
