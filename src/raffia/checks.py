"""Checks of what users pass in: nothing is repaired silently, every message names the argument and the remedy."""

from numbers import Integral

import numpy as np
import torch
from torch import Tensor

from raffia.data import Array, check_dense
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Nodes, Space, Vectors
from raffia.spaces.followed import hidden
from raffia.spaces.outliers import largest


def as_tensor(name: str, values: object) -> Tensor:
    """A NumPy array or a tensor of float32 or float64, all finite, with at least one sample; derivatives follow a tensor on."""
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
    if hidden(tensor):
        return tensor
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
        shape = f"(n, {', '.join(space.axes_in_words)})" if space.ndim else "(n,)"
        raise RaffiaError(
            f"{name} must have shape {shape}, {space.in_words}; got {tuple(f.shape)}. A single one is {name}[None]."
        )
    space.grid_of(f)
    domain = space.one_channel
    for axis, kind in enumerate(domain.kinds, f.ndim - domain.ndim):
        if kind.around and not hidden(f):
            _check_no_repeated_end(name, f, axis)


def output_space(domain: Space, y: Tensor, numbers: bool) -> Space:
    """Where outputs live if nobody says: in the space of the inputs, with channels if there is an axis more.

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


def check_pairs(a: Tensor, y: Tensor) -> None:
    """As many outputs as inputs."""
    if len(a) != len(y):
        raise RaffiaError(f"a and y must pair up; got {len(a)} inputs and {len(y)} outputs.")


def check_count(name: str, value: object) -> None:
    """A positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) < 2**63:
        raise RaffiaError(f"{name} must be a positive integer below 2**63; got {value!r}.")


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


def _conversion(name: str, values: Array) -> str:
    numpy = isinstance(values, np.ndarray)
    if "complex" in str(values.dtype):  # two channels
        return f"{'np' if numpy else 'torch'}.stack([{name}.real, {name}.imag], 1)"
    return f"{name}.astype(np.float64)" if numpy else f"{name}.double()"
