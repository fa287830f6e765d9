"""Normalisation of inputs and outputs: part of a model and of its file, in the units of each channel, the same on every grid."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.spaces import Channels, Space, Vectors


@dataclass(frozen=True, eq=False)
class Scaling:
    """f ↦ (f − shift) / scale, with one pair of numbers for a function, for each channel, or for each component of a vector."""

    shift: Tensor
    scale: Tensor

    @classmethod
    def of(cls, f: Tensor, space: Space) -> "Scaling":
        """Mean and standard deviation over samples and points; what does not vary keeps its scale."""
        parted = isinstance(space, (Channels, Vectors))
        axes = [axis for axis in range(f.ndim) if axis != 1 or not parted]
        mean = f.double().mean(axes, keepdim=True)[0]
        deviation = (f.double() - mean).square().mean(axes, keepdim=True)[0].sqrt()
        return cls(mean.cpu(), torch.where(deviation > 0, deviation, torch.ones_like(deviation)).cpu())

    def apply(self, f: Tensor) -> Tensor:
        """Normalised."""
        return (f - self.shift.to(f)) / self.scale.to(f)

    def undo(self, f: Tensor) -> Tensor:
        """In the units of the data."""
        return f * self.scale.to(f) + self.shift.to(f)
