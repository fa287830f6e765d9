"""Which axis counts samples: names of axes before lengths, and a question wherever values speak against the usual way."""

import h5py
import numpy as np
import pytest
import scipy.io
import torch
import xarray

from raffia import Channels, Domain, RaffiaError, Vectors
from raffia.data import open_source
from tests.data.test_source import RNG, START, said, save, waves
from tests.test_cli import run

DAYS = np.linspace(0, 1, 365)


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order():
    RNG.bit_generator.state = START


def test_days_by_stations_are_asked_for_naming_both_commands(tmp_path):
    """As in the Canadian weather of R's fda: 365 days × 35 stations, and stations are the samples."""
    tempav = (waves(35, DAYS, False) + 5 * RNG.standard_normal((35, 1))).T
    precav = (waves(35, DAYS, False) + 5 * RNG.standard_normal((35, 1))).T
    scipy.io.savemat(tmp_path / "daily.mat", {"tempav": tempav, "precav": precav})
    names = {"input": "tempav", "output": "precav"}
    with pytest.raises(RaffiaError, match=r"365×35.*Pass --samples-axis 0 or --samples-axis 1"):
        open_source(tmp_path / "daily.mat", **names)
    source = open_source(tmp_path / "daily.mat", **names, samples_axis=-1)
    assert len(source) == 35
    assert torch.equal(source.dataset().a, torch.from_numpy(tempav.T.copy()))
    assert len(open_source(tmp_path / "daily.mat", **names, samples_axis=0, periodic=False)) == 365


def test_coordinates_along_the_first_axis_say_that_samples_are_along_the_last(tmp_path):
    a = waves(35, DAYS, False)
    source = open_source(save(tmp_path, a=a.T, u=a.T**2, t=DAYS))
    assert torch.equal(source.dataset().a, torch.from_numpy(a))
    assert said(source, "samples are along the last axis, as coordinates go along the first")


def test_samples_in_rows_are_not_asked_for(tmp_path):
    for a in (waves(40), waves(64), RNG.random((40, 64))):
        arrays = {"a": a, "u": a**2}
        assert len(open_source(save(tmp_path, **arrays), periodic=True)) == len(arrays["a"])


def test_columns_are_taken_where_rows_do_not_pair_up_and_values_agree(tmp_path):
    a, u = waves(35, DAYS, False), waves(35, np.linspace(0, 1, 12), False)
    source = open_source(save(tmp_path, a=a.T, u=u.T))
    assert (len(source), source.read(range(1))[1].shape) == (35, (1, 12))
    assert said(source, "a, u: samples are along the last axis, where lengths agree")


def test_a_missing_row_does_not_make_samples_of_columns(tmp_path):
    with pytest.raises(RaffiaError, match=r"got 40 inputs and 39 outputs.* Pass --samples-axis 1"):
        open_source(save(tmp_path, a=waves(40), u=waves(39)))
    with pytest.raises(RaffiaError, match=r"along axis 1,0 \(64 of them\), but neighbours there are alike"):
        open_source(save(tmp_path, a=waves(39), u=waves(40).T), periodic=True)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_smooth_cube_is_samples_of_squares_as_one_sample_trains_nothing(channels, tmp_path):
    x = np.linspace(0, 1, 32)
    cube = np.sin(2 * x[:, None, None] + 3 * x[:, None] + x + 1)
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["a"] = cube
        file["u"] = np.stack([cube**2] * 3, -1) if channels else cube**2
    source = open_source(tmp_path / "one.h5")
    assert (len(source), source.domain.dim) == (32, 2)
    assert said(source, "--samples-axis")
    one = open_source(tmp_path / "one.h5", samples_axis="none")
    assert (len(one), one.domain) == (1, Domain(3, periodic=False))
    assert (one.output is None) == (not channels)


def test_samples_that_follow_one_another_are_said_to(tmp_path):
    x, t = np.linspace(0, 1, 50), np.linspace(0, 1, 80)
    u = np.exp(-t[:, None]) * np.sin(3 * x + 4 * t[:, None] + 1)
    source = open_source(save(tmp_path, a=u[:-1], u=u[1:]))
    assert len(source) == 79
    assert said(source, "samples, along the first axis, are like those next to them; --samples-axis says otherwise")


