"""Solvers of the least-squares problem, one file each; and which to use when the user names none: the table of `docs/solvers.md`."""

from raffia.errors import RaffiaError
from raffia.regression.regression_defaults import DEFAULTS
from raffia.regression.solvers.base import Ridge, Solution, Solver
from raffia.regression.solvers.cholesky import Cholesky
from raffia.regression.solvers.dual import Dual
from raffia.regression.solvers.nystrom_pcg import NystromPCG
from raffia.regression.solvers.pseudoinverse import Pseudoinverse
from raffia.regression.statistics import NormalEquations


def choose_solver(n_features: int, n_rows: int, ridge: float, memory: int) -> Solver:
    """From m, the number of rows of A, λ and the bytes of memory available."""
    copies, need = DEFAULTS.gram_copies, DEFAULTS.gram_copies * 8 * n_features**2
    if 2 * n_rows <= n_features and 8 * n_rows * (2 * n_features + copies * n_rows) <= memory:
        return Dual()
    if need <= memory:
        return Cholesky() if ridge > 0 else Pseudoinverse()
    if ridge > 0:
        return NystromPCG(matrix_free=True)
    raise RaffiaError(
        f"ridge=0 with n_features={n_features} needs {need / 2**30:.1f} GiB, and {memory / 2**30:.1f} GiB "
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
