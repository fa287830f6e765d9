"""Predictions in files: what is written is read back, by raffia and by others, on the points and cells it came on."""

import contextlib
import re
import sys

import meshio
import numpy as np
import pytest
import scipy.io
import torch

import raffia
from raffia import Channels, Domain, Mesh, RaffiaError, Vectors, cli
from raffia.data import ArrayLayout, SideSchema, open_source, variables
from raffia.data.infer.coordinates import Places
from raffia.data.predictions import write
from raffia.data.readers.writing import growing
from raffia.data.written import Inputs
from tests.data.mesh_examples import GRID_A, RING, SQUARES, A, K, Y, in_space, write_mesh

MESH = Mesh(torch.from_numpy(SQUARES), cells=torch.from_numpy(RING))
ARRAYS = {"u": np.stack([A, 2 * A]), "v": np.random.default_rng(1).standard_normal((2, 3, 8)).astype(np.float32)}


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".h5", ".hdf5", ".nc"])
def test_arrays_come_back_by_their_names(suffix, tmp_path):
    path = tmp_path / f"out{suffix}"
    assert write(path, ARRAYS, MESH) == [path]
    found = variables(path)
    assert set(found) == {"u", "v"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name].read(), array)
        assert found[name].read().dtype.newbyteorder("=") == array.dtype


def test_a_table_has_a_row_a_sample_and_numbered_columns(tmp_path):
    write(tmp_path / "out.csv", {"u": ARRAYS["u"], "drag, N": np.array([1.5, 2.5])}, MESH)
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == ",".join(f"u_{i}" for i in range(8)) + ',"drag, N"'
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1), np.c_[ARRAYS["u"], [1.5, 2.5]])


def test_each_sample_is_a_file_of_the_mesh_with_its_cells(tmp_path):
    files = write(tmp_path / "out.vtu", ARRAYS, MESH)
    assert [file.name for file in files] == ["out_0.vtu", "out_1.vtu"]
    for i, file in enumerate(files):
        theirs, ours = meshio.read(file), variables(file)
        np.testing.assert_array_equal(theirs.points, in_space(SQUARES))
        np.testing.assert_array_equal(theirs.cells_dict["triangle"], RING)
        np.testing.assert_array_equal(np.squeeze(theirs.point_data["u"]), ARRAYS["u"][i])
        np.testing.assert_array_equal(theirs.point_data["v"], ARRAYS["v"][i].T)
        np.testing.assert_array_equal(ours["u"].read()[0], ARRAYS["u"][i])
        np.testing.assert_array_equal(ours["v"].read()[0], ARRAYS["v"][i].T)
        assert open_source(file, input="u", output="v").domain == MESH


@pytest.mark.parametrize("suffix", [".vtk", ".vtu"])
def test_points_and_cells_are_written_as_they_are_in_the_file_of_the_inputs(suffix, tmp_path):
    points = np.concatenate([in_space(SQUARES), [[9.0, 9.0, 0.0]]])
    blocks = [("line", [[0, 1]]), ("triangle", RING[:3]), ("quad", [[4, 5, 6, 7]]), ("triangle", RING[3:])]
    meshio.write(tmp_path / f"in{suffix}", meshio.Mesh(points, blocks, {"a": np.arange(9.0)}))
    source = open_source(tmp_path / f"in{suffix}", input="a", output="a")
    (file,) = write(tmp_path / "out.vtu", {"u": A[None]}, source.domain, tmp_path / f"in{suffix}")
    written = meshio.read(file)
    np.testing.assert_array_equal(written.points, points)
    assert [(block.type, len(block.data)) for block in written.cells] == [
        ("line", 1),
        ("triangle", 3),
        ("quad", 1),
        ("triangle", 5),
    ]
    values = np.squeeze(written.point_data["u"])
    np.testing.assert_array_equal(values[:8], A)
    assert np.isnan(values[8])  # in no cell


def test_values_in_cells_are_written_to_cells(tmp_path):
    path = write_mesh("vtu", tmp_path)
    source = open_source(path, input="a", output="k")
    (file,) = write(tmp_path / "out.vtu", {"k": 3 * K[None]}, source.output, path)
    np.testing.assert_array_equal(np.squeeze(meshio.read(file).cell_data["k"][0]), 3 * K)


@pytest.mark.parametrize("kind", ["vti", "vtk image", None])
def test_grids_are_written_with_the_coordinates_of_the_inputs(kind, tmp_path):
    source = None if kind is None else write_mesh(kind, tmp_path)
    domain = Domain(2, periodic=False, extent=(3.0, 1.0))
    (file,) = write(tmp_path / "out.vti", {"u": GRID_A[None], "w": np.stack([GRID_A, -GRID_A])[None]}, domain, source)
    found = variables(file)
    np.testing.assert_array_equal(found["u"].read()[0], GRID_A)
    np.testing.assert_array_equal(found["w"].read()[0], np.stack([GRID_A, -GRID_A], axis=-1))
    np.testing.assert_allclose(found["y"].read(), np.linspace(0, 1, 3) + (kind is not None))


