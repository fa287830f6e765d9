"""Whether a state tells what follows: a linear map of two states in a row, beside a model of one."""

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.model import RandomFeatureModel
from raffia.surrogate.rollouts import Paths

MOST_PAIRS, JUDGED = 400, 64  # that the linear map is found with, and that both are judged on
HALF = 0.5  # of the error of a model: what a linear map of two states must be below, to be told of
RIDGES = torch.logspace(-14, 0, 15, dtype=torch.float64)  # beside the largest eigenvalue


def advised(model: RandomFeatureModel, train: Paths, held: Paths) -> str:
    """What to say where the last two states tell far more than the last: that a window may help; nothing elsewhere.

    Both errors are those of one step on paths held out. A linear map of two states of a complete system extrapolates, and is far from a
    good model of one state; of one whose velocities are not in the data it may be exact.
    """
    if not train.marching.plain or min(train.states.shape[1], held.states.shape[1]) < 3:
        return ""
    before, now, after = _triples(held, JUDGED)
    own = _error(after, torch.as_tensor(model.predict(now)))
    other = _error(after, _linear(*_triples(train, MOST_PAIRS), before, now))
    if not other < HALF * own:
        return ""
    return (
        f"a linear map of the last two states has an error of {other:.2g} in a step, this model of one state {own:.2g}: a state may not "
        "tell all that matters. Try --window 2 (window=2)."
    )


def _triples(paths: Paths, most: int) -> tuple[Tensor, Tensor, Tensor]:
    """States, those after them, and those after these: so many at most, evenly spread."""
    states, each = paths.states, paths.states.shape[1] - 2
    rows = torch.linspace(0, len(states) * each - 1, min(most, len(states) * each)).round().long()
    one, step = rows // each, rows % each
    return states[one, step], states[one, step + 1], states[one, step + 2]


def _linear(before: Tensor, now: Tensor, after: Tensor, *others: Tensor) -> Float[Tensor, "n values"]:
    """What the best linear map of two states predicts of `others`; the ridge has the least error of pairs left out one by one."""
    x, y = _values(before, now), _values(after)
    mean, level = x.mean(0), y.mean(0)
    x, y = x - mean, y - level
    values, vectors = torch.linalg.eigh(x @ x.mT)
    turned = vectors.mT @ y
    best, found = torch.inf, torch.zeros_like(y)
    for ridge in RIDGES * values[-1].clamp(min=1e-300):
        inverse = 1 / (values.clamp(min=0) + ridge)
        dual = vectors @ (inverse[:, None] * turned)
        left_out = dual / (vectors.square() @ inverse)[:, None]
        if (error := float(left_out.square().sum())) < best:
            best, found = error, dual
    return (_values(*others) - mean) @ x.mT @ found + level


def _values(*states: Tensor) -> Tensor:
    """All values of some states, (n, values)."""
    return torch.cat([f.reshape(len(f), -1) for f in states], 1).double()


def _error(y: Tensor, predicted: Tensor) -> float:
    return float((_values(predicted) - _values(y)).norm() / _values(y).norm().clamp(min=1e-300))
