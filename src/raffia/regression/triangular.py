"""The triangular factor of [A y]. It does not square the condition number; factors add by stacking and factorising again."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.regression.feature_stream import FeatureStream
from raffia.regression.statistics import Statistics, refuse_other_problem

Upper = Float[Tensor, "rows m_and_columns"]


@dataclass(frozen=True, eq=False)
class TriangularFactor(Statistics):
    """R with RᵀR = [A y]ᵀ[A y]. The first m columns factorise A; the others hold Qᵀy and the part of y outside the range of A."""

    factor: Upper
    n_unknowns: int
    n_samples: int
    vector: bool

    @classmethod
    def assemble(cls, stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "TriangularFactor":
        """Factorise batch after batch, each stacked below the factor of those before."""
        m, factor, waiting, vector, height = len(stream.theta), None, [], True, 0
        for rows, target in stream.blocks(a, y):
            vector = target.ndim == 1
            waiting.append(torch.cat([rows.mT, target.reshape(len(target), -1)], dim=1))
            height += len(target)
            if height >= 2 * m:  # factorising few rows would cost as much as 2m rows
                factor, waiting, height = _triangle(torch.cat(([] if factor is None else [factor]) + waiting)), [], 0
        if waiting:
            factor = _triangle(torch.cat(([] if factor is None else [factor]) + waiting))
        assert factor is not None  # there is at least one sample
        return cls(factor, m, len(a), vector)

    def nothing(self) -> "TriangularFactor":
        """A factor without rows."""
        return type(self)(torch.empty(0, self.factor.shape[1], dtype=self.factor.dtype), self.n_unknowns, 0, self.vector)

    @property
    def design(self) -> Float[Tensor, "rows m"]:
        """The factor of A."""
        return self.factor[:, : self.n_unknowns]

    @property
    def target(self) -> Float[Tensor, "rows columns"]:
        """Qᵀy, and below it the part of y outside the range of A."""
        return self.factor[:, self.n_unknowns :]

    @property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return self.target.square().sum()

    @property
    def rhs(self) -> Float[Tensor, "m *columns"]:  # type: ignore[override]
        """Aᵀy."""
        rhs = self.design.mT @ self.target
        return rhs[:, 0] if self.vector else rhs

    @cached_property
    def gram(self) -> Float[Tensor, "m m"]:  # type: ignore[override]
        """G, which squares the condition number."""
        return self.design.mT @ self.design / self.n_unknowns

    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x."""
        return self.design.mT @ (self.design @ x) / self.n_unknowns

    def residual(self, coef: Float[Tensor, "m *columns"]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i; coef)‖², without cancellation."""
        return (self.target - self.design @ coef.reshape(self.n_unknowns, -1) / self.n_unknowns).square().sum()

    def __add__(self, other: "TriangularFactor") -> "TriangularFactor":
        """Stack and re-factor."""
        refuse_other_problem((self.n_unknowns, self.factor.shape[1]), (other.n_unknowns, other.factor.shape[1]))
        device = (other if self.n_samples == 0 else self).factor.device
        stacked = torch.cat([self.factor.to(device), other.factor.to(device)])
        return type(self)(_triangle(stacked), self.n_unknowns, self.n_samples + other.n_samples, self.vector)


def _triangle(tall: Tensor) -> Upper:
    return torch.linalg.qr(tall, mode="r").R
