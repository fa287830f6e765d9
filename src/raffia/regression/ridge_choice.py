"""The choice of the ridge λ: the one of the least error on samples that were left out, one at a time, in folds or for good."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure
from raffia.regression.feature_stream import FeatureStream
from raffia.regression.leave_one_out import LeftOut, leave_one_out, leave_one_out_dual
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.regression_defaults import FINE, LEAST_LEFT_OUT, LEAST_SCANNED, LEFT_OUT_SAMPLES, SCANNED_SAMPLES
from raffia.regression.ridge_path import RidgePath, k_fold_errors
from raffia.regression.ridge_search import best_ridge
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import Statistics
from raffia.regression.streamed import Streamed


def ridge_for(stream: FeatureStream, a: Tensor, y: Tensor, out: Tensor, measure: ErrorMeasure) -> tuple[float, float]:
    """The ridge of the least mean error on the samples `out`, for models trained on the others; and that error."""
    equations, per_sample = NormalEquations.assemble(stream, a[~out], y[~out]), stream.values_at(a).size
    sizes = measure.sizes(y[out], stream.grid)

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        coefs = [_solved(equations, ridge) for ridge in ridges]
        stacked = torch.cat(coefs, dim=1) / equations.n_features
        parts, first = [], 0
        for rows, target in stream.blocks(a[out], y[out]):
            n = rows.shape[1] // per_sample
            truth = target.reshape(n, -1)
            values = (rows.mT @ stacked).reshape(n, -1, len(ridges), coefs[0].shape[1])
            wrong = torch.linalg.vector_norm(values - truth.reshape(n, values.shape[1], 1, -1), dim=(1, 3))
            parts.append(wrong.mT / sizes[first : first + n].to(truth))
            first += n
        return torch.nan_to_num(torch.cat(parts, dim=1), nan=torch.inf)

    return best_ridge(errors, equations.scale)


def dual_ridge_for(equations: Streamed, measure: ErrorMeasure) -> tuple[float, float]:
    """The ridge of the least leave-one-out error, and that error, for scalar features that outnumber the samples."""
    scale = float(equations.apply(torch.ones_like(equations.rhs.reshape(equations.n_features, -1)[:, :1])).abs().max())
    ridge, error = best_ridge(lambda ridges: leave_one_out_dual(equations, ridges, measure), scale)
    return max(ridge, 1e-13 * scale), error  # less would not keep the kernel matrix positive definite


def left_out_ridge(
    path: RidgePath, stream: FeatureStream, a: Tensor, y: Tensor, measure: ErrorMeasure, every: bool = True
) -> tuple[float, LeftOut | None]:
    """The ridge of the least leave-one-function-out error over some samples and, with `every`, the errors of all samples with it.

    Of functions on more than 4,096 points fewer are left out: each takes longer and tells more.
    """
    share = min(1.0, FINE / stream.values_at(a).size)
    some_a, some_y = _spread(a, y, max(LEAST_SCANNED, int(share * SCANNED_SAMPLES)))

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        return leave_one_out(path, stream, some_a, some_y, ridges, measure=measure).errors

    ridge, _ = best_ridge(errors, float(path.s[-1]))
    if not every:
        return ridge, None
    most = len(a) if share == 1 else max(LEAST_LEFT_OUT, int(share * LEFT_OUT_SAMPLES))
    return ridge, leave_one_out(path, stream, *_spread(a, y, most), [ridge], measure=measure)


def _spread(a: Tensor, y: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """At most this many samples, evenly spread."""
    rows = torch.linspace(0, len(a) - 1, min(len(a), most)).long()
    return a[rows.to(a.device)], y[rows.to(y.device)]


def fold_ridge(folds: Sequence[Statistics]) -> tuple[float, float]:
    """The ridge of the least k-fold error, and that error: the root of the mean square over all held-out samples, relative to ‖y‖."""
    if len(folds) < 2:
        raise RaffiaError(
            "ridge='auto' holds out batches, so it needs two or more; got one. Pass smaller batches, or call fit."
        )
    equations = [NormalEquations.of(fold) for fold in folds]

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges one"]:
        return k_fold_errors(equations, ridges)[:, None]

    return best_ridge(errors, sum(fold.scale for fold in equations))


def _solved(equations: NormalEquations, ridge: float) -> Float[Tensor, "m columns"]:
    """α(λ) by Cholesky; NaN where G + λ is not positive definite in floating point."""
    shifted = equations.gram.clone()
    shifted.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(shifted)
    coef = torch.cholesky_solve(columns_of(equations.rhs), factor)
    return torch.full_like(coef, torch.nan) if failed else coef
