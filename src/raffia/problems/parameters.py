"""Ranges of the parameters of problems, in their annotations (`viscosity: Positive = 0.01`), for Python and the command line."""

import math
import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import isclass
from itertools import pairwise
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Domain

MOST = 2**40  # of what is counted
NUMBERS: dict[Any, type] = {float: Real, int: Integral}
WORDS = {float: "a number", int: "a whole number", bool: "True or False", NoneType: "None", Domain: "a Domain"}


@dataclass(frozen=True)
class Range:
    """A condition on the values of a parameter: `holds` tests it, and `words` describes it in messages, as in "positive"."""

    words: str
    holds: Callable[[Any], bool] = field(repr=False)


def has_several(value: object) -> bool:
    """Whether a parameter is several numbers, and not one."""
    return isinstance(value, (tuple, list))


def _increasing(times: Any) -> bool:
    some = times if has_several(times) else (times,)
    return bool(some) and some[0] > 0 and all(s < t for s, t in pairwise(some))


Positive = Annotated[float, Range("positive", lambda x: x > 0)]
NotNegative = Annotated[float, Range("0 or more", lambda x: x >= 0)]
BelowOne = Annotated[float, Range("above 0 and below 1", lambda x: 0 < x < 1)]
AboveOne = Annotated[float, Range("more than 1", lambda x: x > 1)]
Count = Annotated[int, Range("1 or more", lambda n: n >= 1)]
FromZero = Annotated[int, Range("0 or more", lambda n: n >= 0)]
FinePoints = Annotated[int, Range("3 or more", lambda n: n >= 3)]
Seed = Annotated[int, Range("from 0 to 2**32 − 1", lambda n: 0 <= n < 2**32)]
Times = Annotated[float | tuple[float, ...], Range("positive, and increasing where there are several", _increasing)]

LIMITS: dict[Any, Range] = {
    int: Range("at most 2**40", lambda n: abs(n) <= MOST),
    float: Range("finite", lambda x: abs(x) <= sys.float_info.max),  # also of whole numbers that are too large to be floats
    Domain: Range("finite", lambda domain: domain.longest <= sys.float_info.max),
    Tensor: Range("finite", lambda f: bool(torch.isfinite(torch.as_tensor(f, dtype=torch.float64)).all())),
}


def check_parameters(problem: Any) -> None:
    """Refuse parameters that are not what their annotations say, each by itself and then all together."""
    hints, name = hints_of(type(problem)), type(problem).__name__
    for parameter, value in problem.get_params(deep=False).items():
        if parameter in hints:
            check(f"{name}({parameter}=…)", hints[parameter], value)
    problem.check_together()


def hints_of(kind: type) -> dict[str, Any]:
    """The annotations of a class of problems, ranges included."""
    return get_type_hints(kind, include_extras=True)


def check(name: str, hint: Any, value: object) -> None:
    """Refuse a value that an annotation does not allow."""
    options = _options(hint)
    kind, ranges = next((option for option in options if _fits(option[0], value)), (None, ()))
    if kind is None:
        words = " or ".join(_in_words(option) for option, _ in options)
        raise RaffiaError(f"{name} must be {words}; got {reprlib.repr(value)}.")
    for allowed in (*ranges, *([LIMITS[kind]] if kind in LIMITS else [])):
        if not allowed.holds(value):
            raise RaffiaError(f"{name} must be {allowed.words}; got {reprlib.repr(value)}.")
    if get_origin(kind) is tuple:
        for part in value:  # type: ignore[attr-defined]  # a tuple, as `_fits` has seen
            check(name, get_args(kind)[0], part)


def check_regularity(problem: Any) -> None:
    """Refuse α ≤ d/2, where it is a parameter: draws would be no functions."""
    half, regularity = problem.domain.dim / 2, getattr(problem, "regularity", math.inf)
    if regularity <= half:
        name = type(problem).__name__
        raise RaffiaError(f"{name}(regularity=…) must be more than {half:g}, half the dimension; got {regularity!r}.")


def _options(hint: Any) -> list[tuple[Any, tuple[Range, ...]]]:
    """Return the types that an annotation allows, each with its conditions. Array annotations become `Tensor`."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return [(option, (*parts[1:], *rules)) for option, rules in _options(parts[0])]
    if origin in (Union, UnionType):
        return [option for part in parts for option in _options(part)]
    return [(Tensor if hasattr(hint, "array_type") else hint, ())]


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value is of a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is tuple:
        several = has_several(value) and (parts[-1] is ... or len(value) == len(parts))
        return several and all(any(_fits(option, part) for option, _ in _options(parts[0])) for part in value)
    if origin is Callable:
        return callable(value)
    if kind is Tensor:
        return isinstance(value, (Tensor, np.ndarray))
    return not isclass(kind) or (isinstance(value, NUMBERS.get(kind, kind)) and (kind is bool or type(value) is not bool))


def _in_words(kind: Any) -> str:
    """What a value of a type is."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin is tuple:
        count = "" if parts[-1] is ... else f"{len(parts)} "
        return f"a tuple of {count}{_in_words(_options(parts[0])[0][0]).removeprefix('a ')}s"
    return {Callable: "a function", Tensor: "a tensor of values"}.get(origin or kind) or WORDS[kind]
