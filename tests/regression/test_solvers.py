"""Every solver inherits this suite: add a row."""

from dataclasses import dataclass

import pytest
import torch

from raffia import Domain, FeatureMap, RaffiaError
from raffia.regression import (
    FeatureStream,
    NormalEquations,
    Streamed,
    choose_solver,
)
from raffia.regression.solvers.nystrom_pcg import nystrom
from raffia.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse
from raffia.spaces import POINT

SOLVERS = [
    Cholesky(),
    Pseudoinverse(),
    Dual(),
    NystromPCG(rtol=1e-13),
    NystromPCG(rtol=1e-13, matrix_free=True),
]
MINIMUM_NORM = [Pseudoinverse(), Dual()]


@dataclass(repr=False, eq=False)
class Columns(FeatureMap):
    """φ_j(a) = Σ_k a_k θ_jk: with inputs e_i the matrix A is θᵀ, so any matrix can be had."""

    size: int = 3
    domain: Domain = Domain(1)  # noqa: RUF009 (frozen)

    @property
    def theta_shape(self):
        return (self.size,)

    def values_on(self, grid):
        return POINT

    def __call__(self, a, theta):
        return a @ theta.T


def problem(A, y):
    """The two forms of one least-squares problem with scalar features."""
    rows = len(A)
    grid = Domain(0).grid() if y.ndim == 1 else Domain(1).grid(y.shape[1])
    scale = y.shape[1] ** 0.5 if y.ndim == 2 else 1.0  # the grid's embedding divides by it
    a, y = torch.eye(rows, dtype=torch.float64), y * scale
    stream = FeatureStream(Columns(rows), A.T.contiguous(), grid, batch_size=7, tile=100)
    return {
        NormalEquations: NormalEquations.assemble(stream, a, y),
        Streamed: Streamed(stream, ((a, y),), kept_elements=10**6),
    }


def matrix(m=30, rows=50, rank=None, condition=1e3, seed=0):
    """A tall matrix with singular values from 1 down to 1/condition."""
    generator = torch.Generator().manual_seed(seed)
    rank = rank or min(m, rows)
    U = torch.linalg.qr(torch.randn(rows, rank, dtype=torch.float64, generator=generator)).Q
    V = torch.linalg.qr(torch.randn(m, rank, dtype=torch.float64, generator=generator)).Q
    values = torch.logspace(0, -torch.log10(torch.tensor(condition, dtype=torch.float64)).item(), rank, dtype=torch.float64)
    return U * values @ V.T


def outputs(rows=50, columns=(), seed=1):
    return torch.randn(rows, *columns, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def exact(A, y, ridge):
    """The minimiser by a singular value decomposition of A, which never forms AᵀA."""
    m = A.shape[1]
    U, S, Vh = torch.linalg.svd(A, full_matrices=False)
    keep = S > 1e-13 * S[0]
    U, S, Vh = U[:, keep], S[keep], Vh[keep]
    return (m * Vh.T @ ((S / (S**2 + m * ridge))[:, None] * (U.T @ y.reshape(len(y), -1)))).reshape(m, *y.shape[1:])


def solved(solver, A, y, ridge):
    return solver.solve(problem(A, y)[solver.statistics], ridge)


def distance(x, y):
    return float(torch.linalg.vector_norm(x - y) / torch.linalg.vector_norm(y))


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("columns", [(), (4,)])
@pytest.mark.parametrize("shape", [(50, 30), (12, 30)], ids=["tall", "wide"])
def test_solution_is_that_of_ridge_regression(solver, columns, shape):
    A, y = matrix(shape[1], shape[0]), outputs(shape[0], columns)
    solution = solved(solver, A, y, 1e-3)
    assert distance(solution.coef, exact(A, y, 1e-3)) < 1e-8
    assert solution.coef.shape == (30, *columns)
    assert solution.residual < 1e-10
    assert solution.solver == repr(solver)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("condition", [1e2, 1e5, 1e7])
def test_accuracy_is_what_the_method_allows(solver, condition):
    """Coefficients lose κ(A)²·ε digits; here λ is at the smallest σ²."""
    A, y = matrix(condition=condition), outputs()
    ridge = 1 / (30 * condition**2)
    loss = condition**2
    solution = solved(solver, A, y, ridge)
    assert distance(solution.coef, exact(A, y, ridge)) < 1e3 * 2.2e-16 * loss + 1e-11
    prediction, wanted = A @ solution.coef, A @ exact(A, y, ridge)
    assert distance(prediction, wanted) < 1e-8 + 5e-16 * loss


@pytest.mark.parametrize("solver", MINIMUM_NORM, ids=repr)
@pytest.mark.parametrize("rank", [1, 12, 30])
def test_without_ridge_the_solution_has_minimum_norm(solver, rank):
    A, y = matrix(rank=rank), outputs()
    solution = solved(solver, A, y, 0.0)
    assert distance(solution.coef, 30 * torch.linalg.pinv(A, rtol=1e-10) @ y) < 1e-6
    assert solution.rank == rank


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_rank_deficient_problems_with_a_ridge_are_solved(solver):
    A, y = matrix(rank=12), outputs()
    assert distance(solved(solver, A, y, 1e-6).coef, exact(A, y, 1e-6)) < 1e-7


@pytest.mark.parametrize("solver", MINIMUM_NORM, ids=repr)
def test_all_zero_features_have_rank_zero_and_coefficients_zero(solver):
    solution = solved(solver, torch.zeros(6, 5, dtype=torch.float64), outputs(6), 0.0)
    assert solution.rank == 0
    assert (solution.coef == 0).all()


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (Cholesky(), r"ridge=0 the Gram matrix of 30 features fails.*larger ridge.*Pseudoinverse\(\)"),
        (NystromPCG(), r"NystromPCG needs ridge > 0.*Pseudoinverse\(\)"),
    ],
)
def test_a_method_that_cannot_says_what_can(solver, words):
    with pytest.raises(RaffiaError, match=words):
        solved(solver, matrix(rank=10), outputs(), 0.0)


