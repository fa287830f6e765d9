"""Everything for every ridge λ from one eigendecomposition of G."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.regression.normal_equations import NormalEquations
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import Statistics


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
