"""Prescribed values at the ends of axes."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from raffia.constraints.equality import Equality, Fields, Inputs
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space


@dataclass(frozen=True, repr=False)
class BoundaryValues(Equality):
    """Prescribe the values of predictions at the boundary, exactly.

    F(a) = value at both ends of every non-periodic axis, exactly, for every input and on every grid.

    Features are multiplied by Π 4x(1 − x) over the non-periodic axes. E(value − f) is added to predictions, with E d = d − Π (1 − E_axis) d
    and (E_axis d)(x) = (1 − x) d(0) + x d(1), linear interpolation between opposite ends. Grids need nodes at the ends of these axes.

    Parameters
    ----------
    value
        A number, or "input" for the values of the input there.

    Examples
    --------
    >>> from raffia import Domain, FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import BoundaryValues
    >>> model = RandomFeatureModel(FourierFeatures(domain=Domain(1, periodic=False)), constraints=[BoundaryValues(0.0)])
    """

    value: float | Literal["input"] = 0.0
    order: ClassVar[int] = 2
    fixes_ends: ClassVar[bool] = True

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return f"values at the ends of axes are {'those of the input' if self.value == 'input' else self.value}"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Outputs need grids with nodes at ends; for the values of the input, inputs and outputs need one grid."""
        super().check(inputs, outputs)
        region = outputs.one_channel
        without = [kind.name for kind in region.kinds if not kind.periodic and (kind.before or kind.after)]
        if not region.gridded or without or all(kind.periodic for kind in region.kinds):
            where = f"axes of kind {without[0]}, which have no nodes at their ends" if without else repr(region)
            raise RaffiaError(f"constraints: {self} needs both ends of an axis, as Domain(1, periodic=False) has; got {where}.")
        if self.value == "input":
            if inputs.one_channel != region or inputs.channels != outputs.channels:
                raise RaffiaError(f"constraints: {self} needs inputs where outputs are; got {inputs} and {outputs}.")
        elif type(self.value) is str or not math.isfinite(self.value):
            raise RaffiaError(f"constraints: BoundaryValues(value=…) must be a finite number or 'input'; got {self.value!r}.")

    def apply(self, f: Fields, nodes: Nodes, given: Inputs | None, ends_fixed: bool) -> Fields:
        """By linear interpolation between opposite ends."""
        if given is None:
            return _vanishing(f, nodes)
        if self.value != "input":
            return self.value + _vanishing(f - self.value, nodes)
        if given.nodes != nodes:
            raise RaffiaError(
                f"constraints: {self} needs inputs on the grid of outputs, {nodes.shape}; got {given.nodes.shape}."
            )
        return given.a + _vanishing(f - given.a, nodes)

    def project_features(self, f: Fields, nodes: Nodes, ends_fixed: bool) -> Fields:
        """Multiply by parabolas: linear interpolation would spread boundary values into the interior and cost accuracy."""
        return f * parabolas(nodes).to(f)


def parabolas(nodes: Nodes) -> Tensor:
    """Π 4x(1 − x) over the non-periodic axes: 1 in the middle and exactly 0 at the ends."""
    profile = torch.ones((), dtype=torch.float64)
    for kind, points in zip(nodes.space.kinds, nodes.shape, strict=True):
        x = torch.arange(points, dtype=torch.float64) / (points - 1 or 1)
        profile = profile[..., None] * (torch.ones_like(x) if kind.periodic else 4 * x * (1 - x))
    return profile


def _vanishing(d: Fields, nodes: Nodes) -> Fields:
    """Π (1 − E_axis) d, exactly zero at every end."""
    for axis, (kind, points) in enumerate(zip(nodes.space.kinds, nodes.shape, strict=True), d.ndim - len(nodes.shape)):
        if not kind.periodic:
            x = (torch.arange(points, dtype=torch.float64) / (points - 1)).to(d)
            x = x.reshape(-1, *[1] * (d.ndim - 1 - axis))
            d = d - ((1 - x) * d.narrow(axis, 0, 1) + x * d.narrow(axis, points - 1, 1))
    return d
