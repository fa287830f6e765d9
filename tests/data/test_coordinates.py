"""Coordinates of every file are used: axes have one direction and order, nodes are matched, other domains are refused."""

import json

import numpy as np
import pytest
import torch
import xarray

from raffia import Domain, Mesh, RaffiaError
from raffia.data import AxisLabel, open_source
from tests.data.test_source import RNG, START, said, waves
from tests.test_cli import run

X = np.linspace(0, 1, 48)


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order():
    RNG.bit_generator.state = START


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.fixture
def pair():
    a = waves(20, X, periodic=False)
    return a, np.cumsum(a, 1) / 48


def test_an_axis_stored_backwards_is_turned_around(pair, tmp_path):
    a, u = pair
    straight = open_source(save(tmp_path / "s.npz", a=a, u=u, x=X))
    turned = open_source(save(tmp_path / "t.npz", a=a[:, ::-1], u=u[:, ::-1], x=X[::-1]))
    assert (turned.domain, turned.schema.input.frame) == (straight.domain, (AxisLabel("x", "", 0.0, 1.0),))
    assert torch.equal(turned.dataset().a, straight.dataset().a)
    assert torch.equal(turned.dataset().y, straight.dataset().y)
    assert said(turned, "x goes from 1 to 0 in the file: it is read the other way round")


@pytest.mark.parametrize("train", [1, -1])
@pytest.mark.parametrize("test", [1, -1])
def test_a_model_sees_other_files_in_the_direction_of_its_training(train, test, pair, tmp_path, capsys):
    a, u = pair
    save(tmp_path / "train.npz", a=a[:, ::train], u=u[:, ::train], x=X[::train])
    save(tmp_path / "test.npz", a=a[:5, ::test], u=u[:5, ::test], x=X[::test])
    fitting = (
        "fit",
        tmp_path / "train.npz",
        "--map",
        "linear",
        "--no-report",
        "--ridge",
        "1e-12",
        "-o",
        tmp_path / "m.safetensors",
    )
    assert run(capsys, *fitting)[0] == 0
    _, out, _ = run(capsys, "evaluate", tmp_path / "m.safetensors", tmp_path / "test.npz", "--json")
    assert json.loads(out)["mean relative L2 error"] < 1e-5
    code, _, err = run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "test.npz", "-o", tmp_path / "p.npz")
    assert code == 0, err
    with np.load(tmp_path / "p.npz") as predicted:
        np.testing.assert_array_equal(predicted["x"], X[::test])
        np.testing.assert_allclose(predicted["u"], u[:5, ::test], atol=1e-5)


def test_without_coordinates_a_file_is_read_in_the_direction_of_the_training_file(pair, tmp_path):
    a, u = pair
    reading = open_source(save(tmp_path / "t.npz", a=a[:, ::-1], u=u[:, ::-1], x=X[::-1])).schema
    again = reading.pairs(save(tmp_path / "bare.npz", a=a[:, ::-1], u=u[:, ::-1]))
    assert torch.equal(again.dataset().y, torch.from_numpy(u))
    assert said(again, "its axes are taken as those of the training file")


@pytest.mark.parametrize("x", [X + 5, 2 * X, 1000 * X, X - 0.5, np.arange(48) / 48])
def test_other_domains_are_refused(x, pair, tmp_path):
    a, u = pair
    reading = open_source(save(tmp_path / "train.npz", a=a, u=u, x=X)).schema
    other = save(tmp_path / "test.npz", a=a, u=u, x=x)
    for read in (reading.pairs, reading.inputs):
        with pytest.raises(RaffiaError, match=r"test\.npz: x covers .*, and x of the training 0 to 1"):
            read(other)


@pytest.mark.parametrize("points", [24, 96])
@pytest.mark.parametrize("periodic", [True, False])
def test_grids_of_other_sizes_on_the_same_domain_are_read(points, periodic, tmp_path):
    def arrays(n):
        x = 3 + (np.arange(n) / n if periodic else np.linspace(0, 1, n))
        return {"a": waves(9, x, periodic), "u": waves(9, x, periodic), "x": x}

    reading = open_source(save(tmp_path / "train.npz", **arrays(48)), periodic=periodic).schema
    assert reading.input.frame[0].first == 3
    assert reading.inputs(save(tmp_path / "test.npz", **arrays(points))).shape == (9, points)


