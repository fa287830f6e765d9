"""One number for each feature, or for each feature and channel; functions, where features are numbers: the paper's model."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from raffia.model.coefficients.base import Chosen, Coefficients
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import (
    CoefficientLaw,
    Dual,
    FeatureStream,
    LeftOut,
    Noise,
    NormalEquations,
    RidgePath,
    Solution,
    Statistics,
    Streamed,
    available_memory,
    choose_solver,
    direct_solution,
    dual_ridge_for,
    fold_ridge,
    leave_one_out,
    left_out_ridge,
    noise_of,
)
from raffia.spaces import POINT, Grid, interpolate


class Ordinary(Coefficients):
    """F(a) = (1/m) Σ_j α_j φ(a; θ_j), with α_j the same for all of an output."""

    one_noise: ClassVar[bool] = True

    def stream(self, settings: Settings, frame: Frame, pairs: Prepared) -> FeatureStream:
        """The features themselves."""
        return settings.stream(pairs.inputs, pairs.grid, frame.values_at(pairs.inputs))

    def form(self, settings: Settings, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The form that the solver wants, or where none is named, that of the one that suits the rows to expect."""
        rows_per_sample = frame.values.size
        if settings.solver is not None:
            return settings.solver.statistics
        if expected is None or settings.inequalities:
            return NormalEquations
        if settings.ridge == "auto":
            return Streamed if rows_per_sample == 1 and 2 * expected <= settings.n_features else NormalEquations
        rows = expected * rows_per_sample
        return choose_solver(int(settings.n_features), rows, float(settings.ridge), available_memory(device)).statistics

    def chosen(self, settings: Settings, statistics: Statistics, pairs: Prepared, errors: bool = True) -> Chosen:
        """By closed formulas for leaving out one function; the noise level of one channel comes with them."""
        if isinstance(statistics, Streamed) and len(pairs) == statistics.n_rows:
            return Chosen(*dual_ridge_for(statistics, pairs.frame.measure))
        stream = self.stream(settings, pairs.frame, pairs)
        ridge, left_out = left_out_ridge(
            RidgePath(statistics), stream, pairs.inputs, pairs.outputs, pairs.frame.measure, errors
        )
        if left_out is None:
            return Chosen(ridge, math.nan)
        noise = noise_of(left_out, pairs.grid) if statistics.rhs.ndim == 1 else None
        return Chosen(ridge, float(left_out.errors.mean()), noise)

    def chosen_by_folds(self, settings: Settings, folds: Sequence[Statistics]) -> Chosen:
        """From the statistics of all folds but one, on that one."""
        return Chosen(*fold_ridge(folds))

    def solve(self, settings: Settings, statistics: Statistics, ridge: Any) -> Solution:
        """By the solver that was named, or that the statistics were taken for."""
        solver = settings.solver
        if solver is None and isinstance(statistics, Streamed):
            memory = available_memory(statistics.stream.theta.device)
            suited = choose_solver(statistics.n_features, statistics.n_rows, ridge, memory)
            solver = Dual() if settings.ridge == "auto" else suited if suited.statistics is Streamed else None
        return direct_solution(NormalEquations.of(statistics), ridge) if solver is None else solver.solve(statistics, ridge)

    def combination(self, settings: Settings, frame: Frame, solution: Any, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) / m; for features that are numbers, of inputs interpolated to the training grid, where they were learnt."""
        theta, given = settings.theta(inputs), frame.input.grid_of(inputs)
        grid = frame.input_nodes if frame.values == POINT and isinstance(given.one_channel, Grid) else given
        combined = settings.features.combination(theta, solution.coef.to(theta) / settings.n_features, grid)
        return combined if grid == given else lambda a: combined(interpolate(a, given, grid))

    def complete(self, settings: Settings, frame: Frame, solution: Any) -> bool:
        """A row for each feature, and a column for each channel, or where features are numbers for each value of an output."""
        outputs, coef = frame.output_nodes, solution.coef
        columns = outputs.size if frame.values == POINT else outputs.size // outputs.one_channel.size
        rows = int(settings.n_features)
        return coef.dtype.is_floating_point and coef.shape[:1] == (rows,) and coef.numel() == rows * columns

    def barless(self, trained: Trained) -> str:
        """Several columns have none."""
        if trained.solution.coef.ndim == 1:
            return ""
        return "posterior draws and error bars are for outputs of one channel and features that are functions, not numbers."

    def noise(self, settings: Settings, trained: Trained) -> Noise:
        """From leaving out one training function at a time."""
        return noise_of(self._left_out(settings, trained), trained.frame.output_nodes)

    def left_out(self, settings: Settings, trained: Trained) -> Tensor | None:
        """By a closed formula, for outputs of one channel and features that are functions."""
        if trained.pairs is None or trained.statistics is None or self.barless(trained):
            return None
        return trained.frame.output_nodes.unembed(self._left_out(settings, trained).functions)

    def _left_out(self, settings: Settings, trained: Trained) -> LeftOut:
        assert trained.pairs is not None  # as whoever asks has checked
        assert trained.statistics is not None
        frame, ridge = trained.frame, positive_ridge(trained.ridge, trained.statistics)
        stream = settings.stream(trained.pairs[0], frame.output_nodes, frame.values)
        return leave_one_out(RidgePath(trained.statistics), stream, *trained.pairs, [ridge])

    def law(self, settings: Settings, trained: Trained) -> CoefficientLaw:
        """Gaussian, with covariance s² m (G + λ)⁻¹."""
        assert trained.statistics is not None  # as whoever asks has checked
        assert trained.noise is not None
        shifted = trained.statistics.gram.clone()
        shifted.diagonal().add_(positive_ridge(trained.ridge, trained.statistics))
        scale = trained.noise.scale(trained.frame.output_nodes)
        return CoefficientLaw(trained.solution.coef, torch.linalg.cholesky(shifted), scale)

    def variance(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor) -> Tensor:
        """σ² + Var F."""
        assert trained.noise is not None  # as whoever asks has checked
        nodes = trained.frame.nodes_for(inputs)
        grid = nodes.one_channel
        stream = settings.stream(inputs, grid, trained.frame.values_at(inputs))
        values = torch.zeros(len(inputs), *grid.shape, dtype=torch.float64, device=inputs.device)
        pointwise = torch.cat([law.variance(rows) for rows, _ in stream.blocks(inputs, values)]).reshape(len(inputs), grid.size)
        pointwise = pointwise / grid.root_weights.to(pointwise) ** 2
        return (pointwise + trained.noise.variance).reshape(len(inputs), *nodes.shape)

    def draws(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor, count: int, seed: int) -> Tensor:
        """With coefficients from their law."""
        drawn = (replace(trained.solution, coef=coef) for coef in law.sample(count, seed))
        return torch.stack([self.combination(settings, trained.frame, one, inputs)(inputs) for one in drawn])


def positive_ridge(ridge: float, statistics: Statistics) -> float:
    """λ, or where it is less the least that keeps G + λ positive definite to working precision."""
    return max(ridge, statistics.n_features * torch.finfo(torch.float64).eps * statistics.scale)
