"""Arrays that users pass: tables as scikit-learn takes them, and whether shapes agree with the spaces of inputs and outputs."""

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Nodes, Space, Vectors
from raffia.spaces.robust_sizes import largest
from raffia.transforms import is_abstract

FLOATS = [np.float64, np.float32]


def inputs_of(model: Any, a: Any, first: bool = False) -> Any:
    """Inputs of a model; of vectors, scikit-learn checks that they have the columns of the `first`."""
    if not model.feature_map.domain.tabular or isinstance(a, Tensor):
        return _values(a)
    try:
        return validate_data(model, a, reset=first, dtype=FLOATS, ensure_min_samples=1)
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def pairs_of(model: Any, a: Any, y: Any, first: bool = False) -> tuple[Any, Any]:
    """Inputs and outputs of a model."""
    inputs = inputs_of(model, a, first)
    if not model.feature_map.domain.tabular or isinstance(y, Tensor):
        return inputs, _values(y)
    try:
        return inputs, check_array(y, ensure_2d=False, allow_nd=True, dtype=FLOATS, input_name="y")
    except (ValueError, TypeError) as error:
        raise RaffiaError(str(error)) from None


def like(given: object, values: Tensor) -> Array:
    """Values as an array if `given` is an array, else on the device of the tensor `given`."""
    return values.to(given.device) if isinstance(given, Tensor) else values.numpy(force=True)


def _values(array: Any) -> Any:
    """What an xarray DataArray holds; anything else as it is."""
    return array.values if type(array).__module__.startswith("xarray") else array


def check_function(name: str, f: Tensor, space: Space) -> None:
    """Samples of a space: shape (n, *grid), with the grid convention of the domain."""
    if f.ndim != 1 + space.ndim:
        shape = f"(n, {', '.join(space.axes_in_words)})" if space.ndim else "(n,)"
        raise RaffiaError(
            f"{name} must have shape {shape}, {space.in_words}; got {tuple(f.shape)}. A single one is {name}[None]."
        )
    space.grid_of(f)
    domain = space.one_channel
    for axis, kind in enumerate(domain.kinds, f.ndim - domain.ndim):
        if kind.periodic and not is_abstract(f):
            _check_no_repeated_end(name, f, axis)


def output_space(domain: Space, y: Tensor, numbers: bool) -> Space:
    """The default space of the outputs: that of the inputs, with channels if y has one axis more.

    Features that are `numbers` may have numbers as outputs; vectors have numbers or vectors.
    """
    if domain.tabular:
        return Domain(0) if y.ndim == 1 else Vectors()
    one = domain.one_channel
    if numbers and y.ndim == 1:
        return Domain(0)
    return Channels(one, y.shape[1]) if y.ndim == 2 + one.ndim and one.ndim else one


def check_one_grid(inputs: Nodes, outputs: Nodes, domain: Space, output: Space) -> None:
    """Features that are functions need inputs and outputs on the same nodes."""
    here, there = inputs.one_channel, outputs.one_channel
    if here != there:
        spaces = "" if here.shape != there.shape else f" of {domain} and {output}"
        raise RaffiaError(
            f"a and y must be on one grid; got {here.shape} and {there.shape} points{spaces}. "
            "Resample one of them with raffia.resample, or use features that are numbers, such as ScalarFeatures."
        )


def _check_no_repeated_end(name: str, f: Tensor, axis: int) -> None:
    """Refuse samples whose last point repeats the first, unless they are flat there (a bump away from the ends) or have few values.

    Functions of few values, such as those of two phases, agree at both ends by chance.
    """
    if f.shape[axis] < 4 or len(f) < 2:  # a single symmetric function may well agree at both ends
        return
    first, second, last = (f.select(axis, i) for i in (0, 1, -1))
    scale = largest(f)
    rounding = 1e-9 if f.dtype == torch.float64 else 1e-5
    if largest(first - last) > rounding * scale or largest(first - second) <= 1e-4 * scale:
        return
    some = f.movedim(axis, -1).reshape(-1, f.shape[axis])[:64]
    if 2 * sum(len(row.unique()) for row in some) > some.numel():
        raise RaffiaError(
            f"{name} seems to repeat its first point at the right end ({f.shape[axis]} points along axis {axis}): "
            f"a periodic grid leaves the right end out. Pass {name}[{', '.join([':'] * axis + [':-1'])}]."
        )
