"""Least squares for the coefficients."""

from raffia.regression.normal_equations import NormalEquations, assemble
from raffia.regression.solvers import Cholesky, Pseudoinverse, Solution, Solver

__all__ = ["Cholesky", "NormalEquations", "Pseudoinverse", "Solution", "Solver", "assemble"]
