"""Checks of what comes from outside: arrays and options of users, and values in files.

Nothing is repaired silently, and every message names the argument and the remedy.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from numbers import Integral
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.transforms import is_abstract

LARGEST = 2**63
"""Integers in files must be smaller than this."""


def as_tensor(name: str, values: object) -> Tensor:
    """Convert an array to a tensor of finite float32 or float64 values with at least one sample. A tensor keeps its derivatives."""
    if not isinstance(values, (np.ndarray, Tensor)):
        raise RaffiaError(
            f"{name} must be a NumPy array or a torch tensor; got {type(values).__name__}. Pass np.asarray({name})."
        )
    check_dense(name, values)
    if not str(values.dtype).endswith(("float32", "float64")):
        raise RaffiaError(
            f"{name} must be float32 or float64; got {values.dtype}. Convert it, e.g. {_conversion(name, values)}."
        )
    if isinstance(values, np.ma.MaskedArray):
        raise RaffiaError(
            f"{name} must not be a masked array: fill its gaps or leave those samples out, then pass a plain array."
        )
    tensor = torch.from_numpy(np.require(values, requirements=["C", "W"])) if isinstance(values, np.ndarray) else values
    if tensor.ndim == 0 or len(tensor) == 0:
        raise RaffiaError(f"{name} must hold at least one sample along its first axis; got shape {tuple(tensor.shape)}.")
    if is_abstract(tensor):
        return tensor
    finite = torch.isfinite(tensor).reshape(len(tensor), -1).all(-1)
    if not finite.all():
        bad = torch.nonzero(~finite).flatten()
        raise RaffiaError(
            f"{name} must be finite; {len(bad)} of {len(tensor)} samples hold NaN or infinite values, "
            f"the first is {name}[{int(bad[0])}]. Remove those samples or fill their gaps first."
        )
    return tensor


def check_dense(name: str, values: object) -> None:
    """Refuse sparse tensors and tensors on the device meta."""
    if getattr(values, "is_meta", False):
        raise RaffiaError(
            f"{name} must hold values; got a tensor on the device meta, which has none. Make it on the cpu or cuda."
        )
    if getattr(values, "layout", torch.strided) != torch.strided:
        raise RaffiaError(f"{name} must be a dense tensor; got {values.layout}. Pass {name}.to_dense().")  # type: ignore[attr-defined]


def check_pairs(a: Tensor, y: Tensor) -> None:
    """Refuse different numbers of inputs and outputs."""
    if len(a) != len(y):
        raise RaffiaError(f"a and y must pair up; got {len(a)} inputs and {len(y)} outputs.")


def check_count(name: str, value: object) -> None:
    """Refuse what is not a positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < 2**63:
        raise RaffiaError(f"{name} must be a positive integer below 2**63; got {value!r}.")


def check_instance(name: str, value: object, kind: type, example: str) -> None:
    """Refuse objects of another type, such as a class or a name."""
    if not isinstance(value, kind):
        raise RaffiaError(f"{name} must be a {kind.__name__}, such as {example}; got {value!r}.")


def check_seed(name: str, value: object) -> None:
    """Refuse what is not a valid seed."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise RaffiaError(f"{name} must be an integer from 0 to 2**32 − 1; got {value!r}.")


def check_device(device: str | torch.device | None) -> None:
    """Refuse devices that do not exist."""
    try:
        known = torch.device(device) if device is not None else torch.device("cpu")
    except RuntimeError:
        raise RaffiaError(f"device must be 'cpu' or 'cuda'; got {device!r}.") from None
    if known.type not in ("cpu", "cuda"):
        raise RaffiaError(f"device must be 'cpu' or 'cuda'; got {device!r}.")
    if known.type == "cuda" and not torch.cuda.is_available():
        raise RaffiaError(f"device={str(device)!r} needs a GPU that torch can use, and there is none. Pass device='cpu'.")


def _conversion(name: str, values: np.ndarray | Tensor) -> str:
    numpy = isinstance(values, np.ndarray)
    if "complex" in str(values.dtype):  # two channels
        return f"{'np' if numpy else 'torch'}.stack([{name}.real, {name}.imag], 1)"
    return f"{name}.astype(np.float64)" if numpy else f"{name}.double()"


hints_of = lru_cache(maxsize=256)(get_type_hints)


def check_kinds(name: str, maker: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments whose types differ from the annotations of a class or a function."""
    hints = hints_of(maker)
    for argument, value in arguments.items():
        if argument in hints and not fits(value, hints[argument]):
            came = f"{value!r:.40}" if type(value) in (int, float, str) else f"of type {type(value).__name__}"
            raise RaffiaError(f"{name}({argument}=…) cannot be {came}.")


def fits(value: Any, hint: Any) -> bool:
    """Whether the type of a value matches an annotation.

    Integers match float, 0 and 1 match bool, lists match tuples, and tensors of any shape match annotations with a shape.
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
    """Whether all entries match `tuple[X, …]` or `tuple[X, Y]`."""
    if len(inner) == 2 and inner[1] is ...:
        return all(fits(value, inner[0]) for value in values)
    return len(values) == len(inner) and all(map(fits, values, inner))
