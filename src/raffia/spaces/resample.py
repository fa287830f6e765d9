"""Moving a function from one grid to another, by evaluating its interpolant at the new nodes."""

import math
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import make_interp_spline
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import BOX, Axis
from raffia.spaces.base import Nodes
from raffia.spaces.followed import followed, hidden, plainly
from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.spaces.scattered import values_at

INTERPOLANTS = ("linear", "spline", "cosine")


def resample(
    f: Float[Tensor, "*batch_and_shape"], source: Nodes, target: Nodes, smooth: bool = False
) -> Float[Tensor, "*batch_and_target"]:
    """The interpolant of f on `source`, evaluated on `target`: trigonometric along periodic axes, piecewise linear along others.

    Beyond the first and the last node, lines go on. Nodes that both grids share keep their values exactly, but for `smooth` ones: there
    functions along an axis with ends are interpolated by what predicts every other of their nodes best from the rest: lines, splines
    of degree five, or a cosine series. From a mesh, functions are linear within its cells, and what the nearest node has outside of them.
    """
    if not isinstance(source, Grid) or not isinstance(target, Grid):
        return _scattered(f, source, target)
    if source.domain != target.domain:
        raise RaffiaError(f"resample needs two grids of one domain; got {source.domain} and {target.domain}.")
    if tuple(f.shape[f.ndim - len(source.shape) :]) != source.shape:
        raise RaffiaError(f"resample: f has trailing shape {tuple(f.shape)}, but its grid has shape {source.shape}.")
    for position, (kind, points, _) in enumerate(target.lines, -len(target.shape)):
        if f.shape[position] != points:
            along = _trigonometric if kind.around else _best if smooth else _piecewise_linear
            f = along(f.transpose(position, -1), points, kind).transpose(position, -1)
    return f.contiguous()


def _scattered(f: Tensor, source: Nodes, target: Nodes) -> Tensor:
    """From or to a mesh, whose nodes may be anywhere: two meshes need not have one domain, a mesh and a grid must."""
    kinds = (type(source), type(target))
    if not {*kinds} <= {Grid, Mesh}:
        raise RaffiaError(f"resample needs two grids or meshes, of one channel; got {source!r} and {target!r}.")
    if Grid in kinds and source.space.region != target.space.region:
        raise RaffiaError(
            f"resample needs nodes of one domain; got {source.space.region} and {target.space.region}. "
            "Pass Mesh(nodes, domain=…, origin=…) with the domain of the grid."
        )
    if tuple(f.shape[f.ndim - len(source.shape) :]) != source.shape:
        raise RaffiaError(f"resample: f has trailing shape {tuple(f.shape)}, but its nodes have shape {source.shape}.")
    here, there = cast(Mesh, source), cast(Mesh, target)
    with plainly():
        places = (there.positions if Grid in kinds else there.nodes - torch.tensor(here.origin, dtype=torch.float64)).numpy()
    return moved(f, here, places).reshape(*f.shape[: f.ndim - len(source.shape)], *target.shape)


def moved(f: Float[Tensor, "*batch_and_shape"], nodes: Grid | Mesh, places: np.ndarray) -> Float[Tensor, "n points"]:
    """Functions at positions anywhere, by `values_at`, which leaves torch: where derivatives follow f, by the matrix that it is."""
    f = f.reshape(-1, *nodes.shape)
    if not followed(f):
        return torch.from_numpy(values_at(f.numpy(force=True), nodes, places)).to(f)
    with plainly():
        matrix = torch.from_numpy(values_at(np.eye(nodes.size).reshape(-1, *nodes.shape), nodes, places))
    return f.flatten(1) @ matrix.to(f)


def _trigonometric(f: Tensor, points: int, kind: Axis) -> Tensor:
    """Refine to a multiple of `points`, then keep every stride-th value."""
    n = f.shape[-1]
    fine = points * math.ceil(n / points)
    if fine != n:
        modes = torch.fft.rfft(f, norm="forward")
        if n % 2 == 0:
            modes[..., -1] = modes[..., -1] / 2  # the Nyquist mode is shared by +n/2 and −n/2
        f = torch.fft.irfft(modes, n=fine, norm="forward")
    return f[..., :: fine // points]


def _piecewise_linear(f: Tensor, points: int, kind: Axis) -> Tensor:
    n, old, new = f.shape[-1], kind.intervals(f.shape[-1]), kind.intervals(points)
    if n == 1:
        return f.expand(*f.shape[:-1], points)
    twice = round(2 * kind.before)
    # in units of the old spacing from the first node, times twice the new number of intervals: whole numbers
    position = (2 * torch.arange(points, device=f.device) + twice) * old - twice * new
    left = (position // (2 * new)).clamp(min=0, max=n - 2)
    fraction = (position - left * (2 * new)).to(f) / (2 * new)
    return f[..., left] * (1 - fraction) + f[..., left + 1] * fraction


def _best(f: Tensor, points: int, kind: Axis) -> Tensor:
    """Along one axis with ends, the interpolant that predicts every other node of all functions best from the rest."""
    n = f.shape[-1]
    if n < 5:
        return _piecewise_linear(f, points, kind)
    if any(kind.left_out):
        first, last = kind.left_out
        parts = [_beyond(f.flip(-1)), f] if first else [f, _beyond(f)]
        return _best(torch.cat(parts, dim=-1), points + 1, BOX)[..., first : points + 1 - last]
    odd = n - 1 + n % 2  # nodes that halve: all, or all but the last
    known, held = f.detach()[..., :odd:2], f.detach()[..., 1:odd:2]
    if hidden(f):
        raise RaffiaError(
            "on another grid than the training grid, the interpolant is chosen from the values of the functions, which torch.func.vmap and "
            "exports cannot read: pass a batch, or use the training grid."
        )
    wrong = {
        name: float((known @ _matrix(name, odd // 2 + 1, odd, BOX).to(f)[1::2].mT - held).square().sum())
        for name in INTERPOLANTS
    }
    return f @ _matrix(min(wrong, key=lambda name: wrong[name]), n, points, kind).to(f).mT


def _beyond(f: Tensor) -> Tensor:
    """One step beyond the last node, by a parabola."""
    return (3 * (f[..., -1] - f[..., -2]) + f[..., -3])[..., None]


@lru_cache(maxsize=32)
@plainly()
def _matrix(name: str, n: int, points: int, kind: Axis) -> Float[Tensor, "points n"]:
    """Values at `points` equispaced points of the interpolant through n, as a matrix."""
    old, new = (kind.coordinates(count, 1.0).numpy() for count in (n, points))
    if name == "cosine":
        waves = [np.cos(np.pi * np.arange(n) * x[:, None]) for x in (old, new)]
        return torch.from_numpy(np.linalg.solve(waves[0].T, waves[1].T).T.copy())
    degree = 1 if name == "linear" else min(5, n - 1 - (n % 2 == 1))
    return torch.from_numpy(np.ascontiguousarray(make_interp_spline(old, np.eye(n), k=degree)(new)))