def test_latitude_stored_north_to_south_is_flipped(tmp_path):
    lat, lon = np.linspace(-90, 90, 19), np.arange(0, 360, 10.0)
    field = RNG.standard_normal((8, 1, 1)) + np.sin(np.deg2rad(lat))[:, None] + np.cos(np.deg2rad(lon) + 1)
    dims = ("time", "lat", "lon")
    content = xarray.Dataset(
        {"a": (dims, field), "u": (dims, field**2)}, {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": lon}
    )
    content.to_netcdf(tmp_path / "up.nc")
    content.isel(lat=slice(None, None, -1)).to_netcdf(tmp_path / "down.nc")
    up, down = open_source(tmp_path / "up.nc"), open_source(tmp_path / "down.nc")
    assert torch.equal(up.dataset().a, down.dataset().a)
    assert down.schema.output.frame[0] == AxisLabel("lat", "degrees_north", -90.0, 90.0)
    assert torch.equal(up.schema.inputs(tmp_path / "down.nc"), torch.from_numpy(field))


def test_axes_named_in_another_order_are_put_in_order(tmp_path):
    y, x = np.linspace(0, 2, 21), np.linspace(0, 1, 13)
    field = RNG.standard_normal((9, 1, 1)) * np.exp(y[:, None] + 2 * x)
    content = xarray.Dataset({"a": (("sample", "y", "x"), field), "u": (("sample", "y", "x"), field**2)}, {"y": y, "x": x})
    content.to_netcdf(tmp_path / "plain.nc")
    mixed = content.assign(a=content.a.transpose("y", "sample", "x"), u=content.u.transpose("x", "y", "sample"))
    mixed.to_netcdf(tmp_path / "mixed.nc")
    source = open_source(tmp_path / "mixed.nc")
    assert torch.equal(source.dataset().a, torch.from_numpy(field))
    assert torch.equal(source.dataset().y, torch.from_numpy(field**2))
    assert said(source, "samples are along the axis sample", "x, y are taken in the order y, x")
    reading = open_source(tmp_path / "plain.nc").schema
    assert torch.equal(reading.pairs(tmp_path / "mixed.nc").dataset().y, torch.from_numpy(field**2))


def test_axes_without_names_are_ordered_by_the_lengths_of_coordinates(tmp_path):
    y, x = np.linspace(0, 2, 21), np.linspace(0, 1, 13)
    field = RNG.standard_normal((9, 1, 1)) * np.exp(y[:, None] + 2 * x)
    train = open_source(save(tmp_path / "a.npz", a=field, u=field**2, y=y, x=x), input="a", output="u")
    swapped = save(tmp_path / "b.npz", a=field, u=np.swapaxes(field, 1, 2) ** 2, y=y, x=x)
    assert torch.equal(open_source(swapped, input="a", output="u").dataset().y, train.dataset().y)
    assert torch.equal(train.schema.pairs(swapped).dataset().y, train.dataset().y)


def test_which_of_two_coordinates_goes_along_which_axis_is_asked(tmp_path):
    t = np.linspace(0, 1, 21)
    field = RNG.standard_normal((9, 1, 1)) * np.exp(t[:, None] + 2 * t)
    path = save(tmp_path / "d.npz", a=field, u=field, lat=90 * t[::-1], lon=t)
    with pytest.raises(
        RaffiaError, match=r"which of lat and lon goes along axis 1 of a 21×21.*--coordinates lon --coordinates lat"
    ):
        open_source(path)
    frame = open_source(path, coordinates=["lon", "lat"]).schema.input.frame
    assert [label.name for label in frame] == ["lon", "lat"]


def test_permuted_nodes_are_matched(tmp_path):
    nodes, mu = RNG.random((40, 2)), RNG.random((12, 2))
    fields = np.sin(3 * mu @ nodes.T)
    reading = open_source(save(tmp_path / "train.npz", mu=mu, u=fields, nodes=nodes)).schema
    mixed = RNG.permutation(40)
    again = reading.pairs(save(tmp_path / "test.npz", mu=mu, u=fields[:, mixed], nodes=nodes[mixed].astype(np.float32)))
    assert torch.equal(again.dataset().y, torch.from_numpy(fields))
    assert said(again, "its nodes are taken in the order of the training")
    with pytest.raises(RaffiaError, match="are not the nodes of the training: none is at"):
        reading.pairs(save(tmp_path / "other.npz", mu=mu, u=fields, nodes=nodes + np.array([0, 1e-3])))


def test_functions_on_permuted_nodes_are_predicted_in_the_order_of_their_file(tmp_path, capsys):
    nodes = RNG.random((40, 2))
    a = np.sin(RNG.standard_normal((30, 2)) @ nodes.T + RNG.random((30, 1)))
    mixed = RNG.permutation(40)
    save(tmp_path / "train.npz", a=a, u=2 * a, nodes=nodes)
    test = save(tmp_path / "test.npz", a=a[:4, mixed], nodes=nodes[mixed])
    run(
        capsys,
        "fit",
        tmp_path / "train.npz",
        "--map",
        "linear",
        "--ridge",
        "1e-12",
        "--no-report",
        "-o",
        tmp_path / "m.safetensors",
    )
    assert run(capsys, "predict", tmp_path / "m.safetensors", test, "-o", tmp_path / "p.npy")[0] == 0
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), 2 * a[:4, mixed], atol=1e-4)


