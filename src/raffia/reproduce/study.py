"""Many models at once: statistics of nested samples and features are sums and leading blocks, so one pass serves a whole figure."""

from collections.abc import Sequence

import torch
from torch import Tensor

from raffia.features.base import FeatureMap
from raffia.metrics import relative_errors
from raffia.regression import FeatureStream, NormalEquations, Workspace, direct_solution


class Study:
    """Models with the first m of given features, trained on the first n of given pairs."""

    def __init__(self, feature_map: FeatureMap, theta: Tensor, ridge: float, collapses: bool = False) -> None:
        self.feature_map, self.theta, self.ridge = feature_map, theta, ridge
        self.collapses = collapses
        """Whether a trained model costs less than its features, so that tests are best made one model at a time."""

    def equations(self, a: Tensor, y: Tensor, sizes: Sequence[int]) -> dict[int, NormalEquations]:
        """The normal equations of the first n pairs, for each n of the increasing `sizes`."""
        stream = self._stream(a)
        by_size: dict[int, NormalEquations] = {}
        total, before = None, 0
        for n in sizes:
            part = NormalEquations.assemble(stream, a[before:n], y[before:n])
            total, before = part if total is None else total + part, n
            by_size[n] = total
        return by_size

    def coef(self, equations: NormalEquations, m: int) -> Tensor:
        """α of the model with the first m features; G has a factor 1/m."""
        gram = equations.gram[:m, :m] * (equations.n_features / m)
        return direct_solution(NormalEquations(gram, equations.rhs[:m], equations.energy, equations.n_samples), self.ridge).coef

    def errors(self, coefs: Sequence[Tensor], a: Tensor, y: Tensor) -> list[float]:
        """The mean relative error of each model."""
        grid = self.feature_map.domain.grid_of(a)
        if self.collapses:
            return [float(relative_errors(y, self.predict(coef, a), grid).mean()) for coef in coefs]
        columns = torch.zeros(len(self.theta), len(coefs)).to(self.theta)
        for j, coef in enumerate(coefs):
            columns[: len(coef), j] = coef / len(coef)
        total = columns.new_zeros(len(coefs))
        for rows, target in self._stream(a).blocks(a, y):
            truth = target.reshape(-1, grid.size, 1)
            wrong = (rows.mT @ columns).reshape(len(truth), grid.size, -1) - truth
            total += (wrong.norm(dim=1) / truth.norm(dim=1)).sum(0)
        return (total / len(a)).tolist()

    def predict(self, coef: Tensor, a: Tensor) -> Tensor:
        """The model's values, on the grid of a."""
        trained = self.feature_map.combination(self.theta[: len(coef)], coef / len(coef), self.feature_map.domain.grid_of(a))
        size = Workspace(len(coef), a.device).predict_size(a[0].numel())
        return torch.cat([trained(part) for part in a.split(size)])

    def _stream(self, a: Tensor) -> FeatureStream:
        grid = self.feature_map.domain.grid_of(a)
        return FeatureStream.within(Workspace(len(self.theta), a.device), self.feature_map, self.theta, grid, grid)
