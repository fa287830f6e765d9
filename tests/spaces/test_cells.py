"""Cells of meshes: volumes, interpolation within them, and what is kept in files."""

import math

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

from raffia import Domain, Mesh, RaffiaError, RandomFeatureModel, ScalarFeatures, load, resample
from raffia.plotting import pair
from raffia.spaces.simplices import between, volumes

RING = [(0, 1, 5), (0, 5, 4), (1, 2, 6), (1, 6, 5), (2, 3, 7), (2, 7, 6), (3, 0, 4), (3, 4, 7)]
SQUARES = torch.tensor([[0, 0], [3, 0], [3, 3], [0, 3], [1, 1], [2, 1], [2, 2], [1, 2]], dtype=torch.float64)


def triangulated(n, dim, seed=0):
    nodes = np.random.default_rng(seed).random((n, dim))
    return nodes, Delaunay(nodes).simplices.astype(np.int64)


def graded(n):
    """Triangles of a square that are up to a thousand times longer than wide."""
    x, y = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, n) ** 4, indexing="ij")
    first = (np.arange(5)[:, None] * n + np.arange(n - 1)).reshape(-1)
    cells = np.concatenate([np.stack([first, first + n, first + n + 1], 1), np.stack([first, first + n + 1, first + 1], 1)])
    return np.stack([x.reshape(-1), y.reshape(-1)], 1), cells


@pytest.mark.parametrize(("nodes", "cells"), [triangulated(200, 2), triangulated(80, 3), graded(40)])
def test_linear_functions_are_met_exactly_within_cells(nodes, cells):
    rng = np.random.default_rng(1)
    inside = np.einsum(
        "pk,pkd->pd", rng.dirichlet(np.ones(cells.shape[1]), 500), nodes[cells[rng.integers(0, len(cells), 500)]]
    )
    slope = np.arange(1.0, nodes.shape[1] + 1)
    found = between(nodes, cells, inside)
    assert len(found.outside) == 0
    np.testing.assert_allclose(found(nodes @ slope), inside @ slope, atol=1e-12)
    np.testing.assert_allclose(between(nodes, cells, nodes)(nodes @ slope), nodes @ slope, atol=1e-12)


def test_within_given_triangles_values_are_those_of_scipys_interpolant():
    from scipy.interpolate import LinearNDInterpolator

    nodes, cells = triangulated(150, 2)
    f, points = np.sin(5 * nodes).sum(1), np.random.default_rng(2).random((400, 2))
    theirs = LinearNDInterpolator(Delaunay(nodes), f)(points)
    found = between(nodes, cells, points)
    np.testing.assert_array_equal(np.isnan(theirs), np.isin(np.arange(400), found.outside))
    np.testing.assert_allclose(found(f)[~np.isnan(theirs)], theirs[~np.isnan(theirs)], atol=1e-10)


def test_in_a_hole_the_nearest_node_counts_and_not_what_lies_across():
    mesh = Mesh(SQUARES, cells=torch.tensor(RING))
    at = Mesh(torch.tensor([[1.4, 1.3], [0.5, 0.2], [1.6, 1.8]], dtype=torch.float64), torch.ones(3))
    f = torch.arange(8.0, dtype=torch.float64)
    values = resample(f, mesh, at)
    assert values.tolist() == pytest.approx([4.0, float(resample(f, mesh, at)[1]), 6.0])
    across = resample(f, Mesh(SQUARES), at)
    assert abs(float(across[0] - values[0])) > 0.1


def test_flat_cells_hold_no_points_and_do_no_harm():
    nodes = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.0]])
    found = between(nodes, np.array([[0, 1, 4], [0, 1, 2], [1, 3, 2]]), np.array([[0.25, 0.25], [0.7, 0.8], [2.0, 0.0]]))
    assert found(nodes[:, 0]).tolist() == pytest.approx([0.25, 0.7, 1.0])
    assert found.outside.tolist() == [2]


def test_volumes_of_curves_and_surfaces_in_space_are_lengths_and_areas():
    angle = torch.linspace(0, 2 * math.pi, 401, dtype=torch.float64)[:-1]
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    around = torch.stack([torch.arange(400), torch.arange(1, 401) % 400], 1)
    assert float(volumes(circle, around).sum()) == pytest.approx(2 * math.pi, rel=1e-4)
    assert Mesh(circle, cells=around).volume == pytest.approx(2 * math.pi, rel=1e-4)
    tilted = torch.cat([SQUARES, SQUARES[:, :1]], 1)  # a plane of slope one
    assert Mesh(tilted, cells=torch.tensor(RING)).volume == pytest.approx(8 * math.sqrt(2))


