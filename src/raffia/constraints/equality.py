"""Linear equalities: whatever coefficients are, predictions are changed so that they hold, by as little as a formula allows.

An equality makes of any function f one that meets it, f ↦ Pf + g(a), with a linear projection P and a function g that meets it. The
features of a model are changed so before it is trained, to such that every sum of them meets it with zero for what it prescribes, so
coefficients are the best for what is predicted; and predictions are changed on the grid where they are asked for, so that there is no
input and no grid where an equality does not hold, whatever the kind of coefficients and however outputs are normalised.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.constraints.constructor_text import as_written
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space

Fields = Float[Tensor, "*batch_and_shape"]


@dataclass(frozen=True, eq=False)
class Given:
    """What an equality may look at: inputs (n, channels, *points) and where they are."""

    a: Tensor
    nodes: Nodes


class Equality(ABC):
    """L F(a) = ℓ(a), for every input and on every grid, with L linear. A new one is a frozen dataclass and three methods."""

    turn: ClassVar[int]
    """Which comes first where there are several: each must leave what earlier ones have reached."""
    at_ends: ClassVar[bool] = False
    """Whether it holds values at the ends of axes, which others must not move."""
    channels: tuple[int, ...] | None = None
    """Which channels of outputs it is about; None is all."""

    def __repr__(self) -> str:
        return as_written(self)

    @property
    def alike(self) -> bool:
        """Whether it says the same of every channel by itself: then features, which have one, can be projected before training."""
        return self.channels is None

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What holds."""

    @abstractmethod
    def check(self, inputs: Space, outputs: Space) -> None:
        """Refuse spaces where it says nothing."""

    @abstractmethod
    def met(self, f: Fields, nodes: Nodes, given: Given | None, held: bool) -> Fields:
        """Functions (*batch, channels, *points) on nodes of one channel, changed so that it holds; where nothing is `given`, with
        zero for all that it prescribes: then what meets it stays. Values at the ends of axes stay, where they are `held`."""

    def shaped(self, f: Fields, nodes: Nodes, held: bool) -> Fields:
        """Features that meet it with zero for all that it prescribes: projected, unless there is a better way."""
        return self.met(f, nodes, None, held)


def imposed(
    equalities: Sequence[Equality], f: Fields, nodes: Nodes, a: Tensor | None = None, at: Nodes | None = None
) -> Fields:
    """Outputs (*batch, *nodes) that meet all equalities for inputs `a`, given `at` other nodes; without inputs, their projection."""
    channels, held = _channels(f, nodes), any(equality.at_ends for equality in equalities)
    given = None if a is None or at is None else Given(_channels(a.to(f), at), at.one_channel)
    for equality in _in_turn(equalities):
        channels = equality.met(channels, nodes.one_channel, given, held)
    return channels.reshape(f.shape)


def shaped(equalities: Sequence[Equality], f: Fields, nodes: Nodes) -> Fields:
    """Features (*batch, *nodes) whose sums meet all equalities with zero for what they prescribe."""
    channels, held = _channels(f, nodes), any(equality.at_ends for equality in equalities)
    for equality in _in_turn(equalities):
        channels = equality.shaped(channels, nodes.one_channel, held)
    return channels.reshape(f.shape)


def _in_turn(equalities: Sequence[Equality]) -> list[Equality]:
    return sorted(equalities, key=lambda equality: equality.turn)


def _channels(f: Tensor, nodes: Nodes) -> Tensor:
    """(*batch, channels, *points), one channel where there are no others."""
    return f.reshape(*f.shape[: f.ndim - len(nodes.shape)], -1, *nodes.one_channel.shape)


def chosen(f: Tensor, nodes: Nodes, channels: Sequence[int] | None) -> Tensor:
    """Some channels of functions (*batch, channels, *points)."""
    axis = f.ndim - 1 - len(nodes.shape)
    return f if channels is None else f.index_select(axis, torch.tensor(channels, device=f.device))


def put(f: Tensor, part: Tensor, nodes: Nodes, channels: Sequence[int] | None) -> Tensor:
    """The functions with other values in these channels."""
    axis = f.ndim - 1 - len(nodes.shape)
    return part if channels is None else f.index_copy(axis, torch.tensor(channels, device=f.device), part)


def check_functions(who: object, name: str, space: Space) -> None:
    """Refuse numbers and vectors."""
    if space.tabular or space.dim == 0:
        raise RaffiaError(f"constraints: {who} is about functions, and {name} are {'vectors' if space.tabular else 'numbers'}.")


def check_channels(who: object, channels: tuple[int, ...] | None, name: str, space: Space) -> None:
    """Refuse channels that are not there."""
    if channels is not None and (not channels or not set(channels) <= set(range(space.channels))):
        raise RaffiaError(
            f"constraints: {who} names channels {channels}, and {name} have those from 0 to {space.channels - 1}."
        )
