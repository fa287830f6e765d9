"""Errors of leaving out one function at a time, exactly and without training again, and the noise level that follows from them.

Grid points of one sample are not independent, so the unit that is left out is a function, not a value. With A_i the rows of sample i and
H_ii = A_i (AᵀA + mλ)⁻¹ A_iᵀ, the error of the model trained without sample i is

    e_i = (I − H_ii)⁻¹ r_i,     r_i = y_i − A_i α/m.

Errors at neighbouring points are not independent either. The noise has a pointwise variance σ², and a function counts as K_eff independent
values, so its variance in embedded coordinates is s² = σ² |D| / K_eff.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure, measure_for
from raffia.regression.feature_stream import FeatureStream
from raffia.regression.modal_stream import RealRows
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.ridge_path import DualPath, RidgePath, best_ridge, k_fold_errors
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import NormalEquations, Statistics, Streamed, factorised
from raffia.spaces import Nodes


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The results of leaving out one function at a time, for each ridge."""

    errors: Float[Tensor, "ridges n"]
    """The relative L² error of sample i by the model trained without it; for scalar outputs, relative to their root mean square."""
    functions: Float[Tensor, "n points"]
    """For the last ridge: e_i in embedded coordinates."""
    leverages: Float[Tensor, "n"]
    """For the last ridge: tr H_ii(I − H_ii)⁻¹, the variance of the prediction by the model trained without i, in units of the noise."""


def leave_one_out(
    path: RidgePath,
    stream: FeatureStream | RealRows,
    a: Tensor,
    y: Tensor,
    ridges: Sequence[float],
    max_points: int = 256,
    measure: ErrorMeasure | None = None,
) -> LeftOut:
    """e_i = (I − H_ii)⁻¹ r_i for every sample and ridge, in one pass over the data.

    Parameters
    ----------
    path
        The eigendecomposition of the normal equations of all samples.
    stream, a, y
        The features, and the samples to leave out.
    ridges
        The ridges to compare.
    max_points
        Outputs with more points are projected on this many leading modes of the features of the first batch, where there are more
        features too. The remainder of the residual is left unchanged, since smooth features cannot reach it.
    measure
        The error measure. None is the usual one for outputs that are not normalised.
    """
    m, errors, functions, leverages, modes = path.equations.n_features, [], [], [], None
    per_sample, sizes, first = stream.values_at(a).size, _sizes(measure, y, stream.grid), 0
    for rows, target in stream.blocks(a, y):
        n = rows.shape[1] // per_sample
        A = rows.mT.reshape(n, -1, m)
        truth = target.reshape(n, A.shape[1], -1)
        norm = sizes[first : first + n].to(truth)
        first += n
        coefs = [path.projected / (path.s + ridge)[:, None] / m for ridge in ridges]
        stacked = torch.cat(coefs, dim=1)
        if min(A.shape[1:]) > max_points:
            modes = _leading_modes(A, max_points) if modes is None else modes
            reach, values = (modes.mT @ A) @ path.V, A @ (path.V @ stacked)
        else:
            reach = A @ path.V
            values = reach @ stacked
        batch = []
        for ridge, value in zip(ridges, values.split(coefs[0].shape[1], dim=2), strict=True):
            r = truth - value
            inside = r if modes is None else modes.mT @ r
            scaled = reach * (m * (path.s + ridge)).rsqrt()  # H = scaled scaledᵀ; the smaller of both products is factorised
            few = scaled.shape[2] < scaled.shape[1]
            gram = scaled.mT @ scaled if few else scaled @ scaled.mT
            factor, failed = torch.linalg.cholesky_ex(torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device) - gram)
            solved = torch.cholesky_solve(scaled.mT @ inside if few else inside, factor)
            e = torch.where((failed == 0)[:, None, None], inside + scaled @ solved if few else solved, inside)
            outside = 0 if modes is None else (r.square().sum((1, 2)) - inside.square().sum((1, 2))).clamp(min=0)
            error = (e.square().sum((1, 2)) + outside).sqrt() / norm
            batch.append(torch.where((failed == 0) & torch.isfinite(error), error, torch.inf))
        errors.append(torch.stack(batch))
        functions.append((e if modes is None else r + modes @ (e - inside)).reshape(n, -1))
        leverages.append(torch.cholesky_solve(gram, factor).diagonal(dim1=1, dim2=2).sum(-1))
    return LeftOut(torch.cat(errors, dim=1), torch.cat(functions), torch.cat(leverages))


