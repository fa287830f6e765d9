"""Which solver to use when the user names none: the table of `docs/solvers.md`, in order, first row that applies."""

from raffia.errors import RaffiaError
from raffia.regression.regression_defaults import GRAM_COPIES
from raffia.regression.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse, Solution, Solver
from raffia.regression.statistics import NormalEquations


def choose_solver(n_features: int, n_rows: int, ridge: float, memory: int) -> Solver:
    """From m, the number of rows of A, λ and the bytes of memory available."""
    if 2 * n_rows <= n_features and 8 * n_rows * (2 * n_features + GRAM_COPIES * n_rows) <= memory:
        return Dual()
    if GRAM_COPIES * 8 * n_features**2 <= memory:
        return Cholesky() if ridge > 0 else Pseudoinverse()
    if ridge > 0:
        return NystromPCG(matrix_free=True)
    raise RaffiaError(
        f"ridge=0 with n_features={n_features} needs {GRAM_COPIES * 8 * n_features**2 / 2**30:.1f} GiB, and {memory / 2**30:.1f} GiB "
        "are available. Pass ridge > 0, for which there is a method that never forms the Gram matrix, or fewer n_features."
    )


def direct_solution(equations: NormalEquations, ridge: float) -> Solution:
    """Cholesky where G + λ is positive definite in floating point, the pseudoinverse where it is not."""
    if ridge > 0:
        try:
            return Cholesky().solve(equations, ridge)
        except RaffiaError:
            pass
    return Pseudoinverse().solve(equations, ridge)
