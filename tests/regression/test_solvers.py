"""Every solver inherits this suite: add a row."""

import pytest
import torch

from raffia import Cholesky, NormalEquations, Pseudoinverse, RaffiaError

SOLVERS = [Cholesky(), Pseudoinverse()]
MINIMUM_NORM = [Pseudoinverse()]


def equations(m=30, rows=50, columns=(), rank=None, condition=1e3, seed=0):
    """Normal equations of a tall matrix with known singular values."""
    generator = torch.Generator().manual_seed(seed)
    rank = rank or min(m, rows)
    U = torch.linalg.qr(torch.randn(rows, rank, dtype=torch.float64, generator=generator)).Q
    V = torch.linalg.qr(torch.randn(m, rank, dtype=torch.float64, generator=generator)).Q
    A = U * torch.logspace(0, -torch.log10(torch.tensor(condition)).item(), rank, dtype=torch.float64) @ V.T
    y = torch.randn(rows, *columns, dtype=torch.float64, generator=generator)
    return A, y, NormalEquations(A.T @ A / m, A.T @ y, y.square().sum(), rows)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("columns", [(), (4,)])
def test_solution_is_that_of_ridge_regression(solver, columns):
    """Against the augmented least-squares problem [A/√m; √λ I] α ≈ [√m y; 0], by a QR that never forms AᵀA."""
    A, y, system = equations(columns=columns)
    m, ridge = 30, 1e-3
    augmented = torch.cat([A / m**0.5, ridge**0.5 * torch.eye(m, dtype=torch.float64)])
    target = torch.cat([m**0.5 * y, torch.zeros(m, *columns, dtype=torch.float64)]).reshape(50 + m, -1)
    wanted = torch.linalg.lstsq(augmented, target).solution.reshape(m, *columns)
    solution = solver.solve(system, ridge)
    torch.testing.assert_close(solution.coef, wanted, rtol=1e-8, atol=1e-8)
    assert solution.residual < 1e-12
    assert solution.rank == m


@pytest.mark.parametrize("solver", MINIMUM_NORM, ids=repr)
@pytest.mark.parametrize("rank", [1, 12, 30])
def test_without_ridge_the_solution_has_minimum_norm(solver, rank):
    A, y, system = equations(rank=rank)
    solution = solver.solve(system, 0.0)
    torch.testing.assert_close(solution.coef, 30 * torch.linalg.pinv(A, rtol=1e-10) @ y, rtol=1e-6, atol=1e-6)
    assert solution.rank == rank


@pytest.mark.parametrize("solver", MINIMUM_NORM, ids=repr)
def test_an_all_zero_gram_matrix_has_rank_zero_and_coefficients_zero(solver):
    zero = NormalEquations(torch.zeros(5, 5).double(), torch.zeros(5).double(), torch.ones(()).double(), 3)
    solution = solver.solve(zero, 0.0)
    assert solution.rank == 0
    assert (solution.coef == 0).all()


def test_cholesky_refuses_dependent_features_and_says_what_to_do():
    _, _, system = equations(rank=10)
    with pytest.raises(RaffiaError, match=r"ridge=0 the Gram matrix of 30 features fails.*larger ridge.*Pseudoinverse\(\)"):
        Cholesky().solve(system, 0.0)


def test_pseudoinverse_cut_off_can_be_set():
    _, _, system = equations(condition=1e3)  # eigenvalues of G fall from 1 to 1e-6, relatively
    assert Pseudoinverse(rtol=1e-3).solve(system, 0.0).rank == 15
