"""How much to hold in memory at once: sizes of batches and tiles, from a budget that the user can set."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap, tile_numbers
from raffia.regression.statistics import FeatureStream, one_channel
from raffia.spaces import Nodes

ROWS_PER_PRODUCT = 2048  # inner length of one matrix product: long enough for its speed, short enough for the cache


@dataclass(frozen=True)
class Workspace:
    """Half of the budget is for features, the other half for what is kept of θ; None is 1 GiB on a CPU, 8 GiB on a GPU."""

    n_features: int
    device: torch.device
    batch_size: int | None = None
    memory_budget: int | None = None

    @property
    def budget(self) -> int:
        """Numbers that features may take."""
        return (self.memory_budget or (2**30 if self.device.type == "cpu" else 2**33)) // 16

    @property
    def tile(self) -> int:
        """Numbers to evaluate at once; a map may need a few times as many for what it computes on the way."""
        return min(tile_numbers(self.device), max(1, self.budget // 8))

    def fit_size(self, points: int) -> int:
        """Samples per batch, each of so many rows: enough for a fast product, no more than the budget allows."""
        if self.batch_size is not None:
            return self.batch_size
        allowed = (self.budget - 4 * self.tile) // (self.n_features * points)
        if allowed < 1:
            need = 32 * self.n_features * points
            given = self.memory_budget or 16 * self.budget
            raise RaffiaError(
                f"memory_budget={given} bytes is too small: the features of one sample ({self.n_features} × {points} "
                f"numbers) and room to evaluate them take {need} bytes. Pass memory_budget={need} or more, or fewer n_features."
            )
        wanted = ROWS_PER_PRODUCT if self.device.type == "cpu" else ROWS_PER_PRODUCT * 32
        return max(1, min(allowed, wanted // points))

    def predict_size(self, points: int) -> int:
        """Inputs per batch such that a tile spans 128 features or so."""
        return self.batch_size or max(1, self.tile // (min(self.n_features, 128) * points))

    def stream(self, feature_map: FeatureMap, theta: Tensor, grid: Nodes, scalar: bool = False) -> FeatureStream:
        """The features of a model, in batches of these sizes; `scalar` says that their values are numbers, whatever the outputs are."""
        size = self.fit_size(1 if scalar else one_channel(grid).size)
        return FeatureStream(feature_map, theta, grid, size, self.tile, self.budget, scalar)
