"""Interpolation of a function from one grid or mesh to another."""

import math
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator, RegularGridInterpolator, make_interp_spline
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces.axes import Axis
from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.spaces.simplices import between
from raffia.transforms import is_tracked, outside_transforms

WRAPPED = 4
"""Points of a periodic axis that are repeated at each end, for splines that are smooth across it."""


def values_at(f: np.ndarray, nodes: Grid | Mesh, positions: np.ndarray) -> np.ndarray:
    """Values (n, points) of functions (n, *shape) at positions (points, dim), measured from the lower corner of the domain.

    On a grid by splines. On a mesh linearly within its cells (or those of a Delaunay triangulation), and by the nearest node outside.
    """
    if isinstance(nodes, Grid):
        return np.stack([_on_grid(one, nodes, positions) for one in f])
    known = nodes.positions.numpy()
    if nodes.cells is not None and known.shape[1] > 1:
        return between(known, nodes.cells.numpy(), positions)(f)
    return np.stack([_among(known, one, positions) for one in f])


def _on_grid(f: np.ndarray, grid: Grid, positions: np.ndarray) -> np.ndarray:
    wrapped = [min(WRAPPED, points) if kind.periodic else 0 for kind, points, _ in grid.lines]
    f = np.pad(f, [(many, many) for many in wrapped], mode="wrap")
    steps = zip(grid.axes(), grid.spacings, wrapped, strict=True)
    axes = [float(x[0]) + np.arange(-many, len(x) + many) * h for x, h, many in steps]
    method = "cubic" if min(f.shape) > 3 else "linear"
    return RegularGridInterpolator(axes, f, method=method, bounds_error=False, fill_value=None)(positions)


def _among(known: np.ndarray, f: np.ndarray, positions: np.ndarray) -> np.ndarray:
    if known.shape[1] == 1:
        order = known[:, 0].argsort()
        return np.interp(positions[:, 0], known[order, 0], f[order])
    values = LinearNDInterpolator(known, f)(positions)
    return np.where(np.isnan(values), NearestNDInterpolator(known, f)(positions), values)


INTERPOLANTS = ("linear", "spline", "cosine", "sine")
FOLDS = 6
"""One inner node in six is left out at a time to compare interpolants."""
LEFT_OUT_RATIO = 8.0
"""Errors at a node that is left out, over those between nodes: about 3 to 20 for smooth functions."""
LONGEST_LINE = 256
"""Points along an axis, above which its resolution is not estimated, as this takes long and is hardly ever in doubt."""


def resample(
    f: Float[Tensor, "*batch_and_shape"], source: Nodes, target: Nodes, smooth: bool = False
) -> Float[Tensor, "*batch_and_target"]:
    """Interpolate functions from some nodes to others: trigonometric along periodic axes, piecewise linear along others.

    Beyond the first and the last node, the interpolant is extrapolated. Nodes that both grids share keep their values exactly. From a mesh,
    functions are linear within its cells, and equal to the value at the nearest node outside of them.

    Parameters
    ----------
    f
        Functions, with the axes of `source` last.
    source, target
        Nodes of one domain.
    smooth
        Drop waves that the target cannot resolve along periodic axes. Along others, choose an interpolant for each function: linear, a
        spline of degree five, a cosine series, or a line plus a sine series, whichever best predicts nodes left out from the rest.

    Returns
    -------
    tensor
        The functions on `target`.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, resample
    >>> circle = Domain(1)
    >>> resample(torch.ones(3, 16), circle.grid(16), circle.grid(32)).shape
    torch.Size([3, 32])
    """
    if not isinstance(source, Grid) or not isinstance(target, Grid):
        return _scattered(f, source, target)
    if source.domain != target.domain:
        raise RaffiaError(f"resample needs two grids of one domain; got {source.domain} and {target.domain}.")
    source.check(f)
    for position, (kind, points, _) in enumerate(target.lines, -len(target.shape)):
        if f.shape[position] != points:
            line = f.transpose(position, -1)
            if smooth:
                line = _truncated(line, points) if kind.periodic else _best(line, points, kind, len(source.shape))
            else:
                line = _trigonometric(line, points) if kind.periodic else _piecewise_linear(line, points, kind)
            f = line.transpose(position, -1)
    return f.contiguous()


def _scattered(f: Tensor, source: Nodes, target: Nodes) -> Tensor:
    """Interpolation from or to a mesh. A mesh and a grid must have the same domain; two meshes need not."""
    kinds = (type(source), type(target))
    if not {*kinds} <= {Grid, Mesh}:
        raise RaffiaError(f"resample needs two grids or meshes, of one channel; got {source!r} and {target!r}.")
    if Grid in kinds and source.space.region != target.space.region:
        raise RaffiaError(
            f"resample needs nodes of one domain; got {source.space.region} and {target.space.region}. "
            "Pass Mesh(nodes, domain=…, origin=…) with the domain of the grid."
        )
    source.check(f)
    here, there = cast(Mesh, source), cast(Mesh, target)
    with outside_transforms():
        places = (there.positions if Grid in kinds else there.nodes - torch.tensor(here.origin, dtype=torch.float64)).numpy()
    return moved(f, here, places).reshape(*f.shape[: f.ndim - len(source.shape)], *target.shape)


