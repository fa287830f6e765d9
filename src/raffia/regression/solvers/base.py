"""One interface for every solver, and one type for what they return."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic

import torch
from jaxtyping import Float, Inexact
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.regression.normal_equations import NormalEquations
from raffia.regression.statistics import Form, Statistics

Ridge = float | Tensor
"""λ: a number, or for modal coefficients a vector with one for each block."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The coefficients and how they were found."""

    coef: Inexact[Tensor, "..."]
    """(m, *columns), or whatever shape the kind of coefficients has."""
    residual: float
    """‖(G + λ)α − b‖ / ‖b‖; with inequalities, the largest residual of their optimality conditions."""
    rank: int
    """How many directions of R^m the solution uses."""
    condition: float
    """An estimate of the condition number of G + λ on those directions; NaN where the method has none."""
    n_iter: int = 0
    """Iterations; 0 for direct methods."""
    solver: str = ""
    """The solver."""
    guarantees: tuple[str, ...] = ()
    """What holds of predictions whatever the data were, and where, in words: one line for each constraint."""


class Solver(BaseEstimator, ABC, Generic[Form]):
    """Solves (G + ridge·I) α = b, that is, minimises ‖y − Aα/m‖² + (ridge/m)‖α‖²; the problem comes in one form of statistics."""

    @property
    def statistics(self) -> type[Form]:
        """The form in which it takes the problem: G and b, unless a solver says otherwise."""
        return NormalEquations  # type: ignore[return-value]

    @abstractmethod
    def solve(self, equations: Form, ridge: float) -> Solution:
        """The coefficients; a failure is an error that names the remedy, never a quiet switch of method."""

    def solution(
        self, equations: Statistics, ridge: float, coef: Float[Tensor, "m _"], rank: int, condition: float, n_iter: int = 0
    ) -> Solution:
        """Coefficients found for the columns of `columns_of(rhs)`, in the shape of rhs, with their residual."""
        flat, rhs = coef.contiguous(), columns_of(equations.rhs)
        defect = torch.linalg.vector_norm(equations.apply(flat) + ridge * flat - rhs)
        scale = torch.linalg.vector_norm(rhs)
        residual = float(defect / scale) if scale > 0 else float(defect)
        return Solution(flat.reshape(equations.rhs.shape), residual, rank, condition, n_iter=n_iter, solver=repr(self))


def columns_of(rhs: Float[Tensor, "m *columns"]) -> Float[Tensor, "m _"]:
    """The right-hand side as a matrix."""
    return rhs.reshape(len(rhs), -1)


def condition_of(factor: Float[Tensor, "m m"], iterations: int = 12) -> float:
    """The condition number of LLᵀ, by power iterations with it and with its inverse: low by a few per cent, as a rule."""
    start = torch.randn(len(factor), 1, dtype=factor.dtype, generator=torch.Generator().manual_seed(0)).to(factor.device)
    large, small, sizes = start, start, (torch.ones(()), torch.ones(()))
    for _ in range(iterations):
        large, small = factor @ (factor.mT @ large), torch.cholesky_solve(small, factor)
        sizes = large.norm(), small.norm()
        large, small = large / sizes[0], small / sizes[1]
    return float(sizes[0] * sizes[1])
