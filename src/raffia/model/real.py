"""Graphs without complex numbers, for runtimes that have none: pairs of real tensors, and transforms as products with matrices."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx

from raffia.errors import RaffiaError


class Pair(NamedTuple):
    """A complex tensor."""

    real: Tensor
    imaginary: Tensor


LINEAR = {
    "view", "reshape", "_unsafe_view", "slice", "select", "unsqueeze", "squeeze", "transpose", "permute", "expand", "clone", "cat", "stack",
    "alias", "detach", "constant_pad_nd", "index_select", "index", "sum", "neg", "t", "flatten", "unfold", "contiguous", "zeros_like",
}  # fmt: skip
"""Operations that do to either part what they do to a number."""

SOLVERS = {"_linalg_solve_ex", "linalg_solve", "linalg_lu_factor_ex"}


class Real(fx.Interpreter):
    """Runs a graph on real tensors alone; what cannot be is refused."""

    def __init__(self, graph: fx.GraphModule) -> None:
        super().__init__(graph)
        self.extra_traceback = False  # errors are for users

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Constants, in two parts where they are complex."""
        value = super().get_attr(target, args, kwargs)
        return _pair(value) if torch.is_tensor(value) and value.is_complex() else value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """By the rule for the operation, where there is one."""
        name = str(target).split(".")[1] if str(target).startswith("aten.") else ""
        if name in ("view", "_unsafe_view"):  # parts of pairs, and products in place of transforms, lie otherwise in memory
            target = torch.ops.aten.reshape.default
        if name in SOLVERS:
            raise RaffiaError(
                "a model that solves linear equations cannot be written as ONNX, which has no solver: export it as .pt2."
            )
        if name in RULES:
            return RULES[name](*args, **kwargs)
        if not any(_complex(part) for part in (*args, *kwargs.values())):
            return super().call_function(target, args, kwargs)
        if name in PRODUCTS:
            return PRODUCTS[name](target, *map(_pair, args[:2]))
        if name in LINEAR:
            return Pair(*(target(*(_part(arg, i) for arg in args), **kwargs) for i in range(2)))
        raise RaffiaError(f"a model whose graph has the complex operation {target} cannot be written without complex numbers.")


def _complex(part: Any) -> bool:
    return type(part) is Pair or (issubclass(type(part), list) and any(map(_complex, part)))


def _pair(value: Any) -> Pair:
    if type(value) is Pair:
        return value
    if not torch.is_tensor(value):
        value = torch.tensor(value, dtype=torch.complex128 if type(value) is complex else torch.float64)
    if value.is_complex():
        value = value.resolve_conj()
        return Pair(value.real.clone(), value.imag.clone())
    return Pair(value, torch.zeros_like(value))


def _part(arg: Any, which: int) -> Any:
    if type(arg) is not Pair and _complex(arg):
        return [_pair(one)[which] for one in arg]
    return arg[which] if type(arg) is Pair else arg


def _times(target: Any, z: Pair, w: Pair) -> Pair:
    return Pair(target(z[0], w[0]) - target(z[1], w[1]), target(z[0], w[1]) + target(z[1], w[0]))


PRODUCTS: dict[str, Callable[..., Pair]] = {
    "mul": _times,
    "mm": _times,
    "bmm": _times,
    "add": lambda target, z, w: Pair(z[0] + w[0], z[1] + w[1]),
    "add_": lambda target, z, w: Pair(z[0].add_(w[0]), z[1].add_(w[1])),
    "sub": lambda target, z, w: Pair(z[0] - w[0], z[1] - w[1]),
    "div": lambda target, z, w: Pair(z[0] / w[0], z[1] / w[0]),  # by real numbers
    "copy_": lambda target, z, w: Pair(z[0].copy_(w[0]), z[1].copy_(w[1])),
    "fill_": lambda target, z, w: Pair(z[0].fill_(float(w[0])), z[1].fill_(float(w[1]))),
}


def _along(x: Tensor, matrix: Tensor, dim: int) -> Tensor:
    """A matrix (new, old) applied along an axis."""
    return (x.transpose(dim, -1) @ matrix.mT.to(x)).transpose(dim, -1).contiguous()  # as transforms are, which graphs count on


def _waves(rows: int, columns: int, points: int) -> tuple[Tensor, Tensor]:
    """cos and sin of 2πjk/points."""
    phase = 2 * math.pi / points * (torch.arange(rows)[:, None] * torch.arange(columns) % points).double()
    return phase.cos(), phase.sin()


def _scale(sizes: list[int], norm: int) -> float:
    return 1.0 if norm == 0 else math.prod(sizes) ** (-1.0 if norm == 2 else -0.5)


