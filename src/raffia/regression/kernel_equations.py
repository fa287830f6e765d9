"""Pairs as a kernel sees them: coordinates of inputs and embedded outputs. They add by standing one below the other."""

from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression.statistics import Statistics, refuse_other_problem
from raffia.spaces import Nodes


@dataclass(frozen=True, eq=False)
class KernelStream:
    """How pairs become coordinates and embedded outputs."""

    feature_map: FeatureMap
    grid: Nodes
    """Where the outputs live."""
    device: torch.device


@dataclass(frozen=True, eq=False)
class KernelEquations(Statistics):
    """x_i, the coordinates of inputs, and y_i, embedded: all that a model without features, n_features=inf, is trained from."""

    inputs: Float[Tensor, "n size"]
    targets: Float[Tensor, "n columns"]

    @classmethod
    def assemble(cls, stream: Any, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "KernelEquations":
        """Of some pairs."""
        return cls(stream.feature_map.coordinates(a.to(stream.device)), stream.grid.embed(y.to(stream.device)))

    def nothing(self) -> "KernelEquations":
        """No rows."""
        return type(self)(self.inputs[:0].cpu(), self.targets[:0].cpu())

    def __add__(self, other: "KernelEquations") -> "KernelEquations":
        """All rows."""
        refuse_other_problem(tuple(self.targets.shape[1:]), tuple(other.targets.shape[1:]))
        device = (other if self.n_samples == 0 else self).targets.device
        both = (self.inputs, other.inputs), (self.targets, other.targets)
        return type(self)(*(torch.cat([one.to(device), two.to(device)]) for one, two in both))

    def check(self) -> None:
        """Refuse what cannot be squared."""
        for name, values in (("a", self.inputs), ("y", self.targets)):
            if not torch.isfinite(values.square().sum()):
                raise RaffiaError(f"{name} is too large to be squared in float64: use larger units, or pass normalize=True.")

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """How many pairs there are."""
        return len(self.inputs)

    @property
    def rhs(self) -> Float[Tensor, "n columns"]:  # type: ignore[override]
        """The outputs: there are as many unknowns as pairs."""
        return self.targets

    @property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return self.targets.square().sum()

    def apply(self, x: Tensor) -> NoReturn:
        """There is no Gram matrix."""
        raise RaffiaError("a kernel model (n_features=inf) has no features, hence no Gram matrix of them.")
