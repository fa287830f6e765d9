"""Feature maps on meshes, channels and vectors: the same functions as on grids, whatever the discretisation."""

import pytest
import torch

from raffia import Channels, Domain, FourierFeatures, GaussianField, Mesh, RaffiaError, ScalarFeatures, Vectors
from raffia.features import IteratedFeatures

FOURIER = {"n_modes": 20, "profile": "matern", "amplitude": 3.0, "bias": 0.4, "activation": "tanh"}


def smooth(domain, n, *points, seed=0):
    return GaussianField(domain, domain.natural_boundary, n_modes=10).sample(n, domain.grid(*points), seed=seed)


@pytest.mark.parametrize("boundary", ["neumann", "dirichlet"])
@pytest.mark.parametrize(
    ("domain", "points"),
    [
        (Domain(1), (32,)),
        (Domain(1, periodic=False, extent=2.0), (33,)),
        (Domain(2), (12, 14)),
        (Domain(2, periodic=False), (13, 15)),
        (Domain(2, axes=("periodic", "box"), extent=(1.0, 2.0)), (14, 15)),
        (Domain(2, axes=("box", "periodic")), (13, 14)),
        (Domain(1, axes="cells"), (24,)),
        (Domain(2, axes="cells"), (12, 13)),
        (Domain(3, axes=("periodic", "cells", "box")), (8, 7, 8)),
    ],
)
def test_fourier_features_at_the_nodes_of_a_grid_are_those_of_the_grid(domain, points, boundary):
    grid = domain.grid(*points)
    mesh = Mesh(grid.nodes().reshape(-1, domain.dim), grid.weights().flatten(), domain)
    a = smooth(domain, 3, *points)
    on_grid = FourierFeatures(domain=domain, boundary=boundary, **FOURIER)
    on_mesh = FourierFeatures(domain=mesh, boundary=boundary, **FOURIER)
    theta = on_grid.draw(5, seed=0)
    assert torch.allclose(on_mesh(a.flatten(1), theta), on_grid(a, theta).flatten(2), atol=1e-10)


@pytest.mark.parametrize("domain", [Domain(1), Domain(1, periodic=False), Domain(2), Domain(2, axes=("left", "periodic"))])
def test_channels_of_a_linear_map_add_up(domain):
    points = (16,) * domain.dim
    a, b = smooth(domain, 3, *points), smooth(domain, 3, *points, seed=1)
    phi = FourierFeatures(domain=Channels(domain, 2), **FOURIER | {"activation": "identity", "bias": 0.0})
    theta = phi.draw(4, seed=0)
    zero = torch.zeros_like(a)
    parts = [phi(torch.stack(pair, 1), theta) for pair in ((a, zero), (zero, b))]
    assert torch.allclose(phi(torch.stack([a, b], 1), theta), parts[0] + parts[1], atol=1e-12)
    assert not torch.allclose(parts[0], phi(torch.stack([zero, a], 1), theta))


def test_of_several_channels_the_means_are_seen_with_a_random_weight_each():
    phi = FourierFeatures(domain=Channels(Domain(1), 2), **FOURIER | {"activation": "identity"})
    a = torch.stack([smooth(Domain(1), 3, 16), torch.ones(3, 16, dtype=torch.float64)], 1)
    theta = phi.draw(4, seed=0)
    moved = a.clone()
    moved[:, 1] += 0.5
    weight = 3.0 * theta[:, 1 + 21]  # the amplitude, and the first number of the second channel
    assert torch.allclose(phi(moved, theta) - phi(a, theta), (0.5 * weight)[:, None].expand(3, 4, 16), atol=1e-12)


@pytest.mark.parametrize(
    "phi",
    [
        FourierFeatures(domain=Channels(Domain(1), 2), **FOURIER),
        IteratedFeatures(2, 3.0, n_modes=6, smoothing=0.3, domain=Channels(Domain(1), 2)),
        ScalarFeatures(8, domain=Channels(Domain(1), 2)),
    ],
)
def test_channels_are_the_same_function_on_a_finer_grid(phi):
    domain = Domain(1)
    coarse, fine = (torch.stack([smooth(domain, 3, k), smooth(domain, 3, k, seed=1)], 1) for k in (32, 64))
    theta = phi.draw(5, seed=0)
    values = phi(fine, theta)
    assert torch.allclose(phi(coarse, theta), values[..., ::2] if values.ndim == 3 else values, atol=1e-9)


def test_scalar_features_of_a_mesh_and_of_a_grid_agree_up_to_quadrature():
    domain = Domain(2, periodic=False)
    grid = domain.grid(33, 33)
    exact = Mesh(grid.nodes().reshape(-1, 2), grid.weights().flatten(), domain)
    estimated = Mesh(grid.nodes().reshape(-1, 2), domain=domain)
    a = smooth(domain, 3, 33, 33)
    on_grid = ScalarFeatures(12, domain=domain)
    theta = on_grid.draw(6, seed=0)
    assert torch.allclose(ScalarFeatures(12, domain=exact)(a.flatten(1), theta), on_grid(a, theta), atol=1e-12)
    assert torch.allclose(ScalarFeatures(12, domain=estimated)(a.flatten(1), theta), on_grid(a, theta), atol=2e-3)


def test_scalar_features_of_vectors_have_the_gaussian_kernel():
    phi = ScalarFeatures(3, lengthscale=2.0, affine=None, domain=Vectors())
    x = torch.randn(4, 3, dtype=torch.float64)
    values = phi(x, phi.draw(200_000, seed=0))
    kernel = torch.exp(-torch.cdist(x, x).square() / (2 * 2.0**2))
    assert torch.allclose(values @ values.mT / values.shape[1], kernel, atol=0.01)


def test_affine_features_are_affine():
    phi = ScalarFeatures(3, law="affine", domain=Vectors())
    theta = phi.draw(5, seed=0)
    x, y = torch.randn(2, 4, 3, dtype=torch.float64)
    assert torch.allclose(phi(0.3 * x + 0.7 * y, theta), 0.3 * phi(x, theta) + 0.7 * phi(y, theta), atol=1e-12)


def test_vectors_that_are_too_long_are_refused():
    with pytest.raises(RaffiaError, match="n_modes=2"):
        ScalarFeatures(2, domain=Vectors())(torch.zeros(1, 3), torch.zeros(1, 4))
