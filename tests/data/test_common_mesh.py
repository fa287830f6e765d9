"""Fields of many files, each with a mesh, on a common one."""

import meshio
import numpy as np
import pytest
from scipy.spatial import Delaunay

from raffia import RaffiaError
from raffia.data import variables
from raffia.data.readers.meshes.interpolation import together
from tests.data.mesh_examples import RING, SQUARES, A, K, in_space


def square(n, seed):
    """Random nodes of the unit square with its corners, triangulated."""
    inner = np.random.default_rng(seed).random((n, 2))
    nodes = np.concatenate([[[0, 0], [1, 0], [0, 1], [1, 1]], inner])
    return nodes, Delaunay(nodes).simplices


def heads_of(folder, meshes):
    heads = []
    for number, mesh in enumerate(meshes):
        meshio.write(folder / f"run{number}.vtu", mesh)
        heads.append(variables(folder / f"run{number}.vtu"))
    return heads


def ring(points=SQUARES, cells=RING, factor=1.0):
    return meshio.Mesh(in_space(points), [("triangle", cells)], {"a": factor * A}, {"k": [factor * K]})


def test_equal_meshes_are_one_and_fields_stay_as_they_are(tmp_path):
    heads = heads_of(tmp_path, [ring(), ring(factor=2.0), ring(SQUARES + 1e-13)])
    found, notes = together(heads)
    assert notes == []
    for head, factor in zip(found, (1.0, 2.0, 1.0), strict=True):
        np.testing.assert_array_equal(head["a"].read(), factor * A)
        np.testing.assert_array_equal(head["a"].read(slice(2, 5)), factor * A[2:5])
        np.testing.assert_array_equal(head["k"].read(), factor * K)
        np.testing.assert_array_equal(head["points"].read(), SQUARES)
        assert (head["a"].dims, head["k"].dims) == (("point",), ("cell",))


def test_nodes_in_another_order_are_put_into_that_of_the_first(tmp_path):
    order = np.random.default_rng(0).permutation(8)
    place = np.argsort(order)
    other = meshio.Mesh(in_space(SQUARES[order]), [("triangle", place[RING])], {"a": A[order]})
    (_, second), notes = together(heads_of(tmp_path, [ring(), other]))
    np.testing.assert_array_equal(second["a"].read(), A)
    np.testing.assert_array_equal(second["points"].read(), SQUARES)
    assert len(notes) == 1
    assert "run1.vtu has the same nodes in another order" in notes[0]


def test_linear_functions_on_other_meshes_are_the_same_on_the_first(tmp_path):
    meshes = []
    for seed, n in ((0, 40), (1, 60), (2, 200)):
        nodes, cells = square(n, seed)
        linear = {"u": 1 + nodes @ [2.0, 3.0], "v": np.stack([nodes[:, 0], nodes[:, 1], 0 * nodes[:, 0]], 1)}
        meshes.append(meshio.Mesh(in_space(nodes), [("triangle", cells)], linear))
    heads = heads_of(tmp_path, meshes)
    found, (note,) = together(heads)
    nodes = heads[0]["points"].read()
    for head in found:
        np.testing.assert_allclose(head["u"].read(), 1 + nodes @ [2.0, 3.0], atol=1e-12)
        np.testing.assert_allclose(head["v"].read()[:, :2], nodes, atol=1e-12)
        assert head["u"].shape == (44,)
    assert note.startswith("the meshes of 2 of 3 files are not that of run0.vtu: run1.vtu has 64 nodes, and is interpolated")


def test_where_a_mesh_has_no_cells_the_nearest_node_counts_and_it_is_said(tmp_path):
    nodes, cells = square(30, 0)
    whole = meshio.Mesh(in_space(3 * nodes), [("triangle", cells)], {"a": np.zeros(34)})
    found, (note,) = together(heads_of(tmp_path, [whole, ring()]))
    hole = (np.abs(3 * nodes - 1.5) < 0.5 - 1e-9).all(1)
    assert hole.any()
    inside = found[1]["a"].read()[hole]
    assert np.isin(inside, A[4:]).all()  # the corners of the hole
    assert f"{hole.sum()} of them lie in no cell" in note


def test_values_in_cells_are_those_of_the_nearest(tmp_path):
    moved = ring(SQUARES + np.eye(8)[:, -1:] * [0.05, 0.0])
    (_, second), notes = together(heads_of(tmp_path, [ring(), moved]))
    np.testing.assert_array_equal(second["k"].read(), K)
    assert any("8 cells, of which the nearest are taken" in note for note in notes)


def test_files_of_other_dimensions_are_refused(tmp_path):
    bent = meshio.Mesh(np.concatenate([SQUARES, SQUARES[:, :1] ** 2], 1), [("triangle", RING)], {"a": A})
    with pytest.raises(RaffiaError, match=r"run1.vtu: its nodes have 3 coordinates"):
        together(heads_of(tmp_path, [ring(), bent]))


def test_grids_only_lose_the_axis_of_their_one_sample(tmp_path):
    from tests.data.mesh_examples import GRID_A, write_mesh

    head = variables(write_mesh("vti", tmp_path))
    (found,), notes = together([head])
    assert notes == []
    np.testing.assert_array_equal(found["a"].read(), GRID_A)
    np.testing.assert_array_equal(found["x"].read(), head["x"].read())
