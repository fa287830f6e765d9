"""Moving a function from one grid to another, by evaluating its interpolant at the new nodes."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import make_interp_spline
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid

KINDS = ("linear", "spline", "cosine")


def resample(
    f: Float[Tensor, "*batch_and_shape"], source: Nodes, target: Nodes, smooth: bool = False
) -> Float[Tensor, "*batch_and_target"]:
    """The interpolant of f on `source`, evaluated on `target`: trigonometric on a torus, piecewise linear on a box.

    Nodes that both grids share keep their values exactly, but for `smooth` ones: there functions on a box are interpolated by what
    predicts every other of their nodes best from the rest: lines, splines of degree five, or a cosine series.
    """
    if not isinstance(source, Grid) or not isinstance(target, Grid):
        raise RaffiaError(f"resample needs two grids; got {source!r} and {target!r}.")
    if source.domain != target.domain:
        raise RaffiaError(f"resample needs two grids of one domain; got {source.domain} and {target.domain}.")
    if tuple(f.shape[f.ndim - len(source.shape) :]) != source.shape:
        raise RaffiaError(f"resample: f has trailing shape {tuple(f.shape)}, but its grid has shape {source.shape}.")
    along = _trigonometric if source.domain.periodic else _best if smooth else _piecewise_linear
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


def _best(f: Tensor, points: int) -> Tensor:
    """Along one axis of a box, the interpolant that predicts every other node of all functions best from the rest."""
    n = f.shape[-1]
    if n < 5:
        return _piecewise_linear(f, points)
    odd = n - 1 + n % 2  # nodes that halve: all, or all but the last
    known, held = f[..., :odd:2], f[..., 1:odd:2]
    wrong = {kind: float((known @ _matrix(kind, odd // 2 + 1, odd).to(f)[1::2].mT - held).square().sum()) for kind in KINDS}
    return f @ _matrix(min(wrong, key=lambda kind: wrong[kind]), n, points).to(f).mT


@lru_cache(maxsize=32)
def _matrix(kind: str, n: int, points: int) -> Float[Tensor, "points n"]:
    """Values at `points` equispaced points of the interpolant through n, as a matrix."""
    old, new, eye = np.linspace(0, 1, n), np.linspace(0, 1, points), np.eye(n)
    if kind == "cosine":
        waves = [np.cos(np.pi * np.arange(n) * x[:, None]) for x in (old, new)]
        return torch.from_numpy(np.linalg.solve(waves[0].T, waves[1].T).T.copy())
    degree = 1 if kind == "linear" else min(5, n - 1 - (n % 2 == 1))
    return torch.from_numpy(np.ascontiguousarray(make_interp_spline(old, eye, k=degree)(new)))
