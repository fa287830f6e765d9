"""Ordinary coefficients, the paper's model: one α_j for each feature and channel. Scalar features have functions as coefficients."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from raffia.model.coefficients.base import Coefficients, RidgeChoice
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.trained import Trained
from raffia.regression import (
    Dual,
    FeatureStream,
    LeftOut,
    Noise,
    NormalEquations,
    Ridge,
    RidgePath,
    Solution,
    Statistics,
    Streamed,
    available_memory,
    choose_solver,
    direct_solution,
    dual_ridge_for,
    factorised,
    fold_ridge,
    leave_one_out,
    left_out_ridge,
    noise_of,
)
from raffia.spaces import POINT, Grid, interpolate


class Ordinary(Coefficients):
    """F(a) = (1/m) Σ_j α_j φ(a; θ_j), with one α_j for the whole output."""

    def stream(self, pairs: Prepared) -> FeatureStream:
        """The features themselves."""
        return self.settings.stream(pairs.inputs, pairs.grid, pairs.frame.values_at(pairs.inputs))

    def form(self, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The form of the given solver, or of the solver that suits the expected number of rows."""
        rows_per_sample = frame.values.size
        if self.settings.solver is not None:
            return self.settings.solver.statistics
        if expected is None or self.settings.inequalities:
            return NormalEquations
        if self.settings.ridge == "auto":
            return Streamed if rows_per_sample == 1 and 2 * expected <= self.settings.n_features else NormalEquations
        rows = expected * rows_per_sample
        return choose_solver(
            int(self.settings.n_features), rows, float(self.settings.ridge), available_memory(device)
        ).statistics

    def choose_ridge(self, statistics: Statistics, pairs: Prepared, errors: bool = True) -> RidgeChoice:
        """By closed formulas for leaving out one function; the noise level of one channel is a by-product."""
        if isinstance(statistics, Streamed) and len(pairs) == statistics.n_rows:
            return RidgeChoice(*dual_ridge_for(statistics, pairs.frame.measure))
        stream = self.stream(pairs)
        ridge, left_out = left_out_ridge(
            RidgePath(statistics), stream, pairs.inputs, pairs.outputs, pairs.frame.measure, errors
        )
        if left_out is None:
            return RidgeChoice(ridge, math.nan)
        noise = noise_of(left_out, pairs.grid) if statistics.rhs.ndim == 1 else None
        return RidgeChoice(ridge, float(left_out.errors.mean()), noise)

    def choose_ridge_by_folds(self, folds: Sequence[Statistics]) -> RidgeChoice:
        """Train on all folds but one, and test on that one, using statistics alone."""
        return RidgeChoice(*fold_ridge(folds))

    def solve(self, statistics: Statistics, ridge: Ridge) -> Solution:
        """By the given solver, or the one that the statistics were assembled for."""
        solver = self.settings.solver
        if solver is None and isinstance(statistics, Streamed):
            memory = available_memory(statistics.stream.theta.device)
            suited = choose_solver(statistics.n_features, statistics.n_rows, float(ridge), memory)
            solver = Dual() if self.settings.ridge == "auto" else suited if suited.statistics is Streamed else None
        return (
            direct_solution(NormalEquations.of(statistics), float(ridge))
            if solver is None
            else solver.solve(statistics, float(ridge))
        )

    def combination(self, frame: Frame, solution: Solution, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """Σ_j coef_j φ(·; θ_j) / m. Scalar features, and others that grids change, are computed on the training grid."""
        theta, given, features = self.settings.theta(inputs), frame.input.grid_of(inputs), self.settings.features
        fixed = frame.values == POINT or not features.any_grid
        grid = frame.input_nodes if fixed and isinstance(given.one_channel, Grid) else given
        combined = features.combination(theta, solution.coef.to(theta) / self.settings.n_features, grid)
        if grid == given:
            return combined
        if frame.values == POINT:
            return lambda a: combined(interpolate(a, given, grid))
        return lambda a: interpolate(combined(interpolate(a, given, grid)), grid, given)

    def complete(self, frame: Frame, solution: Solution) -> bool:
        """A row for each feature; a column for each channel or, with scalar features, for each value of an output."""
        outputs, coef = frame.output_nodes, solution.coef
        columns = outputs.size if frame.values == POINT else outputs.size // outputs.one_channel.size
        rows = int(self.settings.n_features)
        return coef.dtype.is_floating_point and coef.shape[:1] == (rows,) and coef.numel() == rows * columns

    def why_no_error_bars(self, trained: Trained) -> str:
        """Only a single column of coefficients has error bars."""
        if trained.solution.coef.ndim == 1:
            return ""
        return "error bars are for outputs of one channel and features that are functions, not numbers."

    def noise(self, trained: Trained) -> Noise:
        """From leaving out one training function at a time."""
        return noise_of(self._left_out(trained), trained.frame.output_nodes)

    def left_out(self, trained: Trained) -> Tensor | None:
        """Return leave-one-out errors by the closed formula, or None if they are unavailable, as for outputs of several channels."""
        if trained.pairs is None or trained.statistics is None or self.why_no_error_bars(trained):
            return None
        return trained.frame.output_nodes.unembed(self._left_out(trained).functions)

    def _left_out(self, trained: Trained) -> LeftOut:
        pairs, statistics = trained.known_pairs(), trained.known_statistics()
        stream = self.settings.stream(pairs.inputs, pairs.grid, trained.frame.values)
        ridge = positive_ridge(trained.ridge, statistics)
        return leave_one_out(RidgePath(statistics), stream, pairs.inputs, pairs.outputs, [ridge])

    def variance(self, trained: Trained) -> Callable[[Tensor], Tensor]:
        """σ² + Var F. With white noise of variance s² in embedded coordinates and the prior α ~ N(0, s² m/λ), minimising
        ‖y − Aα/m‖² + (λ/m)‖α‖² gives the posterior mean of α, and its covariance s² m (G + λ)⁻¹; so Var F(x) = s² φ(x)ᵀ(G + λ)⁻¹φ(x)/m.
        """
        frame, statistics = trained.frame, trained.known_statistics()
        factor, _ = factorised(statistics.gram, positive_ridge(trained.ridge, statistics))
        scale = trained.noise.scale(frame.output_nodes) / statistics.n_features

        def variance(inputs: Tensor) -> Tensor:
            nodes = frame.nodes_for(inputs)
            grid = nodes.one_channel
            stream = self.settings.stream(inputs, grid, frame.values_at(inputs))
            values = torch.zeros(len(inputs), *grid.shape, dtype=torch.float64, device=inputs.device)
            halves = (
                torch.linalg.solve_triangular(factor.to(phi), phi, upper=False) for phi, _ in stream.blocks(inputs, values)
            )
            pointwise = scale * torch.cat([half.square().sum(0) for half in halves]).reshape(len(inputs), grid.size)
            pointwise = pointwise / grid.root_weights.to(pointwise) ** 2
            return (pointwise + trained.noise.variance).reshape(len(inputs), *nodes.shape)

        return variance


def positive_ridge(ridge: float, statistics: Statistics) -> float:
    """λ, raised if necessary to keep G + λ positive definite in floating point."""
    return max(ridge, statistics.n_features * torch.finfo(torch.float64).eps * statistics.scale)
