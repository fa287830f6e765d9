"""Everything for every ridge λ from one eigendecomposition: of G, or of the kernel of the pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import NormalEquations, Statistics

DECADES = tuple(range(-16, 1))


def best_ridge(
    errors: Callable[[Sequence[float]], Float[Tensor, "ridges n"]], scale: float, decades: Sequence[int] = DECADES
) -> tuple[float, float]:
    """The ridge of the least mean error, and that error.

    Tries 10^k times `scale` for all k in `decades`, then the vertex of the parabola through the best and its neighbours on logarithmic
    scales. With few samples the error is a rough function of the ridge, and its exact minimum would be a worse choice.
    """
    means = errors([scale * 10.0**k for k in decades]).mean(1)
    best = int(means.argmin())
    if not torch.isfinite(means[best]):
        raise RaffiaError("no ridge has a finite error on the left-out samples: check the data, or pass ridge as a number.")
    if not 0 < best < len(decades) - 1 or not torch.isfinite(means[best - 1 : best + 2]).all():
        return scale * 10.0 ** decades[best], float(means[best])
    left, middle, right = means[best - 1 : best + 2].log().tolist()
    bend = left - 2 * middle + right
    step = (decades[1] - decades[0]) * ((left - right) / (2 * bend) if bend > 0 else 0.0)
    ridge = scale * 10.0 ** (decades[best] + step)
    return ridge, float(errors([ridge]).mean())


class RidgePath:
    """G = V diag(s) Vᵀ, and coefficients for every ridge. For ridge 0, eigenvalues below m·ε·s_max count as zero."""

    def __init__(self, equations: Statistics) -> None:
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


def k_fold_errors(folds: Sequence[NormalEquations], ridges: Sequence[float]) -> Float[Tensor, "ridges"]:
    """(Σ ‖e‖² / Σ ‖y‖²)^½ over held-out folds, from the statistics of the folds alone: train on all but one, add the residuals."""
    total = sum(folds[1:], start=folds[0])
    left = torch.zeros(len(ridges), dtype=torch.float64)
    for fold in folds:
        path = RidgePath(total - fold)
        left += torch.stack([fold.residual(path.coef(ridge)) for ridge in ridges]).cpu()
    return (left / total.energy.cpu()).sqrt()


@dataclass(frozen=True, eq=False)
class DualPath:
    """The nonzero eigenvalues of K and their eigenvectors. `free` is leverage without penalty: 1/n for an intercept."""

    s: Float[Tensor, "rank"]
    U: Float[Tensor, "n rank"]
    free: float = 0.0
    directions: Float[Tensor, "rank size"] | None = None
    """The principal directions of the rows, if K is the Gram matrix of rows."""

    @classmethod
    def of_kernel(cls, kernel: Float[Tensor, "n n"]) -> "DualPath":
        """From a symmetric matrix; smaller eigenvalues are raised to its rounding error."""
        s, U = torch.linalg.eigh(kernel)
        return cls(s.clamp(min=len(s) * torch.finfo(s.dtype).eps * s[-1].clamp(min=0)), U)

    @classmethod
    def of_rows(cls, rows: Float[Tensor, "n size"], free: float = 0.0) -> "DualPath":
        """From the singular values of rows, K = rows·rowsᵀ, without squaring them."""
        U, root, directions = torch.linalg.svd(rows, full_matrices=False)
        kept = root > max(rows.shape) * torch.finfo(root.dtype).eps * root[0]
        return cls(root[kept].square(), U[:, kept], free, directions[kept])

    @property
    def whole(self) -> bool:
        """Whether the eigenvectors, with the intercept if there is one, span the whole space."""
        return self.U.shape[1] + (self.free > 0) >= len(self.U)

    def centred(self, y: Float[Tensor, "n columns"]) -> Float[Tensor, "n columns"]:
        """y − ȳ where there is an intercept, y otherwise."""
        return y - y.mean(0) if self.free else y

    def unexplained(self, ridge: float) -> Float[Tensor, "n"]:
        """1 − h_i, computed without cancellation for small ridges."""
        U = self.U.square()
        outside = 0.0 if self.whole else (1 - self.free - U.sum(1)).clamp(min=torch.finfo(self.s.dtype).eps)
        return ((U * (ridge / (self.s + ridge))).sum(1) + outside).clamp(min=torch.finfo(self.s.dtype).tiny)

    def residuals(self, y: Float[Tensor, "n columns"], ridge: float) -> Float[Tensor, "n columns"]:
        """y − F on the training pairs."""
        projected = self.U.mT @ y
        outside = 0.0 if self.whole else y - self.U @ projected
        return self.U @ (projected * (ridge / (self.s + ridge))[:, None]) + outside

    def left_out(self, y: Float[Tensor, "n columns"], ridge: float) -> Float[Tensor, "n columns"]:
        """e_i: the error for pair i of the model trained without it."""
        return self.residuals(y, ridge) / self.unexplained(ridge)[:, None]

    def best(self, y: Float[Tensor, "n columns"], sizes: Float[Tensor, "n"]) -> tuple[float, float]:
        """The ridge of the least mean leave-one-out error relative to `sizes`, and that error.

        Ridges are compared on some of the pairs; the error of the best ridge is over all of them.
        """
        few = coordinates_of(y)
        rows = torch.linspace(0, len(y) - 1, min(len(y), DEFAULTS.scanned_pairs)).round().long().to(y.device)
        projected, U = self.U.mT @ few, self.U[rows]
        outside = 0.0 if self.whole else few[rows] - U @ projected

        def errors(ridges: Sequence[float]) -> Float[Tensor, "ridges some"]:
            parts = []
            for ridge in ridges:
                wrong = U @ (projected * (ridge / (self.s + ridge))[:, None]) + outside
                parts.append(torch.linalg.vector_norm(wrong, dim=1) / self.unexplained(ridge)[rows] / sizes[rows])
            return torch.stack(parts)

        ridge, _ = best_ridge(errors, float(self.s.max()))
        return ridge, float((torch.linalg.vector_norm(self.left_out(few, ridge), dim=1) / sizes).mean())


def coordinates_of(y: Float[Tensor, "n columns"]) -> Float[Tensor, "n rank"]:
    """Return the vectors in an orthonormal basis of their span: fewer coordinates with equal norms and inner products."""
    if y.shape[1] <= len(y):
        return y
    s, U = torch.linalg.eigh(y @ y.mT)
    kept = s > DEFAULTS.negligible * s.sum()
    return U[:, kept] * s[kept].sqrt()
