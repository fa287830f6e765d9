"""Checks of what users pass in: nothing is repaired silently, every message names the argument and the remedy."""

from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression import NormalEquations, Statistics, one_channel
from raffia.spaces import Channels, Domain, Nodes, Space, Vectors

Array = np.ndarray | Tensor
ArrayLike = Any
"""An array or a tensor; where inputs are vectors, anything that scikit-learn takes for an array."""


def as_tensor(name: str, values: Array) -> Tensor:
    """A NumPy array or a tensor of float32 or float64, all finite, with at least one sample."""
    if not isinstance(values, (np.ndarray, Tensor)):
        raise RaffiaError(
            f"{name} must be a NumPy array or a torch tensor; got {type(values).__name__}. Pass np.asarray({name})."
        )
    if not str(values.dtype).endswith(("float32", "float64")):
        raise RaffiaError(
            f"{name} must be float32 or float64; got {values.dtype}. Convert it, e.g. {_conversion(name, values)}."
        )
    if isinstance(values, np.ma.MaskedArray):
        raise RaffiaError(
            f"{name} must not be a masked array: fill its gaps or leave those samples out, then pass a plain array."
        )
    tensor = (
        torch.from_numpy(np.require(values, requirements=["C", "W"])) if isinstance(values, np.ndarray) else values.detach()
    )
    if tensor.ndim == 0 or len(tensor) == 0:
        raise RaffiaError(f"{name} must hold at least one sample along its first axis; got shape {tuple(tensor.shape)}.")
    finite = torch.isfinite(tensor).reshape(len(tensor), -1).all(-1)
    if not finite.all():
        bad = torch.nonzero(~finite).flatten()
        raise RaffiaError(
            f"{name} must be finite; {len(bad)} of {len(tensor)} samples hold NaN or infinite values, "
            f"the first is {name}[{int(bad[0])}]. Remove those samples or fill their gaps first."
        )
    return tensor


def check_function(name: str, f: Tensor, space: Space) -> None:
    """Samples of a space: shape (n, *grid), with the grid convention of the domain."""
    if f.ndim != 1 + space.ndim:
        raise RaffiaError(
            f"{name} must have shape {_shape(space)}, {_kind(space)}; got {tuple(f.shape)}. A single one is {name}[None]."
        )
    space.grid_of(f)
    domain = space.one_channel
    if isinstance(domain, Domain) and domain.periodic:
        for axis in range(f.ndim - domain.dim, f.ndim):
            _check_no_repeated_end(name, f, axis)


def output_space(domain: Space, y: Tensor, scalar: bool) -> Space:
    """Where outputs live if nobody says: in the space of the inputs, with channels if there is an axis more; numbers, or vectors."""
    if isinstance(domain, Vectors):
        return Domain(0) if y.ndim == 1 else Vectors()
    one = domain.one_channel
    if scalar and y.ndim == 1:
        return Domain(0)
    return Channels(one, y.shape[1]) if y.ndim == 2 + one.ndim and one.ndim else one


def check_output(a: Tensor, y: Tensor, domain: Space, output: Space, scalar: bool) -> Nodes:
    """The grid of the outputs: that of the inputs, or any when features are numbers."""
    check_function("y", y, output)
    grid = output.grid_of(y)
    if not scalar and one_channel(grid) != one_channel(domain.grid_of(a)):
        raise RaffiaError(
            f"a and y must be on one grid; got {one_channel(domain.grid_of(a)).shape} and {one_channel(grid).shape} points"
            f"{'' if one_channel(domain.grid_of(a)).shape != one_channel(grid).shape else f' of {domain} and {output}'}. "
            "Resample one of them with raffia.resample, or use features that are numbers, such as ScalarFeatures."
        )
    return grid


def _shape(space: Space) -> str:
    if isinstance(space, Channels):
        return f"(n, {space.count}, {_shape(space.of).removeprefix('(n, ')}"
    names = {0: "(n,)"}.get(space.ndim, f"(n, {', '.join(['points'] * space.ndim)})")
    return names.replace("points", "components") if isinstance(space, Vectors) else names


def _kind(space: Space) -> str:
    if isinstance(space, Domain):
        return f"functions on a domain of dimension {space.dim}"
    if isinstance(space, Channels):
        return f"functions with {space.count} channels"
    return "vectors" if isinstance(space, Vectors) else f"functions on a {space!r}"


