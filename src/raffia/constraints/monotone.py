"""Outputs that are monotone along an axis, or in a parameter."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.constraints.inequality import POINTS, Collocation, Inequality, elements_of, spread
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space

STEPS = 20
"""Steps between the least and the greatest value of a parameter."""


@dataclass(frozen=True, repr=False)
class MonotoneAlong(Inequality):
    """Make predictions rise, or fall, along an axis of the grid, at collocation points of the training inputs.

    A collocation point is a pair of neighbouring nodes.

    Parameters
    ----------
    axis
        The index of the axis, which must not be periodic.
    increasing
        Whether predictions rise.
    points
        The number of collocation points, spread evenly over the training inputs and their nodes.
    channels
        Indices of output channels; None is all.

    Examples
    --------
    >>> from raffia import Domain, FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import MonotoneAlong
    >>> model = RandomFeatureModel(FourierFeatures(domain=Domain(1, periodic=False)), ridge=1e-6, constraints=[MonotoneAlong(0)])
    """

    axis: int = 0
    increasing: bool = True
    points: int = POINTS
    channels: tuple[int, ...] | None = None

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return f"values go {'up' if self.increasing else 'down'} along axis {self.axis}, from node to node"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Outputs must be on grids that are not periodic along this axis."""
        super().check(inputs, outputs)
        kinds = outputs.one_channel.kinds
        if not outputs.one_channel.gridded or self.axis not in range(len(kinds)) or kinds[self.axis].periodic:
            raise RaffiaError(f"constraints: {self} needs a grid with an axis {self.axis} that is not periodic; got {outputs}.")

    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """Differences of neighbouring values."""
        shape = nodes.one_channel.shape
        elements = elements_of(nodes, self.channels).reshape(-1, *shape)
        last = shape[self.axis] - 1
        lower, upper = (elements.narrow(1 + self.axis, first, last).flatten() for first in (0, 1))
        where = spread(self.points, len(inputs) * len(lower))
        sample, pair = where // len(lower), where % len(lower)
        more, less = (upper, lower) if self.increasing else (lower, upper)
        return Collocation(inputs, sample, more[pair], low=0.0, less_sample=sample, less_element=less[pair])


@dataclass(frozen=True, repr=False)
class MonotoneIn(Inequality):
    """Make predictions rise, or fall, in one parameter, for vectors as inputs.

    The range of the parameter in the training inputs is divided into twenty steps. A collocation point is one step, with the
    other components of one training input, and one output value. That value does not decrease in the step.

    Parameters
    ----------
    parameter
        The index of the component.
    increasing
        Whether predictions rise.
    points
        The number of collocation points, spread evenly over the training inputs and their nodes.
    channels
        Indices of output channels; None is all.

    Examples
    --------
    >>> from raffia import RandomFeatureModel, ScalarFeatures, Vectors
    >>> from raffia.constraints import MonotoneIn
    >>> model = RandomFeatureModel(ScalarFeatures(domain=Vectors()), ridge=1e-6, constraints=[MonotoneIn(0)])
    """

    parameter: int = 0
    increasing: bool = True
    points: int = POINTS
    channels: tuple[int, ...] | None = None

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return f"values go {'up' if self.increasing else 'down'} in parameter {self.parameter}, in {STEPS} steps over its range"

    def check(self, inputs: Space, outputs: Space) -> None:
        """Inputs must be vectors."""
        super().check(inputs, outputs)
        if not inputs.tabular or self.parameter < 0:
            raise RaffiaError(
                f"constraints: {self} needs inputs that are vectors, and the number of a component; got {inputs}."
            )

    def collocation(self, inputs: Tensor, nodes: Nodes) -> Collocation:
        """Return the pairs of inputs, a step of the parameter apart, at which outputs are compared."""
        if self.parameter >= inputs.shape[1]:
            raise RaffiaError(f"constraints: {self} needs inputs with that component; they have {inputs.shape[1]}.")
        elements = elements_of(nodes, self.channels)
        where = spread(self.points, len(inputs) * STEPS * len(elements))
        element, step = elements[where % len(elements)], where // len(elements) % STEPS
        before = inputs[(where // (len(elements) * STEPS)).to(inputs.device)]
        after, values = before.clone(), inputs[:, self.parameter]
        ends = torch.linspace(0, 1, STEPS + 1, dtype=torch.float64).to(inputs)
        ladder = values.min() + (values.max() - values.min()) * ends
        before[:, self.parameter], after[:, self.parameter] = ladder[step], ladder[step + 1]
        low, high = torch.arange(len(where)), torch.arange(len(where)) + len(where)
        more, less = (high, low) if self.increasing else (low, high)
        return Collocation(torch.cat([before, after]), more, element, low=0.0, less_sample=less, less_element=element)
