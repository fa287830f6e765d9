"""The steps of trajectories in a file, and what their values say of them."""

import math

import numpy as np

from raffia.data.formats.variable import LOOKED_AT, Variable
from raffia.data.meaning.names import FLAGS
from raffia.data.meaning.steps import Steps, in_order
from raffia.pairs.pace import STATES, found_stride, still, torn

GLANCE = 8  # trajectories that are looked at


def steady(v: Variable, steps: Steps, stride: int | None) -> tuple[int, list[str]]:
    """The stride that was given, or the one that noise asks for, and what the changes from state to state say."""
    u = _some(v, steps)
    if u is None:
        return stride or 1, []
    if stride is not None:
        return stride, [*still(u, stride), *torn(u, stride)]
    otherwise = f"{FLAGS['stride']} 1 (stride=1) takes single steps"
    found, why = found_stride(u, otherwise, steps.window + steps.horizon - 1)
    return found, [*why, *torn(u, found)]


def _some(v: Variable, steps: Steps) -> np.ndarray | None:
    """The states of some trajectories, (n, states, …); None where they are too large to look at, or not finite."""
    rows = min(STATES if steps.axis == 0 else GLANCE if steps.samples == 0 else v.shape[0], v.shape[0])
    each = math.prod(v.shape[1:])
    rows = min(rows, max(1, LOOKED_AT // max(1, each))) if 0 in (steps.axis, steps.samples) else rows
    if rows * each > 4 * LOOKED_AT or v.affordable(rows) < rows:
        return None
    u = in_order(v.read(slice(0, rows)), steps.axis, steps.samples)[:GLANCE, :STATES]
    u = u.reshape(*u.shape[:2], -1).astype(np.float64)
    return u if u.size and np.isfinite(u).all() else None