def test_an_axis_for_each_array_may_be_said(tmp_path):
    a, u = waves(64, np.arange(100) / 100), waves(64, np.arange(100) / 100)
    path = save(tmp_path, a=a, u=u.T)
    with pytest.raises(RaffiaError, match=r"64 of them.*100 of them.*--samples-axis 0,1 or --samples-axis 1,0"):
        open_source(path)
    source = open_source(path, samples_axis="0,1")
    assert torch.equal(source.dataset().y, torch.from_numpy(u))
    assert open_source(path, samples_axis=(0, -1)).schema == source.schema
    for wrong, words in (
        ("2", "number of an axis"),
        ("x", "number of an axis"),
        ("0,1,0", "number of an axis"),
        ("0", "64 and 100"),
    ):
        with pytest.raises(RaffiaError, match=words):
            open_source(path, samples_axis=wrong)


def test_samples_in_the_middle_are_said_by_number_and_kept_for_other_files(tmp_path, capsys):
    f = waves(20)[:, :, None] * waves(20, np.arange(24) / 24)[:, None]
    train, middle = tmp_path / "d.npz", np.swapaxes(f, 0, 1)
    np.savez(train, a=middle, u=2 * middle)
    fitting = ("fit", train, "--samples-axis", 1, "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")
    assert run(capsys, *fitting)[0] == 0
    np.savez(tmp_path / "test.npz", a=middle[:, :3])
    assert run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "test.npz", "-o", tmp_path / "p.npy")[0] == 0
    assert np.load(tmp_path / "p.npy").shape == (64, 3, 24)
    code, out, _ = run(capsys, "inspect", train, "--samples-axis", 1)
    assert (code, "inputs:  20 ×" in out, "--samples-axis 1" in out) == (0, True, True)


def dataset(dims, shape, names=("a", "u"), **coordinates):
    field = RNG.standard_normal(shape)
    return xarray.Dataset({names[0]: (dims, field), names[1]: (dims, field**2)}, coordinates)


@pytest.mark.parametrize(
    ("dims", "shape", "n"),
    [
        (("x", "realization"), (40, 9), 9),
        (("time", "ensemble", "x"), (12, 9, 40), 9),
        (("lat", "lon", "time"), (10, 20, 9), 9),
        (("lev", "case", "x"), (10, 9, 20), 9),
        (("dim_0", "dim_1"), (9, 40), 9),
    ],
)
@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_names_of_axes_decide_before_lengths(dims, shape, n, kind, tmp_path):
    dataset(dims, shape).to_netcdf(tmp_path / "d.nc", format=kind)
    assert len(open_source(tmp_path / "d.nc", periodic=False)) == n


@pytest.mark.parametrize(
    ("attributes", "n"),
    [
        ({"foo": {"standard_name": "realization"}}, 12),
        ({"foo": {"axis": "Y"}, "bar": {"units": "days since 1900-01-01"}}, 9),
        ({"foo": {"units": "degrees_north"}}, 9),
        ({"bar": {"standard_name": "projection_x_coordinate"}}, 12),
    ],
)
def test_attributes_of_coordinates_decide_before_lengths(attributes, n, tmp_path):
    sizes = {"foo": 12, "bar": 9}
    coordinates = {name: (name, np.arange(size, dtype=float), attributes.get(name, {})) for name, size in sizes.items()}
    dataset(("foo", "bar"), (12, 9), **coordinates).to_netcdf(tmp_path / "d.nc", format="NETCDF3_CLASSIC")
    assert len(open_source(tmp_path / "d.nc", vectors=True, periodic=False)) == n


def test_stations_and_times_are_asked_for(tmp_path):
    dataset(("station", "time"), (35, 365)).to_netcdf(tmp_path / "d.nc")
    with pytest.raises(RaffiaError, match=r"along station or time.*--samples-axis 0 or --samples-axis 1"):
        open_source(tmp_path / "d.nc")


