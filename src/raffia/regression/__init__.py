"""Least squares for the coefficients."""

from raffia.regression.automatic import choose_solver, direct_solution, statistics_of
from raffia.regression.implicit import Streamed
from raffia.regression.normal_equations import NormalEquations, assemble
from raffia.regression.ridge_path import (
    RidgePath,
    best_ridge,
    dual_ridge_for,
    k_fold_errors,
    leave_one_out,
    left_out_ridge,
    ridge_for,
)
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
from raffia.regression.statistics import FeatureStream, Statistics, one_channel, targets_of
from raffia.regression.transfer import arriving, available_memory, fits, joined
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
    "arriving",
    "assemble",
    "assemble_triangular",
    "available_memory",
    "best_ridge",
    "choose_solver",
    "direct_solution",
    "dual_ridge_for",
    "fits",
    "joined",
    "k_fold_errors",
    "leave_one_out",
    "left_out_ridge",
    "one_channel",
    "ridge_for",
    "statistics_of",
    "targets_of",
]
