"""The validation error as a function of hyperparameters: differentiable, with fresh features and a fresh split at every draw."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor

from raffia.features.base import FeatureMap, rows_of
from raffia.features.hyperparameters import Choice, Range
from raffia.measures.noise import uniform_noise
from raffia.spaces import Grid, resample


@dataclass(frozen=True, eq=False)
class Objective:
    """log of the mean relative validation error of a small model, as a function of the feature map's hyperparameters and the ridge.

    `ridge` is relative: λ = ridge · tr(G)/m. Draw number d has features d·m … (d + 1)·m − 1 of the seed and a split of its own,
    so equal draws are common random numbers and different draws are independent.
    """

    feature_map: FeatureMap
    a: Float[Tensor, "n *grid"]
    y: Float[Tensor, "n *grid"]
    grid: Grid
    n_features: int
    n_samples: int
    seed: int

    @property
    def ranges(self) -> dict[str, Range]:
        """The numbers to search, the ridge among them."""
        own = {name: what for name, what in self.feature_map.hyperparameters.items() if isinstance(what, Range)}
        return own | {"ridge": Range(1e-14, 1e-2)}

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The categories to choose from."""
        return {name: what.options for name, what in self.feature_map.hyperparameters.items() if isinstance(what, Choice)}

    def start(self) -> dict[str, float]:
        """The present values; the middle of its range for one that is outside; a ridge of 1e-8."""
        given = self.feature_map.get_params(deep=False) | {"ridge": 1e-8}
        return {name: float(given[name]) if r.low <= given[name] <= r.high else r.middle for name, r in self.ranges.items()}

    def with_choices(self, **chosen: Any) -> "Objective":
        """The same objective with some categories fixed."""
        return Objective(
            clone(self.feature_map).set_params(**chosen), self.a, self.y, self.grid, self.n_features, self.n_samples, self.seed
        )

    def loss(self, parameters: dict[str, Any], draw: int) -> Tensor | None:
        """log error of one draw; None where the factorisation fails or the error is not finite."""
        numbers = dict(parameters)
        ridge = numbers.pop("ridge")
        feature_map = clone(self.feature_map).set_params(**numbers)
        theta = self.feature_map.draw(range(draw * self.n_features, (draw + 1) * self.n_features), self.seed).to(self.a)
        order = (
            uniform_noise(range(draw, draw + 1), (len(self.a),), self.seed, "split")[0]
            .argsort()[: self.n_samples]
            .to(self.a.device)
        )
        held = max(1, len(order) // 4)
        phi = feature_map(self.a[order], theta)
        target = self.grid.embed(self.y[order])
        weight = self.grid.root_weights.to(self.a) if phi.ndim > 2 else 1.0
        rows = rows_of(phi).reshape(len(theta), len(order), -1) * weight
        train, validation = rows[:, held:].flatten(1), rows[:, :held].flatten(1)
        columns = target.reshape(len(order), rows.shape[2], -1)
        gram = train @ train.mT / len(theta)
        shift = ridge * gram.diagonal().mean()
        factor, failed = torch.linalg.cholesky_ex(gram + shift * torch.eye(len(gram), dtype=gram.dtype, device=gram.device))
        if failed:
            return None
        coef = torch.cholesky_solve(train @ columns[held:].flatten(0, 1), factor)
        wrong = (validation.mT @ coef / len(theta)).reshape(columns[:held].shape) - columns[:held]
        error = (wrong.flatten(1).norm(dim=1) / columns[:held].flatten(1).norm(dim=1)).mean().log()
        return error if torch.isfinite(error) else None

    def value(self, parameters: dict[str, Any], draws: range) -> float:
        """The validation error, averaged over draws; infinite if any fails."""
        with torch.no_grad():
            losses = [self.loss(parameters, draw) for draw in draws]
        return float("inf") if any(loss is None for loss in losses) else float(torch.stack(losses).mean().exp())  # type: ignore[arg-type]


COARSE_POINTS = {0: 1, 1: 64, 2: 33, 3: 17}
"""Points along an axis that a search looks at: coefficients do not depend on the grid, so a coarse one serves."""


def objective_for(
    feature_map: FeatureMap, a: Tensor, y: Tensor, output_grid: Grid, n_features: int = 256, n_samples: int = 256, seed: int = 0
) -> Objective:
    """An objective that is cheap to evaluate: few features, few samples, a coarse grid."""
    grid = feature_map.domain.grid_of(a)
    most = COARSE_POINTS.get(feature_map.domain.dim, 17)
    if grid == output_grid and grid.shape and max(grid.shape) > most:
        coarse = feature_map.domain.grid(*(min(points, most) for points in grid.shape))
        a, y, output_grid = resample(a, grid, coarse), resample(y, grid, coarse), coarse
    return Objective(feature_map, a, y, output_grid, n_features, min(n_samples, len(a)), seed)
