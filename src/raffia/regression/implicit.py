"""The least-squares problem as its data: products with A and Aᵀ by streaming, for solvers that never form G."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.regression.normal_equations import NormalEquations, assemble
from raffia.regression.statistics import FeatureStream, Statistics

Block = tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]


@dataclass(frozen=True, eq=False)
class Streamed(Statistics):
    """Pairs and features. Features are kept if they have at most `kept_numbers` numbers, and evaluated again otherwise."""

    stream: FeatureStream
    data: tuple[tuple[Tensor, Tensor], ...]
    kept_numbers: int

    @property
    def n_samples(self) -> int:  # type: ignore[override]
        """How many pairs there are."""
        return sum(len(a) for a, _ in self.data)

    @property
    def n_features(self) -> int:
        """How many unknowns there are."""
        return len(self.stream.theta)

    @cached_property
    def n_rows(self) -> int:
        """How many rows A has."""
        first = next(self._evaluated())
        per_sample = first[0].shape[1] // min(self.stream.batch_size, len(self.data[0][0]))
        return per_sample * self.n_samples

    @cached_property
    def energy(self) -> Float[Tensor, ""]:  # type: ignore[override]
        """‖y‖²."""
        return torch.stack([self.stream.grid.embed(y).square().sum() for _, y in self.data]).sum()

    @cached_property
    def rhs(self) -> Float[Tensor, "m *columns"]:  # type: ignore[override]
        """Aᵀy."""
        return self.transposed(target for _, target in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """(Aᵀ, y) a batch at a time."""
        return iter(self._kept) if self.n_features * self.n_rows <= self.kept_numbers else self._evaluated()

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

    def normal_equations(self) -> NormalEquations:
        """The same problem with G formed."""
        parts = [assemble(self.stream, a, y) for a, y in self.data]
        return sum(parts[1:], start=parts[0])

    def __add__(self, other: "Streamed") -> "Streamed":
        """All the pairs."""
        return Streamed(self.stream, self.data + other.data, self.kept_numbers)

    @cached_property
    def _kept(self) -> list[Block]:
        return list(self._evaluated())

    def _evaluated(self) -> Iterator[Block]:
        for a, y in self.data:
            yield from self.stream.blocks(a, y)
