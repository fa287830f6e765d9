"""The steps of trajectories, by their values: whether states are unrelated or noisy."""

import math

import numpy as np
from jaxtyping import Float

from raffia.errors import RaffiaError
from raffia.spaces.axes import equispaced

LAGS = (1, 2, 3, 4)  # between values that are compared with their neighbours: channels may lie between them
STATES, LOOKED_AT = 256, 2**22  # states of a trajectory, and values of all, that are looked at
SAME = 1e-3  # of a step: how far the steps of trajectories may be apart
FIRM, FAINT = 10.0, 2.0  # times what noise alone changes states by: a change that is learnt well, and one that is learnt at all
SLIGHT = 1e-4  # of the size of states: noise of which nothing is said
LEAST = 8  # states, to tell noise by
UNRELATED = 0.5  # von Neumann's ratio above which neighbours have little in common: fewer than six entries a period of a wave
WHITE, APART = 0.2, 0.3  # how far estimates of noise may be apart, and how alike neighbouring values of it may be

States = Float[np.ndarray, "n states values"]


def step_of(name: str, times: Float[np.ndarray, "n states"], states: str) -> float:
    """Return the step of the times of all trajectories; steps that are not equal are refused."""
    bad = next((i for i, row in enumerate(times) if not (np.isfinite(row).all() and equispaced(row))), None)
    if bad is not None:
        gaps, which = np.diff(times[bad]), f"{name}{f', those of trajectory {bad},' if len(times) > 1 else ''}"
        raise RaffiaError(
            f"{which} must be one after the other in equal steps; they are {gaps.min():.3g} to {gaps.max():.3g} apart. "
            f"Interpolate {states} in time, or take the parts of it that have equal steps."
        )
    steps = (times[:, -1] - times[:, 0]) / (times.shape[1] - 1)
    if np.ptp(steps) > SAME * float(np.abs(steps).max()):
        raise RaffiaError(
            f"a step must be as long in all trajectories; those of {name} are {steps.min():.6g} to {steps.max():.6g}. "
            f"Interpolate {states} to times in equal steps, or write a file for each."
        )
    return float(steps[0])


def pace_notes(u: States, stride: int) -> list[str]:
    """Return notes on how states change from one to the next, and on how much of that is noise."""
    return [*noise_notes(u, stride), *unrelated(u)]


def unrelated(u: States) -> list[str]:
    """Return a warning where a state has as little in common with the next as with any other."""
    ratio = neighbour_ratio(u, 1) if u.shape[1] > 2 else 0.0
    if not ratio > UNRELATED:
        return []
    return [
        f"a state differs from the next as from any other (their mean squared differences have the ratio {ratio:.2g}): a model of one "
        "step may learn nothing. Check that this axis is time, and that steps are short enough."
    ]


def neighbour_ratio(u: np.ndarray, axis: int) -> float:
    """Return von Neumann's ratio along an axis, Σ(u_{i+1} − u_i)² / 2Σ(u_i − ū)², the median over all lines along it.

    It is 1 for entries in no order, 1 − cos ωh for a wave ω with steps h, and NaN where nothing varies. Lines with gaps are left out.
    """
    lines = np.moveaxis(u, axis, -1).reshape(-1, u.shape[axis])
    with np.errstate(over="ignore", invalid="ignore"):
        about = np.square(lines - lines.mean(axis=1, keepdims=True)).sum(axis=1)
        ratios = np.square(np.diff(lines)).sum(axis=1) / np.where(about > 0, 2 * about, np.nan)
    known = ratios[np.isfinite(ratios)]
    return float(np.median(known)) if known.size else math.nan


def noise_notes(u: States, stride: int) -> list[str]:
    """Return the size of the noise in values, where there is some, beside what states change by from one to the next."""
    off = noise(u)
    if u.shape[1] < stride + 1 or not off:
        return []
    usual = float(np.sqrt(np.mean((u[:, stride:] - u[:, :-stride]) ** 2)))
    size = _size(u) / math.sqrt(u.shape[2])
    if off < SLIGHT * size and usual >= FIRM * off:
        return []
    what = f"values have noise of about {off / size:.2g} of their size, and states change by {usual / size:.2g} from one to the next"
    return [f"{what}{': a model may learn little but noise' if usual < FAINT * math.sqrt(2) * off else ''}."]


def noise(u: States) -> float:
    """The standard deviation of white noise in values, by their third and fourth differences in time; 0 where there is none to tell.

    Of states that change smoothly, differences fall with their order; of white noise, those of order p have the variance
    (2p choose p) σ². What is alike in neighbouring values is no noise, but motion that is faster than the steps.
    """
    if u.shape[1] < LEAST:
        return 0.0
    third, fourth = np.diff(u, 3, axis=1), np.diff(u, 4, axis=1)
    one, other = (float(np.sqrt(np.mean(d**2) / math.comb(2 * p, p))) for d, p in ((third, 3), (fourth, 4)))
    if not one or abs(other / one - 1) > WHITE:
        return 0.0
    alike = [np.mean(third[..., lag:] * third[..., :-lag]) for lag in LAGS if u.shape[2] >= LEAST]
    if any(one > APART * np.mean(third**2) for one in alike):
        return 0.0
    return min(one, other)


def _size(u: States) -> float:
    about = np.linalg.norm(u - u.mean(axis=2, keepdims=True), axis=2).mean()
    return float(about or np.linalg.norm(u, axis=2).mean() or 1.0)
