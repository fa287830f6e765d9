"""Trajectories in memory, and the pairs of states that are made of them."""

from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from raffia.data.along import Along
from raffia.data.pace import LOOKED_AT, STATES, pace_notes, unequal
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Space, Vectors
from raffia.spaces.axes import equispaced
from raffia.validation import check_dense


@dataclass(frozen=True, eq=False)
class Made:
    """Pairs that were made of trajectories, the spaces of their inputs and outputs, and where they lie along them."""

    a: Tensor
    y: Tensor
    inputs: Space
    output: Space | None
    along: Along


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Trajectories (n, states, *state) of a `space`, with numbers (n, numbers) that hold for the whole of each."""

    u: Float[Tensor, "n states ..."]
    space: Space
    fixed: Float[Tensor, "n numbers"]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, u: Any, space: Any, parameters: Any = None, times: Any = None) -> "Trajectories":
        """As they are given: NumPy arrays or tensors, all finite."""
        values = _numbers("u", u)
        _check_axes(values, space)
        finite = torch.isfinite(values).flatten(2).all(2)
        if not finite.all():
            one, state = torch.nonzero(~finite)[0].tolist()
            raise RaffiaError(
                f"u must be finite; {int((~finite).any(1).sum())} of {len(u)} trajectories hold NaN or infinite values, the first in "
                f"u[{one}, {state}]. Leave those trajectories out, or take the parts before and after as trajectories of their own."
            )
        fixed = values.new_zeros(len(values), 0) if parameters is None else _fixed(parameters, values)
        return cls(values, space, fixed, () if times is None else (_even(times, values.shape[1]),))

    def pace_notes(self, stride: int) -> list[str]:
        """Return notes on how states change from one to the next, and how much of that is noise."""
        return [*self.notes, *pace_notes(_looked_at(self.u), stride)]

    def pairs(self, stride: int, window: int, horizon: int) -> Made:
        """Some states in a row, with what is fixed, and those that follow, from every state that has them."""
        n, states = self.u.shape[:2]
        needed = 1 + (window + horizon - 1) * stride
        if states < needed:
            raise RaffiaError(
                f"u has {states} state{'s' if states > 1 else ''} along axis 1, and pairs need {needed} or more. They have window={window} "
                f"(--window), horizon={horizon} (--horizon) and stride={stride} (--stride): make one of these smaller. Axes are "
                f"(trajectories, states, *grid); got {tuple(self.u.shape)}."
            )
        each = states - needed + 1
        parts = [self._from(step * stride, each) for step in range(window + horizon)]
        grid = parts[0].shape[2:]
        held = self.fixed.repeat_interleave(each, 0).reshape(n * each, -1, *(1 for _ in grid)).expand(-1, -1, *grid)
        a, y = torch.cat([*parts[:window], held.to(self.u.dtype)], 1), torch.cat(parts[window:], 1)
        inputs, output = (_space(self.space, f.shape[1]) for f in (a, y))
        a, y = (f if space.has_components else f[:, 0] for f, space in ((a, inputs), (y, output)))
        along = replace(Along.all_of(each, range(n * each)), stride=stride, window=window, horizon=horizon, fixed=held.shape[1])
        return Made(a, y, inputs, None if output == inputs != Vectors() else output, along)

    def _from(self, offset: int, each: int) -> Tensor:
        """So many states of each trajectory from one on, one after the other: (pairs, channels, *grid)."""
        states = self.u[:, offset : offset + each].flatten(0, 1)
        return states if self.space.has_components else states[:, None]


def check_steps(stride: object, window: object, horizon: object) -> None:
    """Whole numbers, of 1 or more."""
    for name, value in (("stride", stride), ("window", window), ("horizon", horizon)):
        try:
            count = index(value)  # type: ignore[arg-type]
        except TypeError:
            count = 0
        if type(value) is bool or count < 1:
            raise RaffiaError(f"{name} must be 1 or more, a whole number; got {value!r}.")


def widened(a: Tensor, space: Space, along: Along) -> tuple[Tensor, Space, Along]:
    """Inputs of the pairs that have another a stride before them, with its oldest state before theirs; their space, and where they lie."""
    rows, before = along.preceded()
    whole = a if space.has_components else a[:, None]
    channels = (whole.shape[1] - along.fixed) // along.window
    wide = torch.cat([whole[before, :channels], whole[rows]], 1)
    return wide, _space(space, wide.shape[1]), replace(along.part(before), window=along.window + 1, said=True)


def _space(states: Space, count: int) -> Space:
    """Where so many channels of such states live."""
    if states.tabular:
        return Vectors()
    return states.one_channel if count == 1 and not states.has_components else Channels(states.one_channel, count)


def _numbers(name: str, values: Any) -> Tensor:
    check_dense(name, values)
    if np.ma.isMaskedArray(values):
        raise RaffiaError(f"{name} must not be a masked array: leave out what is masked, and pass a plain array.")
    try:
        found = values if torch.is_tensor(values) else torch.from_numpy(_native(np.asarray(values)))
    except (TypeError, ValueError, RuntimeError):
        raise RaffiaError(f"{name} must be a NumPy array or a tensor; got {type(values).__name__}.") from None
    if found.dtype not in (torch.float32, torch.float64):
        raise RaffiaError(f"{name} must be float32 or float64; got {found.dtype}. Convert it, as in np.asarray({name}, float).")
    return found


def _native(values: np.ndarray) -> np.ndarray:
    """The same numbers in the order of bytes and rows that tensors have."""
    return np.require(values, values.dtype.newbyteorder("="), ["C", "W"])


def _check_axes(u: Tensor, space: Any) -> None:
    """Trajectories, states, and what a state has."""
    if not isinstance(space, Space):
        raise RaffiaError(f"domain must be the space of a state, such as Domain(1) or Vectors(); got {space!r}.")
    if space.ndim == 0:
        raise RaffiaError("domain must be a space of functions or vectors: numbers are Vectors(), with u[..., None].")
    wanted = f"(trajectories, states, {', '.join(space.axes_in_words)})"
    if u.ndim != 2 + space.ndim:
        then = ""
        if u.ndim == 1 + space.ndim:
            then = " One trajectory is u[None]."
        elif u.ndim == 3 + space.ndim and not space.has_components:
            then = f" If axis 2 counts channels, pass domain=Channels({space!r}, {u.shape[2]})."
        raise RaffiaError(f"u must have shape {wanted}; got {tuple(u.shape)}.{then}")
    if 0 in u.shape:
        raise RaffiaError(f"u must hold states; got shape {tuple(u.shape)}, and {wanted} are its axes.")
    try:
        space.grid_of(u[0])
    except RaffiaError as error:
        raise RaffiaError(f"u must hold states of {space} along its last axes, {wanted}: {error}") from None


def _fixed(parameters: Any, u: Tensor) -> Tensor:
    values = _numbers("parameters", parameters)
    if values.ndim not in (1, 2) or len(values) != len(u):
        raise RaffiaError(
            f"parameters must hold for whole trajectories, shape ({len(u)},) or ({len(u)}, numbers); got {tuple(values.shape)}."
        )
    if not torch.isfinite(values).all():
        raise RaffiaError("parameters must be finite; some are NaN or infinite.")
    return values.reshape(len(u), -1)


def _even(times: Any, states: int) -> str:
    """What times say of the steps; steps of unequal length are refused."""
    try:
        t = np.asarray(times, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise RaffiaError(f"times must be numbers, one for each of {states} states; got {times!r}.") from None
    if len(t) != states:
        raise RaffiaError(f"times must be one for each of {states} states, along axis 1 of u; got {len(t)}.")
    if states > 1 and not (np.isfinite(t).all() and equispaced(t)):
        raise RaffiaError(unequal("times", t, "u"))
    return f"a step is {float(t[1] - t[0]):.6g}." if states > 1 else "there is one time."


def _looked_at(u: Tensor) -> np.ndarray:
    """Return the first states of trajectories spread over all, (n, states, values)."""
    count = max(1, LOOKED_AT // max(1, u[0, :STATES].numel()))
    some = u[:: -(-len(u) // count), :STATES].detach().cpu().double()
    return some.flatten(2).numpy()
