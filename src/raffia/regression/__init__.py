"""Least squares for the coefficients."""

from raffia.regression.best_ridge import best_ridge
from raffia.regression.bounded import Bounds, Contradiction, bounded_solution
from raffia.regression.coefficient_posterior import CoefficientLaw
from raffia.regression.dual_path import DualPath, coordinates_of
from raffia.regression.feature_stream import FeatureStream, targets_of
from raffia.regression.kernel_equations import KernelEquations, KernelStream
from raffia.regression.kernel_ridge import KernelRidge
from raffia.regression.kernel_solution import KernelSolution, Spread, seen
from raffia.regression.leave_one_out import LeftOut, leave_one_out, leave_one_out_dual
from raffia.regression.linear_ridge import LinearRidge
from raffia.regression.memory_budget import Workspace, arriving, available_memory, fits, joined
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_posterior import ModalLaw, modal_law
from raffia.regression.modal_ridge import ModalLeftOut, ModalNoise, modal_fold_ridges, modal_left_out, modal_ridges, solved
from raffia.regression.modal_stream import ONES, SAMPLES, ModalStream, gains_of, root_mean_squares
from raffia.regression.noise_level import Noise, noise_of
from raffia.regression.normal_equations import NormalEquations
from raffia.regression.ridge_choice import dual_ridge_for, fold_ridge, left_out_ridge, ridge_for
from raffia.regression.ridge_path import RidgePath, k_fold_errors
from raffia.regression.solver_choice import choose_solver, direct_solution
from raffia.regression.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse, SketchedLSQR, Solution, Solver, TriangularQR
from raffia.regression.statistics import Packed, Statistics
from raffia.regression.statistics_forms import FORMS, unpacked
from raffia.regression.streamed import Streamed
from raffia.regression.triangular import TriangularFactor

__all__ = [
    "FORMS",
    "ONES",
    "SAMPLES",
    "Bounds",
    "Cholesky",
    "CoefficientLaw",
    "Contradiction",
    "Dual",
    "DualPath",
    "FeatureStream",
    "KernelEquations",
    "KernelRidge",
    "KernelSolution",
    "KernelStream",
    "LeftOut",
    "LinearRidge",
    "ModalDual",
    "ModalEquations",
    "ModalLaw",
    "ModalLeftOut",
    "ModalNoise",
    "ModalStream",
    "Noise",
    "NormalEquations",
    "NystromPCG",
    "Packed",
    "Pseudoinverse",
    "RidgePath",
    "SketchedLSQR",
    "Solution",
    "Solver",
    "Spread",
    "Statistics",
    "Streamed",
    "TriangularFactor",
    "TriangularQR",
    "Workspace",
    "arriving",
    "available_memory",
    "best_ridge",
    "bounded_solution",
    "choose_solver",
    "coordinates_of",
    "direct_solution",
    "dual_ridge_for",
    "fits",
    "fold_ridge",
    "gains_of",
    "joined",
    "k_fold_errors",
    "leave_one_out",
    "leave_one_out_dual",
    "left_out_ridge",
    "modal_fold_ridges",
    "modal_law",
    "modal_left_out",
    "modal_ridges",
    "noise_of",
    "ridge_for",
    "root_mean_squares",
    "seen",
    "solved",
    "targets_of",
    "unpacked",
]  # fmt: skip