def test_nodes_that_move_are_not_compared(tmp_path):
    x, y = RNG.random((2, 40, 9))
    mu = RNG.random((9, 2))
    arrays = {"mu": mu, "u": RNG.random((40, 9)), "x": x, "y": y}
    reading = open_source(save(tmp_path / "train.npz", **arrays)).schema
    shifted = arrays | {"x": x + 0.1, "u": RNG.random((40, 9))}
    assert reading.pairs(save(tmp_path / "test.npz", **shifted)).dataset().y.shape == (9, 40)


def test_coordinates_shuffled_along_a_line_make_a_mesh_of_it(pair, tmp_path):
    a, u = pair
    mixed = RNG.permutation(48)
    source = open_source(save(tmp_path / "m.npz", a=a[:, mixed], u=u[:, mixed], x=X[mixed]))
    assert isinstance(source.domain, Mesh)
    assert source.domain.nodes[:, 0].sort().values.tolist() == X.tolist()
    assert torch.equal(source.schema.pairs(save(tmp_path / "s.npz", a=a, u=u, x=X)).dataset().a, source.dataset().a)


def test_the_domain_begins_at_zero_and_the_frame_says_where(pair, tmp_path):
    a, u = pair
    source = open_source(save(tmp_path / "d.npz", a=a, u=u, t=1900 + 120 * X))
    assert source.domain == Domain(1, periodic=False, extent=120.0)
    assert source.schema.output.frame == (AxisLabel("t", "", 1900.0, 2020.0),)


def test_a_transposed_file_is_refused_for_a_model_by_its_values(pair, tmp_path):
    a, u = pair
    reading = open_source(save(tmp_path / "train.npz", a=a, u=u)).schema
    with pytest.raises(RaffiaError, match=r"neighbours along it are alike.* laid out like that of the training"):
        reading.pairs(save(tmp_path / "test.npz", a=a.T, u=u.T))
    assert reading.inputs(save(tmp_path / "coarse.npz", a=a[:, ::2])).shape == (20, 24)


def test_coordinates_of_a_third_file_hold_for_other_files_whatever_else_is_in_them(pair, tmp_path):
    a, u = pair
    path = save(tmp_path / "train.npz", a=a, u=u, x=X)
    np.save(tmp_path / "where.npy", 10 * X[::-1])
    source = open_source(path, coordinates=str(tmp_path / "where.npy"))
    assert (source.domain.extent, source.schema.coordinates) == (10.0, (":where",))
    assert torch.equal(source.schema.pairs(path).dataset().a, torch.from_numpy(a[:, ::-1].copy()))
    assert torch.equal(source.opened().dataset().y, source.dataset().y)


def test_one_sample_without_its_axis_is_asked_for(tmp_path):
    x = np.linspace(0, 1, 24)
    content = xarray.Dataset({"a": (("sample", "x"), waves(9, x, False)), "u": (("sample", "x"), waves(9, x, False))}, {"x": x})
    content.to_netcdf(tmp_path / "all.nc")
    content.isel(sample=0).to_netcdf(tmp_path / "one.nc")
    content.isel(sample=[0]).to_netcdf(tmp_path / "row.nc")
    reading = open_source(tmp_path / "all.nc").schema
    with pytest.raises(RaffiaError, match="must hold samples of"):
        reading.inputs(tmp_path / "one.nc")
    assert reading.inputs(tmp_path / "row.nc").shape == (1, 24)


def test_every_axis_has_a_label_also_where_nothing_is_known(tmp_path):
    f = waves(9)[:, :, None] * waves(9)[:, None]
    reading = open_source(save(tmp_path / "d.npz", a=f, u=f, mu=RNG.random((9, 2))), input="a", output="u").schema
    assert reading.input.frame == reading.output.frame == (AxisLabel(), AxisLabel())
    assert open_source(tmp_path / "d.npz", input="mu", output="u").schema.input.frame == ()


