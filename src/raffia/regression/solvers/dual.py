"""The dual problem AAᵀ: cheaper when features outnumber equations."""

from dataclasses import dataclass

import torch

from raffia.regression.implicit import Streamed
from raffia.regression.solvers.base import Solution, Solver


@dataclass(repr=False, eq=False)
class Dual(Solver):
    """α = Aᵀ (AAᵀ/m + λI)⁺ y: as many unknowns as A has rows. Cut at s > rtol·s_max, where `rtol=None` means rows·ε."""

    rtol: float | None = None

    @property
    def statistics(self) -> type[Streamed]:
        """The data."""
        return Streamed

    def solve(self, equations: Streamed, ridge: float) -> Solution:  # type: ignore[override]
        """Form the kernel matrix, decompose, cut, solve."""
        rows, targets = zip(*equations.blocks(), strict=True)
        A, y = torch.cat(rows, dim=1).mT, torch.cat(targets).reshape(equations.n_rows, -1)
        s, V = torch.linalg.eigh(A @ A.mT / equations.n_features)
        rtol = len(s) * torch.finfo(s.dtype).eps if self.rtol is None else self.rtol
        keep = s > rtol * s[-1].clamp(min=0)
        V, s = V[:, keep], s[keep] + ridge
        coef = A.mT @ (V @ ((V.mT @ y) / s[:, None]))
        condition = float(s[-1] / s[0]) if len(s) else float("nan")
        return self.solution(equations, ridge, coef, rank=len(s), condition=condition)
