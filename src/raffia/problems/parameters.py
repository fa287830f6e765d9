"""Ranges of the parameters of problems, in their annotations (`viscosity: Positive = 0.01`), for Python and the command line."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import isclass
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Domain

MOST = 2**40  # of what is counted
KINDS: dict[Any, tuple[type, ...]] = {
    float: (int, float, np.integer, np.floating), int: (int, np.integer), tuple: (tuple, list), Literal: (str,)
}  # fmt: skip
WORDS = {float: "a number", int: "a whole number", bool: "True or False", str: "a word", NoneType: "None", Domain: "a Domain"}


@dataclass(frozen=True)
class Range:
    """Which values of a kind are allowed: those that `holds` is true of, in words."""

    words: str
    holds: Callable[[Any], bool] = field(repr=False)


def has_several(value: Any) -> bool:
    """Whether a parameter is several numbers, and not one."""
    return _is(value, *KINDS[tuple])


def _is(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and (bool in kinds or type(value) is not bool)  # True is no number


def _increasing(times: Any) -> bool:
    some = tuple(times) if has_several(times) else (times,)
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


FINITE_ARRAY = Range("finite", lambda f: bool(torch.isfinite(torch.as_tensor(f, dtype=torch.float64)).all()))
LIMITS: dict[Any, tuple[Range, ...]] = {
    int: (Range("at most 2**40", lambda n: abs(n) <= MOST),),
    float: (
        Range("finite", lambda x: abs(x) <= sys.float_info.max),  # also of whole numbers that are too large to be floats
        Range("written as 1e13 is where it is more than 2**40", lambda x: not _is(x, int) or abs(x) <= MOST),  # as in torch
    ),
    Domain: (Range("finite", lambda domain: domain.longest <= sys.float_info.max),),
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


def check(name: str, hint: Any, value: Any) -> None:
    """Refuse a value that an annotation does not allow."""
    options = _options(hint)
    leaf, rules = next((option for option in options if _fits(option[0], value)), (None, ()))
    if leaf is None:
        words = sorted((_in_words(option) for option, _ in options), key=lambda words: words != "None")
        raise RaffiaError(f"{name} must be {_listed(words)}; got {_shown(value)}.")
    finite = (FINITE_ARRAY,) if _of_arrays(leaf) else LIMITS.get(leaf, ())
    for rule in (*rules, *finite):
        if not rule.holds(value):
            raise RaffiaError(f"{name} must be {rule.words}; got {_shown(value)}.")
    if get_origin(leaf) is tuple:
        for part in value:
            check(name, get_args(leaf)[0], part)


def check_regularity(problem: Any) -> None:
    """Refuse α ≤ d/2, where it is a parameter: draws would be no functions."""
    half, regularity = problem.domain.dim / 2, getattr(problem, "regularity", math.inf)
    if regularity <= half:
        name = type(problem).__name__
        raise RaffiaError(
            f"{name}(regularity=…) must be more than {half:g}, half the dimension of the domain; got {regularity!r}."
        )


def admits(hint: Any, value: Any) -> bool:
    """Whether a value is of a kind that an annotation names, whatever its range."""
    return any(_fits(option, value) for option, _ in _options(hint))


def _options(hint: Any) -> list[tuple[Any, tuple[Range, ...]]]:
    """The kinds that an annotation allows, each with its ranges."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return [(option, (*parts[1:], *rules)) for option, rules in _options(parts[0])]
    if origin in (Union, UnionType):
        return [option for part in parts for option in _options(part)]
    return [(hint, ())]


def _fits(hint: Any, value: Any) -> bool:
    """Whether a value is of one kind."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _is(value, *KINDS[Literal]) and value in parts
    if origin is tuple:
        size = len(value) if has_several(value) and parts[-1] is ... else len(parts)
        return has_several(value) and len(value) == size and all(admits(parts[0], part) for part in value)
    if origin is Callable:
        return callable(value)
    if hint in KINDS:
        return _is(value, *KINDS[hint])
    if _of_arrays(hint):
        return _is(value, Tensor, np.ndarray)
    return not isclass(hint) or _is(value, hint)


def _of_arrays(hint: Any) -> bool:
    return getattr(hint, "array_type", None) is not None


def _in_words(hint: Any) -> str:
    """What a value of one kind is."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _listed([repr(option) for option in parts])
    if origin is tuple:
        count = "" if parts[-1] is ... else f"{len(parts)} "
        return f"a tuple of {count}{_in_words(_options(parts[0])[0][0]).removeprefix('a ')}s"
    if origin is Callable:
        return "a function"
    return "a tensor of values" if _of_arrays(hint) else WORDS.get(hint, f"of type {hint}")


def _listed(words: list[str]) -> str:
    return " or ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def _shown(value: Any) -> str:
    """A value in a message; one that takes more than a line by its kind."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"{type(value).__name__} {text[:40]!r}…"
