"""One interface for every solver of the normal equations, and one type for what they return."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from raffia.regression.normal_equations import NormalEquations


@dataclass(frozen=True)
class Solution:
    """The coefficients and how they were found: α, ‖(G + λ)α − b‖/‖b‖, numerical rank, iterations (0 for direct methods)."""

    coef: Float[Tensor, "m *columns"]
    residual: float
    rank: int
    n_iter: int


class Solver(BaseEstimator, ABC):
    """Solves (G + ridge·I) α = b."""

    @abstractmethod
    def solve(self, equations: NormalEquations, ridge: float) -> Solution:
        """The coefficients; a failure is an error that names the remedy, never a quiet switch of method."""


def solution_of(
    equations: NormalEquations, ridge: float, coef: Float[Tensor, "m columns"], rank: int, n_iter: int = 0
) -> Solution:
    """Coefficients found for the columns of `columns_of(rhs)`, in the shape of rhs, with their residual."""
    coef = coef.reshape(equations.rhs.shape).contiguous()
    defect = torch.linalg.vector_norm(equations.gram @ coef + ridge * coef - equations.rhs)
    scale = torch.linalg.vector_norm(equations.rhs)
    return Solution(coef, float(defect / scale) if scale > 0 else float(defect), rank, n_iter)


def columns_of(rhs: Float[Tensor, "m *columns"]) -> Float[Tensor, "m _"]:
    """The right-hand side as a matrix."""
    return rhs.reshape(len(rhs), -1)