@pytest.mark.parametrize("told", [{}, {"coordinates": ["x", "y"]}])
def test_coordinates_at_all_nodes_of_a_grid_say_where_its_axes_go(told, tmp_path):
    """As np.meshgrid and MATLAB's meshgrid give them, y from the top down."""
    x, y = np.meshgrid(np.linspace(0, 2, 21), np.linspace(1, 0, 13))
    field = RNG.standard_normal((9, 1, 1)) * np.exp(y + 2 * x)
    source = open_source(save(tmp_path / "d.npz", a=field, u=field, x=x, y=y), input="a", output="u", **told)
    assert source.schema.input.frame == (AxisLabel("y", "", 0.0, 1.0), AxisLabel("x", "", 0.0, 2.0))
    assert torch.equal(source.dataset().a, torch.from_numpy(field[:, ::-1].copy()))
    assert torch.equal(source.schema.inputs(tmp_path / "d.npz"), source.dataset().a)
    assert not said(source, "not used")


def test_a_few_numbers_called_x_that_go_up_and_down_are_no_coordinates(tmp_path):
    source = open_source(save(tmp_path / "d.npz", mu=RNG.random((30, 3)), u=waves(30, X, False), x=np.array([0.1, 0.7, 0.3])))
    assert source.read(range(1))[0].shape == (1, 3)
    assert said(source, "3 numbers a sample are a vector")


def test_latitude_is_never_periodic_whatever_the_values(tmp_path):
    lat, lon = np.linspace(90, -90, 19), np.arange(0, 360, 10.0)
    rough = RNG.standard_normal((8, 19, 36))
    path = save(tmp_path / "d.npz", a=rough, u=rough, latitude=lat, longitude=lon)
    assert open_source(path).domain == Domain(2, extent=(180.0, 360.0), axes=("box", "periodic"))
    around = np.broadcast_to(waves(8, np.arange(19) / 19)[:, :, None], (8, 19, 36)) + np.cos(np.deg2rad(lon) + 1)
    source = open_source(save(tmp_path / "e.npz", a=around, u=around, latitude=lat, longitude=lon))
    assert [kind.name for kind in source.domain.kinds] == ["box", "periodic"]
    assert said(source, "latitude does not go around")


def slab(i, axes):
    """A smooth function of each number, on the grid of these axes."""
    return sum(np.cos((i + 1) * x / 3 + k) for k, x in enumerate(np.meshgrid(*axes, indexing="ij")))


@pytest.mark.parametrize(
    ("shape", "extent"), [((17, 16, 8), (1.0, 2.0, 0.25)), ((32, 8), (4.0, 1.0)), ((6, 32), (4.0, 1.0)), ((5, 4), (1.0, 2.0))]
)
def test_short_axes_with_coordinates_are_axes_of_the_grid(shape, extent, tmp_path):
    axes = [np.linspace(0, length, size) for length, size in zip(extent, shape, strict=True)]
    a = np.stack([slab(i, axes) for i in range(30)])
    path = save(tmp_path / "d.npz", a=a, u=a**2, **dict(zip("xyz", axes, strict=False)))
    assert open_source(path).domain == Domain(len(shape), periodic=False, extent=extent)
    if shape == (32, 8):
        np.savez(tmp_path / "e.npz", a=a, u=a**2, x=axes[0])
        assert open_source(tmp_path / "e.npz").domain.channels == 8


@pytest.mark.parametrize(("shape", "extent"), [((6, 5), (1.0, 2.0)), ((5, 6, 7), (1.0, 2.0, 3.0))])
def test_small_images_of_a_folder_have_all_their_axes(shape, extent, tmp_path):
    axes = [np.linspace(0, length, size) for length, size in zip(extent, shape, strict=True)]
    ends = " ".join(f"0 {size - 1}" for size in (*shape, 1)[:3])
    steps = " ".join(str(x[1]) for x in (*axes, [0, 1])[:3])
    for i in range(12):
        fields = {"a": slab(i, axes), "u": slab(i, axes) ** 2}
        data = "".join(
            f'<DataArray type="Float64" Name="{name}" format="ascii">{" ".join(map(repr, f.ravel(order="F").tolist()))}</DataArray>'
            for name, f in fields.items()
        )
        (tmp_path / f"r{i}.vti").write_text(
            f'<?xml version="1.0"?><VTKFile type="ImageData" version="0.1" byte_order="LittleEndian"><ImageData WholeExtent="{ends}" '
            f'Origin="0 0 0" Spacing="{steps}"><Piece Extent="{ends}"><PointData>{data}</PointData></Piece></ImageData></VTKFile>'
        )
    source = open_source(tmp_path, input="a", output="u")
    assert (len(source), source.domain) == (12, Domain(len(shape), periodic=False, extent=extent))
    np.testing.assert_allclose(source.dataset().a[3], slab(3, axes))
