"""One interface for every solver, and one type for what they return."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic

import torch
from jaxtyping import Float, Inexact
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.regression.statistics import Form, NormalEquations, Statistics

Ridge = float | Tensor
"""λ: a number, or for modal coefficients a vector with one for each block."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The coefficients that a solver found, and how.

    Attributes
    ----------
    coef
        α, of shape (m, *columns); other coefficients define their own shape.
    residual
        ‖(G + λI)α − b‖ / ‖b‖.
    rank
        The rank of the solution.
    condition
        An estimate of the condition number of G + λI.
    n_iter
        The number of iterations; 0 for direct methods.
    solver
        The solver.
    guarantees
        For each constraint, what holds for predictions, and where.

    Examples
    --------
    >>> from raffia import FourierFeatures, RandomFeatureModel
    >>> from raffia.problems import Burgers
    >>> a, y = Burgers(fine_points=64).dataset(10, points=32, seed=0)
    >>> RandomFeatureModel(FourierFeatures(16), 20, ridge=1e-6).fit(a, y).solution_.solver
    'Cholesky()'
    """

    coef: Inexact[Tensor, "..."]
    """(m, *columns), or another shape that the kind of coefficients defines."""
    residual: float
    """‖(G + λ)α − b‖ / ‖b‖; with inequalities, the largest residual of their optimality conditions."""
    rank: int
    """The dimension of the subspace of R^m that contains the solution."""
    condition: float
    """An estimate of the condition number of G + λ on this subspace; NaN if the method has none."""
    n_iter: int = 0
    """Iterations; 0 for direct methods."""
    solver: str = ""
    """The solver."""
    guarantees: tuple[str, ...] = ()
    """For each constraint, a description of what holds for predictions, and where."""


class Solver(BaseEstimator, ABC, Generic[Form]):
    """The base class of solvers of (G + λI) α = b: one method, `solve(equations, ridge)`, which returns a `Solution`.

    The solution minimises ‖y − Aα/m‖² + (λ/m)‖α‖².

    Examples
    --------
    >>> from raffia.solvers import Cholesky, Solver
    >>> isinstance(Cholesky(), Solver)
    True
    """

    @property
    def statistics(self) -> type[Form]:
        """The form of statistics that the solver needs; by default G and b."""
        return NormalEquations  # type: ignore[return-value]

    @abstractmethod
    def solve(self, equations: Form, ridge: float) -> Solution:
        """Compute the coefficients. A failure is an error that names a remedy; solvers never change the method silently."""

    def solution(
        self, equations: Statistics, ridge: float, coef: Float[Tensor, "m _"], rank: int, condition: float, n_iter: int = 0
    ) -> Solution:
        """The solution with these coefficients, reshaped like rhs, and their residual."""
        flat, rhs = coef.contiguous(), columns_of(equations.rhs)
        defect = torch.linalg.vector_norm(equations.apply(flat) + ridge * flat - rhs)
        scale = torch.linalg.vector_norm(rhs)
        residual = float(defect / scale) if scale > 0 else float(defect)
        return Solution(flat.reshape(equations.rhs.shape), residual, rank, condition, n_iter=n_iter, solver=repr(self))


def columns_of(rhs: Float[Tensor, "m *columns"]) -> Float[Tensor, "m _"]:
    """The right-hand side as a matrix."""
    return rhs.reshape(len(rhs), -1)


def condition_of(factor: Float[Tensor, "m m"], iterations: int = 12) -> float:
    """The condition number of LLᵀ by power iterations, usually underestimated by a few per cent."""
    start = torch.randn(len(factor), 1, dtype=factor.dtype, generator=torch.Generator().manual_seed(0)).to(factor.device)
    large, small, sizes = start, start, (torch.ones(()), torch.ones(()))
    for _ in range(iterations):
        large, small = factor @ (factor.mT @ large), torch.cholesky_solve(small, factor)
        sizes = large.norm(), small.norm()
        large, small = large / sizes[0], small / sizes[1]
    return float(sizes[0] * sizes[1])
