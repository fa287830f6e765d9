import math

import numpy as np
import pytest
import torch

from raffia import Channels, Domain, Mesh, RaffiaError, Vectors
from raffia.spaces import LaplacianBasis


def scattered(n, dim, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((n, dim)))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_estimated_weights_integrate_linear_functions_over_the_hull(dim):
    corners = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * dim).reshape(-1, dim)
    mesh = Mesh(torch.cat([corners, scattered(60, dim)]))
    f = 1 + mesh.nodes @ torch.arange(1.0, dim + 1, dtype=torch.float64)
    assert float((mesh.weights * f).sum()) == pytest.approx(1 + sum(range(1, dim + 1)) / 2, rel=1e-12)
    assert mesh.volume == pytest.approx(1, rel=1e-12)
    assert float(mesh.inner(f, f)) == pytest.approx(float((mesh.weights * f * f).sum()), rel=1e-12)


def test_on_a_circle_gaps_close_around_the_end():
    mesh = Mesh(torch.tensor([[0.1], [0.2], [0.9]], dtype=torch.float64), domain=Domain(1))
    assert mesh.weights.tolist() == pytest.approx([0.15, 0.4, 0.45])


def test_nodes_of_an_equispaced_grid_get_the_weights_of_that_grid():
    for domain in (Domain(1), Domain(1, periodic=False)):
        grid = domain.grid(9)
        assert torch.allclose(Mesh(grid.nodes(), domain=domain).weights, grid.weights(), rtol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_weights_on_a_torus_are_those_of_a_space_without_ends(dim):
    domain = Domain(dim, extent=2.0)
    nodes = 2 * scattered(300, dim)
    mesh, moved = Mesh(nodes, domain=domain), Mesh((nodes + 0.7) % 2, domain=domain)
    assert mesh.volume == pytest.approx(2**dim, rel=1e-9)
    assert torch.allclose(moved.weights, mesh.weights, rtol=1e-6)


def test_around_a_channel_weights_close_along_the_periodic_axis_alone():
    domain = Domain(2, axes=("periodic", "box"))
    walls = torch.cartesian_prod(
        torch.linspace(0, 1, 11, dtype=torch.float64)[:-1], torch.tensor([0.0, 1.0], dtype=torch.float64)
    )
    nodes = torch.cat([walls, scattered(200, 2)])
    mesh, moved = Mesh(nodes, domain=domain), Mesh(torch.stack([(nodes[:, 0] + 0.7) % 1, nodes[:, 1]], 1), domain=domain)
    assert mesh.volume == pytest.approx(1, rel=1e-9)
    assert torch.allclose(moved.weights, mesh.weights, rtol=1e-6)


def test_cells_leave_holes_out():
    nodes = torch.tensor([[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]], dtype=torch.float64)
    ring = [(0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6), (3, 0, 4), (3, 4, 7)]
    assert Mesh(nodes, cells=torch.tensor(ring)).volume == pytest.approx(9 - 1)
    assert Mesh(nodes).volume == pytest.approx(9)


def test_points_that_coincide_share_a_weight():
    nodes = scattered(30, 2)
    once, twice = Mesh(nodes), Mesh(torch.cat([nodes, nodes[:1]]))
    assert float(twice.weights[0]) == float(twice.weights[-1]) == pytest.approx(float(once.weights[0]) / 2)


def test_a_mesh_is_equal_to_another_of_the_same_nodes_and_embeds_like_a_grid():
    mesh, same = Mesh(scattered(20, 2)), Mesh(scattered(20, 2))
    assert mesh == same
    assert hash(mesh) == hash(same)
    assert mesh != Mesh(scattered(20, 2, seed=1))
    f = torch.randn(3, 20, dtype=torch.float64)
    assert torch.allclose(mesh.unembed(mesh.embed(f)), f)


@pytest.mark.parametrize(
    ("boundary", "axes"),
    [
        ("periodic", "periodic"), ("neumann", "box"), ("dirichlet", "box"), ("neumann", "periodic, box"), ("dirichlet", "cells, periodic"),
    ],
)  # fmt: skip
def test_eigenfunctions_at_the_nodes_of_a_grid_are_those_of_the_grid(boundary, axes):
    domain = Domain(2, extent=(1.0, 2.0), axes=axes)
    grid = domain.grid(16, 17)
    mesh = Mesh(grid.nodes().reshape(-1, 2), grid.weights().flatten(), domain)
    basis = LaplacianBasis(domain, boundary, 20)
    coef = torch.randn(3, 20, dtype=torch.float64)
    assert torch.allclose(basis.synthesis(coef, mesh), basis.synthesis(coef, grid).flatten(1), atol=1e-12)
    f = torch.randn(3, 16, 17, dtype=torch.float64)
    assert torch.allclose(basis.analysis(f.flatten(1), mesh), basis.analysis(f, grid), atol=1e-12)


def test_coefficients_from_scattered_nodes_approach_those_from_a_grid():
    domain = Domain(1, periodic=False)
    basis = LaplacianBasis(domain, "neumann", 6)
    grid = domain.grid(4001)
    exact = basis.analysis(torch.exp(grid.nodes()[:, 0]), grid)
    errors = []
    for n in (50, 200, 800):
        mesh = Mesh(torch.cat([torch.tensor([[0.0], [1.0]]), scattered(n, 1)]), domain=domain)
        errors.append(float((basis.analysis(torch.exp(mesh.nodes[:, 0]), mesh) - exact).norm()))
    assert errors[2] < errors[1] < errors[0] < 0.05
    assert errors[2] < 1e-3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Mesh(torch.zeros(4)), r"coordinates \(points, dim\)"),
        (lambda: Mesh(torch.full((4, 2), math.nan)), "finite"),
        (lambda: Mesh(torch.tensor([[0.0, 1.0], [1.0, 1.0]])), "must not lie in a plane"),
        (lambda: Mesh(scattered(5, 2), torch.ones(4)), "5 positive numbers"),
        (lambda: Mesh(scattered(5, 2), -torch.ones(5)), "5 positive numbers"),
        (lambda: Mesh(2 * scattered(9, 2) + 1, domain=Domain(2)), r"must lie in .* nodes\[\d\]"),
        (lambda: Mesh(torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])), "weights cannot be estimated"),
        (lambda: Mesh(scattered(5, 2), cells=torch.tensor([[0, 1, 5]])), "node indices"),
        (lambda: Mesh(scattered(5, 2)).grid_of(torch.zeros(2, 6)), "5 values"),
        (lambda: Channels(Domain(1), 2).grid_of(torch.zeros(4, 3, 8)), "2 channels"),
        (lambda: Channels(Vectors(), 2), "a Domain or a Mesh"),
        (lambda: Vectors(3).grid_of(torch.zeros(4, 2)), "3 components"),
        (lambda: Vectors().shape, "no size of its own"),
    ],
)
def test_bad_meshes_and_channels_are_refused_by_name(make, words):
    with pytest.raises(RaffiaError, match=words):
        make()
