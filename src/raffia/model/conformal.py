"""Conformal bands: error bars with a guarantee, whatever the model and the law of the data."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError

Centre = Callable[[Array], tuple[Tensor, Tensor]]


@dataclass(frozen=True, eq=False)
class ConformalBand:
    """F(a) ± width · std(a): contains the whole function y with probability at least `level`, whatever the law of the data.

    The guarantee is that of split conformal prediction: over the draw of the calibration set and of one new pair from the same
    law, P(y inside everywhere) ≥ level, and ≤ level + 1/(n + 1) when scores have no ties.
    """

    centre: Centre
    width: float
    level: float

    def __call__(self, a: Array) -> tuple[Array, Array]:
        """The lower and the upper edge of the band; arrays for arrays."""
        mean, std = self.centre(a)
        edges = mean - self.width * std, mean + self.width * std
        if isinstance(a, np.ndarray):
            return edges[0].numpy(force=True), edges[1].numpy(force=True)
        return edges[0].to(a.device), edges[1].to(a.device)

    def covers(self, a: Array, y: Array) -> Array:
        """For each sample, whether y is inside the band at every point."""
        inside = scores_of(self.centre, a, y) <= self.width
        return inside.numpy(force=True) if isinstance(a, np.ndarray) else inside.to(a.device)


def band_of(centre: Centre, scores: Sequence[float], level: float) -> ConformalBand:
    """The ⌈(n + 1)·level⌉-th smallest score, max_x |y − F|/std, of pairs that were not used for training is the width."""
    return ConformalBand(centre, sorted(scores)[rank_of(level, len(scores)) - 1], level)


def rank_of(level: float, pairs: int) -> int:
    """⌈(n + 1)·level⌉; refused where there are fewer than so many pairs."""
    if not 0 < level < 1:
        raise RaffiaError(f"level must be between 0 and 1; got {level!r}.")
    rank = math.ceil((pairs + 1) * level)
    if rank > pairs:
        need = next(n for n in count(1) if math.ceil((n + 1) * level) <= n)
        raise RaffiaError(f"level={level:g} needs at least {need} calibration pairs; got {pairs}. Pass more, or a lower level.")
    return rank


def scores_of(centre: Centre, a: Array, y: Array) -> Float[Tensor, "n"]:
    """max_x |y − F|/std of each pair."""
    mean, std = centre(a)
    if tuple(y.shape) != tuple(mean.shape):
        raise RaffiaError(f"y must have the shape of the predictions, {tuple(mean.shape)}; got {tuple(y.shape)}.")
    return ((torch.as_tensor(y).to(mean) - mean).abs() / std).reshape(len(y), -1).amax(-1)
