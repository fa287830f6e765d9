"""The minimum of an error over ridges."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError

DECADES = tuple(range(-16, 1))


def best_ridge(
    errors: Callable[[Sequence[float]], Float[Tensor, "ridges n"]], scale: float, decades: Sequence[int] = DECADES
) -> tuple[float, float]:
    """The ridge of the least mean error, and that error.

    Powers of ten times `scale`, one a decade from 1e-16 to 1 unless told, then the vertex of the parabola through the best and its
    neighbours, on logarithmic scales: with few samples the curve is rough, and its exact minimum is a worse choice than that of a
    smooth fit.
    """
    means = errors([scale * 10.0**k for k in decades]).mean(1)
    best = int(means.argmin())
    if not torch.isfinite(means[best]):
        raise RaffiaError("no ridge has a finite error on what was left out: check the data, or pass ridge as a number.")
    if not 0 < best < len(decades) - 1 or not torch.isfinite(means[best - 1 : best + 2]).all():
        return scale * 10.0 ** decades[best], float(means[best])
    left, middle, right = means[best - 1 : best + 2].log().tolist()
    bend = left - 2 * middle + right
    step = (decades[1] - decades[0]) * ((left - right) / (2 * bend) if bend > 0 else 0.0)
    ridge = scale * 10.0 ** (decades[best] + step)
    return ridge, float(errors([ridge]).mean())
