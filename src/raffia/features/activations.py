"""Pointwise functions σ: R → R by name: those of the paper, and GELU."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.transforms import is_tracked

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu, "relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "sin": torch.sin, "selu": F.selu,
    "softplus": F.softplus, "gelu": F.gelu, "identity": lambda r: r,
}  # fmt: skip

_IN_PLACE: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": F.elu_, "relu": F.relu_, "tanh": torch.tanh_, "sigmoid": torch.sigmoid_, "sin": torch.sin_, "selu": F.selu_,
}  # fmt: skip


def _elu_by_powers_of_two(r: Tensor) -> Tensor:
    """max(r, 2^(min(r, 0) log₂ e) − 1): in float64 on a CPU 2^x is twice as fast as e^x."""
    negative = r.clamp(max=0).mul_(math.log2(math.e)).exp2_().sub_(1)
    return torch.maximum(r, negative, out=r)


def _tanh_by_sigmoid(r: Tensor) -> Tensor:
    """2 s(2r) − 1 with the logistic function s, which is four times as fast as tanh."""
    return r.mul_(2).sigmoid_().mul_(2).sub_(1)


def _gelu_by_error_function(r: Tensor) -> Tensor:
    """r (1 + erf(r/√2))/2 in separate operations, several times as fast as the built-in GELU."""
    twice = r.mul(math.sqrt(0.5)).erf_().add_(1)
    return r.mul_(0.5).mul_(twice)


_CPU_FLOAT64: dict[str, Callable[[Tensor], Tensor]] = {
    "elu": _elu_by_powers_of_two,
    "tanh": _tanh_by_sigmoid,
    "gelu": _gelu_by_error_function,
}


def activate(name: str, r: Tensor) -> Tensor:
    """σ(r), up to rounding of max(1, |σ(r)|). To save time, r is overwritten unless derivatives are needed."""
    if name not in ACTIVATIONS:
        raise RaffiaError(f"activation must be one of {sorted(ACTIVATIONS)}; got {name!r}.")
    if is_tracked(r):
        return ACTIVATIONS[name](r)
    fast = _CPU_FLOAT64 if r.device.type == "cpu" and r.dtype == torch.float64 else _IN_PLACE
    return fast.get(name, _IN_PLACE.get(name, ACTIVATIONS[name]))(r)
