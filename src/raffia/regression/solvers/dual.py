"""The dual problem AAᵀ: cheaper when features outnumber equations."""

from dataclasses import dataclass

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression.solvers.base import Solution, Solver, condition_of
from raffia.regression.statistics import Streamed, add_lower_triangle, mirror


@dataclass(repr=False, eq=False)
class Dual(Solver[Streamed]):
    """Solve for as many unknowns as A has rows, α = Aᵀ (AAᵀ/m + λI)⁺ y, if there are fewer rows than features.

    Parameters
    ----------
    rtol
        For λ = 0, eigenvalues below rtol times the largest are cut; None is rows·ε.

    Examples
    --------
    >>> from raffia import RandomFeatureModel, ScalarFeatures
    >>> from raffia.solvers import Dual
    >>> model = RandomFeatureModel(ScalarFeatures(32), n_features=2000, ridge=1e-6, solver=Dual())
    """

    rtol: float | None = None

    @property
    def statistics(self) -> type[Streamed]:
        """The data."""
        return Streamed

    def solve(self, equations: Streamed, ridge: float) -> Solution:
        """Form the kernel matrix and solve."""
        rows, targets = zip(*equations.blocks(), strict=True)
        A, y = torch.cat(rows, dim=1).mT, torch.cat(targets).reshape(equations.n_rows, -1)
        kernel = A.new_zeros(len(A), len(A))
        add_lower_triangle(kernel, A)
        mirror(kernel)
        kernel /= equations.n_features
        if ridge > 0:
            return self._by_cholesky(equations, ridge, A, y, kernel)
        s, V = torch.linalg.eigh(kernel)
        rtol = len(s) * torch.finfo(s.dtype).eps if self.rtol is None else self.rtol
        keep = s > rtol * s[-1].clamp(min=0)
        V, s = V[:, keep], s[keep]
        coef = A.mT @ (V @ ((V.mT @ y) / s[:, None]))
        condition = float(s[-1] / s[0]) if len(s) else float("nan")
        return self.solution(equations, ridge, coef, rank=len(s), condition=condition)

    def _by_cholesky(self, equations: Streamed, ridge: float, A: Tensor, y: Tensor, kernel: Tensor) -> Solution:
        kernel.diagonal().add_(ridge)
        factor, failed_at = torch.linalg.cholesky_ex(kernel)
        if failed_at:
            raise RaffiaError(
                f"Dual() needs AAᵀ/m + ridge positive definite: with ridge={ridge:g} its {len(kernel)} equations are dependent to "
                "working precision. Pass a larger ridge, or ridge=0 for the minimum-norm solution."
            )
        coef = A.mT @ torch.cholesky_solve(y, factor)
        return self.solution(equations, ridge, coef, rank=min(A.shape), condition=condition_of(factor))
