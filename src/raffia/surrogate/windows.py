"""Whether a state tells what follows: a linear map of two states in a row, beside a model of one."""

from collections.abc import Callable

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.model import RandomFeatureModel
from raffia.pairs import Dataset
from raffia.spaces import Channels, Space
from raffia.surrogate.rollouts import Paths

MOST_PAIRS = 1024  # that the linear map is found with
HALF = 0.5  # of the error of a model: what a linear map of two states must be below, to be told of

Linear = Callable[[Dataset], RandomFeatureModel | None]
"""Finds the best linear map of some pairs."""


def advised(model: RandomFeatureModel, train: Paths, held: Paths, linear: Linear) -> str:
    """What to say where the last two states tell far more than the last: that a window may help; nothing elsewhere.

    Both errors are those of one step on paths held out. A linear map of two states of a complete system extrapolates, and is far from a
    good model of one state; of one whose velocities are not in the data it may be exact.
    """
    if not train.marching.plain or min(train.states.shape[1], held.states.shape[1]) < 3:
        return ""
    space = train.marching.inputs
    try:
        two = linear(_pairs(train, space, MOST_PAIRS))
    except RaffiaError:
        return ""
    if two is None:
        return ""
    test = _pairs(held, space, MOST_PAIRS)
    last = test.a[:, test.a.shape[1] // 2 :] if space.has_components else test.a[:, 1]
    own, other = (_error(test.y, torch.as_tensor(one.predict(a))) for one, a in ((model, last), (two, test.a)))
    if not other < HALF * own:
        return ""
    return (
        f"a linear map of the last two states has an error of {other:.2g} in a step, this model of one state {own:.2g}: a state may not "
        "tell all that matters. Try --window 2 (window=2)."
    )


def _pairs(paths: Paths, space: Space, most: int) -> Dataset:
    """Two states in a row, as channels or components, and the one that follows."""
    u = paths.states[: max(1, most // (paths.states.shape[1] - 2))]
    before, now, after = (part.flatten(0, 1) for part in (u[:, :-2], u[:, 1:-1], u[:, 2:]))
    if space.has_components:
        a = torch.cat([before, now], 1)
        both = space if space.tabular else Channels(space.one_channel, a.shape[1])
    else:
        a, both = torch.stack([before, now], 1), Channels(space, 2)
    return Dataset(a, after, both, output=paths.marching.outputs)


def _error(y: Tensor, predicted: Tensor) -> float:
    off, size = ((f.double().flatten(1)).norm(dim=1) for f in (predicted - y, y))
    return float((off.square().sum() / size.square().sum().clamp(min=1e-300)).sqrt())
