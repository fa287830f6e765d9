"""Tensors that are more than their values: those that a gradient, a tangent, a batch of `torch.func.vmap` or a compiler follows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor
from torch._C._functorch import get_unwrapped, is_batchedtensor, is_functorch_wrapped_tensor, peek_interpreter_stack
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad

P = ParamSpec("P")
T = TypeVar("T")
_TRACED: ContextVar[bool] = ContextVar("traced", default=False)
_ANYWHERE: ContextVar[bool] = ContextVar("anywhere", default=False)


def traced() -> bool:
    """Whether operations are written down, for inputs of any values and any number: by a compiler, or within `tracing`."""
    return torch.compiler.is_compiling() or _TRACED.get()


def anywhere() -> bool:
    """Whether operations are written down for any grid, so that what depends on it is made of it each time, and nothing is kept."""
    return not torch.compiler.is_compiling() and _ANYWHERE.get()


@contextmanager
def tracing(grids: bool = False) -> Iterator[None]:
    """What is done in here is written down; for any grid, if `grids` says so."""
    before = _TRACED.set(True), _ANYWHERE.set(grids)
    try:
        yield
    finally:
        _TRACED.reset(before[0])
        _ANYWHERE.reset(before[1])


def followed(x: Tensor) -> bool:
    """Whether something follows x through what is done to it, so that x must not be overwritten, nor leave torch."""
    derived = x.requires_grad or is_functorch_wrapped_tensor(x) or traced()
    return derived or forward_ad.unpack_dual(x).tangent is not None


def hidden(x: Tensor) -> bool:
    """Whether nobody can look at the values of x: it stands for all of a batch of `torch.func.vmap`, or for any that a compiler meets."""
    if traced():
        return True
    while is_functorch_wrapped_tensor(x):
        if is_batchedtensor(x):
            return True
        x = get_unwrapped(x)
    return False


@contextmanager
def plainly() -> Iterator[None]:
    """What is made in here can be kept for later: `torch.func` and `torch.inference_mode`, which may be around, leave it alone."""
    if peek_interpreter_stack() is None and not torch.is_inference_mode_enabled():
        yield
        return
    with temporarily_clear_interpreter_stack(), torch.inference_mode(False):
        yield


def kept(count: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """What a function gave for the last `count` arguments is kept, but made again where operations are written down for any grid."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        plain = plainly()(function)
        remembered = lru_cache(maxsize=count)(plain)

        @wraps(function)
        def found(*args: P.args, **kwargs: P.kwargs) -> T:
            return plain(*args, **kwargs) if anywhere() else remembered(*args, **kwargs)  # type: ignore[arg-type]

        return found

    return decorated
