"""A function given on some nodes, on others: whatever grids and meshes they are."""

import numpy as np
import torch
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator, RegularGridInterpolator
from torch import Tensor

from raffia.spaces.base import Nodes
from raffia.spaces.grid import Grid
from raffia.spaces.resample import resample

WRAPPED = 4  # points of a periodic axis that are repeated at either end, for splines to be smooth across it


def carry(f: Tensor, here: Nodes | None, there: Nodes) -> Tensor:
    """f, (*shape) on the nodes `here`, interpolated to those `there`; as it is where they agree, or where it is no function (None)."""
    if here is None or here == there:
        return f
    one, other = here.one_channel, there.one_channel
    if isinstance(one, Grid) and isinstance(other, Grid):
        return resample(f, one, other, smooth=True)
    batch = f.reshape(-1, *one.shape)
    positions = other.positions.numpy()  # type: ignore[attr-defined]  # grids and meshes have them
    values = [_at(channel.numpy(force=True), one, positions) for channel in batch]
    return torch.from_numpy(np.stack(values)).to(f).reshape(*f.shape[: f.ndim - len(one.shape)], *other.shape)


def _at(f: np.ndarray, nodes: Nodes, positions: np.ndarray) -> np.ndarray:
    """By splines from a grid; from scattered nodes linearly, and outside of them by the nearest."""
    if isinstance(nodes, Grid):
        wrapped = [min(WRAPPED, points) if kind.around else 0 for kind, points, _ in nodes.lines]
        f = np.pad(f, [(many, many) for many in wrapped], mode="wrap")
        steps = zip(nodes.axes(), nodes.spacings, wrapped, strict=True)
        axes = [float(x[0]) + np.arange(-many, len(x) + many) * h for x, h, many in steps]
        method = "cubic" if min(f.shape) > 3 else "linear"
        return RegularGridInterpolator(axes, f, method=method, bounds_error=False, fill_value=None)(positions)
    known = nodes.positions.numpy()  # type: ignore[attr-defined]  # grids and meshes have them
    if known.shape[1] == 1:
        order = known[:, 0].argsort()
        return np.interp(positions[:, 0], known[order, 0], f[order])
    values = LinearNDInterpolator(known, f)(positions)
    return np.where(np.isnan(values), NearestNDInterpolator(known, f)(positions), values)
