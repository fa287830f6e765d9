"""What training needs to know of the data, in three forms that all add; and the stream of features they are made from.

The conventions, written once. With A the matrix whose column j holds the embedded feature φ_j at all samples:

    model       F(a; α) = (1/m) Σ_j α_j φ_j(a)
    gram        G = AᵀA / m                  the 1/m of the kernel, once
    rhs         b = Aᵀy                      no 1/m
    solve       (G + ridge·I) α = b          no 1/n: `ridge` is the paper's λ, sums over samples are not averaged

which minimises ‖y − Aα/m‖² + (ridge/m) ‖α‖². When φ is a number and the outputs are functions, y and b have one column for each
value of an output, and a sample is one row of A; otherwise a sample is as many rows as its grid has points, and y has one column
for each channel.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.features.base import FeatureMap, Prepared, rows_of, tiles
from raffia.regression.transfer import arriving
from raffia.spaces import ChannelGrid, Nodes


class Statistics(ABC):
    """A least-squares problem, in whatever form a solver wants it."""

    rhs: Float[Tensor, "m *columns"]
    """b = Aᵀy."""
    energy: Float[Tensor, ""]
    """‖y‖²."""
    n_samples: int

    @abstractmethod
    def apply(self, x: Float[Tensor, "m columns"]) -> Float[Tensor, "m columns"]:
        """G x = AᵀA x / m."""

    @abstractmethod
    def __add__(self, other):  # type: ignore[no-untyped-def]
        """The statistics of both sets of samples together; both of one form."""

    @property
    def n_features(self) -> int:
        """How many unknowns there are."""
        return len(self.rhs)

    def residual(self, coef: Float[Tensor, "m *columns"]) -> Float[Tensor, ""]:
        """Σ_i ‖y_i − F(a_i; coef)‖², without the data; what cancellation leaves below zero is returned as zero."""
        flat, rhs = coef.reshape(len(coef), -1), self.rhs.reshape(len(coef), -1)
        misfit = self.energy - ((2 * rhs - self.apply(flat)) * flat).sum() / self.n_features
        return misfit.clamp(min=0)


@dataclass(frozen=True, eq=False)
class FeatureStream:
    """The rows of A and of y, a batch of samples at a time, in bounded memory.

    `batch_size` samples are in memory at once, evaluated about `tile` numbers at a time. What the feature map prepares of θ is
    kept if it has at most `prepared_numbers` numbers, and prepared again for each tile otherwise.
    """

    feature_map: FeatureMap
    theta: Float[Tensor, "m *theta"]
    grid: Nodes
    """Where the outputs live."""
    batch_size: int
    tile: int
    prepared_numbers: int = 2**25
    scalar: bool | None = None
    """Whether features are numbers: then a sample is one row. None finds out."""

    @property
    def one_channel(self) -> Nodes:
        """Where features that are functions live: the grid of one channel of the outputs."""
        return one_channel(self.grid)

    @property
    def weight(self) -> float:
        """√w where the quadrature has one weight for all points, which may then be multiplied in last; 1 otherwise."""
        root = self.one_channel.root_weights
        return float(root) if root.numel() == 1 else 1.0

    def numbers(self, a: Tensor) -> bool:
        """Whether features are numbers."""
        return self.feature_map(a[:1].to(self.theta), self.theta[:1]).ndim == 2 if self.scalar is None else self.scalar

    def blocks(
        self, a: Tensor, y: Tensor, weighted: bool = True
    ) -> Iterator[tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]]:
        """(Aᵀ, y) of each batch, embedded; one row of A for each point of each sample, or for each sample when φ is a number.

        Without `weighted`, Aᵀ lacks the factor `weight`: one pass over the features less.
        """
        input_grid = self.feature_map.domain.grid_of(a)
        m = len(self.theta)
        kept = m * _numbers(self.feature_map.prepare(self.theta[:1], input_grid)) <= self.prepared_numbers
        prepared = self.feature_map.prepare(self.theta, input_grid) if kept else None
        root = self.one_channel.root_weights.to(self.theta) if weighted or self.weight == 1.0 else None
        batches: Iterable[tuple[Tensor, ...]] = zip(a.split(self.batch_size), y.split(self.batch_size), strict=True)
        for a_batch, values in batches if a.device == self.theta.device else arriving(batches, self.theta.device):
            rows: Tensor | None = None
            size = max(1, self.tile // (len(a_batch) * (1 if self.scalar else self.one_channel.size)))
            for part, start in tiles((self.theta,) if prepared is None else prepared, size):
                phi = self.feature_map(a_batch, *part) if prepared is None else self.feature_map.evaluate(a_batch, part)
                rows = rows_of(phi) if root is None and phi.shape[1] == m else _write(rows, phi, start, m, root)
            assert rows is not None  # there is at least one feature
            rows = rows.reshape(m, -1)
            target = targets_of(self.grid, values, rows.shape[1] // len(a_batch)).flatten(0, 1)
            yield rows, target if target.shape[1] > 1 else target[:, 0]


def one_channel(grid: Nodes) -> Nodes:
    """The grid of one channel of functions that may have several."""
    return grid.of if isinstance(grid, ChannelGrid) else grid


def targets_of(grid: Nodes, y: Float[Tensor, "n *output"], rows: int) -> Float[Tensor, "n rows columns"]:
    """Embedded outputs: one row a sample and one column a value, or one row a point and one column a channel."""
    embedded = grid.embed(y)
    if rows > 1 and isinstance(grid, ChannelGrid):
        return embedded.reshape(len(y), grid.count, rows).mT
    return embedded.reshape(len(y), rows, -1)


def _write(rows: Tensor | None, phi: Tensor, start: int, m: int, root: Tensor | None) -> Float[Tensor, "m n points"]:
    """Put one tile, embedded, into the rows of its features; points = 1 when φ is a number."""
    n, count = phi.shape[:2]
    if rows is None:
        rows = torch.empty(m, n, phi[0, 0].numel(), dtype=phi.dtype, device=phi.device)
    values = phi.transpose(0, 1).reshape(count, n, -1)
    if root is None or phi.ndim == 2:
        rows[start : start + count] = values
    else:
        torch.mul(values, root, out=rows[start : start + count])
    return rows


def _numbers(prepared: Prepared) -> int:
    return sum(part.numel() for part in prepared)