def leave_one_out_dual(
    equations: Streamed, ridges: Sequence[float], measure: ErrorMeasure | None = None
) -> Float[Tensor, "ridges n"]:
    """The leave-one-out errors for scalar features that outnumber the samples: e_i = c_i / (K⁻¹)_ii with K = AAᵀ/m + λ, c = K⁻¹y."""
    rows, targets = zip(*equations.blocks(), strict=True)
    A = torch.cat(rows, dim=1).mT
    y = torch.cat(targets).reshape(len(A), -1)
    path = DualPath.of_kernel(A @ A.mT / equations.n_features)
    norm = torch.cat([_sizes(measure, outputs, equations.stream.grid) for _, outputs in equations.data]).to(y)
    return torch.stack([torch.linalg.vector_norm(path.left_out(y, ridge), dim=1) / norm for ridge in ridges])


def _sizes(measure: ErrorMeasure | None, y: Tensor, grid: Nodes) -> Float[Tensor, "n"]:
    measure = measure_for(grid, normalized=False).of(y, grid) if measure is None else measure
    return measure.sizes(y, grid)


def _leading_modes(B: Float[Tensor, "n points m"], count: int) -> Float[Tensor, "points modes"]:
    """Orthonormal functions that span most of the features of a batch; for many points, by a randomised range finder."""
    points = B.shape[1]
    if points <= 4 * count:
        _, vectors = torch.linalg.eigh(torch.einsum("ipk,iqk->pq", B, B))
        return vectors[:, -count:]
    columns = B.transpose(0, 1).flatten(1)
    if columns.shape[1] <= count:
        return torch.linalg.qr(columns)[0]
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(columns.shape[1], count + 16, dtype=B.dtype, generator=generator).to(B.device)
    span = torch.linalg.qr(columns @ start)[0]
    span = torch.linalg.qr(columns @ (columns.mT @ span))[0]
    return span @ torch.linalg.svd(span.mT @ columns, full_matrices=False)[0][:, :count]


@dataclass(frozen=True)
class Noise:
    """σ², the pointwise variance of the error, and K_eff, the number of independent values that a function is worth."""

    variance: float
    effective_points: float

    def scale(self, grid: Nodes) -> float:
        """s² = σ² |D| / K_eff."""
        return self.variance * grid.volume / self.effective_points


def noise_of(left_out: LeftOut, grid: Nodes) -> Noise:
    """Estimate the noise from e_i: K_eff is the participation ratio of their covariance; σ² makes mean ‖e_i‖² equal to its expectation."""
    e = left_out.functions
    second = (e @ e.mT if len(e) < e.shape[1] else e.mT @ e) / len(e)  # whichever is smaller: their spectra agree
    energy = float(second.diagonal().sum())
    effective = energy**2 / float(second.square().sum()) if energy > 0 else 1.0
    leverage = float(left_out.leverages.mean())
    return Noise(energy / (grid.volume * (1 + leverage / effective)), effective)


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
    share = min(1.0, DEFAULTS.fine / stream.values_at(a).size)
    some_a, some_y = _spread(a, y, max(DEFAULTS.least_scanned, int(share * DEFAULTS.scanned_samples)))

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        return leave_one_out(path, stream, some_a, some_y, ridges, measure=measure).errors

    ridge, _ = best_ridge(errors, float(path.s[-1]))
    if not every:
        return ridge, None
    most = len(a) if share == 1 else max(DEFAULTS.least_left_out, int(share * DEFAULTS.left_out_samples))
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
    """Return α(λ) by Cholesky, or NaN if G + λ is not positive definite in floating point."""
    factor, failed = factorised(equations.gram, ridge)
    coef = torch.cholesky_solve(columns_of(equations.rhs), factor)
    return torch.full_like(coef, torch.nan) if failed else coef