def test_a_mesh_keeps_its_cells_and_is_equal_whatever_they_are():
    mesh = Mesh(SQUARES, cells=torch.tensor(RING))
    assert torch.equal(mesh.cells, torch.tensor(RING))
    without = Mesh(SQUARES, mesh.weights)
    assert without.cells is None
    assert mesh == without
    assert hash(mesh) == hash(without)
    assert mesh.digest == without.digest
    assert mesh != Mesh(SQUARES)


def test_a_grid_to_a_mesh_and_back_is_nearly_the_same_function():
    domain = Domain(2, periodic=False)
    grid = domain.grid(41, 41)
    x, y = grid.positions.T
    f = (torch.sin(3 * x) * torch.cos(2 * y)).reshape(41, 41)
    nodes, cells = graded(60)
    mesh = Mesh(torch.from_numpy(nodes), domain=domain, cells=torch.from_numpy(cells))
    there = resample(f, grid, mesh)
    assert torch.allclose(there, torch.sin(3 * mesh.nodes[:, 0]) * torch.cos(2 * mesh.nodes[:, 1]), atol=1e-3)
    assert torch.allclose(resample(there[None], mesh, grid)[0], f, atol=0.05)


def test_cells_are_saved_and_loaded_with_a_model(tmp_path):
    mesh = Mesh(SQUARES, cells=torch.tensor(RING))
    a = torch.rand(12, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    model = RandomFeatureModel(ScalarFeatures(2, domain=mesh), 20, 1e-6, output=mesh).fit(a, a**2)
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert torch.equal(again.trained_.frame.output.cells, torch.tensor(RING))
    assert torch.equal(again.predict(a), model.predict(a))


def test_a_picture_shows_the_cells_and_leaves_holes():
    mesh = Mesh(SQUARES, cells=torch.tensor(RING))
    axes = pair(torch.zeros(8), torch.arange(8.0), mesh).axes[1]
    (drawn,) = [artist for artist in axes.collections if hasattr(artist, "_triangulation")]
    np.testing.assert_array_equal(drawn._triangulation.get_masked_triangles(), RING)


def test_a_picture_in_space_cuts_the_cells_and_leaves_holes():
    nodes, cells = triangulated(4000, 3)
    hollow = cells[np.linalg.norm(nodes[cells].mean(1) - 0.5, axis=1) > 0.25]
    kept = np.unique(hollow)
    mesh = Mesh(torch.from_numpy(nodes[kept]), cells=torch.from_numpy(np.searchsorted(kept, hollow)))
    f = mesh.nodes @ torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    first = pair(f, f, mesh).axes[0]
    seen = np.asarray(first.images[0].get_array().filled(np.nan))  # x₂ upwards, x₁ to the right, at the middle of x₃
    left, right, bottom, top = first.images[0].get_extent()
    x, y = (low + (high - low) * (np.arange(128) + 0.5) / 128 for low, high in ((left, right), (bottom, top)))
    exact, radius = x + 2 * y[:, None] + 4 * 0.5, np.hypot(x - 0.5, y[:, None] - 0.5)
    assert np.isnan(seen[radius < 0.15]).all()
    ring = (radius > 0.33) & (radius < 0.4)
    np.testing.assert_allclose(seen[ring], exact[ring], atol=4e-3)  # the middle of the nodes is not quite 0.5


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (torch.tensor([[0, 1, 8]]), "from 0 to 7; got 0 to 8"),
        (torch.tensor([[-1, 1, 2]]), "from 0 to 7; got -1 to 2"),
        (torch.tensor([[0.5, 1, 2]]), "integer node indices"),
        (torch.tensor([[0, 1, 2, 3]]), r"\(cells, 3\)"),
        (torch.zeros(0, 3, dtype=torch.int64), r"\(0, 3\)"),
        (torch.tensor(RING[:2]), "node 2 does not"),
    ],
)
def test_cells_that_are_no_cells_are_refused(cells, words):
    with pytest.raises(RaffiaError, match=words):
        Mesh(SQUARES, cells=cells)


@pytest.mark.parametrize(
    ("f", "source", "target", "words"),
    [
        (torch.zeros(8), Mesh(SQUARES), Domain(2, periodic=False).grid(4, 4), "one domain"),
        (torch.zeros(7), Mesh(SQUARES), Mesh(SQUARES), "trailing shape"),
    ],
)
def test_resampling_says_what_does_not_fit(f, source, target, words):
    with pytest.raises(RaffiaError, match=words):
        resample(f, source, target)
