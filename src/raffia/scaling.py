"""Normalisation of inputs and outputs: part of a model and of its file, in the units of each channel, the same on every grid."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.spaces import Channels, Space, Vectors

CONSTANT = 1e-6  # deviations that are less of the mean than this are rounding, and must not be divided by


@dataclass(frozen=True, eq=False)
class Scaling:
    """f ↦ (f − shift) / scale, with one pair of numbers for a function, for each channel, or for each component of a vector."""

    shift: Tensor
    scale: Tensor

    @classmethod
    def of(cls, f: Tensor, space: Space) -> "Scaling":
        """Mean and standard deviation over samples and points; what does not vary keeps its scale."""
        return Moments.of(f, space).scaling

    def apply(self, f: Tensor) -> Tensor:
        """Normalised."""
        return (f - self.shift.to(f)) / self.scale.to(f)

    def undo(self, f: Tensor) -> Tensor:
        """In the units of the data."""
        return f * self.scale.to(f) + self.shift.to(f)


@dataclass(frozen=True, eq=False)
class Moments:
    """How many numbers, their mean and their sum of squared deviations from it; moments of disjoint samples add."""

    count: int
    mean: Tensor
    deviations: Tensor

    @classmethod
    def of(cls, f: Tensor, space: Space) -> "Moments":
        """Over samples and points, for each channel or component."""
        parted = isinstance(space, (Channels, Vectors))
        axes = [axis for axis in range(f.ndim) if axis != 1 or not parted]
        mean = f.double().mean(axes, keepdim=True)[0]
        deviations = (f.double() - mean).square().sum(axes, keepdim=True)[0]
        return cls(f.numel() // mean.numel(), mean.cpu(), deviations.cpu())

    def __add__(self, other: "Moments") -> "Moments":
        """Of all samples together, without cancellation."""
        count, apart = self.count + other.count, other.mean - self.mean
        deviations = self.deviations + other.deviations + apart.square() * (self.count * other.count / count)
        return Moments(count, self.mean + apart * (other.count / count), deviations)

    @property
    def scaling(self) -> Scaling:
        """Mean 0 and standard deviation 1; what does not vary keeps its scale."""
        deviation = (self.deviations / self.count).sqrt()
        varies = deviation > CONSTANT * self.mean.abs()
        return Scaling(self.mean, torch.where(varies & (deviation > 0), deviation, torch.ones_like(deviation)))
