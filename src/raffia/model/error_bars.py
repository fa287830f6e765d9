"""Error bars from held-out pairs: standard deviations read off their errors, and conformal bands, which have a guarantee."""

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
from raffia.spaces import Nodes, resample

LEVEL, NORMAL = 0.9, 1.645  # intervals that the bars are calibrated for: 90 % of values within 1.645 standard deviations
SAMPLES_FOR_SLOPE = 20.0  # pairs from which on the slope counts for more than half
LARGEST_SLOPE, SLOPE_OUTSIDE = 4.0, 3.0


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """std(a, x) = deviation(x) · ν(a)^slope, with the novelty ν of the input: 90 % of left-out values lie within 1.645 of them."""

    deviation: Float[Tensor, "*output"]
    """At every point of the training outputs, in the units of the data."""
    slope: float

    @classmethod
    def of(cls, errors: Float[Tensor, "n *output"], novelty: Float[Tensor, "n"]) -> "ErrorBars":
        """From y − F(a) of left-out pairs and the novelty of their inputs, two pairs or more."""
        n, errors = len(errors), errors.detach().double().cpu()
        x, sizes = novelty.clamp(min=0.1).log(), errors.reshape(n, -1).square().mean(1).sqrt()
        x, y = x - x.mean(), sizes.clamp(min=1e-12 * float(sizes.max()) + torch.finfo(sizes.dtype).tiny).log()
        fitted = float((x * y).sum() / x.square().sum().clamp(min=1e-12))
        slope = min(max(fitted, 0.0), LARGEST_SLOPE) * n / (n + SAMPLES_FOR_SLOPE)
        bars = cls(errors[0], slope)
        squares = (errors / bars._growth(novelty).reshape(-1, *[1] * (errors.ndim - 1))).square()
        others = (squares.sum(0) - squares).clamp(min=0) / (n - 1)  # without the pair itself
        ratios = torch.where(squares > 0, (squares / others).sqrt(), 0.0).flatten()
        factor = ratios.kthvalue(min(len(ratios), round(LEVEL * (1 + 0.5 / n) * len(ratios)))).values / NORMAL
        return cls(squares.mean(0).sqrt() * factor, slope)

    def std(self, novelty: Float[Tensor, "n"], there: Nodes, here: Nodes) -> Float[Tensor, "n *output"]:
        """On the nodes `here`, where the training outputs were `there`."""
        deviation = self.deviation
        if here != there:
            deviation = resample(deviation, there.one_channel, here.one_channel).clamp(min=0)
        return self._growth(novelty).reshape(-1, *[1] * deviation.ndim) * deviation

    def _growth(self, novelty: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        """ν^slope; outside of the training inputs, where ν > 1, at least ν³."""
        return novelty.clamp(min=0.1) ** torch.where(novelty > 1, max(self.slope, SLOPE_OUTSIDE), self.slope)


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
