"""Solvers of the normal equations: pass one as `solver` to `RandomFeatureModel`."""

from raffia.regression.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse, Solution, Solver

__all__ = ["Cholesky", "Dual", "NystromPCG", "Pseudoinverse", "Solution", "Solver"]
