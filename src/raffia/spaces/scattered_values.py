"""Values of functions between the nodes of grids and meshes: splines on a grid, lines in the cells of a mesh."""

import numpy as np
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator, RegularGridInterpolator

from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.spaces.simplices import between

WRAPPED = 4  # points of a periodic axis that are repeated at either end, for splines to be smooth across it


def values_at(f: np.ndarray, nodes: Grid | Mesh, positions: np.ndarray) -> np.ndarray:
    """Functions (n, *shape) at positions (points, dim) from the lower corner of the domain, (n, points).

    From a grid by splines. From a mesh linearly within its cells, or within those of a Delaunay triangulation where it has none, and
    by the nearest node outside of them.
    """
    if isinstance(nodes, Grid):
        return np.stack([_on_grid(one, nodes, positions) for one in f])
    known = nodes.positions.numpy()
    if nodes.cells is not None and known.shape[1] > 1:
        return between(known, nodes.cells.numpy(), positions)(f)
    return np.stack([_among(known, one, positions) for one in f])


def _on_grid(f: np.ndarray, grid: Grid, positions: np.ndarray) -> np.ndarray:
    wrapped = [min(WRAPPED, points) if kind.around else 0 for kind, points, _ in grid.lines]
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
