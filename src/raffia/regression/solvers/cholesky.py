"""Cholesky factorisation of G + λI: the fastest direct method when λ > 0."""

from dataclasses import dataclass

import torch

from raffia.errors import RaffiaError
from raffia.regression.solvers.base import Solution, Solver, columns_of, condition_of
from raffia.regression.statistics import NormalEquations, factorised


@dataclass(repr=False, eq=False)
class Cholesky(Solver[NormalEquations]):
    """Solve the normal equations by a Cholesky factorisation: the default for λ > 0.

    α = (G + λI)⁻¹ b through G + λI = L Lᵀ, which must be positive definite in floating point.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.solvers import Cholesky
    >>> model = RandomFeatureModel(FourierFeatures(), ridge=1e-6, solver=Cholesky())
    """

    def solve(self, equations: NormalEquations, ridge: float) -> Solution:
        """Factor and solve."""
        factor, failed_at = factorised(equations.gram, ridge)
        m = equations.n_features
        if failed_at:
            raise RaffiaError(
                f"Cholesky() needs G + ridge positive definite: with ridge={ridge:g} the Gram matrix of {m} features fails at "
                f"row {int(failed_at)}, so its features are dependent to working precision. "
                "Pass a larger ridge, or solver=Pseudoinverse() for the minimum-norm solution."
            )
        coef = torch.cholesky_solve(columns_of(equations.rhs), factor)
        return self.solution(equations, ridge, coef, rank=m, condition=condition_of(factor))
