"""Pointwise functions σ: R → R by name; every one that the paper names, and GELU."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from raffia.errors import RaffiaError

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu,
    "relu": F.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "selu": F.selu,
    "softplus": F.softplus,
    "gelu": F.gelu,
    "identity": lambda r: r,
}

_IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu_,
    "relu": F.relu_,
    "tanh": torch.tanh_,
    "sigmoid": torch.sigmoid_,
    "sin": torch.sin_,
    "selu": F.selu_,
}


def activate(name: str, r: Tensor) -> Tensor:
    """σ(r); r may be overwritten, which halves the time, unless a gradient needs it."""
    if name not in ACTIVATIONS:
        raise RaffiaError(f"activation must be one of {sorted(ACTIVATIONS)}; got {name!r}.")
    return ACTIVATIONS[name](r) if r.requires_grad else _IN_PLACE.get(name, ACTIVATIONS[name])(r)
