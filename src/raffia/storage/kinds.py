"""Whether values from a file are of the kinds that a class annotates its arguments with. Of tensors, shapes are not asked for."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from torch import Tensor

from raffia.errors import RaffiaError

LARGEST = 2**63  # of a whole number: what a tensor holds


hints_of = lru_cache(maxsize=256)(get_type_hints)


def check_kinds(name: str, maker: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of another kind than a class, or a function, says, before it sees them."""
    hints = hints_of(maker)
    for argument, value in arguments.items():
        if argument in hints and not fits(value, hints[argument]):
            came = f"{value!r:.40}" if type(value) in (int, float, str) else f"of type {type(value).__name__}"
            raise RaffiaError(f"{name}({argument}=…) cannot be {came}.")


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says, as generously as Python is.

    Whole numbers serve as real ones, 0 and 1 as False and True, lists as tuples, and any tensor as one of a certain shape.
    """
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any or type(kind) is TypeVar:
        return True
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if kind is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if kind in (None, NoneType):
        return value is None
    if kind is bool:
        return type(value) in (bool, int) and value in (0, 1)
    if kind in (int, float):
        return kind is type(value) is float or (type(value) is int and abs(value) < LARGEST)
    if kind is tuple:
        return type(value) in (tuple, list) and _all_fit(value, inner)
    if kind is dict:
        return type(value) is dict and all(fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in value.items())
    return isinstance(value, Tensor if hasattr(hint, "array_type") else kind)


def _all_fit(values: Any, inner: tuple[Any, ...]) -> bool:
    """The entries of `tuple[X, …]`, or of `tuple[X, Y]`."""
    if len(inner) == 2 and inner[1] is ...:
        return all(fits(value, inner[0]) for value in values)
    return len(values) == len(inner) and all(map(fits, values, inner))
