"""Everything for every ridge λ from one eigendecomposition of G."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.solvers.base import columns_of
from raffia.regression.statistics import Statistics


class RidgePath:
    """G = V diag(s) Vᵀ, and coefficients and errors for every ridge. For ridge 0, eigenvalues below m·ε·s_max count as zero."""

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


def k_fold_errors(folds: Sequence[NormalEquations], ridges: Sequence[float]) -> Float[Tensor, "ridges"]:
    """(Σ ‖e‖² / Σ ‖y‖²)^½ over held-out folds, from the statistics of the folds alone: train on all but one, add the residuals."""
    total = sum(folds[1:], start=folds[0])
    left = torch.zeros(len(ridges), dtype=torch.float64)
    for fold in folds:
        path = RidgePath(total - fold)
        left += torch.stack([fold.residual(path.coef(ridge)) for ridge in ridges]).cpu()
    return (left / total.energy.cpu()).sqrt()
