"""What is observed of outputs, as matrices, and the errors of a surrogate there."""

import math
from collections.abc import Callable
from typing import Any

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
    _, errors = _errors(forward, a, y, observe)
    return errors.mT @ errors / len(errors)


def error_bars(
    model: Any, a: Array, y: Array, observe: Float[Tensor, "points nodes"] | None = None
) -> Callable[[Tensor], Tensor]:
    """The covariance s(a) s(a)ᵀ ∘ R of the errors O(y − F(a)) of a model, for each a of a batch; s are its error bars at the observations.

    R = mean of z zᵀ, z = O(y − F(a)) / s(a), is over pairs that the model was not trained on: how its errors go together, and by how much
    its bars are too short or too long. Where `surrogate_error` has one covariance for all inputs, this one grows where the model
    knows little. Bars take five times as long as predictions, and forty times where these have a shortcut, as those of predictor–corrector
    features. O of deviations stands for the deviation of O, which is right for values at points.
    """
    if not hasattr(model, "predict"):
        raise RaffiaError(f"error_bars needs a model with error bars, predict(a, return_std=True); got {type(model).__name__}.")

    def bars(given: Tensor) -> Tensor:
        return _observed(model.predict(given, return_std=True)[1], observe).clamp(min=0)

    inputs, errors = _errors(model.predict, a, y, observe)
    z = errors / bars(inputs)
    if not torch.isfinite(z).all():
        raise RaffiaError(
            "error_bars needs error bars above zero where outputs are observed; some are zero there. Leave out observations that are "
            "always the same, such as values on a boundary."
        )
    correlation = z.mT @ z / len(z)

    def covariance(given: Float[Tensor, "n *shape"]) -> Float[Tensor, "n points points"]:
        s = bars(given)
        return s[:, :, None] * correlation.to(s) * s[:, None, :]

    return covariance


def _observed(values: Tensor, observe: Tensor | None) -> Tensor:
    """O of functions."""
    flat = values.flatten(1).double()
    return flat if observe is None else flat @ observe.to(flat).mT


@torch.no_grad()
def _errors(forward: Callable[[Tensor], Tensor], a: Array, y: Array, observe: Tensor | None) -> tuple[Tensor, Tensor]:
    """The inputs, and O(y − F(a)) for each."""
    inputs, outputs = as_tensor("a", a).double(), as_tensor("y", y).double()
    check_pairs(inputs, outputs)
    return inputs, _observed(outputs - torch.as_tensor(forward(inputs)).to(outputs), observe)


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
