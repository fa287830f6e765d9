"""Operations that onnxscript does not translate for complex tensors, or that ONNX Runtime lacks in double precision."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _by_parts(operation: Any) -> Callable[..., Any]:
    """Apply an operation to the real and to the imaginary parts of complex tensors."""

    def decomposed(z: Tensor, *rest: Any, **options: Any) -> Any:
        if not z.is_complex():
            return NotImplemented
        halves = ([_part(value, index) for value in (z, *rest)] for index in range(2))
        return torch.complex(*(operation(*half, **options) for half in halves))

    return decomposed


def _part(value: Any, index: int) -> Any:
    return torch.view_as_real(value)[..., index] if torch.is_tensor(value) and value.is_complex() else value


def _product(operation: Any) -> Callable[..., Any]:
    """A product of complex matrices by products of real ones."""

    def decomposed(z: Tensor, w: Tensor) -> Any:
        if not z.is_complex():
            return NotImplemented
        (a, b), (c, d) = ((_part(value, 0), _part(value, 1)) for value in (z, w))
        return torch.complex(operation(a, c) - operation(b, d), operation(a, d) + operation(b, c))

    return decomposed


def _zeros(z: Tensor, **_: Any) -> Any:
    zeros = torch.zeros(z.shape, dtype=torch.float64)
    return torch.complex(zeros, zeros) if z.is_complex() else NotImplemented


def _fill(z: Tensor, value: Tensor) -> Any:
    if not z.is_complex():
        return NotImplemented
    zeros = torch.zeros(z.shape, dtype=torch.float64)
    return torch.complex(zeros + _part(value, 0), zeros + _part(value, 1) if value.is_complex() else zeros)


def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    return scale * torch.where(x > 0, x, alpha * (torch.exp(input_scale * x.clamp(max=0)) - 1))


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.where(x * beta > threshold, x, torch.log(1 + torch.exp((x * beta).clamp(max=threshold))) / beta)


def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return x / 2 * (1 + torch.erf((x / math.sqrt(2)).float()).double())


PARTS = (
    aten.alias.default,
    aten.unsqueeze.default,
    aten.expand.default,
    aten.select.int,
    aten.constant_pad_nd.default,
    aten.index.Tensor,
    aten.select_scatter.default,
    aten.slice_scatter.default,
    aten.index_put.default,
)
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    **{operation: _by_parts(operation) for operation in PARTS},
    aten.mm.default: _product(aten.mm.default),
    aten.bmm.default: _product(aten.bmm.default),
    aten.zeros_like.default: _zeros,
    aten.fill.Tensor: _fill,
    aten.elu.default: _elu,
    aten.softplus.default: _softplus,
    aten.gelu.default: _gelu,
}
