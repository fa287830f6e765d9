import pytest
import torch

from raffia import Domain, FourierFeatures, RaffiaError
from raffia.features import BrownianBridge
from raffia.regression import FeatureStream, NormalEquations


def assemble(features, theta, a, y, grid, batch_size, tile):
    return NormalEquations.assemble(FeatureStream(features, theta, grid, batch_size, tile), a, y)


def tall_matrix(features, theta, a, grid):
    """A: one embedded feature a column, all samples and nodes below each other."""
    return grid.embed(features(a, theta)).transpose(1, 2).reshape(-1, len(theta))


@pytest.fixture(scope="module")
def problem():
    features, grid = FourierFeatures(n_modes=16), Domain(1).grid(24)
    generator = torch.Generator().manual_seed(0)
    a, y = torch.randn(2, 11, 24, dtype=torch.float64, generator=generator)
    return features, features.draw(300, seed=0), a, y, grid


def test_statistics_are_those_of_the_tall_matrix(problem):
    features, theta, a, y, grid = problem
    A, b = tall_matrix(features, theta, a, grid), grid.embed(y).reshape(-1)
    equations = assemble(features, theta, a, y, grid, batch_size=4, tile=2000)
    torch.testing.assert_close(equations.gram, A.T @ A / 300)
    torch.testing.assert_close(equations.rhs, A.T @ b)
    torch.testing.assert_close(equations.energy, b @ b)
    assert equations.n_samples == 11
    assert torch.equal(equations.gram, equations.gram.T)


@pytest.mark.parametrize(("batch_size", "tile"), [(1, 1), (3, 500), (11, 10**7), (100, 77)])
def test_batches_and_tiles_do_not_change_the_sums(problem, batch_size, tile):
    features, theta, a, y, grid = problem
    whole = assemble(features, theta, a, y, grid, 11, 10**7)
    parts = assemble(features, theta, a, y, grid, batch_size, tile)
    torch.testing.assert_close(parts.gram, whole.gram, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(parts.rhs, whole.rhs, rtol=1e-12, atol=1e-12)


def test_statistics_of_disjoint_samples_add(problem):
    features, theta, a, y, grid = problem
    first, second, both = (
        assemble(features, theta, a[rows], y[rows], grid, 4, 5000) for rows in (slice(5), slice(5, 11), slice(11))
    )
    total = first + second
    torch.testing.assert_close(total.gram, both.gram)
    torch.testing.assert_close(total.rhs, both.rhs)
    torch.testing.assert_close(total.energy, both.energy)
    assert total.n_samples == 11


def test_residual_needs_no_second_pass_over_the_data(problem):
    features, theta, a, y, grid = problem
    equations = assemble(features, theta, a, y, grid, 11, 10**6)
    coef = torch.randn(300, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    prediction = torch.einsum("j,ijx->ix", coef, features(a, theta)) / 300
    torch.testing.assert_close(equations.residual(coef), grid.norm(y - prediction).square().sum())


def test_scalar_features_give_one_right_hand_side_a_point():
    features, grid = BrownianBridge(n_modes=20), Domain(1, periodic=False).grid(7)
    a, y = torch.rand(9, dtype=torch.float64), torch.randn(9, 7, dtype=torch.float64)
    theta = features.draw(12, seed=0)
    equations = assemble(features, theta, a, y, grid, 4, 50)
    A = features(a, theta)
    torch.testing.assert_close(equations.gram, A.T @ A / 12)
    torch.testing.assert_close(equations.rhs, A.T @ grid.embed(y))
    coef = torch.randn(12, 7, dtype=torch.float64)
    torch.testing.assert_close(equations.residual(coef), (grid.embed(y) - A @ coef / 12).square().sum())


def test_statistics_of_different_problems_do_not_add():
    def equations(m):
        return NormalEquations(torch.eye(m), torch.ones(m), torch.ones(()), 1)

    with pytest.raises(RaffiaError, match="do not add"):
        equations(3) + equations(4)
