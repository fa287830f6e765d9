"""Linear equalities: predictions are changed so that they hold exactly, for any coefficients.

An equality turns any function f into one that satisfies it, f ↦ Pf + g(a), with a linear projection P and a function g(a) that satisfies
it. The features are projected before training, so every sum of them satisfies the equality with zero on the right-hand side. The
coefficients are therefore optimal for what is predicted. Predictions are changed on the grid where they are evaluated, so the equality
holds for every input and on every grid, for any kind of coefficients and normalisation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space


def constructor_text(constraint: Any) -> str:
    """The constructor call without default arguments, such as `Bounded(high=0.5)`."""
    values = {field.name: getattr(constraint, field.name) for field in fields(constraint)}
    arguments = [f"{field.name}={values[field.name]!r}" for field in fields(constraint) if values[field.name] != field.default]
    return f"{type(constraint).__name__}({', '.join(arguments)})"


Fields = Float[Tensor, "*batch_and_shape"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of predictions, (n, channels, *points), and their nodes."""

    a: Tensor
    nodes: Nodes


class Equality(ABC):
    """L F(a) = ℓ(a) for every input and on every grid, with L linear. A new one is a frozen dataclass with three methods."""

    order: ClassVar[int]
    """The position among several equalities: each must preserve those before it."""
    fixes_ends: ClassVar[bool] = False
    """Whether it prescribes values at the ends of axes, which other equalities must not change."""
    mixes_channels: ClassVar[bool] = False
    """Whether a channel of what satisfies it depends on the others."""
    channels: tuple[int, ...] | None = None
    """The channels of the outputs that it constrains; None is all."""

    def __repr__(self) -> str:
        return constructor_text(self)

    @property
    def channelwise(self) -> bool:
        """Whether it constrains every channel separately and equally. Then features, which have one channel, can be projected."""
        return self.channels is None and not self.mixes_channels

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The statement in words."""

    def check(self, inputs: Space, outputs: Space) -> None:
        """Refuse spaces to which it does not apply: outputs must be functions that have these channels."""
        check_functions(self, "outputs", outputs, self.channels)

    @abstractmethod
    def apply(self, f: Fields, nodes: Nodes, given: Inputs | None, ends_fixed: bool) -> Fields:
        """Change functions (*batch, channels, *points), those of its channels, so that the equality holds for the inputs `given`.

        Without inputs, the prescribed values are zero. With `ends_fixed`, values at the ends of axes do not change.
        """

    def project_features(self, f: Fields, nodes: Nodes, ends_fixed: bool) -> Fields:
        """Change features so that they satisfy the equality with zero prescribed values."""
        return self.apply(f, nodes, None, ends_fixed)


def impose(equalities: Sequence[Equality], f: Fields, nodes: Nodes, a: Tensor | None = None, at: Nodes | None = None) -> Fields:
    """Change outputs (*batch, *nodes) so that all equalities hold for inputs `a` on the nodes `at`; without inputs, project them."""
    one, given = nodes.one_channel, None if a is None or at is None else Inputs(_channels(a.to(f), at), at.one_channel)
    return _changed(equalities, f, nodes, lambda equality, part, ends_fixed: equality.apply(part, one, given, ends_fixed))


def project_features(equalities: Sequence[Equality], f: Fields, nodes: Nodes) -> Fields:
    """Change features (*batch, *nodes) so that all sums of them satisfy all equalities with zero prescribed values."""
    one = nodes.one_channel
    return _changed(equalities, f, nodes, lambda equality, part, ends_fixed: equality.project_features(part, one, ends_fixed))


def _changed(
    equalities: Sequence[Equality], f: Fields, nodes: Nodes, change: Callable[[Equality, Tensor, bool], Tensor]
) -> Fields:
    """Apply a change for each equality, in their order, to the channels that it constrains."""
    channels, ends_fixed = _channels(f, nodes), any(equality.fixes_ends for equality in equalities)
    axis = channels.ndim - 1 - len(nodes.one_channel.shape)
    for equality in sorted(equalities, key=lambda equality: equality.order):
        part = change(equality, select(channels, nodes.one_channel, equality.channels), ends_fixed)
        index = equality.channels
        channels = part if index is None else channels.index_copy(axis, torch.tensor(index, device=f.device), part)
    return channels.reshape(f.shape)


def _channels(f: Tensor, nodes: Nodes) -> Tensor:
    """Reshape to (*batch, channels, *points), with one channel if there are none."""
    return f.reshape(*f.shape[: f.ndim - len(nodes.shape)], -1, *nodes.one_channel.shape)


def select(f: Tensor, nodes: Nodes, channels: Sequence[int] | None) -> Tensor:
    """Some channels of functions (*batch, channels, *points)."""
    axis = f.ndim - 1 - len(nodes.shape)
    return f if channels is None else f.index_select(axis, torch.tensor(channels, device=f.device))


def check_functions(who: object, name: str, space: Space, channels: tuple[int, ...] | None) -> None:
    """Refuse scalars and vectors, and channels that do not exist."""
    if space.tabular or space.dim == 0:
        raise RaffiaError(
            f"constraints: {who} constrains functions, and {name} are {'vectors' if space.tabular else 'scalars'}."
        )
    check_channels(who, channels, name, space)


def check_channels(who: object, channels: tuple[int, ...] | None, name: str, space: Space) -> None:
    """Refuse channels that do not exist."""
    if channels is not None and (not channels or not set(channels) <= set(range(space.channels))):
        raise RaffiaError(f"constraints: {who} names channels {channels}; {name} have channels 0 to {space.channels - 1}.")
