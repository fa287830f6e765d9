"""How far a surrogate is off at the input at hand: its error bars, scaled by the errors on pairs that it was not trained on."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.validation import as_tensor, check_pairs


def error_bars(
    model: Any, a: Array, y: Array, observe: Float[Tensor, "points nodes"] | None = None
) -> Callable[[Tensor], Tensor]:
    """The covariance s(a) s(a)ᵀ ∘ R of the errors O(y − F(a)) of a model, for each a of a batch; s are its error bars at the observations.

    R = mean of z zᵀ, z = O(y − F(a)) / s(a), is over pairs that the model was not trained on: how its errors go together, and by how much
    its bars are too short or too long. Where `surrogate_error` has one covariance for all inputs, this one grows where the model
    knows little. Bars take five times as long as predictions, and forty times where these have a shortcut, as those of predictor–corrector
    features. O of deviations stands for the deviation of O, which is right for values at points.
    """
    if not hasattr(model, "predict"):
        raise RaffiaError(f"error_bars needs a model with error bars, predict(a, return_std=True); got {type(model).__name__}.")
    inputs, outputs = as_tensor("a", a).double(), as_tensor("y", y).double()
    check_pairs(inputs, outputs)

    def observed(values: Tensor) -> Tensor:
        flat = values.flatten(1).double()
        return flat if observe is None else flat @ observe.to(flat).mT

    def bars(given: Tensor) -> Tensor:
        return observed(model.predict(given, return_std=True)[1]).clamp(min=0)

    with torch.no_grad():
        size = bars(inputs)
        z = observed(outputs - model.predict(inputs)) / size
    if not torch.isfinite(z).all():
        raise RaffiaError(
            "error_bars needs error bars above zero where outputs are observed; some are zero there. Leave out observations that are "
            "always the same, such as values on a boundary."
        )
    together = z.mT @ z / len(z)

    def covariance(given: Float[Tensor, "n *shape"]) -> Float[Tensor, "n points points"]:
        s = bars(given)
        return s[:, :, None] * together.to(s) * s[:, None, :]

    return covariance
