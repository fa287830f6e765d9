"""Least squares for the coefficients."""

from raffia.regression.automatic import available_memory, choose_solver, statistics_of
from raffia.regression.implicit import Streamed
from raffia.regression.normal_equations import NormalEquations, assemble
from raffia.regression.ridge_path import RidgePath, best_ridge, k_fold_errors, leave_one_out, leave_one_out_dual, ridge_for
from raffia.regression.solvers import (
    Cholesky,
    Dual,
    NystromPCG,
    Pseudoinverse,
    SketchedLSQR,
    Solution,
    Solver,
    TriangularQR,
)
from raffia.regression.statistics import FeatureStream, Statistics
from raffia.regression.triangular import TriangularFactor, assemble_triangular
from raffia.regression.workspace import Workspace

__all__ = [
    "Cholesky",
    "Dual",
    "FeatureStream",
    "NormalEquations",
    "NystromPCG",
    "Pseudoinverse",
    "RidgePath",
    "SketchedLSQR",
    "Solution",
    "Solver",
    "Statistics",
    "Streamed",
    "TriangularFactor",
    "TriangularQR",
    "Workspace",
    "assemble",
    "assemble_triangular",
    "available_memory",
    "best_ridge",
    "choose_solver",
    "k_fold_errors",
    "leave_one_out",
    "leave_one_out_dual",
    "ridge_for",
    "statistics_of",
]
