"""Error bars of a model, read off its errors for pairs that it was not trained on."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

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