def _turned(z: Pair, dim: int, forward: bool) -> Pair:
    """Σ_j z_j e^(∓2πijk/N) along one axis."""
    points = z[0].shape[dim]
    cosine, sine = _waves(points, points, points)
    sine = sine if forward else -sine
    return Pair(_along(z[0], cosine, dim) + _along(z[1], sine, dim), _along(z[1], cosine, dim) - _along(z[0], sine, dim))


def _from_real(x: Tensor, dims: list[int], norm: int, onesided: bool) -> Pair:
    """A real transform, of which half is kept along the last axis."""
    last, points = dims[-1], x.shape[dims[-1]]
    cosine, sine = _waves(points // 2 + 1 if onesided else points, points, points)
    scale = _scale([x.shape[dim] for dim in dims], norm)
    z = Pair(scale * _along(x, cosine, last), -scale * _along(x, sine, last))
    for dim in dims[:-1]:
        z = _turned(z, dim, forward=True)
    return z


def _to_real(z: Pair, dims: list[int], norm: int, points: int) -> Tensor:
    """Its inverse, of so many points along the last axis."""
    scale = _scale([*(z[0].shape[dim] for dim in dims[:-1]), points], norm)
    for dim in dims[:-1]:
        z = _turned(z, dim, forward=False)
    cosine, sine = _waves(points, points // 2 + 1, points)
    twice = torch.full((points // 2 + 1,), 2.0, dtype=torch.float64)
    twice[0] = 1
    if points % 2 == 0:
        twice[-1] = 1
    return scale * (_along(z[0], twice * cosine, dims[-1]) - _along(z[1], twice * sine, dims[-1]))


def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    return scale * torch.where(x > 0, x, alpha * (torch.exp(input_scale * x.clamp(max=0)) - 1))


def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return torch.where(x * beta > threshold, x, torch.log(1 + torch.exp((x * beta).clamp(max=threshold))) / beta)


def _complex_of(x: Any, dtype: Any = None, **_: Any) -> Any:
    """A copy of another kind."""
    if type(x) is Pair:
        return x
    return _pair(x) if dtype is not None and dtype.is_complex else x.to(dtype or x.dtype, copy=True)


RULES: dict[str, Callable[..., Any]] = {
    "_fft_r2c": _from_real,
    "_fft_c2r": _to_real,
    "_fft_c2c": lambda z, dims, norm, forward: _several(z, dims, norm, forward),
    "elu": _elu,
    "gelu": lambda x, approximate="none": (
        x / 2 * (1 + torch.erf((x / math.sqrt(2)).float()).to(x))
    ),  # runtimes have erf in float32
    "index": lambda f, where: _chosen(f, where),
    "index_put_": lambda f, where, values, accumulate=False: _put(f, where, values, accumulate),
    "softplus": _softplus,
    "view_as_real": lambda z: torch.stack(_pair(z), -1),
    "view_as_complex": lambda x: Pair(*x.unbind(-1)),
    "complex": lambda re, im: Pair(re, im),
    "real": lambda z: _pair(z)[0],
    "imag": lambda z: _pair(z)[1],
    "_conj": lambda z: Pair(_pair(z)[0], -_pair(z)[1]),
    "_to_copy": _complex_of,
}


def _several(z: Any, dims: list[int], norm: int, forward: bool) -> Pair:
    scale = _scale([_pair(z)[0].shape[dim] for dim in dims], norm)
    z = Pair(*(scale * part for part in _pair(z)))
    for dim in dims:
        z = _turned(z, dim, forward)
    return z


def _last(f: Tensor, where: list[Any]) -> Tensor:
    """The numbers of entries along the last axis, which alone may be picked."""
    if len(where) != f.ndim or any(one is not None for one in where[:-1]) or where[-1].ndim != 1:
        raise RaffiaError(
            "a model that picks entries along other axes than the last cannot be written without complex numbers."
        )
    return where[-1].nonzero()[:, 0] if where[-1].dtype == torch.bool else where[-1]


def _chosen(f: Any, where: list[Any]) -> Any:
    if type(f) is Pair:
        return Pair(*(_chosen(part, where) for part in f))
    return f.index_select(f.ndim - 1, _last(f, where))


def _put(f: Any, where: list[Any], values: Any, accumulate: bool) -> Any:
    """Values at some entries along the last axis, by a product: runtimes have no other way that is as plain."""
    if type(f) is Pair:
        return Pair(*(_put(part, where, value, accumulate) for part, value in zip(f, _pair(values), strict=True)))
    places = torch.nn.functional.one_hot(_last(f, where), f.shape[-1]).to(f)
    kept = f if accumulate else f * (1 - places.sum(0))
    return f.copy_(kept + values @ places)
