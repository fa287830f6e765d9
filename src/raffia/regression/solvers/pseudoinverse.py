"""Symmetric eigendecomposition of G: the minimum-norm solution for any rank."""

from dataclasses import dataclass

import torch

from raffia.regression.solvers.base import Solution, Solver, columns_of
from raffia.regression.statistics import NormalEquations


@dataclass(repr=False, eq=False)
class Pseudoinverse(Solver[NormalEquations]):
    """Solve by an eigendecomposition of G: the minimum-norm solution for λ = 0.

    α = Σ_{s_i > rtol·s_max} v_i v_iᵀb / (s_i + λ) with G = V diag(s) Vᵀ.

    Parameters
    ----------
    rtol
        Eigenvalues below rtol times the largest are cut. None is m·ε for λ = 0, with the precision ε of G, and 0 otherwise.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.solvers import Pseudoinverse
    >>> model = RandomFeatureModel(FourierFeatures(), ridge=0.0, solver=Pseudoinverse(rtol=1e-12))
    """

    rtol: float | None = None

    def solve(self, equations: NormalEquations, ridge: float) -> Solution:
        """Decompose, cut, solve."""
        s, V = torch.linalg.eigh(equations.gram)
        s = s.clamp(min=0)
        rtol = (len(s) * torch.finfo(s.dtype).eps if ridge == 0 else 0.0) if self.rtol is None else self.rtol
        keep = s > rtol * s[-1]  # not >=: an all-zero Gram matrix has rank 0
        V, s = V[:, keep], s[keep] + ridge
        coef = V @ ((V.mT @ columns_of(equations.rhs)) / s[:, None])
        condition = float(s[-1] / s[0]) if len(s) else float("nan")
        return self.solution(equations, ridge, coef, rank=len(s), condition=condition)