def moved(f: Float[Tensor, "*batch_and_shape"], nodes: Grid | Mesh, places: np.ndarray) -> Float[Tensor, "n points"]:
    """Values of functions at given positions, by `values_at` in NumPy; by its matrix in torch where derivatives are needed."""
    f = f.reshape(-1, *nodes.shape)
    if not is_tracked(f):
        return torch.from_numpy(values_at(f.numpy(force=True), nodes, places)).to(f)
    with outside_transforms():
        matrix = torch.from_numpy(values_at(np.eye(nodes.size).reshape(-1, *nodes.shape), nodes, places))
    return f.flatten(1) @ matrix.to(f)


def _trigonometric(f: Tensor, points: int) -> Tensor:
    """Refine to a multiple of `points`, then keep every stride-th value."""
    fine = points * math.ceil(f.shape[-1] / points)
    return _truncated(f, fine)[..., :: fine // points]


def _truncated(f: Tensor, points: int) -> Tensor:
    """The Fourier series up to the highest wave that both grids resolve."""
    n = f.shape[-1]
    k = torch.arange(n // 2 + 1, dtype=f.dtype, device=f.device)
    # the Nyquist mode is shared by +n/2 and −n/2
    doubled = (2 * k == points).to(f) - (2 * k == n).to(f) / 2
    return torch.fft.irfft(torch.fft.rfft(f, norm="forward") * (1 + doubled), n=points, norm="forward") if n != points else f


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


def _best(f: Tensor, points: int, kind: Axis, dim: int) -> Tensor:
    """Interpolate along a non-periodic axis. Each function has the interpolant that best predicts its values at nodes left out."""
    n = f.shape[-1]
    if n < 5:
        return _piecewise_linear(f, points, kind)
    wrong = [(f.detach() @ _left_out(name, n, kind).to(f).mT).square().sum(tuple(range(-dim, 0))) for name in INTERPOLANTS]
    best = torch.stack(wrong).argmin(0).reshape(*wrong[0].shape, *[1] * dim)
    moved = f @ _matrix(INTERPOLANTS[0], n, points, kind).to(f).mT
    for place, name in enumerate(INTERPOLANTS[1:], 1):
        moved = torch.where(best == place, f @ _matrix(name, n, points, kind).to(f).mT, moved)
    return moved


@lru_cache(maxsize=64)
@outside_transforms()
def _matrix(name: str, n: int, points: int, kind: Axis) -> Float[Tensor, "points n"]:
    """The matrix from values at n equispaced points to values of the interpolant at `points` others."""
    return torch.from_numpy(_interpolation(name, kind, *(kind.coordinates(count, 1.0).numpy() for count in (n, points))))


@lru_cache(maxsize=64)
@outside_transforms()
def _left_out(name: str, n: int, kind: Axis) -> Float[Tensor, "n n"]:
    """The matrix from values to prediction errors at nodes, when one inner node in `FOLDS` is left out at a time."""
    x, node, matrix = kind.coordinates(n, 1.0).numpy(), np.arange(n), np.zeros((n, n))
    for first in range(1, 1 + FOLDS):
        out = (node % FOLDS == first % FOLDS) & (node > 0) & (node < n - 1)
        matrix[np.ix_(out, ~out)] = _interpolation(name, kind, x[~out], x[out])
    matrix[1:-1] -= np.eye(n)[1:-1]
    return torch.from_numpy(matrix)


def _interpolation(name: str, kind: Axis, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The matrix from values at old coordinates to values of the interpolant at new ones, all between 0 and 1."""
    n, places = len(old), (old[:, None], new[:, None])
    if name == "cosine":
        waves = [np.cos(np.pi * np.arange(n) * x) for x in places]
    elif name == "sine":
        ends = [kind.before == 0, kind.after == 0]  # ends with nodes, where sines vanish
        waves = [
            np.hstack([np.hstack([1 - x, x])[:, ends], np.sin(np.pi * np.arange(1, n + 1 - sum(ends)) * x)]) for x in places
        ]
    else:
        degree = 1 if name == "linear" else min(5, n - 1 - (n % 2 == 1))
        return np.ascontiguousarray(make_interp_spline(old, np.eye(n), k=degree)(new))
    return np.linalg.solve(waves[0].T, waves[1].T).T.copy()


def interpolation_error(f: Float[Tensor, "n *shape"], nodes: Nodes) -> float:
    """Estimate the relative error between the nodes of a grid when functions are interpolated from them; 0 for other nodes.

    Along periodic axes it is the size of the highest quarter of the waves. Along others the best interpolant predicts nodes left out.
    """
    grid, f = nodes.one_channel, f.detach().double().cpu()
    total, whole = 0.0, float(f.square().sum())
    for position, (kind, points, _) in enumerate(grid.lines if isinstance(grid, Grid) else (), -len(grid.shape)):
        line = f.transpose(position, -1)
        if kind.periodic:
            powers = torch.fft.rfft(line, norm="ortho").abs().square().flatten(0, -2).sum(0)
            total += 2 * float(powers[-(len(powers) // 4) :].sum()) if len(powers) >= 4 else 0.0
        elif 5 <= points <= LONGEST_LINE:
            wrong = [(line @ _left_out(name, points, kind).mT).square().flatten(1).sum(1) for name in INTERPOLANTS]
            total += float(torch.stack(wrong).amin(0).sum()) / LEFT_OUT_RATIO**2
    return math.sqrt(total / whole) if whole else 0.0


def interpolate(f: Tensor, here: Nodes | None, there: Nodes) -> Tensor:
    """Interpolate f from the nodes `here` to those `there`; f is returned unchanged if they are equal or if `here` is None."""
    one, other = there.one_channel if here is None else here.one_channel, there.one_channel
    return f if one is other or one == other else resample(f, one, other, smooth=True)
