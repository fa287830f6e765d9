"""Predictions come back in the layout of the training outputs; parts of arrays, grids stored along one axis, masks and third files."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import xarray

from raffia import Channels, Domain, Mesh, RaffiaError, Vectors, load
from raffia.data import ArrayLayout, AxisLabel, open_source, variables
from raffia.data.row_reader import RowReader as Column
from tests.data.test_source import RNG, SHARED, START, said, save, shared, waves
from tests.test_cli import run

X = np.linspace(0, 1, 40)
PUBLIC = SHARED / "public"


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order():
    RNG.bit_generator.state = START


@pytest.mark.parametrize(
    "shape", [(6,), (6, 12), (6, 12, 2), (6, 2, 12), (6, 1, 12), (6, 12, 1), (12, 6), (12, 6, 2), (12, 5, 6)]
)
@pytest.mark.parametrize("turn", [False, True])
def test_what_is_read_is_written_back_as_it_was(shape, turn, tmp_path):
    values = RNG.standard_normal(shape)
    variable = variables(save(tmp_path, u=values))["u"]
    part = Column(
        variable,
        shape.index(6),
        channel=next((i for i, size in enumerate(s for s in shape if s not in (6, 1)) if size == 2), None),
    )
    if turn and part.whole_grid:
        part.order, part.flipped = tuple(range(len(part.whole_grid)))[::-1], (True,) * len(part.whole_grid)
    np.testing.assert_array_equal(part.layout.written(part.layout.turned_back(part.read(range(6)))), values)


@pytest.mark.parametrize(
    "outputs",
    [
        lambda f: np.stack([f, 2 * f], -1),
        lambda f: np.stack([f, 2 * f], 1),
        lambda f: f[:, :, None],
        lambda f: f[:, None],
        lambda f: f.T,
        lambda f: f[:, :1],
        lambda f: f[:, 0],
        lambda f: f[:, :5],
    ],
    ids=[
        "channels last",
        "channels first",
        "trailing one",
        "one before",
        "samples last",
        "a column of numbers",
        "numbers",
        "a vector",
    ],
)
def test_predictions_have_the_layout_of_the_training_outputs(outputs, tmp_path, capsys):
    mu = RNG.random((30, 2))
    u = outputs(mu[:, :1] * X + mu[:, 1:])
    np.savez(tmp_path / "d.npz", mu=mu, u=u)
    fitting = ("fit", tmp_path / "d.npz", "--box", "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")
    code, _, err = run(capsys, *fitting)
    assert code == 0, err
    assert run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "-o", tmp_path / "p.npy")[0] == 0
    predicted = np.load(tmp_path / "p.npy")
    assert predicted.shape == u.shape
    np.testing.assert_allclose(predicted, u, atol=1e-4)


def test_several_output_arrays_are_written_by_their_names(tmp_path, capsys):
    mu = RNG.random((30, 2))
    p = mu[:, :1] * X + mu[:, 1:]
    np.savez(tmp_path / "d.npz", mu=mu, x=3 + X[::-1], p=p, q=np.stack([2 * p, 3 * p], -1))
    words = ("--input", "mu", "--output", "p", "--output", "q", "--box", "--map", "linear", "--no-report")
    assert run(capsys, "fit", tmp_path / "d.npz", *words, "-o", tmp_path / "m.safetensors")[0] == 0
    assert run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "-o", tmp_path / "p.npz")[0] == 0
    with np.load(tmp_path / "p.npz") as predicted:
        assert (predicted["p"].shape, predicted["q"].shape) == ((30, 40), (30, 40, 2))
        np.testing.assert_allclose(predicted["x"], 3 + X[::-1])
        np.testing.assert_allclose(predicted["q"][..., 0], 2 * p, atol=1e-4)


def test_a_model_keeps_how_its_file_was_read(tmp_path, capsys):
    lat = np.linspace(80, 10, 24)
    field = RNG.standard_normal((20, 1)) * np.sin(np.deg2rad(lat)) + RNG.standard_normal((20, 1))
    coordinates = {"lat": ("lat", lat, {"units": "degrees_north"})}
    dims = ("time", "lat")
    xarray.Dataset({"a": (dims, field), "u": (dims, 2 * field)}, coordinates).to_netcdf(tmp_path / "d.nc")
    assert run(capsys, "fit", tmp_path / "d.nc", "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")[0] == 0
    reading = load(tmp_path / "m.safetensors").schema_
    assert reading == open_source(tmp_path / "d.nc").schema
    assert reading.output.frame == (AxisLabel("lat", "degrees_north", 10.0, 80.0),)
    assert reading.output.layouts[0].flipped == (True,)


def test_parts_of_arrays_are_arrays(tmp_path, capsys):
    u = np.stack([waves(30), waves(30), waves(30)], 1)
    path = save(tmp_path, u=u, v=RNG.random((30, 3)))
    source = open_source(path, input="u[:,0]", output="u[:,2]")
    assert torch.equal(source.dataset().a, torch.from_numpy(u[:, 0]))
    assert torch.equal(source.dataset().y, torch.from_numpy(u[:, 2]))
    assert source.schema.input.names == ("u[:,0]",)
    assert torch.equal(source.schema.inputs(path), torch.from_numpy(u[:, 0]))
    part = open_source(path, input="v", output="u[:,1]")
    assert (part.domain, part.output) == (Vectors(), Domain(1))
    assert torch.equal(part.schema.pairs(path).dataset().y, torch.from_numpy(u[:, 1]))
    assert torch.equal(
        open_source(path, input="u[3:21:2,0]", output="u[3:21:2,-1]").dataset().y, torch.from_numpy(u[3:21:2, -1])
    )
    assert torch.equal(
        open_source(path, input="u[:,0]", output="u[:,1,::2]").read(range(4, 7))[1], torch.from_numpy(u[4:7, 1, ::2])
    )
    code, out, _ = run(capsys, "inspect", path, "--input", "v", "--output", "u[:,1]")
    assert (code, "--output 'u[:,1]'" in out) == (0, True)
    for wrong, words in (
        ("u[:,3]", "has nothing there"),
        ("u[:,0,0,0]", "has 3 axes"),
        ("u[a]", "as in NumPy"),
        ("u[::0]", "as in NumPy"),
    ):
        with pytest.raises(RaffiaError, match=words):
            open_source(path, input=wrong, output="v")
    with pytest.raises(RaffiaError, match=r"--input.* It holds u 30×3×\d+ f8; v"):
        open_source(path, input="w[0]", output="v")


def test_a_part_of_a_file_that_claims_too_much_is_not_read(tmp_path):
    import h5py

    with h5py.File(tmp_path / "d.h5", "w") as file:
        for name in "ay":
            file.create_dataset(name, (100, 10**7), chunks=(1, 1000), dtype="f8")
    with pytest.raises(RaffiaError, match="bytes"):
        open_source(tmp_path / "d.h5", input="a[:,:64]", output="y[:,:64]", periodic=True).dataset()


@pytest.mark.parametrize("channels", [1, 3])
def test_grids_stored_along_one_axis_are_reshaped(channels, tmp_path, capsys):
    x, y = np.linspace(0, 1, 26), np.linspace(0, 1, 22)
    field = RNG.standard_normal((30, 1, 1)) * np.exp(x[:, None]) * np.exp(2 * y)
    flat = np.stack([field.reshape(30, -1)] * channels, -1)
    path = save(tmp_path, a=flat, u=flat)
    source = open_source(path, reshape="26,22")
    assert source.domain.one_channel == Domain(2, periodic=False)
    assert torch.equal(source.dataset().a.reshape(30, channels, 26, 22)[:, 0], torch.from_numpy(field))
    assert open_source(path, reshape=(26, 22)).schema == source.schema
    assert torch.equal(source.schema.inputs(path), source.dataset().a)
    words = ("--reshape", "26,22", "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")
    assert run(capsys, "fit", path, *words)[0] == 0
    assert run(capsys, "predict", tmp_path / "m.safetensors", path, "-o", tmp_path / "p.npy")[0] == 0
    assert np.load(tmp_path / "p.npy").shape == (30, 572, channels)
    for wrong in ("26", "25,22"):
        with pytest.raises(RaffiaError, match=r"reshape=.* \(--reshape\) needs samples of .* values along one axis"):
            open_source(path, reshape=wrong)
    with pytest.raises(RaffiaError, match="sizes of up to three axes"):
        open_source(path, reshape="26;22")


@pytest.fixture
def sea():
    """Fields on 12×15 points, which have no values on an island."""
    y, x = np.linspace(0, 11, 12), np.linspace(0, 14, 15)
    land = (y[:, None] - 5) ** 2 + (x - 8) ** 2 < 9
    field = RNG.standard_normal((20, 1, 1)) * np.sin(y[:, None] / 4) + RNG.standard_normal((20, 1, 1)) * np.cos(x / 5)
    return y, x, land, field


def test_nodes_without_values_in_any_sample_are_left_out(sea, tmp_path, capsys):
    y, x, land, field = sea
    gappy = np.where(land, np.nan, field)
    path = save(tmp_path, a=gappy, u=3 * gappy, lat=y, lon=x)
    source = open_source(path)
    assert isinstance(source.domain, Mesh)
    assert torch.equal(source.dataset().a, torch.from_numpy(field[:, ~land]))
    assert source.domain.nodes[:, 0].tolist() == np.broadcast_to(y[:, None], land.shape)[~land].tolist()
    assert said(
        source, f"at {land.sum()} of 180 nodes no sample has values: the functions live on a mesh of the other {(~land).sum()}"
    )
    assert source.schema.input.frame == (AxisLabel("lat", "", 0.0, 11.0), AxisLabel("lon", "", 0.0, 14.0))
    assert (
        run(capsys, "fit", path, "--map", "linear", "--ridge", "1e-12", "--no-report", "-o", tmp_path / "m.safetensors")[0] == 0
    )
    np.savez(tmp_path / "down.npz", a=gappy[:4, ::-1], lat=y[::-1], lon=x)
    for test, turn in ((path, 1), (tmp_path / "down.npz", -1)):
        assert run(capsys, "predict", tmp_path / "m.safetensors", test, "-o", tmp_path / "p.npy")[0] == 0
        predicted = np.load(tmp_path / "p.npy")
        np.testing.assert_allclose(predicted[:4], 3 * gappy[:4, ::turn], atol=1e-6)


def test_gaps_that_change_are_refused_as_ever(sea, tmp_path):
    _, _, land, field = sea
    gappy = np.where(land, np.nan, field)
    gappy[3, 0, 0] = np.nan
    with pytest.raises(RaffiaError, match="a must be finite; 20 of the 20 samples"):
        open_source(save(tmp_path, a=gappy, u=gappy))
    late = np.concatenate([np.where(land, np.nan, field)] * 5)
    late[90, 0, 0] = np.nan
    with pytest.raises(RaffiaError, match=r"a must be finite; 1 of the 100 samples read .* is sample 90"):
        open_source(save(tmp_path, a=late, u=late)).dataset()


def test_values_that_turn_up_where_the_first_samples_have_none_are_not_dropped(sea, tmp_path):
    _, _, land, field = sea
    late = np.concatenate([np.where(land, np.nan, field)] * 5)
    late[90] = field[0]
    with pytest.raises(RaffiaError, match=r"has values at nodes where its first samples have none. .* pass --mask"):
        open_source(save(tmp_path, a=late, u=late)).dataset()
    np.savez(tmp_path / "m.npz", a=late, u=late, wet=~land)
    assert open_source(tmp_path / "m.npz", mask="wet").dataset().a.shape == (100, (~land).sum())


def test_a_mask_may_be_an_array_of_a_third_file(sea, tmp_path):
    _, _, land, field = sea
    filled = np.where(land, -999.0, field)
    path = save(tmp_path, a=filled, u=filled)
    np.save(tmp_path / "water.npy", (~land).astype(np.int8))
    source = open_source(path, mask=str(tmp_path / "water.npy"))
    assert torch.equal(source.dataset().a, torch.from_numpy(field[:, ~land]))
    assert torch.equal(source.schema.inputs(path), source.dataset().a)
    assert said(source, "nodes water is zero")
    with pytest.raises(RaffiaError, match="A mask has zeros"):
        open_source(path, mask="u[0]", input="a", output="a")


def test_coordinates_and_cells_may_be_in_third_files(tmp_path):
    nodes, mu = RNG.random((30, 2)), RNG.random((9, 2))
    np.savez(tmp_path / "where.npz", xy=nodes, other=RNG.random((30, 2)))
    path = save(tmp_path, mu=mu, u=RNG.random((9, 30)))
    assert open_source(path, coordinates=f"{tmp_path / 'where.npz'}:xy").output == Mesh(torch.from_numpy(nodes))
    with pytest.raises(RaffiaError, match=r"which array holds the coordinates\? It holds xy 30×2 f8; other 30×2"):
        open_source(path, coordinates=str(tmp_path / "where.npz"))
    with pytest.raises(RaffiaError, match=r"coordinates='nowhere.npy:x' \(--coordinates\)"):
        open_source(path, coordinates="nowhere.npy:x")


@shared
def test_the_airfoil_is_read_from_its_four_files(tmp_path, capsys):
    folder = PUBLIC / "airfoil_transonic"
    outputs = [str(folder / f"snapshots_{name}_airfoil.npy") for name in ("p", "wn")]
    source = open_source(folder / "params.npy", output=outputs, coordinates=str(folder / "coords_airfoil.npy"))
    assert (source.domain, source.output.count, source.output.of.nodes.shape) == (Vectors(), 2, (448, 2))
    y = source.dataset().y
    np.testing.assert_array_equal(y[:, 1], np.load(outputs[1]))
    again = source.schema.pairs(folder / "params.npy", output=outputs)
    assert torch.equal(again.dataset().y, y)
    assert torch.equal(source.opened().dataset().y, y)


@shared
def test_the_unsteady_flow_is_read_from_its_files_with_triangles(tmp_path):
    folder = PUBLIC / "unsteady_tri"
    options = {"coordinates": str(folder / "pts.npy"), "cells": str(folder / "cells.npy")}
    source = open_source(folder / "time.npy", output_path=folder / "snapshots_pressure.npy", **options)
    assert (len(source), source.output.nodes.shape) == (59, (3067, 2))
    assert said(source, "the coordinate z does not vary, and is left out", "cells gives its 5768 cells")
    three = [str(folder / f"snapshots_{name}.npy") for name in ("pressure", "vx", "vy")]
    assert open_source(folder / "time.npy", input="time", output=three, **options).output.count == 3


def test_functions_and_parameters_are_told_apart_in_other_files_too(tmp_path):
    path = save(tmp_path, f=waves(30, X, False), mu=RNG.random((30, 2)), u=waves(30, X, False))
    source = open_source(path, input=["f", "mu"], output="u")
    assert source.domain == Channels(Domain(1, periodic=False), 3)
    assert torch.equal(source.schema.inputs(path), source.dataset().a)


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples": -1}, {"samples": 10**9}, {"channel": -2}, {"order": (0, 0)}, {"order": (1, 2)}, {"order": (1, 0), "flipped": (True,)},
        {"single": (3, 1)}, {"shape": (0, 4)}, {"masked": (10**6, 10**6)}, {"count": 0},
    ],
)  # fmt: skip
def test_a_layout_that_no_array_can_have_is_refused(wrong):
    with pytest.raises(RaffiaError, match="is no layout of an array"):
        ArrayLayout(**wrong)


def test_a_layout_of_a_model_that_does_not_fit_the_array_is_refused(tmp_path):
    path = save(tmp_path, a=waves(9), u=waves(9))
    reading = open_source(path).schema
    for layout in (ArrayLayout(2), ArrayLayout(0, 1), ArrayLayout(order=(1, 0)), ArrayLayout(shape=(3, 3))):
        other = replace(reading, input=replace(reading.input, layouts=(layout,)))
        if layout in (ArrayLayout(2), ArrayLayout(0, 1)):
            with pytest.raises(RaffiaError, match="as the array of the training has"):
                other.inputs(path)
        else:
            assert torch.equal(other.inputs(path), reading.inputs(path))  # it is for other shapes
    with pytest.raises(RaffiaError, match="must go from somewhere"):
        AxisLabel("x", "", float("nan"), 1.0)
