"""Orthogonal factorisation of A itself: right where the normal equations have lost half of the digits."""

from dataclasses import dataclass

import torch

from raffia.regression.solvers.base import Solution, Solver
from raffia.regression.triangular import TriangularFactor


@dataclass(repr=False, eq=False)
class TriangularQR(Solver[TriangularFactor]):
    """α = m V (S / (S² + mλ)) Uᵀ Qᵀy with A = QR and R = U S Vᵀ, cut at S > rtol·S_max.

    Works with the condition number of A, the square root of that of G. λ = 0 is the minimum-norm solution. `rtol=None` means m·ε.
    Two to four times the cost of the normal equations, and a singular value decomposition of an m × m matrix.
    """

    rtol: float | None = None

    @property
    def statistics(self) -> type[TriangularFactor]:
        """A triangular factor."""
        return TriangularFactor

    def solve(self, equations: TriangularFactor, ridge: float) -> Solution:
        """Decompose the factor, cut, solve."""
        m = equations.n_features
        U, S, Vh = torch.linalg.svd(equations.design, full_matrices=False)
        rtol = m * torch.finfo(S.dtype).eps if self.rtol is None else self.rtol
        keep = S > rtol * S[0]
        U, S, Vh = U[:, keep], S[keep], Vh[keep]
        coef = m * Vh.mT @ ((S / (S**2 + m * ridge))[:, None] * (U.mT @ equations.target))
        condition = float((S[0] ** 2 + m * ridge) / (S[-1] ** 2 + m * ridge)) if len(S) else float("nan")
        return self.solution(equations, ridge, coef, rank=len(S), condition=condition)
