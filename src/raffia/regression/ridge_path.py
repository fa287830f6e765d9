"""Everything for every λ from one eigendecomposition of G; the choice of λ by leaving out one function at a time.

Grid points of one sample are not independent, so the unit to leave out is a function, not a number. With
A_i the rows of sample i and H_ii = A_i (AᵀA + mλ)⁻¹ A_iᵀ, the error of the model trained without sample i is

    e_i = (I − H_ii)⁻¹ r_i,     r_i = y_i − A_i α/m,

exactly, without training again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.implicit import Streamed
from raffia.regression.normal_equations import NormalEquations, assemble
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import FeatureStream, Statistics

Sizes = Float[Tensor, "n"]

SCANNED_SAMPLES = 128  # left out, one at a time, to compare ridges; the error of the chosen one is over all samples


class RidgePath:
    """G = V diag(s) Vᵀ, and what it gives for every ridge; for ridge 0, eigenvalues below m·ε·s_max count as zero."""

    def __init__(self, equations: NormalEquations) -> None:
        self.equations = equations
        s, self.V = torch.linalg.eigh(equations.gram)
        self.s: Float[Tensor, "m"] = s.clamp(min=0)
        self.projected: Float[Tensor, "m columns"] = self.V.mT @ columns_of(equations.rhs)

    def coef(self, ridge: float) -> Float[Tensor, "m *columns"]:
        """α(λ)."""
        s = self.s + ridge
        if ridge == 0:
            s = torch.where(s > len(s) * torch.finfo(s.dtype).eps * s[-1], s, torch.inf)
        coef = self.V @ (self.projected / s[:, None])
        return coef.reshape(self.equations.rhs.shape)

    def training_error(self, ridge: float) -> float:
        """(Σ_i ‖y_i − F(a_i)‖² / Σ_i ‖y_i‖²)^½."""
        return float((self.equations.residual(self.coef(ridge)) / self.equations.energy).sqrt())

    def degrees_of_freedom(self, ridge: float) -> float:
        """tr G(G + λ)⁻¹, the effective number of features."""
        return float((self.s / (self.s + ridge)).sum())

    def log_determinant(self, ridge: float) -> float:
        """log det(I + G/λ)."""
        return float(torch.log1p(self.s / ridge).sum())

    def log_marginal_likelihood(self, ridge: float, noise: float, n_rows: int) -> float:
        """log p(y) for y = Aα/m + ε with ε ~ N(0, noise·I) in R^n_rows and α ~ N(0, noise·m/λ·I), summed over columns."""
        columns = self.projected.shape[1]
        explained = (self.projected.square() / (self.s + ridge)[:, None]).sum() / self.equations.n_features
        misfit = (self.equations.energy - explained) / noise
        constant = n_rows * torch.log(torch.tensor(2 * torch.pi * noise, dtype=torch.float64))
        return float(-0.5 * (columns * (constant + self.log_determinant(ridge)) + misfit))

    def likeliest_noise(self, ridge: float, n_rows: int) -> float:
        """The noise that maximises the marginal likelihood for a given ridge, in closed form."""
        explained = (self.projected.square() / (self.s + ridge)[:, None]).sum() / self.equations.n_features
        return float((self.equations.energy - explained) / (n_rows * self.projected.shape[1]))

    def generalised_cross_validation(self, ridge: float) -> float:
        """n·RSS/(n − tr H)²: for numbers as outputs only, whose samples are independent rows."""
        if self.projected.shape[1] != 1:
            raise RaffiaError("generalised cross-validation is for numbers as outputs; use leave_one_out for functions.")
        n = self.equations.n_samples
        return float(n * self.equations.residual(self.coef(ridge)) / (n - self.degrees_of_freedom(ridge)) ** 2)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What leaving out one function at a time says, for each ridge."""

    errors: Float[Tensor, "ridges n"]
    """Relative L² error of sample i by the model trained without it; for numbers, relative to their root mean square."""
    functions: Float[Tensor, "n points"]
    """For the last ridge: e_i in embedded coordinates (of the output modes, where they were projected)."""
    leverages: Float[Tensor, "n"]
    """For the last ridge: tr H_ii(I − H_ii)⁻¹, the variance of the prediction by the model trained without i, in units of the noise."""