def test_a_file_of_places_only_is_one_sample(tmp_path):
    dataset(("lat", "lon"), (35, 36)).to_netcdf(tmp_path / "d.nc")
    with pytest.raises(RaffiaError, match=r"no axis counts samples: a 35×36, u 35×36 have the axes lat, lon"):
        open_source(tmp_path / "d.nc")


def test_bounds_of_cells_are_no_nodes_and_no_functions(tmp_path):
    lat = np.linspace(-85, 85, 18)
    field = RNG.standard_normal((9, 1)) * np.sin(np.deg2rad(lat)) + 1
    content = xarray.Dataset(
        {
            "a": (("time", "lat"), field),
            "u": (("time", "lat"), field**2),
            "edges": (("lat", "two"), np.stack([lat - 5, lat + 5], -1)),
        },
        {"lat": ("lat", lat, {"bounds": "edges"})},
    )
    content.to_netcdf(tmp_path / "d.nc")
    source = open_source(tmp_path / "d.nc")
    assert source.domain == Domain(1, periodic=False, extent=170.0)
    assert said(source, "not used: edges 18×2")
    np.savez(tmp_path / "d.npz", a=field, u=field**2, x_bnds=np.stack([lat, lat], -1))
    assert open_source(tmp_path / "d.npz", periodic=False).domain == Domain(1, periodic=False)


def test_a_few_columns_are_parameters_whatever_other_arrays_are_called(tmp_path):
    """Three columns of a Latin hypercube, and their limits in an array whose name begins with x."""
    x = np.linspace(0, 1, 40)
    arrays = {
        "inputs": RNG.random((50, 3)),
        "outputs": waves(50, x, False),
        "xlimits": RNG.random((3, 2)),
        "x_scale": RNG.random((3, 1)),
    }
    source = open_source(save(tmp_path, **arrays, x=x))
    assert (source.domain, source.read(range(2))[0].shape) == (Vectors(), (2, 3))
    assert said(source, "3 numbers a sample are a vector", "not used: xlimits 3×2, x_scale 3×1.")


def test_a_few_numbers_with_coordinates_of_their_length_are_a_function(tmp_path):
    x = np.linspace(0, 1, 6)
    source = open_source(save(tmp_path, a=waves(50, x, False), u=waves(50, x, False), x=x))
    assert source.domain == Domain(1, periodic=False)


def test_arrays_that_were_not_used_are_listed(tmp_path):
    source = open_source(save(tmp_path, a=waves(9), u=waves(9), energy=RNG.random(9), seed=np.array(3), label=np.array("text")))
    assert source.notes[-1] == "not used: energy 9, seed a number."
    assert "not used" not in " ".join(open_source(save(tmp_path, a=waves(9), u=waves(9), x=np.arange(64) / 64)).notes)


def test_parameters_and_functions_together_are_channels_and_said(tmp_path):
    x = np.linspace(0, 1, 40)
    path = save(tmp_path, f=waves(30, x, False), mu=RNG.random((30, 2)), u=waves(30, x, False))
    source = open_source(path, input=["f", "mu"], output="u")
    assert source.domain == Channels(Domain(1, periodic=False), 3)
    assert said(source, "mu: numbers beside functions, each a constant function on their grid")


def test_times_of_rows_do_not_make_samples_of_columns(tmp_path):
    x, time = np.linspace(0, 1, 50), np.linspace(0, 1, 80)
    u = np.exp(-time[:, None]) * np.sin(3 * x + 4 * time[:, None] + 1)
    with pytest.raises(RaffiaError, match=r"80 of them.*50 of them.*--samples-axis 0 or --samples-axis 1"):
        open_source(save(tmp_path, a=u, u=u**2, time=time))
    assert len(open_source(save(tmp_path, a=u, u=u**2, time=time, x=x))) == 80
    assert len(open_source(save(tmp_path, a=u, u=u**2, time=time), samples_axis=0)) == 80
