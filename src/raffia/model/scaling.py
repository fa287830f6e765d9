"""Normalisation of inputs and outputs, for each channel. It is part of a model and of its file, and the same on every grid."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.constraints import Equality, impose
from raffia.model.model_defaults import ROUNDING
from raffia.spaces import Nodes, Space, interpolate


@dataclass(frozen=True, eq=False)
class Scaling:
    """f ↦ (f − shift) / scale, with one shift and scale for a function, for each channel, or for each component of a vector.

    With `nodes`, the shift is a function on these nodes; it is interpolated to the nodes of f. `Scaling()` is the identity.
    """

    shift: Tensor | None = None
    scale: Tensor | None = None
    nodes: Nodes | None = None

    @classmethod
    def of(cls, f: Tensor, space: Space, function: bool = False) -> "Scaling":
        """Shift by the mean, or with `function` by the mean function, and scale by the standard deviation; constants keep scale 1."""
        return Moments.of(f, space, function).scaling

    def apply(self, f: Tensor) -> Tensor:
        """Normalise f."""
        return f if self.shift is None or self.scale is None else (f - self._shift_for(f)) / self.scale.to(f)

    def undo(self, f: Tensor) -> Tensor:
        """Convert normalised values to the units of the data."""
        return f if self.shift is None else self.stretch(f) + self._shift_for(f)

    def stretch(self, f: Tensor) -> Tensor:
        """Convert normalised differences to the units of the data."""
        return f if self.scale is None else f * self.scale.to(f)

    @property
    def offset(self) -> Tensor | None:
        """The shift in normalised units."""
        return None if self.shift is None or self.scale is None else self.shift / self.scale

    def elsewhere(self, space: Space) -> "Scaling":
        """The same normalisation for functions on a mesh instead of a grid, or on a grid instead of a mesh."""
        if self.shift is None or self.nodes is None:
            return self
        there = self.nodes.with_channels(space.as_fine_as(self.nodes.one_channel))
        return Scaling(interpolate(self.shift, self.nodes, there), self.scale, there)

    def projected(self, equalities: tuple[Equality, ...], nodes: Nodes) -> "Scaling":
        """With a shift that satisfies equalities; a constant shift stays constant."""
        if self.shift is None or not equalities:
            return self
        kept = impose(equalities, self.shift.expand(nodes.shape).contiguous(), nodes)
        if self.nodes is None:
            axes = [axis for axis, size in enumerate(self.shift.shape) if size == 1]
            kept = kept.mean(axes, keepdim=True)
        return Scaling(kept, self.scale, self.nodes)

    def _shift_for(self, f: Tensor) -> Tensor:
        assert self.shift is not None
        return (
            self.shift.to(f) if self.nodes is None else interpolate(self.shift, self.nodes, self.nodes.space.grid_of(f)).to(f)
        )


@dataclass(frozen=True, eq=False)
class Moments:
    """The number of elements, their mean and their sum of squared deviations from it. Moments of disjoint samples add.

    There is one mean for each channel or component or, with `nodes`, a mean function on them.
    """

    count: int
    mean: Tensor
    deviations: Tensor
    precision: float
    """The relative rounding error of the values."""
    nodes: Nodes | None = None

    @classmethod
    def of(cls, f: Tensor, space: Space, function: bool = False) -> "Moments":
        """Over samples and points, for each channel or component; with `function`, over samples at each point."""
        nodes = space.grid_of(f) if function and not space.tabular and space.ndim else None
        axes = [axis for axis in range(f.ndim) if axis == 0 or (nodes is None and (axis != 1 or not space.has_components))]
        mean = f.double().mean(axes, keepdim=True)[0]
        deviations = (f.double() - mean).square().sum(axes, keepdim=True)[0]
        return cls(f.numel() // mean.numel(), mean.cpu(), deviations.cpu(), torch.finfo(f.dtype).eps, nodes)

    def __add__(self, other: "Moments") -> "Moments":
        """The moments of all samples together, without cancellation."""
        count, apart = self.count + other.count, other.mean - self.mean
        deviations = self.deviations + other.deviations + apart.square() * (self.count * other.count / count)
        mean = self.mean + apart * (other.count / count)
        return Moments(count, mean, deviations, max(self.precision, other.precision), self.nodes)

    @property
    def scaling(self) -> Scaling:
        """The normalisation to mean 0 and standard deviation 1; constants keep scale 1."""
        squares, size = self.deviations / self.count, self.mean.square()
        if self.nodes is not None:  # one scale for all points of a channel
            axes = tuple(range(1 if self.nodes.has_components else 0, squares.ndim))
            squares, size = squares.mean(axes, keepdim=True), size.mean(axes, keepdim=True)
        deviation = squares.sqrt()
        varies = deviation > ROUNDING * self.precision * size.sqrt()
        return Scaling(self.mean, torch.where(varies & (deviation > 0), deviation, torch.ones_like(deviation)), self.nodes)
