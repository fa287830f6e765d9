"""Prescribed integrals of outputs, and conservation of the integral of inputs."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from raffia.constraints.boundary import parabolas
from raffia.constraints.equality import Equality, Fields, Inputs, check_functions, select
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space


@dataclass(frozen=True, repr=False)
class Integral(Equality):
    """Prescribe the integral of predictions, ∫ F(a) dx = value, exactly, for every input and on every grid.

    F = f + (value − ∫f) / ∫w · w with w = 1. If boundary values are prescribed too, w is a product of parabolas that vanish
    there.

    Parameters
    ----------
    value
        One number, or one for each of the channels; 0 is zero mean.
    channels
        Indices of output channels; None is all.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import Integral
    >>> model = RandomFeatureModel(FourierFeatures(), ridge=1e-6, constraints=[Integral(0.0)])
    """

    value: float | tuple[float, ...] = 0.0
    channels: tuple[int, ...] | None = None
    order: ClassVar[int] = 3

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return f"the integral{_of(self.channels)} is {self.value}"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Also refuse values that are not one for each channel."""
        super().check(inputs, outputs)
        count = outputs.channels if self.channels is None else len(self.channels)
        values = _numbers(self.value)
        if len(values) not in (1, count) or not all(math.isfinite(value) for value in values):
            raise RaffiaError(f"constraints: {self} needs one finite value, or {count}, one for each channel.")

    def apply(self, f: Fields, nodes: Nodes, given: Inputs | None, ends_fixed: bool) -> Fields:
        """Add a multiple of w."""
        wanted = [0.0] if given is None else _numbers(self.value)
        return _with_integral(f, torch.tensor(wanted, dtype=torch.float64).to(f), nodes, ends_fixed)


@dataclass(frozen=True, repr=False)
class Conserved(Equality):
    """Give predictions the integral of the input, exactly: conservation of mass, momentum or a mean.

    ∫ F(a) dx = ∫ a dx for every input and on every grid: conservation of mass, momentum or a mean.

    Parameters
    ----------
    channels
        Indices of output channels; None is all.
    of
        The input channel whose integral each of them has; None is the same index. Each integral uses the quadrature of its own grid.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import Conserved
    >>> model = RandomFeatureModel(FourierFeatures(), constraints=[Conserved()])
    """

    channels: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    order: ClassVar[int] = 3

    @property
    def in_words(self) -> str:
        """The statement in words."""
        source = "" if self.of is None else f"{_of(self.of)[3:]} of"
        return f"the integral{_of(self.channels)} is that of{source} the input"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Both must be functions with these channels."""
        check_functions(self, "inputs", inputs, self._sources)
        super().check(inputs, outputs)
        count = outputs.channels if self.channels is None else len(self.channels)
        if count != (inputs.channels if self._sources is None else len(self._sources)):
            raise RaffiaError(
                f"constraints: {self} needs as many channels of inputs as of outputs; got {inputs.channels} and {outputs.channels}. "
                "Name those that are conserved, Conserved(channels=(0,)), and those of inputs where they are others, of=(1,)."
            )

    @property
    def _sources(self) -> tuple[int, ...] | None:
        """The channels of inputs."""
        return self.channels if self.of is None else self.of

    def apply(self, f: Fields, nodes: Nodes, given: Inputs | None, ends_fixed: bool) -> Fields:
        """Add a multiple of w."""
        wanted = torch.zeros(1).to(f) if given is None else integrals(select(given.a, given.nodes, self._sources), given.nodes)
        return _with_integral(f, wanted, nodes, ends_fixed)


def integrals(f: Fields, nodes: Nodes) -> Tensor:
    """∫ f dx by the quadrature of the nodes."""
    flat = f.flatten(f.ndim - len(nodes.shape))
    root = nodes.root_weights.to(flat)
    return flat.sum(-1) * root.square() if root.numel() == 1 else flat @ root.square()


def _with_integral(f: Fields, wanted: Tensor, nodes: Nodes, ends_fixed: bool) -> Fields:
    profile = (parabolas(nodes) if ends_fixed else torch.ones(nodes.shape)).to(f)
    if not profile.any():
        raise RaffiaError(f"constraints: fixed ends and an integral need 3 points or more along an axis; got {nodes.shape}.")
    lacking = (wanted - integrals(f, nodes)) / integrals(profile, nodes)
    return f + lacking.reshape(*lacking.shape, *[1] * len(nodes.shape)) * profile


def _of(channels: tuple[int, ...] | None) -> str:
    return "" if channels is None else f" of channel {', '.join(map(str, channels))}"


def _numbers(value: float | tuple[float, ...]) -> list[float]:
    return torch.as_tensor(value, dtype=torch.float64).reshape(-1).tolist()
