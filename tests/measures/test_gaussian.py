import math

import pytest
import torch

from raffia import Domain, GaussianField
from raffia.measures import Pushforward

FIELDS = [
    GaussianField(Domain(1), "periodic", tau=7.0, regularity=2.5, n_modes=30),
    GaussianField(Domain(2), "periodic", tau=4.0, regularity=2.0, n_modes=60),
    GaussianField(Domain(2, periodic=False), "neumann", tau=3.0, regularity=2.0, n_modes=60),
    GaussianField(Domain(1, periodic=False), "dirichlet", tau=3.0, regularity=1.5, n_modes=30),
    GaussianField(Domain(2, axes=("periodic", "box"), extent=(2.0, 1.0)), "neumann", tau=3.0, regularity=2.0, n_modes=60),
    GaussianField(Domain(2, axes=("box", "periodic")), "dirichlet", tau=3.0, regularity=2.0, n_modes=60),
    GaussianField(Domain(1, axes="cells"), "neumann", tau=3.0, regularity=1.5, n_modes=30),
    GaussianField(Domain(2, axes="left"), "dirichlet", tau=3.0, regularity=2.0, n_modes=60),
]


@pytest.mark.parametrize("field", FIELDS)
def test_coefficients_have_the_variances_of_the_karhunen_loeve_expansion(field):
    n = 4000
    grid = field.domain.grid(33)
    coef = field.basis.analysis(field.sample(n, grid, seed=1), grid)
    ratio = coef.square().mean(0) / field.eigenvalues
    assert (ratio - 1).abs().max() < 5 * math.sqrt(2 / n)  # a variance estimate has relative error √(2/n)


def test_eigenvalues_are_the_papers():  # eqn:periodic, eqn:eig_neumann
    circle, square = FIELDS[0], FIELDS[2]
    j = torch.tensor([1, 1, 2, 2, 3, 3], dtype=torch.float64)
    torch.testing.assert_close(circle.eigenvalues[:6], 7.0**4 * (4 * math.pi**2 * j**2 + 49) ** -2.5)
    k2 = torch.tensor([1, 1, 2, 4, 4], dtype=torch.float64)
    torch.testing.assert_close(square.eigenvalues[:5], 3.0**2 * (math.pi**2 * k2 + 9) ** -2.0)


@pytest.mark.parametrize("field", [f for f in FIELDS if f.boundary != "dirichlet"])
def test_draws_have_mean_zero(field):
    grid = field.domain.grid(33)
    assert grid.inner(field.sample(5, grid, seed=0), torch.ones(grid.shape, dtype=torch.float64)).abs().max() < 1e-13


@pytest.mark.parametrize("field", FIELDS)
def test_same_theta_is_the_same_function_on_every_grid(field):
    coarse = field.domain.grid(32 if field.domain.periodic else 33)
    fine, shared = coarse.refined()
    torch.testing.assert_close(
        field.sample(3, fine, seed=2)[(..., *shared)], field.sample(3, coarse, seed=2), atol=1e-13, rtol=0
    )


def test_on_a_coarse_grid_the_field_is_its_projection_not_an_alias():
    field = GaussianField(n_modes=100)
    coarse = field.domain.grid(16)
    low = GaussianField(n_modes=14)  # wavenumbers 1 … 7, what 16 points hold
    torch.testing.assert_close(field.sample(3, coarse, seed=0), low.sample(3, coarse, seed=0), atol=1e-14, rtol=0)


def test_the_field_of_burgers_has_the_standard_deviation_of_the_authors():
    assert float(GaussianField().eigenvalues.sum().sqrt()) == pytest.approx(0.274, abs=1e-3)


def test_float32_coefficients_give_float32_fields():
    field = FIELDS[0]
    assert field(torch.ones(2, 30), field.domain.grid(8)).dtype == torch.float32


def test_a_pushforward_is_the_function_of_the_same_draws():
    law, grid = GaussianField(n_modes=10), Domain(1).grid(32)
    pushed = Pushforward(law, torch.exp)
    assert torch.equal(pushed.sample(range(1, 4), grid, seed=2), law.sample(range(1, 4), grid, seed=2).exp())
