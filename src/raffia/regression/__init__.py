"""Least squares for the coefficients."""

from raffia.regression.bounded import Bounds, Contradiction, bounded_solution
from raffia.regression.feature_stream import FeatureStream, Workspace, arriving, available_memory, fits, joined, targets_of
from raffia.regression.kernel_ridge import (
    KernelEquations,
    KernelRidge,
    KernelSolution,
    KernelStream,
    LinearRidge,
    kernel_coordinates,
)
from raffia.regression.leave_one_out import (
    LeftOut,
    Noise,
    dual_ridge_for,
    fold_ridge,
    leave_one_out,
    leave_one_out_dual,
    left_out_ridge,
    noise_of,
    ridge_for,
)
from raffia.regression.modal_dual import ModalDual
from raffia.regression.modal_equations import ModalEquations
from raffia.regression.modal_ridge import ModalLeftOut, ModalNoise, modal_fold_ridges, modal_left_out, modal_ridges
from raffia.regression.modal_stream import ModalStream, gains_of, root_mean_squares
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.ridge_path import DualPath, RidgePath, best_ridge, coordinates_of, k_fold_errors
from raffia.regression.solvers import (
    Cholesky,
    Dual,
    NystromPCG,
    Pseudoinverse,
    Ridge,
    Solution,
    Solver,
    choose_solver,
    direct_solution,
)
from raffia.regression.statistics import NormalEquations, Packed, Statistics, Streamed, factorised, unpacked
