import math

import pytest
import torch

from raffia import Burgers, Channels, Domain, LocalFeatures, Mesh, RaffiaError, RandomFeatureModel, ScalarFeatures


def test_they_are_functions_of_smoothed_derivatives():
    """On a single wave all derivatives are known: of cos kx they are −k sin kx, −k² cos kx, k³ sin kx, …, times e^(−(ℓk)²/2)."""
    x = 2 * math.pi * Domain(1).grid(40).nodes()[:, 0]
    features, theta = LocalFeatures(0.2, amplitude=1.5, bias=0.7, activation="tanh"), LocalFeatures().draw(3, 0)
    damping, reach = math.exp(-((0.2 * 3) ** 2) / 2), 0.2 * 3
    two = torch.stack([torch.cos(3 * x), -reach * torch.sin(3 * x)])
    waves = [two, -(reach**2) * two, reach**4 * two]
    inner = 1.5 * damping * theta[:, 1:] @ torch.cat(waves) + 0.7 * theta[:, :1]
    torch.testing.assert_close(features(torch.cos(3 * x)[None], theta)[0], torch.tanh(inner))


def test_in_a_plane_the_laplacian_is_that_of_both_axes():
    x = 2 * math.pi * Domain(2).grid(16).nodes()
    a = torch.cos(x[..., 0] + 2 * x[..., 1])[None]
    features = LocalFeatures(0.3, amplitude=1.0, bias=0.0, activation="tanh", domain=Domain(2))
    theta = torch.zeros(1, 10, dtype=torch.float64)
    theta[0, 4] = 1.0  # after the shift, the function and two slopes
    wanted = torch.tanh(-(0.3**2) * 5 * math.exp(-(0.3**2) * 5 / 2) * a)
    torch.testing.assert_close(features(a, theta)[:, 0], wanted)


def test_channels_have_numbers_of_their_own():
    a = torch.randn(2, 2, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    both, one = LocalFeatures(domain=Channels(Domain(1), 2)), LocalFeatures()
    theta = both.draw(3, 0)
    first = torch.cat([theta[:, :7], torch.zeros(3, 6)], 1)
    torch.testing.assert_close(both(a, first), one(a[:, 0], theta[:, :7]))


def test_a_step_of_burgers_equation_is_local():
    """From a hundred pairs; the best linear map is 50 times worse."""
    problem = Burgers(viscosity=0.02, time=0.02, fine_points=256)
    (a, y), (test, truth) = problem.dataset(100, 64, seed=0), problem.dataset(40, 64, seed=1)
    local = RandomFeatureModel(LocalFeatures(0.1), 64, "auto", normalize=True, coefficients="modal").fit(a, y)
    linear = RandomFeatureModel(ScalarFeatures(None, law="affine"), math.inf, "auto", normalize=True).fit(a, y)
    assert local.errors(test, truth).mean() < 1e-3
    assert linear.errors(test, truth).mean() > 50 * local.errors(test, truth).mean()


def test_meshes_are_refused():
    with pytest.raises(RaffiaError, match="LocalFeatures needs functions on a grid"):
        LocalFeatures(domain=Mesh(torch.rand(9, 2, dtype=torch.float64))).draw(1, 0)
