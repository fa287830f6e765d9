"""The normal equations (eqn:opt_normaleqn): G = AᵀA/m and b = Aᵀy, which add."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.feature_stream import FeatureStream
from raffia.regression.statistics import Statistics, refuse_other_problem


@dataclass(frozen=True, eq=False)
class NormalEquations(Statistics):
    """G, b, ‖y‖² and n, by the conventions of `statistics.py`. Statistics of disjoint samples add."""

    gram: Float[Tensor, "m m"]
    rhs: Float[Tensor, "m *columns"]
    energy: Float[Tensor, ""]
    n_samples: int

    @classmethod
    def assemble(cls, stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "NormalEquations":
        """Stream over the samples. Only the lower triangle of G is computed, then mirrored."""
        m = len(stream.theta)
        gram = torch.zeros(m, m, dtype=y.dtype, device=stream.theta.device)
        rhs, energy, weight = None, torch.zeros((), dtype=y.dtype, device=gram.device), stream.weight_at(a)
        for rows, target in stream.blocks(a, y, weighted=False):
            part = rows @ target
            rhs = part if rhs is None else rhs.add_(part)
            energy += target.square().sum()
            add_lower_triangle(gram, rows)
        assert rhs is not None  # there is at least one sample
        mirror(gram)
        return cls(gram.mul_(weight**2 / m), rhs.mul_(weight), energy, len(a))

    @classmethod
    def of(cls, statistics: Statistics) -> "NormalEquations":
        """From statistics of any form, by forming G."""
        return cls(statistics.gram, statistics.rhs, statistics.energy, statistics.n_samples)

    def nothing(self) -> "NormalEquations":
        """Zeros that take no memory."""
        zero = torch.zeros((), dtype=self.rhs.dtype)
        return type(self)(zero.expand(self.gram.shape), zero.expand(self.rhs.shape), zero, 0)

    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x."""
        return self.gram @ x

    def __add__(self, other: "NormalEquations") -> "NormalEquations":
        """The statistics of both sets of samples together."""
        refuse_other_problem(tuple(self.rhs.shape), tuple(other.rhs.shape))
        device = (other if self.n_samples == 0 else self).rhs.device
        one, two = self.to(device), other.to(device)
        return type(self)(one.gram + two.gram, one.rhs + two.rhs, one.energy + two.energy, one.n_samples + two.n_samples)

    def __sub__(self, other: "NormalEquations") -> "NormalEquations":
        """The statistics of all samples except those of `other`, which must be among them."""
        return type(self)(
            self.gram - other.gram, self.rhs - other.rhs, self.energy - other.energy, self.n_samples - other.n_samples
        )

    def to(self, device: torch.device) -> "NormalEquations":
        """The same statistics on another device."""
        return type(self)(self.gram.to(device), self.rhs.to(device), self.energy.to(device), self.n_samples)

    def check(self) -> None:
        """Refuse features that are not finite or all zero on the data."""
        if not torch.isfinite(self.gram.diagonal().sum()):
            raise RaffiaError("the features are not finite on these inputs: check the hyperparameters of feature_map.")
        if not (torch.isfinite(self.energy) and torch.isfinite(self.rhs).all()):
            raise RaffiaError("y is too large to be squared in float64: give outputs in larger units, or pass normalize=True.")
        if self.scale == 0:
            raise RaffiaError(
                "all features vanish on these inputs, so nothing can be learnt: check the hyperparameters of feature_map "
                "(FourierFeatures do not depend on the mean of a, so they are zero for constant functions)."
            )


def add_lower_triangle(gram: Tensor, phi: Tensor, block: int | None = None) -> None:
    """gram += φ φᴴ on and below the diagonal, by block rows; entries above the diagonal are undefined."""
    block = block or (128 if phi.device.type == "cpu" else 256)
    for start in range(0, len(phi), block):
        stop = min(start + block, len(phi))
        gram[start:stop, :stop].addmm_(phi[start:stop], phi[:stop].mH)


def mirror(gram: Tensor, block: int = 1024) -> None:
    """Copy the lower triangle to the upper one (its conjugate, if complex), in place."""
    for start in range(0, len(gram), block):
        stop = min(start + block, len(gram))
        gram[:start, start:stop] = gram[start:stop, :start].mH
        corner = gram[start:stop, start:stop]
        corner.copy_(corner.tril() + corner.tril(-1).mH)
