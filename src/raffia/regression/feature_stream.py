"""The rows of A and of y, a batch of samples at a time. All forms of statistics are assembled from them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, Prepared, rows_of, tiles
from raffia.regression.memory_budget import Workspace, arriving
from raffia.spaces import Nodes
from raffia.transforms import is_tracked


@dataclass(frozen=True, eq=False)
class FeatureStream:
    """Features of a model and outputs on `grid`, evaluated in bounded memory.

    A batch has `batch_size` samples, whose features are evaluated about `tile` elements at a time. The result of `FeatureMap.prepare` is
    cached if it has at most `kept_elements`; otherwise it is computed for each tile.
    """

    feature_map: FeatureMap
    theta: Float[Tensor, "m *theta"]
    grid: Nodes
    """The nodes of the outputs."""
    batch_size: int
    tile: int
    kept_elements: int = 2**25

    @classmethod
    def within(
        cls, workspace: Workspace, feature_map: FeatureMap, theta: Tensor, grid: Nodes, values: Nodes
    ) -> "FeatureStream":
        """With batches and tiles of the sizes that a workspace allows, for features on the nodes `values`."""
        return cls(feature_map, theta, grid, workspace.fit_size(values.size), workspace.tile, workspace.budget)

    def values_at(self, a: Tensor) -> Nodes:
        """The nodes of the features of these inputs. A sample has one row of A for each node."""
        return self.feature_map.values_on(self.feature_map.domain.grid_of(a))

    def weight_at(self, a: Tensor) -> float:
        """The common factor √w of all rows, which may be applied once to the sums; 1 if weights differ."""
        root = self.values_at(a).root_weights
        return float(root) if root.numel() == 1 else 1.0

    def blocks(
        self, a: Tensor, y: Tensor, weighted: bool = True
    ) -> Iterator[tuple[Float[Tensor, "m rows"], Float[Tensor, "rows *columns"]]]:
        """(Aᵀ, y) of each batch, embedded. With weighted=False, Aᵀ lacks the factor `weight_at`, which saves a pass over the features."""
        values, m = self.values_at(a), len(self.theta)
        weight = self.weight_at(a)
        late = values.root_weights.numel() == 1 and (not weighted or weight == 1.0)
        root = None if late else values.root_weights.to(self.theta)
        for tiled, _, outputs in self.tiled(a, y):
            rows: Tensor | None = None
            for phi, start, _ in tiled:
                rows = rows_of(phi) if root is None and phi.shape[1] == m else _write(rows, phi, start, m, root)
            assert rows is not None  # there is at least one feature
            target = targets_of(self.grid, outputs, values).flatten(0, 1)
            yield rows.reshape(m, -1), target if target.shape[1] > 1 else target[:, 0]

    def tiled(
        self, a: Tensor, y: Tensor, at_once: int | None = None
    ) -> Iterator[tuple[Iterator[tuple[Tensor, int, int]], Tensor, Tensor]]:
        """For each batch: tiles of features φ with the indices of their first feature and sample, then the inputs and the outputs.

        A tile has features of all samples of the batch, or of `at_once` samples.
        """
        input_grid, values, m = self.feature_map.domain.grid_of(a), self.values_at(a), len(self.theta)
        cached = m * sum(part.numel() for part in self.feature_map.prepare(self.theta[:1], input_grid)) <= self.kept_elements
        prepared = self.feature_map.prepare(self.theta, input_grid) if cached else None
        batches: Iterable[tuple[Tensor, ...]] = zip(a.split(self.batch_size), y.split(self.batch_size), strict=True)
        for a_batch, outputs in batches if a.device == self.theta.device else arriving(batches, self.theta.device):
            parts = a_batch.split(at_once or len(a_batch))
            tiled = (
                (phi, start, i * len(parts[0]))
                for i, part in enumerate(parts)
                for phi, start in self._tiles(part, prepared, values)
            )
            yield tiled, a_batch, outputs

    def _tiles(self, a: Tensor, prepared: Prepared | None, values: Nodes) -> Iterator[tuple[Tensor, int]]:
        size = max(1, self.tile // (len(a) * values.size))
        features = None if prepared is None else self.feature_map.precompute(a)
        for part, start in tiles((self.theta,) if prepared is None else prepared, size):
            phi = self.feature_map(a, *part) if features is None else features(part)
            if phi[0, 0].numel() != values.size:
                raise RaffiaError(
                    f"{type(self.feature_map).__name__}.values_on gives {values.size} nodes; a feature has {phi[0, 0].numel()} values. "
                    "Let values_on(grid) return the nodes of φ, or raffia.spaces.POINT for scalar features."
                )
            yield phi, start


def targets_of(grid: Nodes, y: Float[Tensor, "n *output"], values: Nodes) -> Float[Tensor, "n rows columns"]:
    """Embedded outputs: a row for each node of a feature; a column for each channel or, for scalar features, each element."""
    return grid.embed(y).reshape(len(y), -1, values.size).mT


def _write(rows: Tensor | None, phi: Tensor, start: int, m: int, root: Tensor | None) -> Float[Tensor, "m n points"]:
    """Put one tile, embedded, into the rows of its features."""
    n, count = phi.shape[:2]
    if rows is None:
        rows = phi.new_empty(m, n, phi[0, 0].numel())
    values = phi.transpose(0, 1).reshape(count, n, -1)
    if root is None or is_tracked(phi):
        rows[start : start + count] = values if root is None else values * root
    else:
        torch.mul(values, root, out=rows[start : start + count])
    return rows
