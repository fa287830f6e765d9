"""Training on a coarser grid than that of the data. Coefficients do not depend on the resolution as long as inner products do not.

The check evaluates a few features at a few samples on both grids, and compares their inner products with one another and with the
outputs.
"""

import warnings
from typing import Literal

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, rows_of
from raffia.model.model_defaults import DEFAULTS
from raffia.spaces import Grid, resample


def inner_product_change(feature_map: FeatureMap, theta: Tensor, a: Tensor, y: Tensor, points: int) -> float:
    """The relative change of ⟨φ_j, φ_k⟩ or ⟨φ_j, y⟩, whichever is larger, from the grid of the data to one with `points` along an axis."""
    fine = _grid_of(feature_map, a)
    theta = _spread(theta, DEFAULTS.checked_features)
    a, y = (_spread(f, DEFAULTS.checked_samples).to(theta) for f in (a, y))
    products = []
    for grid in (fine, _coarse(fine, points)):
        rows = rows_of(grid.embed(feature_map(resample(a, fine, grid), theta)))
        channels = grid.embed(resample(y, fine, grid)).reshape(len(y), -1, grid.size)
        products.append((rows @ rows.mT, rows @ channels.transpose(1, 2).flatten(0, 1)))
    return max(float((coarse - exact).norm() / exact.norm()) for exact, coarse in zip(*products, strict=True))


def coarse_grid(feature_map: FeatureMap, theta: Tensor, a: Tensor, y: Tensor, points: int | Literal["auto"]) -> Grid:
    """The training grid, with `points` points along every axis that has more. "auto" halves them while inner products converge."""
    fine = _grid_of(feature_map, a)
    if points == "auto":
        wanted = max(fine.shape)
        while wanted >= 16 and inner_product_change(feature_map, theta, a, y, _half(fine, wanted)) <= DEFAULTS.converged:
            wanted = _half(fine, wanted)
        return _coarse(fine, wanted)
    if max(fine.shape) > points:
        change = inner_product_change(feature_map, theta, a, y, points)
        if not change <= DEFAULTS.doubtful:
            warnings.warn(
                f"points={points} changes inner products of features by {change:.1%} against the {max(fine.shape)} points of "
                "the data, and the coefficients with them: pass more points, or points='auto'.",
                stacklevel=7,
            )
    return _coarse(fine, points)


def _grid_of(feature_map: FeatureMap, a: Tensor) -> Grid:
    grid = feature_map.domain.one_channel.grid_of(a)
    if not isinstance(grid, Grid):
        raise RaffiaError("points=… is for functions on a grid; the nodes of a mesh are fixed.")
    return grid


def _coarse(fine: Grid, points: int) -> Grid:
    return fine.domain.grid(*(min(points, there) for there in fine.shape))


def _half(fine: Grid, points: int) -> int:
    """The number of points with half the intervals, for the kind of the longest axis."""
    kind = fine.domain.kinds[fine.shape.index(max(fine.shape))]
    return kind.points(kind.intervals(points) // 2)


def _spread(values: Tensor, count: int) -> Tensor:
    """A few rows, evenly spread."""
    return values[torch.linspace(0, len(values) - 1, min(count, len(values))).long().to(values.device)]