def test_no_convergence_is_an_error_not_an_answer():
    A, y = matrix(condition=1e6), outputs()
    with pytest.raises(RaffiaError, match=r"no convergence in 2 iterations.*larger rank"):
        solved(NystromPCG(rank=2, max_iterations=2), A, y, 1e-12)


def test_pseudoinverse_cut_off_can_be_set():
    assert solved(Pseudoinverse(rtol=1e-3), matrix(condition=1e3), outputs(), 0.0).rank == 15


def test_condition_numbers_are_reported():
    A, y = matrix(condition=1e3), outputs()
    assert solved(Pseudoinverse(), A, y, 0.0).condition == pytest.approx(1e6, rel=1e-3)
    assert 1e3 < solved(Cholesky(), A, y, 0.0).condition <= 1e6 * (1 + 1e-6)


def test_all_forms_say_the_same_of_the_problem():
    A, y = matrix(), outputs()
    coef, x = torch.randn(30, dtype=torch.float64), torch.randn(30, 2, dtype=torch.float64)
    for form in problem(A, y).values():
        torch.testing.assert_close(form.rhs, A.T @ y)
        torch.testing.assert_close(form.energy, y.square().sum())
        torch.testing.assert_close(form.apply(x), A.T @ A @ x / 30)
        torch.testing.assert_close(form.residual(coef), (y - A @ coef / 30).square().sum())
        assert (form.n_samples, form.n_features) == (50, 30)


def gram_with_decay(m, decay=2.0, seed=0):
    """Normal equations with eigenvalues k^(−2·decay)."""
    V = torch.linalg.qr(torch.randn(m, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))).Q
    s = torch.arange(1, m + 1, dtype=torch.float64) ** (-2 * decay)
    gram = (V * s) @ V.T
    return s, NormalEquations((gram + gram.T) / 2, outputs(m), torch.ones(()).double(), 1)


@pytest.mark.parametrize("seed", range(5))
def test_nystrom_leaves_a_small_condition_number_at_twice_the_effective_dimension(seed):
    ridge = 1e-6
    s, equations = gram_with_decay(300, seed=seed)
    rank = 2 * int((s / (s + ridge)).sum().ceil())
    approximation = nystrom(equations, rank, ridge, max_rank=rank, seed=seed)
    shifted = equations.gram + ridge * torch.eye(300)
    left = approximation.precondition(shifted, ridge)  # P⁻¹(G + λ), similar to a symmetric matrix
    eigenvalues = torch.linalg.eigvals(left).real
    assert eigenvalues.max() / eigenvalues.min() < 100


def test_iterations_do_not_grow_with_the_number_of_features():
    counts = [NystromPCG().solve(gram_with_decay(m)[1], 1e-6).n_iter for m in (200, 400, 800)]
    assert max(counts) <= counts[0] + 2


@pytest.mark.parametrize(
    ("m", "rows", "ridge", "memory", "solver"),
    [
        (1024, 65536, 1e-8, 2**34, Cholesky),
        (1024, 65536, 0.0, 2**34, Pseudoinverse),
        (5000, 32, 0.0, 2**34, Dual),
        (5000, 32, 1e-3, 2**34, Dual),
        (20000, 65536, 1e-6, 2**32, NystromPCG),
    ],
)
def test_automatic_choice_follows_the_table(m, rows, ridge, memory, solver):
    assert type(choose_solver(m, rows, ridge, memory)) is solver


def test_automatic_choice_refuses_what_does_not_fit():
    with pytest.raises(RaffiaError, match=r"ridge=0 with n_features=200000 needs .* Pass ridge > 0"):
        choose_solver(200000, 10**6, 0.0, 2**34)


@pytest.mark.parametrize("solver", [Cholesky(), Dual()], ids=repr)
@pytest.mark.parametrize("ridge", [1e-2, 1e-6])
def test_condition_numbers_of_factorisations_are_those_of_the_matrix(solver, ridge):
    A = matrix(m=30, rows=20 if isinstance(solver, Dual) else 50, condition=1e3)
    equations = problem(A, torch.ones(len(A)).double())[solver.statistics]
    G = A @ A.T if isinstance(solver, Dual) else A.T @ A
    wanted = float(torch.linalg.cond(G / 30 + ridge * torch.eye(len(G))))
    assert 0.5 * wanted < solver.solve(equations, ridge).condition < 1.01 * wanted
