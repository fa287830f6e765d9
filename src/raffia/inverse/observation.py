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
    """Make the matrix that maps functions on a grid, flattened, to their values at some positions.

    Between the nodes functions are trigonometric along periodic axes, and cubic splines along others. At nodes values are
    exact.

    Parameters
    ----------
    grid
        The grid of the functions.
    positions
        An array (points, dim), or (points,) on a line.

    Returns
    -------
    Tensor
        A matrix of shape (points, nodes).

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain
    >>> from raffia.inverse import point_values
    >>> point_values(Domain(1).grid(16), torch.tensor([0.1, 0.5])).shape
    torch.Size([2, 16])
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
    """Estimate the covariance of the errors of a surrogate at the observations: the mean of e eᵀ with e = O(y − F(a)).

    Pass it as `error` to `InverseProblem`. Then the data count less where the surrogate is inaccurate. Its bias counts as
    error.

    Parameters
    ----------
    forward
        F, such as `model.predict`.
    a, y
        Pairs (n, *grid) that F was not trained on.
    observe
        O, of shape (points, nodes); None observes all values.

    Returns
    -------
    Tensor
        A matrix of shape (points, points).

    Examples
    --------
    >>> import torch
    >>> from raffia.inverse import surrogate_error
    >>> a = torch.rand(20, 8, dtype=torch.float64)
    >>> surrogate_error(lambda a: a, a, 1.1 * a).shape
    torch.Size([8, 8])
    """
    _, errors = _errors(forward, a, y, observe)
    return errors.mT @ errors / len(errors)


def error_bars(
    model: Any, a: Array, y: Array, observe: Float[Tensor, "points nodes"] | None = None
) -> Callable[[Tensor], Tensor]:
    """Estimate the covariance of the errors of a model at the observations, for each input: s(a) s(a)ᵀ ∘ R.

    s(a) are the error bars of the model at the observations. R is the mean of z zᵀ with z = O(y − F(a)) / s(a). It tells how
    errors are correlated, and corrects the length of the bars. This covariance grows where the model knows little, unlike
    that of `surrogate_error`. It takes at least five times as long as a prediction. O of deviations stands for the deviation
    of O, which is right for values at points.

    Parameters
    ----------
    model
        A model with error bars.
    a, y
        Pairs (n, *grid) that it was not trained on.
    observe
        O, of shape (points, nodes); None observes all values.

    Returns
    -------
    callable
        From inputs (n, *grid) to covariances (n, points, points): the `error` of an `InverseProblem`.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, FourierFeatures, RandomFeatureModel
    >>> from raffia.inverse import error_bars, point_values
    >>> from raffia.problems import Burgers
    >>> a, y = Burgers(fine_points=64).dataset(40, points=32, seed=0)
    >>> model = RandomFeatureModel(FourierFeatures(16), 32, ridge="auto").fit(a[:30], y[:30])
    >>> observe = point_values(Domain(1).grid(32), torch.tensor([0.0, 0.5]))
    >>> error_bars(model, a[30:], y[30:], observe)(a[:3]).shape
    torch.Size([3, 2, 2])
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
