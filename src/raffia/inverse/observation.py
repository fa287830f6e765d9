"""What is observed of outputs, as matrices, and how far a surrogate is off there."""

import math
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import make_interp_spline
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.spaces import Grid
from raffia.spaces.axes import Axis
from raffia.validation import as_tensor, check_pairs


def point_values(grid: Grid, positions: Array) -> Float[Tensor, "points nodes"]:
    """The matrix that takes functions on a grid, flattened, to their values at positions, (points, dim), or (points,) on a line.

    Between the nodes functions are trigonometric along periodic axes and cubic splines along others; at nodes values are exact.
    """
    x = torch.as_tensor(positions, dtype=torch.float64)
    x = x[:, None] if x.ndim == 1 and grid.domain.dim == 1 else x
    if x.ndim != 2 or x.shape[1] != grid.domain.dim or not len(x) or not torch.isfinite(x).all():
        raise RaffiaError(
            f"positions must be finite coordinates of shape (points, {grid.domain.dim}); got shape {tuple(x.shape)}."
        )
    matrix = torch.ones(len(x), 1, dtype=torch.float64)
    for axis, (kind, points, extent) in enumerate(grid.lines):
        outside = (~((x[:, axis] >= 0) & (x[:, axis] <= extent))).nonzero()
        if len(outside) and not kind.periodic:
            where = x[outside[0, 0]].tolist()
            raise RaffiaError(f"positions must lie in the domain, from 0 to {grid.domain.extents}; got {where}.")
        along = _along(kind, points, extent, x[:, axis])
        matrix = (matrix[:, :, None] * along[:, None, :]).flatten(1)
    return matrix


def surrogate_error(
    forward: Callable[[Tensor], Tensor], a: Array, y: Array, observe: Float[Tensor, "points nodes"] | None = None
) -> Float[Tensor, "points points"]:
    """The mean of e eᵀ, e = O(y − F(a)), over pairs that F was not trained on: what a surrogate adds to the noise of observations.

    Passed as `error` to `InverseProblem`, data are trusted less where the surrogate is inaccurate. F's bias counts as error too.
    """
    inputs, outputs = as_tensor("a", a).double(), as_tensor("y", y).double()
    check_pairs(inputs, outputs)
    with torch.no_grad():
        off = (outputs - torch.as_tensor(forward(inputs), dtype=torch.float64).to(outputs)).flatten(1)
    off = off if observe is None else off @ observe.to(off).mT
    return off.mT @ off / len(off)


def _along(kind: Axis, points: int, extent: float, x: Tensor) -> Float[Tensor, "positions nodes"]:
    """The weights of the nodes of one axis in values at x."""
    nodes = kind.coordinates(points, extent)
    if kind.periodic:
        k = torch.arange(1, (points - 1) // 2 + 1, dtype=torch.float64)
        phase = 2 * math.pi / extent * (x[:, None] - nodes)
        waves = 1 + 2 * torch.cos(phase[..., None] * k).sum(-1)
        highest = torch.cos(phase * (points / 2)) if points % 2 == 0 else 0
        return (waves + highest) / points
    if points == 1:
        return torch.ones(len(x), 1, dtype=torch.float64)
    spline = make_interp_spline(nodes.numpy(), np.eye(points), k=min(3, points - 1))
    return torch.from_numpy(np.ascontiguousarray(spline(x.numpy())))
