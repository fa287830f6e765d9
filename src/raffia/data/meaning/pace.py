"""The steps of trajectories in a file: of equal length by their times, and what their values say of them."""

import math

import numpy as np

from raffia.data.formats.variable import LOOKED_AT, Variable
from raffia.data.meaning import attributes
from raffia.data.meaning.names import FLAGS, Variables
from raffia.data.meaning.steps import Steps, is_time
from raffia.errors import RaffiaError
from raffia.pairs.pace import STATES, found_stride, still, torn, unequal
from raffia.spaces.axes import equispaced

GLANCE = 8  # trajectories that are looked at


def even(path: object, v: Variable, axis: int, arrays: Variables) -> list[str]:
    """What times say of the steps; steps of unequal length are refused."""
    for t in filter(is_time, arrays.values()):
        if max(t.shape) != v.shape[axis] or max(t.shape) < 2:
            continue
        x = t.glance().astype(np.float64).reshape(-1)
        if not np.isfinite(x).all() or not equispaced(x):
            raise RaffiaError(f"{path}: {unequal(t.name, x, v.name)}")
        units = attributes.units(t)
        return [f"a step is {float(x[1] - x[0]):.6g}{units and f' {units}'} of {t.name}."]
    return []


def steady(v: Variable, steps: Steps, stride: int | None) -> tuple[int, list[str]]:
    """The stride that was given, or the one that noise asks for, and what the changes from state to state say."""
    u = _some(v, steps)
    if u is None:
        return stride or 1, []
    found, why = (
        found_stride(u, f"{FLAGS['stride']} 1 (stride=1) takes single steps") if stride is None else (stride, still(u, stride))
    )
    return found, [*why, *torn(u, found)]


def _some(v: Variable, steps: Steps) -> np.ndarray | None:
    """The states of some trajectories, (n, states, …); None where they are too large to look at, or not finite."""
    rows = min(STATES if steps.axis == 0 else v.shape[0] if steps.alone else GLANCE, v.shape[0])
    each = math.prod(v.shape[1:])
    rows = rows if steps.alone else min(rows, max(1, LOOKED_AT // max(1, each)))
    if rows * each > 4 * LOOKED_AT or v.affordable(rows) < rows:
        return None
    u = v.read(slice(0, rows))
    u = u[None] if steps.axis == 0 else np.moveaxis(u, steps.axis, 0)[None] if steps.alone else np.moveaxis(u, steps.axis, 1)
    u = u[:, :STATES].reshape(len(u), min(STATES, u.shape[1]), -1).astype(np.float64)
    return u if u.size and np.isfinite(u).all() else None