def test_channels_have_the_names_of_the_arrays_they_came_from():
    values = torch.arange(24.0).reshape(2, 3, 4)

    def named(names, counts=()):
        layouts = tuple(ArrayLayout(channel=0, count=count) for count in counts)
        trained = SideSchema(space=Channels(Domain(1), 3), names=names, layouts=layouts)
        return Inputs(parts=[], domain=Domain(1), trained=trained, places=Places(), notes=[]).fields(values)

    assert set(named(("p", "vx", "vy"))) == {"p", "vx", "vy"}
    np.testing.assert_array_equal(named(("p", "vx", "vy"))["vx"], values[:, 1])
    two = named(("p", "v"), (1, 2))
    np.testing.assert_array_equal(two["p"], values[:, 0])
    np.testing.assert_array_equal(two["v"], values[:, 1:])
    assert set(named(("velocity",))) == {"velocity"}
    assert set(named(())) == {"y"}


def test_names_that_a_format_does_not_take_are_written_so_that_it_does(tmp_path):
    write(tmp_path / "out.mat", {"u velocity [m/s]": A[None]}, MESH)
    assert "u_velocity__m_s_" in scipy.io.loadmat(tmp_path / "out.mat")
    (file,) = write(tmp_path / "out.vtu", {'u "velocity" <m/s>': A[None]}, MESH)
    np.testing.assert_array_equal(variables(file)['u "velocity" <m/s>'].read()[0], A)


def test_arrays_of_zeros_in_a_store_that_grows_are_read_again(tmp_path):
    shapes = {"u": (2, 3)}
    with growing(tmp_path / "out.zarr", shapes, np.dtype("f8"), shapes, {"k": np.zeros(3)}) as arrays:
        arrays["u"][...] = 0.0
    found = variables(tmp_path / "out.zarr")
    np.testing.assert_array_equal(found["k"].read(), np.zeros(3))
    np.testing.assert_array_equal(found["u"].read(), np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("name", "space", "words"),
    [
        ("out.vtu", Domain(2), ".vti .npy"),
        ("out.vti", MESH, ".vtu .npy"),
        ("out.vtu", Vectors(), "vectors, are written to .npy"),
    ],
)
def test_formats_that_do_not_hold_the_outputs_are_refused(name, space, words, tmp_path):
    with pytest.raises(RaffiaError, match=re.escape(words)):
        write(tmp_path / name, {"u": np.zeros((1, 4))}, space)


def run(*words):
    sys.argv = ["raffia", *map(str, words)]
    with contextlib.suppress(SystemExit):
        cli.main()


def test_one_sample_is_too_few_to_learn_from_and_that_is_said(tmp_path):
    with pytest.raises(RaffiaError, match="two pairs at least, and the data have 1"):
        raffia.fit(open_source(write_mesh("vtu", tmp_path), input="a", output="y"))


def test_a_model_of_a_mesh_predicts_from_a_file_of_vtk_to_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a = np.random.default_rng(0).standard_normal((30, 8))
    matrix = np.random.default_rng(1).standard_normal((8, 8))
    np.savez("train.npz", a=a, u=a @ matrix, nodes=SQUARES, cells=RING)
    run("fit", "train.npz", "--map", "linear", "--coordinates", "nodes", "--cells", "cells", "--no-report")
    meshio.write("in.vtu", meshio.Mesh(in_space(SQUARES), [("triangle", RING)], {"a": A, "other": Y}))
    run("predict", "train.safetensors", "in.vtu", "--output", "out.vtu")
    np.testing.assert_allclose(np.squeeze(meshio.read("out.vtu").point_data["u"]), A @ matrix, rtol=1e-4)
    run("predict", "train.safetensors", "train.npz", "--output", "all.vtu")
    assert len(list(tmp_path.glob("all_*.vtu"))) == 30
    np.testing.assert_allclose(np.squeeze(meshio.read("all_07.vtu").point_data["u"]), a[7] @ matrix, rtol=1e-4)


@pytest.mark.parametrize("kind", ["vtu", "npz", "xdmf"])
def test_predictions_come_in_the_order_of_the_nodes_of_the_inputs(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, matrix, order = rng.standard_normal((30, 8)), rng.standard_normal((8, 8)), rng.permutation(8)
    np.savez("train.npz", a=a, u=a @ matrix, nodes=SQUARES, cells=RING)
    run("fit", "train.npz", "--map", "linear", "--coordinates", "nodes", "--cells", "cells", "--no-report")
    mesh = meshio.Mesh(in_space(SQUARES[order]), [("triangle", np.argsort(order)[RING])], {"a": A[order]})
    if kind == "npz":
        np.savez("in.npz", a=A[None, order], nodes=SQUARES[order], cells=np.argsort(order)[RING])
    else:
        meshio.write(f"in.{kind}", mesh)
    run("predict", "train.safetensors", f"in.{kind}", "--output", "out.vtu")
    written = meshio.read("out.vtu")
    np.testing.assert_array_equal(written.points, mesh.points)
    np.testing.assert_allclose(np.squeeze(written.point_data["u"]), (A @ matrix)[order], rtol=1e-4)
    assert variables("out.vtu")["u"].shape == (1, 8)
