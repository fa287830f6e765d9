"""Normalisation of inputs and outputs: part of a model and of its file, in the units of each channel, the same on every grid."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.spaces import Space

ROUNDING = 64.0  # a deviation below so many roundings of the mean is rounding; never divide by it


@dataclass(frozen=True, eq=False)
class Scaling:
    """f ↦ (f − shift) / scale, with one pair of numbers for a function, for each channel, or for each component of a vector.

    `Scaling()` changes nothing.
    """

    shift: Tensor | None = None
    scale: Tensor | None = None

    @classmethod
    def of(cls, f: Tensor, space: Space) -> "Scaling":
        """Mean and standard deviation over samples and points; what does not vary keeps its scale."""
        return Moments.of(f, space).scaling

    def apply(self, f: Tensor) -> Tensor:
        """Normalised."""
        return f if self.shift is None or self.scale is None else (f - self.shift.to(f)) / self.scale.to(f)

    def undo(self, f: Tensor) -> Tensor:
        """In the units of the data."""
        return f if self.shift is None else self.stretch(f) + self.shift.to(f)

    def stretch(self, f: Tensor) -> Tensor:
        """Differences, in the units of the data."""
        return f if self.scale is None else f * self.scale.to(f)

    @property
    def offset(self) -> Tensor | None:
        """What was subtracted, in normalised units."""
        return None if self.shift is None or self.scale is None else self.shift / self.scale


@dataclass(frozen=True, eq=False)
class Moments:
    """How many elements, their mean and their sum of squared deviations from it; moments of disjoint samples add."""

    count: int
    mean: Tensor
    deviations: Tensor
    precision: float
    """The rounding of the values, relative to their size."""

    @classmethod
    def of(cls, f: Tensor, space: Space) -> "Moments":
        """Over samples and points, for each channel or component."""
        axes = [axis for axis in range(f.ndim) if axis != 1 or not space.has_components]
        mean = f.double().mean(axes, keepdim=True)[0]
        deviations = (f.double() - mean).square().sum(axes, keepdim=True)[0]
        return cls(f.numel() // mean.numel(), mean.cpu(), deviations.cpu(), torch.finfo(f.dtype).eps)

    def __add__(self, other: "Moments") -> "Moments":
        """Of all samples together, without cancellation."""
        count, apart = self.count + other.count, other.mean - self.mean
        deviations = self.deviations + other.deviations + apart.square() * (self.count * other.count / count)
        return Moments(count, self.mean + apart * (other.count / count), deviations, max(self.precision, other.precision))

    @property
    def scaling(self) -> Scaling:
        """Mean 0 and standard deviation 1; what does not vary keeps its scale."""
        deviation = (self.deviations / self.count).sqrt()
        varies = deviation > ROUNDING * self.precision * self.mean.abs()
        return Scaling(self.mean, torch.where(varies & (deviation > 0), deviation, torch.ones_like(deviation)))
