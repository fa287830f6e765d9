"""Moving a function from one grid to another, by evaluating its interpolant at the new nodes."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid


def resample(f: Float[Tensor, "*batch_and_shape"], source: Nodes, target: Nodes) -> Float[Tensor, "*batch_and_target"]:
    """The interpolant of f on `source`, evaluated on `target`: trigonometric on a torus, piecewise linear on a box.

    Nodes that both grids share keep their values exactly.
    """
    if not isinstance(source, Grid) or not isinstance(target, Grid):
        raise RaffiaError(f"resample needs two grids; got {source!r} and {target!r}.")
    if source.domain != target.domain:
        raise RaffiaError(f"resample needs two grids of one domain; got {source.domain} and {target.domain}.")
    if tuple(f.shape[f.ndim - len(source.shape) :]) != source.shape:
        raise RaffiaError(f"resample: f has trailing shape {tuple(f.shape)}, but its grid has shape {source.shape}.")
    along = _trigonometric if source.domain.periodic else _piecewise_linear
    for axis, points in enumerate(target.shape):
        if source.shape[axis] != points:
            position = axis - len(target.shape)
            f = along(f.transpose(position, -1), points).transpose(position, -1)
    return f.contiguous()


def _trigonometric(f: Tensor, points: int) -> Tensor:
    """Refine to a multiple of `points`, then keep every stride-th value."""
    n = f.shape[-1]
    fine = points * math.ceil(n / points)
    if fine != n:
        modes = torch.fft.rfft(f, norm="forward")
        if n % 2 == 0:
            modes[..., -1] = modes[..., -1] / 2  # the Nyquist mode is shared by +n/2 and −n/2
        f = torch.fft.irfft(modes, n=fine, norm="forward")
    return f[..., :: fine // points]


def _piecewise_linear(f: Tensor, points: int) -> Tensor:
    intervals = f.shape[-1] - 1
    position = torch.arange(points, device=f.device) * intervals  # in units of the old spacing, times points − 1
    left = (position // (points - 1)).clamp(max=intervals - 1)
    fraction = (position - left * (points - 1)).to(f) / (points - 1)
    return f[..., left] * (1 - fraction) + f[..., left + 1] * fraction
