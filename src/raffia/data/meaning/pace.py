"""The steps of trajectories: of equal length by their times, and neither tiny nor torn by their values."""

import math

import numpy as np

from raffia.data.formats.variable import LOOKED_AT, Variable
from raffia.data.meaning import attributes
from raffia.data.meaning.convention import equispaced
from raffia.data.meaning.names import FLAGS, Variables
from raffia.data.meaning.steps import Steps, is_time
from raffia.errors import RaffiaError

GLANCE, STATES = 8, 256  # trajectories, and states of one, that are looked at
EQUAL, HARDLY = 1e-6, 0.02  # relative changes in a step: below them states are the same, or nearly
TORN = 3.0  # times the steps before and after: what changes that much more is a gap


def even(path: object, v: Variable, axis: int, arrays: Variables) -> list[str]:
    """What times say of the steps; steps of unequal length are refused."""
    for t in filter(is_time, arrays.values()):
        if max(t.shape) != v.shape[axis] or max(t.shape) < 2:
            continue
        x = t.glance().astype(np.float64).reshape(-1)
        if not np.isfinite(x).all() or not equispaced(x):
            steps = np.diff(x)
            raise RaffiaError(
                f"{path}: the times {t.name} must be one after the other in equal steps; they are {steps.min():.3g} to "
                f"{steps.max():.3g} apart. Interpolate {v.name} in time, or take the parts of it that have equal steps."
            )
        units = attributes.units(t)
        return [f"a step is {float(x[1] - x[0]):.6g}{units and f' {units}'} of {t.name}."]
    return []


def steady(v: Variable, steps: Steps) -> list[str]:
    """What the changes from state to state say: that a step is small, with a stride to take, or that there is a gap."""
    u = _some(v, steps)
    if u is None or u.shape[1] < steps.stride + 1:
        return []
    pair = _change(u, steps.stride)
    notes = []
    if (mean := float(pair.mean())) < HARDLY:
        most = (u.shape[1] - 1) // 4
        larger = next((s for s in range(steps.stride + 1, most + 1) if float(_change(u, s).mean()) >= HARDLY), None)
        what = (
            "states are equal to rounding from step to step"
            if mean < EQUAL
            else f"states change by {mean:.1g} of their size in a step"
        )
        then = (
            ""
            if larger is None
            else f" {FLAGS['stride']} {larger} takes steps that change them by {float(_change(u, larger).mean()):.2g}."
        )
        notes.append(f"{what}: a model has little to learn in so short a step.{then}")
    one = _change(u, 1)
    torn = [k for k in range(1, len(one) - 1) if one[k] > TORN * max(one[k - 1], one[k + 1]) and one[k] > EQUAL]
    for k in torn[:1]:
        ratio = float(one[k] / max(one[k - 1], one[k + 1], EQUAL))
        notes.append(
            f"from state {k} to {k + 1}, values change {ratio:.2g} times as much as before and after, in the trajectories looked at: if "
            "states are missing there, write the parts before and after it as trajectories of their own."
        )
    return notes


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


def _change(u: np.ndarray, stride: int) -> np.ndarray:
    """The mean change over so many steps, of each state, beside the usual size of states about their mean."""
    size = np.linalg.norm(u - u.mean(axis=2, keepdims=True), axis=2).mean() or np.linalg.norm(u, axis=2).mean() or 1.0
    return np.linalg.norm(u[:, stride:] - u[:, :-stride], axis=2).mean(axis=0) / size
