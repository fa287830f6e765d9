"""Tensors that autograd, `torch.func` or a compiler tracks, and constants that none of them may track."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch._C._functorch import get_unwrapped, is_batchedtensor, is_functorch_wrapped_tensor, peek_interpreter_stack
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad


def is_tracked(x: Tensor) -> bool:
    """Whether x has a gradient, a tangent or a batch of `torch.func`, or is compiled. It must then not be overwritten or leave torch."""
    derived = x.requires_grad or is_functorch_wrapped_tensor(x) or torch.compiler.is_compiling()
    return derived or forward_ad.unpack_dual(x).tangent is not None


def is_abstract(x: Tensor) -> bool:
    """Whether the values of x cannot be read, since it is a batch of `torch.func.vmap` or is compiled."""
    if torch.compiler.is_compiling():
        return True
    while is_functorch_wrapped_tensor(x):
        if is_batchedtensor(x):
            return True
        x = get_unwrapped(x)
    return False


@contextmanager
def outside_transforms() -> Iterator[None]:
    """Create constants that can be cached, even if `torch.func` or `torch.inference_mode` is active outside."""
    if peek_interpreter_stack() is None and not torch.is_inference_mode_enabled():
        yield
        return
    with temporarily_clear_interpreter_stack(), torch.inference_mode(False):
        yield
