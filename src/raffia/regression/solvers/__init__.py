"""Solvers of the normal equations, one file each."""

from raffia.regression.solvers.base import Solution, Solver
from raffia.regression.solvers.cholesky import Cholesky
from raffia.regression.solvers.pseudoinverse import Pseudoinverse

__all__ = ["Cholesky", "Pseudoinverse", "Solution", "Solver"]
