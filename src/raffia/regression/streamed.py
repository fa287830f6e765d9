"""The least-squares problem as its data, for solvers that never form G: products with A and Aᵀ by streaming."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.regression.feature_stream import FeatureStream
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.statistics import Statistics

Block = tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]


@dataclass(frozen=True, eq=False)
class Streamed(Statistics):
    """Pairs and features. Features are cached if they have at most `kept_elements`, and evaluated again otherwise."""

    portable: ClassVar[bool] = False

    stream: FeatureStream
    data: tuple[tuple[Tensor, Tensor], ...]
    kept_elements: int

    @classmethod
    def assemble(cls, stream: FeatureStream, a: Float[Tensor, "n *input"], y: Float[Tensor, "n *output"]) -> "Streamed":
        """The pairs themselves, which must not be changed afterwards."""
        return cls(stream, ((a, y),), stream.kept_elements)

    def nothing(self) -> "Streamed":
        """No pairs."""
        return type(self)(self.stream, (), self.kept_elements)

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """The number of pairs."""
        return sum(len(a) for a, _ in self.data)

    @property
    def n_features(self) -> int:
        """The number of unknowns."""
        return len(self.stream.theta)

    @property
    def n_rows(self) -> int:
        """The number of rows of A."""
        return sum(len(a) * self.stream.values_at(a).size for a, _ in self.data)

    @cached_property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return torch.stack([self.stream.grid.embed(y).square().sum() for _, y in self.data]).sum()

    @cached_property
    def rhs(self) -> Float[Tensor, "m *columns"]:  # type: ignore[override]
        """Aᵀy."""
        return self.transposed(target for _, target in self.blocks())

    @cached_property
    def gram(self) -> Float[Tensor, "m m"]:  # type: ignore[override]
        """G, in one pass over the data."""
        parts = [NormalEquations.assemble(self.stream, a, y) for a, y in self.data]
        return sum(parts[1:], start=parts[0]).gram

    def blocks(self) -> Iterator[Block]:
        """(Aᵀ, y) a batch at a time."""
        return iter(self._cached) if self.n_features * self.n_rows <= self.kept_elements else self._evaluated()

    def product(self, x: Float[Tensor, "m columns"]) -> Iterator[Float[Tensor, "rows columns"]]:
        """A x, a batch at a time."""
        return (rows.mT @ x for rows, _ in self.blocks())

    def transposed(self, parts: Iterator[Tensor]) -> Float[Tensor, "m *columns"]:
        """Aᵀ u for u given a batch at a time."""
        total: Tensor | None = None
        for (rows, _), part in zip(self.blocks(), parts, strict=True):
            total = rows @ part if total is None else total.add_(rows @ part)
        assert total is not None  # there is at least one sample
        return total

    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x in one pass over the data."""
        total = torch.zeros_like(x)
        for rows, _ in self.blocks():
            total.addmm_(rows, rows.mT @ x)
        return total / self.n_features

    def __add__(self, other: "Streamed") -> "Streamed":
        """The pairs of both."""
        return type(self)(self.stream, self.data + other.data, self.kept_elements)

    @cached_property
    def _cached(self) -> list[Block]:
        return list(self._evaluated())

    def _evaluated(self) -> Iterator[Block]:
        for a, y in self.data:
            yield from self.stream.blocks(a, y)
