"""Solvers of the least-squares problem, one file each."""

from raffia.regression.solvers.base import Ridge, Solution, Solver
from raffia.regression.solvers.cholesky import Cholesky
from raffia.regression.solvers.dual import Dual
from raffia.regression.solvers.nystrom_pcg import NystromPCG
from raffia.regression.solvers.pseudoinverse import Pseudoinverse
