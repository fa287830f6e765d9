"""Ridge regression on everything that inputs have: F(a) = ȳ + B (x − x̄), with λ ‖B‖² and the intercept free."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.regression.dual_path import DualPath
from raffia.regression.kernel_equations import KernelEquations
from raffia.regression.kernel_solution import KernelSolution, Spread


@dataclass(frozen=True, eq=False)
class LinearRidge:
    """By the singular values of x − x̄, which are not squared: a linear map is learnt to rounding."""

    def path(self, equations: KernelEquations) -> DualPath:
        """Of K = (x − x̄)(x − x̄)ᵀ, with its principal directions; the intercept takes 1/n of every pair."""
        return DualPath.of_rows(equations.inputs - equations.inputs.mean(0), free=1 / equations.n_samples)

    def centred(self, y: Float[Tensor, "n columns"]) -> Float[Tensor, "n columns"]:
        """y − ȳ."""
        return y - y.mean(0)

    def solve(self, equations: KernelEquations, ridge: float, path: DualPath | None = None) -> KernelSolution:
        """In terms of principal components."""
        path = path or self.path(equations)
        root, mean = path.s.sqrt(), equations.targets.mean(0)
        coef = (path.U.mT @ (equations.targets - mean)) * (root / (path.s + ridge))[:, None]
        condition = float((path.s.max() + ridge) / (path.s.min() + ridge)) if len(root) else math.nan
        coef, origin = torch.cat([mean[None], coef]), equations.inputs.mean(0)
        return KernelSolution(coef, 0.0, len(root), condition, 0, "singular values of x", (), None, origin, path.directions)

    def values(self, solution: KernelSolution) -> Callable[[Tensor], Tensor]:
        """F for coordinates of inputs."""
        return lambda x: solution.coef[0] + solution.seen(x) @ solution.coef[1:]

    def spread(self, equations: KernelEquations, path: DualPath, ridge: float) -> Spread:
        """Cov(F(a), F(b)) of coefficients with the prior N(0, 1/λ), and of the intercept."""
        origin, directions = equations.inputs.mean(0), path.directions
        assert directions is not None  # of rows

        def covariance(x: Tensor, y: Tensor) -> Tensor:
            x, y = (values - origin for values in (x, y))
            left, right = x @ directions.mT, y @ directions.mT
            outside = (x - left @ directions) @ (y - right @ directions).mT / ridge
            return 1 / len(path.U) + (left / (path.s + ridge)) @ right.mT + outside

        return covariance
