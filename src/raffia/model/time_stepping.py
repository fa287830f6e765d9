"""A model of time steps, applied again and again: from a window of states to those that follow, and on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.data import Along, Steps
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Space
from raffia.transforms import is_abstract

SHOWN = 5  # paths that are named

Predict = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Marching:
    """The states and parameters that make up the inputs and outputs of a model of time steps.

    Inputs are the last `window` states, the oldest first, then what is fixed along a trajectory; outputs are the `horizon` states that
    follow: all of them channels, or components of vectors. States are functions with channels where they have several.
    """

    inputs: Space
    outputs: Space
    window: int = 1
    horizon: int = 1
    fixed: bool = False
    """Whether inputs have channels that stay as they are."""

    @classmethod
    def of(cls, inputs: Space, outputs: Space, steps: Steps | Along | None) -> "Marching":
        """As pairs were made of trajectories; without any, outputs are inputs again."""
        return cls(inputs, outputs) if steps is None else cls(inputs, outputs, steps.window, steps.horizon, bool(steps.fixed))

    @property
    def plain(self) -> bool:
        """Whether an output can be used as the next input without changes."""
        alike = self.inputs.has_components == self.outputs.has_components
        return alike and self.window == self.horizon == 1 and not self.fixed

    def states(self, y: Tensor) -> Tensor:
        """The states in outputs: (n, horizon, *state)."""
        if self.plain or not self.outputs.has_components:
            return y[:, None]
        apart = y.unflatten(1, (self.horizon, -1))
        return apart[:, :, 0] if apart.shape[2] == 1 else apart

    def newest(self, a: Tensor, channels: int) -> Tensor:
        """The last state of the window of inputs, where states have so many channels: (n, *state)."""
        if self.plain or not self.inputs.has_components:
            return a
        state = a[:, (self.window - 1) * channels : self.window * channels]
        return state[:, 0] if channels == 1 else state

    def channels(self, y: Tensor) -> int:
        """How many channels a state has, by outputs."""
        return y.shape[1] // self.horizon if self.outputs.has_components else 1

    def space_of(self, states: Tensor) -> Space:
        """The space that states (n, states, *state) live in."""
        one = self.outputs.one_channel
        several = self.outputs.has_components and not one.tabular and states.ndim > 2 + one.ndim
        return Channels(one, states.shape[2]) if several else one

    def next(self, a: Tensor, y: Tensor) -> Tensor:
        """The inputs after these, with the states in outputs as the newest of their window."""
        if self.plain:
            return y
        past = self.window * self.channels(y)
        known = a if self.inputs.has_components else a[:, None]
        reached = y if self.outputs.has_components else y[:, None]
        after = torch.cat([known[:, :past], reached.to(known.dtype)], 1)[:, -past:]
        whole = torch.cat([after, known[:, past:]], 1)
        return whole if self.inputs.has_components else whole[:, 0]

    def path(self, predict: Predict, a: Tensor, again: Predict | None = None) -> Iterator[Tensor]:
        """The newest state of inputs, and one after the other all that a model leads to; there is no end of them.

        What has grown beyond all numbers is NaN from the next step on, and the others go on. `again` predicts from what was predicted.
        Steps are computed in double precision, as rounding adds up; states are in the precision of the inputs.
        """
        precision, a = a.dtype, a.double()
        y = predict(a).to(a.device)  # a model may compute elsewhere
        self._check(a, y)
        yield self.newest(a, self.channels(y)).to(precision)
        while True:
            yield from self.states(y).to(precision).unbind(1)
            a = self.next(a, y)
            y = _finite(again or predict, a, y)

    def _check(self, a: Tensor, y: Tensor) -> None:
        """Refuse models that cannot go on: a next input must be like the one before."""
        channels = self.channels(y)
        count = a.shape[1] if self.inputs.has_components else 1
        fits = self.plain or (
            channels >= 1 and (count > self.window * channels if self.fixed else count == self.window * channels)
        )
        if not fits or self.next(a, y).shape != a.shape:
            raise RaffiaError(
                f"a model is applied again and again where outputs are inputs; got inputs of shape {tuple(a.shape)} and "
                f"outputs of shape {tuple(y.shape)}."
            )


class Lost:
    """Which paths are no longer finite, and from which step on."""

    def __init__(self, paths: int) -> None:
        self.paths = paths
        self.since: dict[int, int] = {}

    def look(self, step: int, state: Tensor, first: int = 0) -> Tensor:
        """Whether each path is finite in a state, (n, *state), of the paths from number `first` on."""
        finite = finite_rows(state)
        for row in (~finite).nonzero()[:, 0].tolist():
            self.since.setdefault(first + row, step)
        return finite

    @property
    def words(self) -> str:
        """What was lost; nothing where nothing was."""
        if not self.since:
            return ""
        shown = ", ".join(f"{path} (step {step})" for path, step in sorted(self.since.items())[:SHOWN])
        more = ", …" if len(self.since) > SHOWN else ""
        count = f"{len(self.since)} of {self.paths} path{'s' if self.paths > 1 else ''}"
        return f"from step {min(self.since.values())} on some are not finite, {count}: {shown}{more}"


def finite_rows(f: Tensor) -> Tensor:
    """Whether all values of each are finite: (n,)."""
    return f.isfinite().reshape(len(f), -1).all(1)


def _finite(predict: Predict, a: Tensor, before: Tensor) -> Tensor:
    """Predictions from the inputs that are finite; NaN, like those before, from the others."""
    finite = None if is_abstract(a) else finite_rows(a)
    if finite is None or finite.all():
        return predict(a).to(a.device)
    y = torch.full_like(before, torch.nan)
    if finite.any():
        y[finite] = predict(a[finite]).to(y)
    return y