def check_pairs(a: Tensor, y: Tensor) -> None:
    """As many outputs as inputs."""
    if len(a) != len(y):
        raise RaffiaError(f"a and y must pair up; got {len(a)} inputs and {len(y)} outputs.")


def check_no_zero_function(y: Tensor) -> None:
    """Functions that relative errors are defined for."""
    silent = torch.nonzero(y.flatten(1).abs().amax(1) == 0)[:, 0].tolist() if y.ndim > 1 else []
    if silent:
        raise RaffiaError(
            f"ridge='auto' compares relative errors, which are undefined for y[{silent[0]}], which is zero: "
            "leave that sample out, or pass a number."
        )


def check_features(equations: Statistics) -> None:
    """Features that are finite and not all zero on the data."""
    if not isinstance(equations, NormalEquations):
        return
    total = float(equations.gram.diagonal().sum())
    if not np.isfinite(total):
        raise RaffiaError("the features are not finite on these inputs: check the hyperparameters of feature_map.")
    if total == 0:
        raise RaffiaError(
            "all features vanish on these inputs, so nothing can be learnt: check the hyperparameters of feature_map "
            "(FourierFeatures do not see the mean of a, hence no constant functions)."
        )


def check_count(name: str, value: object) -> None:
    """A positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise RaffiaError(f"{name} must be a positive integer; got {value!r}.")


def check_instance(name: str, value: object, kind: type, example: str) -> None:
    """An object of the right kind, not its class or its name."""
    if not isinstance(value, kind):
        raise RaffiaError(f"{name} must be a {kind.__name__}, such as {example}; got {value!r}.")


def check_seed(name: str, value: object) -> None:
    """An integer that seeds the counter-based generator."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**32:
        raise RaffiaError(f"{name} must be an integer from 0 to 2**32 − 1; got {value!r}.")


def check_device(device: str | torch.device | None) -> None:
    """A device that is there."""
    try:
        found = torch.device(device) if device is not None else torch.device("cpu")
    except RuntimeError:
        raise RaffiaError(f"device must be 'cpu' or 'cuda'; got {device!r}.") from None
    if found.type not in ("cpu", "cuda"):
        raise RaffiaError(f"device must be 'cpu' or 'cuda'; got {device!r}.")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise RaffiaError(f"device={str(device)!r} needs a GPU that torch can use, and there is none. Pass device='cpu'.")


def check_settings(
    n_features: int, ridge: float | str, batch_size: int | None, memory_budget: int | None, points: object
) -> None:
    """The numbers a model is made with."""
    for name, value in (("n_features", n_features), ("batch_size", batch_size), ("memory_budget", memory_budget)):
        if value is not None:
            check_count(name, value)
    if ridge != "auto" and (isinstance(ridge, (bool, str)) or not isinstance(ridge, Real) or not 0 <= ridge < float("inf")):
        raise RaffiaError(f"ridge must be a finite number >= 0, or 'auto'; got {ridge!r}.")
    if points is not None and points != "auto" and (isinstance(points, bool) or not isinstance(points, int) or points < 3):
        raise RaffiaError(f"points must be an integer >= 3, 'auto', or None for the grid of the data; got {points!r}.")


def _check_no_repeated_end(name: str, f: Tensor, axis: int) -> None:
    """Refuse samples whose last point repeats the first, unless they are flat there (a bump away from the ends)."""
    if f.shape[axis] < 4 or len(f) < 2:  # a single symmetric function may well agree at both ends
        return
    first, second, last = (f.select(axis, i) for i in (0, 1, -1))
    scale = f.abs().max()
    rounding = 1e-9 if f.dtype == torch.float64 else 1e-5
    if (first - last).abs().max() <= rounding * scale and (first - second).abs().max() > 1e-4 * scale:
        raise RaffiaError(
            f"{name} seems to repeat its first point at the right end ({f.shape[axis]} points along axis {axis}): "
            f"a periodic grid leaves the right end out. Pass {name}[{', '.join([':'] * axis + [':-1'])}]."
        )


def _conversion(name: str, values: Array) -> str:
    return f"{name}.astype(np.float64)" if isinstance(values, np.ndarray) else f"{name}.double()"
