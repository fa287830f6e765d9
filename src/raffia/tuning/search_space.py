"""The numbers of a search as one vector, on logarithmic scales where their ranges say so."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import Range


@dataclass(frozen=True)
class SearchSpace:
    """Named ranges laid out one after another: u ∈ R^size, between `low` and `high`."""

    ranges: dict[str, Range]

    @property
    def size(self) -> int:
        """How many numbers there are; a vector counts for as many as it has."""
        return sum(r.count or 1 for r in self.ranges.values())

    @property
    def low(self) -> Float[Tensor, "size"]:
        """The lower ends."""
        return self.line({name: r.low for name, r in self.ranges.items()})

    @property
    def high(self) -> Float[Tensor, "size"]:
        """The upper ends."""
        return self.line({name: r.high for name, r in self.ranges.items()})

    def line(self, values: dict[str, Any]) -> Float[Tensor, "size"]:
        """u for given values; one number serves a whole vector."""
        parts = []
        for name, r in self.ranges.items():
            value = torch.as_tensor(values[name], dtype=torch.float64).detach().cpu()
            parts.append((value.log() if r.log else value).expand(r.count or 1).flatten())
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.float64)

    def values(self, u: Float[Tensor, "size"]) -> dict[str, Tensor]:
        """The values at u, differentiable."""
        found, start = {}, 0
        for name, r in self.ranges.items():
            part = u[start : start + (r.count or 1)]
            start += r.count or 1
            part = part.exp() if r.log else part
            found[name] = part if r.count else part[0]
        return found

    def numbers(self, u: Float[Tensor, "size"]) -> dict[str, float | Tensor]:
        """The values at u as floats, and vectors as tensors on the CPU: what a configuration holds."""
        return {
            name: value.detach().cpu() if self.ranges[name].count else float(value)
            for name, value in self.values(u.detach()).items()
        }

    def inside(self, name: str, value: Any) -> Any:
        """The value, or the middle of the range for what is outside it or no number at all."""
        r = self.ranges[name]
        if r.count is None:
            number = float(value) if value is not None else math.nan
            return number if r.low <= number <= r.high else r.middle
        vector = torch.as_tensor(value, dtype=torch.float64).detach().cpu().expand(r.count)
        return torch.where((vector >= r.low) & (vector <= r.high), vector, r.middle)