def leave_one_out(
    path: RidgePath,
    stream: FeatureStream,
    a: Tensor,
    y: Tensor,
    ridges: Sequence[float],
    max_points: int = 256,
    sizes: Sizes | None = None,
) -> LeftOut:
    """e_i = (I − H_ii)⁻¹ r_i for every sample and ridge, in one pass over the data.

    `sizes` are what errors are relative to, if not the norms of y. Outputs with more than `max_points` points are projected on that
    many modes, the leading ones of the features of the first batch; what is outside them is left as it is, since smooth features
    cannot reach it.
    """
    m, errors, functions, leverages, modes = path.equations.n_features, [], [], [], None
    per_sample, seen = 1 if stream.numbers(a) else stream.one_channel.size, 0
    for rows, target in stream.blocks(a, y):
        n = rows.shape[1] // per_sample
        B = (rows.mT @ path.V).reshape(n, -1, len(path.s))
        truth = target.reshape(n, B.shape[1], -1)
        norm = _sizes(truth.flatten(1), path.equations) if sizes is None else sizes[seen : seen + n].to(truth)
        seen += n
        if B.shape[1] > max_points:
            modes = _leading_modes(B, max_points) if modes is None else modes
        batch = []
        for ridge in ridges:
            r = truth - B @ (path.projected / (path.s + ridge)[:, None]) / m
            inside, reach = (r, B) if modes is None else (modes.mT @ r, modes.mT @ B)
            H = (reach / (m * (path.s + ridge))) @ reach.mT
            factor, failed = torch.linalg.cholesky_ex(torch.eye(H.shape[1], dtype=H.dtype, device=H.device) - H)
            e = torch.where((failed == 0)[:, None, None], torch.cholesky_solve(inside, factor), inside)
            outside = 0 if modes is None else (r.square().sum((1, 2)) - inside.square().sum((1, 2))).clamp(min=0)
            error = (e.square().sum((1, 2)) + outside).sqrt() / norm
            batch.append(torch.where((failed == 0) & torch.isfinite(error), error, torch.inf))
        errors.append(torch.stack(batch))
        functions.append(e.reshape(n, -1))
        leverages.append(torch.cholesky_solve(H, factor).diagonal(dim1=1, dim2=2).sum(-1))
    return LeftOut(torch.cat(errors, dim=1), torch.cat(functions), torch.cat(leverages))


def leave_one_out_dual(equations: Streamed, ridges: Sequence[float], sizes: Sizes | None = None) -> Float[Tensor, "ridges n"]:
    """The same for scalar features that outnumber the samples: e_i = c_i / (K⁻¹)_ii with K = AAᵀ/m + λ, c = K⁻¹y."""
    rows, targets = zip(*equations.blocks(), strict=True)
    A = torch.cat(rows, dim=1).mT
    y = torch.cat(targets).reshape(len(A), -1)
    s, U = torch.linalg.eigh(A @ A.mT / equations.n_features)
    s = s.clamp(min=len(s) * torch.finfo(s.dtype).eps * s[-1])
    norm = _sizes(y, equations) if sizes is None else sizes.to(y)
    errors = []
    for ridge in ridges:
        c = U @ ((U.mT @ y) / (s + ridge)[:, None])
        diagonal = (U.square() / (s + ridge)).sum(-1)
        errors.append(torch.linalg.vector_norm(c / diagonal[:, None], dim=1) / norm)
    return torch.stack(errors)


def k_fold_errors(folds: Sequence[NormalEquations], ridges: Sequence[float]) -> Float[Tensor, "ridges"]:
    """(Σ ‖e‖² / Σ ‖y‖²)^½ over held-out folds, from the statistics of the folds alone: train on all but one, add the residuals."""
    total = sum(folds[1:], start=folds[0])
    left = torch.zeros(len(ridges), dtype=torch.float64)
    for fold in folds:
        path = RidgePath(total - fold)
        left += torch.stack([fold.residual(path.coef(ridge)) for ridge in ridges]).cpu()
    return (left / total.energy.cpu()).sqrt()


def best_ridge(errors: Callable[[Sequence[float]], Float[Tensor, "ridges n"]], scale: float) -> tuple[float, float]:
    """The ridge of the least mean error, and that error.

    One ridge a decade from 1e-16 to 1 times `scale`, then the vertex of the parabola through the best and its neighbours, on
    logarithmic scales: with few samples the curve is rough, and its exact minimum is a worse choice than that of a smooth fit.
    """
    decades = list(range(-16, 1))
    means = errors([scale * 10.0**k for k in decades]).mean(1)
    best = int(means.argmin())
    if not torch.isfinite(means[best]):
        raise RaffiaError("no ridge has a finite error on what was left out: check the data, or pass ridge as a number.")
    if not 0 < best < len(decades) - 1 or not torch.isfinite(means[best - 1 : best + 2]).all():
        return scale * 10.0 ** decades[best], float(means[best])
    left, middle, right = means[best - 1 : best + 2].log().tolist()
    bend = left - 2 * middle + right
    ridge = scale * 10.0 ** (decades[best] + ((left - right) / (2 * bend) if bend > 0 else 0.0))
    return ridge, float(errors([ridge]).mean())


def ridge_for(stream: FeatureStream, a: Tensor, y: Tensor, held: int, sizes: Sizes | None = None) -> tuple[float, float]:
    """The ridge of the least mean relative error on `held` samples, evenly spaced, of a model trained on the others; and that error."""
    out = torch.zeros(len(a), dtype=torch.bool, device=a.device)
    out[torch.linspace(0, len(a) - 1, held, device=a.device).round().long()] = True
    equations, per_sample = assemble(stream, a[~out], y[~out]), 1 if stream.numbers(a) else stream.one_channel.size
    relative_to = None if sizes is None else sizes[out.to(sizes.device)]

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        coefs = [_solved(equations, ridge) for ridge in ridges]
        stacked = torch.cat(coefs, dim=1) / equations.n_features
        found, seen = [], 0
        for rows, target in stream.blocks(a[out], y[out]):
            n = rows.shape[1] // per_sample
            truth = target.reshape(n, -1)
            values = (rows.mT @ stacked).reshape(n, -1, len(ridges), coefs[0].shape[1])
            wrong = torch.linalg.vector_norm(values - truth.reshape(n, values.shape[1], 1, -1), dim=(1, 3))
            norm = _sizes(truth, equations) if relative_to is None else relative_to[seen : seen + n].to(truth)
            found.append(wrong.mT / norm)
            seen += n
        return torch.nan_to_num(torch.cat(found, dim=1), nan=torch.inf)

    return best_ridge(errors, float(equations.gram.diagonal().sum()))


def _sizes(y: Float[Tensor, "n values"], equations: Statistics) -> Float[Tensor, "n"]:
    """What an error is relative to: the norm of a function; for numbers, which may be near zero, their root mean square."""
    if y.shape[1] == 1:
        return (equations.energy / equations.n_samples).sqrt().expand(len(y))
    return torch.linalg.vector_norm(y, dim=1)


def _solved(equations: NormalEquations, ridge: float) -> Float[Tensor, "m columns"]:
    """α(λ) by Cholesky; NaN where G + λ is not positive definite in floating point."""
    shifted = equations.gram.clone()
    shifted.diagonal().add_(ridge)
    factor, failed = torch.linalg.cholesky_ex(shifted)
    coef = torch.cholesky_solve(columns_of(equations.rhs), factor)
    return torch.full_like(coef, torch.nan) if failed else coef


def _leading_modes(B: Float[Tensor, "n points rank"], count: int) -> Float[Tensor, "points modes"]:
    """Orthonormal functions that span most of the features of a batch."""
    _, vectors = torch.linalg.eigh(torch.einsum("ipk,iqk->pq", B, B))
    return vectors[:, -count:]


def dual_ridge_for(equations: Streamed, sizes: Sizes | None = None) -> tuple[float, float]:
    """The ridge of the least leave-one-out error, and that error, for scalar features that outnumber the samples."""
    scale = float(equations.apply(torch.ones_like(equations.rhs.reshape(equations.n_features, -1)[:, :1])).abs().max())
    ridge, error = best_ridge(lambda ridges: leave_one_out_dual(equations, ridges, sizes), scale)
    return max(ridge, 1e-13 * scale), error  # less would not keep the kernel matrix positive definite


def left_out_ridge(
    path: RidgePath, stream: FeatureStream, a: Tensor, y: Tensor, sizes: Sizes | None = None
) -> tuple[float, LeftOut]:
    """The ridge of the least leave-one-function-out error over some of the samples, and what it gives over all of them."""
    few = torch.linspace(0, len(a) - 1, min(len(a), SCANNED_SAMPLES)).long()
    some_a, some_y = (f[few.to(f.device)] for f in (a, y))
    some_sizes = None if sizes is None else sizes[few.to(sizes.device)]

    def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges n"]:
        return leave_one_out(path, stream, some_a, some_y, ridges, sizes=some_sizes).errors

    ridge, _ = best_ridge(errors, float(path.s[-1]))
    return ridge, leave_one_out(path, stream, a, y, [ridge], sizes=sizes)
