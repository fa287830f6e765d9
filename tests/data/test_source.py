"""What raffia makes of files as people have them."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import torch
import xarray
import zarr

from raffia import Channels, Darcy, Domain, GaussianField, Mesh, RaffiaError, Vectors, load
from raffia.data import open_source, read
from tests.test_cli import run

SHARED = Path(os.environ.get("RAFFIA_SHARED", Path(__file__).parents[3] / "shared")) / "data"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the public data sets are not beside this checkout")

X = np.arange(64) / 64
RNG = np.random.default_rng(1)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_in_every_order():
    RNG.bit_generator.state = START


def waves(n, x=X, periodic=True):
    """Smooth functions on [0, 1], on the circle or not."""
    amplitude = RNG.standard_normal((n, 4, 1)) / np.arange(1, 5)[:, None]
    phase = RNG.uniform(0, 6, (n, 4, 1))
    rate = 2 * np.pi if periodic else 2.2
    return (amplitude * np.sin(rate * np.arange(1, 5)[:, None] * x + phase)).sum(1)


def save(folder, **arrays):
    np.savez(folder / "d.npz", **arrays)
    return folder / "d.npz"


def said(source, *words):
    return all(any(word in note for note in source.notes) for word in words)


@shared
def test_advection_in_two_files_of_bare_tensors():
    folder = SHARED / "pina"
    source = open_source(folder / "advection_input_training.pt", output_path=folder / "advection_output_training.pt")
    assert (source.domain, source.output, len(source)) == (Domain(1, periodic=False), None, 100)
    a, y = source.read(range(10, 13))
    whole = torch.load(folder / "advection_input_training.pt", weights_only=True)
    assert torch.equal(a, whole[10:13, :, 0])
    assert y.shape == (3, 100)
    assert said(source, "single entry is left out", "taken as a box")


@shared
def test_holed_poisson_has_parameters_a_moving_mesh_and_samples_in_columns():
    source = open_source(SHARED / "pina" / "holed_poisson.pt")
    assert (source.domain, len(source), len(source.output.nodes)) == (Vectors(), 121, 1352)
    assert float(source.output.weights.sum()) < 1 - 1e-3  # the holes are no part of the domain
    whole = torch.load(SHARED / "pina" / "holed_poisson.pt", weights_only=True)
    a, y = source.read(slice(5, 9))
    assert torch.equal(a, whole["mu"][5:9])
    assert torch.equal(y, whole["u"][:, 5:9].T)
    assert said(source, "samples are along the last axis", "mean positions", "triang gives its 2533 cells")


@shared
def test_triangle_has_boundary_values_and_scattered_outputs():
    source = open_source(SHARED / "deeponet-extrapolation" / "poisson_test_ls_0.5_5082.npz")
    assert source.domain == Domain(1, periodic=False)
    assert float(source.output.weights.sum()) == pytest.approx(3**0.5 / 4, rel=1e-2)  # the area of the triangle
    assert said(source, "X_test0, outputs are y_test", "X_test1 gives the 5082 nodes")


@pytest.mark.parametrize(
    ("names", "others"),
    [
        ("ay", {}),
        ("fu", {"x": X}),
        (("Input", "Output"), {"k": np.ones(3)}),
        (("u0", "u"), {}),
        (("first", "solution"), {"t": X}),
    ],
)
def test_usual_names_are_known(names, others, tmp_path):
    a, y = waves(5), waves(5)
    source = open_source(save(tmp_path, **{names[1]: y, names[0]: a}, **others))
    assert torch.equal(source.dataset().a, torch.from_numpy(a))
    assert torch.equal(source.dataset().y, torch.from_numpy(y))


def test_names_that_do_not_tell_are_asked_for(tmp_path):
    path = save(tmp_path, alpha=waves(5), beta=waves(5), gamma=waves(5).astype(np.float32))
    with pytest.raises(RaffiaError, match=r"alpha 5×64 f8; beta 5×64 f8; gamma 5×64 f4.* --input NAME --output NAME"):
        open_source(path)
    with pytest.raises(RaffiaError, match=r"input='delta'.*does not hold it"):
        open_source(path, input="delta", output="beta")
    with pytest.raises(RaffiaError, match="so give --output"):
        open_source(path, input="alpha")
    source = open_source(path, input=["alpha", "beta"], output="gamma")
    assert (source.domain, source.output) == (Channels(Domain(1), 2), Domain(1))
    assert source.read(range(2))[0].shape == (2, 2, 64)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_periodic_and_box_are_told_apart_by_values(n, tmp_path):
    ends = np.linspace(0, 1, 64)
    assert open_source(save(tmp_path, a=waves(n), y=waves(n))).domain == Domain(1)
    box = open_source(save(tmp_path, a=waves(n, ends, periodic=False), y=waves(n, ends, periodic=False)))
    assert box.domain == Domain(1, periodic=False)
    assert said(box, "times a usual step")
    bridge = open_source(save(tmp_path, a=np.sin(np.pi * ends) * waves(n, ends), y=np.sin(np.pi * ends) * waves(n, ends)))
    assert bridge.domain == Domain(1, periodic=False)
    assert said(bridge, "one value at both ends")


@pytest.mark.parametrize("options", [{}, {"periodic": True}])
def test_the_last_point_of_a_periodic_axis_that_is_the_first_again_is_left_out_and_given_back(options, tmp_path):
    f, g = waves(9, np.linspace(0, 1, 65)), waves(9, np.linspace(0, 1, 65))
    source = open_source(save(tmp_path, a=f, y=g), **options)
    assert (source.domain, source.output) == (Domain(1), None)
    assert said(source, "repeats the first")
    assert said(source, "--box")
    np.testing.assert_array_equal(source.dataset().y, g[:, :-1])
    opened = source.schema.opened(save(tmp_path, a=g, y=f))
    np.testing.assert_array_equal(opened.values, g[:, :-1])
    np.testing.assert_allclose(opened.written(opened.values)["y"], g, atol=1e-12)
    coarse = waves(4, np.linspace(0, 1, 33))
    np.testing.assert_array_equal(source.schema.inputs(save(tmp_path, a=coarse)), coarse[:, :-1])
    whole = waves(4, np.arange(32) / 32)
    np.testing.assert_array_equal(source.schema.inputs(save(tmp_path, a=whole)), whole)


def test_the_same_values_at_both_ends_are_those_of_a_box_if_functions_have_a_kink_there_or_the_user_says_so(tmp_path):
    x = np.linspace(0, 1, 65)
    assert open_source(save(tmp_path, a=waves(9, x), y=waves(9, x)), periodic=False).domain == Domain(1, periodic=False)
    kinked = RNG.standard_normal((9, 1)) + (1 + RNG.random((9, 1))) * (x - 0.5) ** 2
    source = open_source(save(tmp_path, a=kinked, y=kinked))
    assert source.domain == Domain(1, periodic=False)
    assert said(source, "--periodic")


def test_noise_does_not_show_whether_it_is_periodic(tmp_path):
    path = save(tmp_path, a=RNG.standard_normal((20, 64)), y=RNG.standard_normal((20, 64)))
    source = open_source(path)
    assert source.domain == source.output_space == Vectors()
    assert said(source, "--periodic")
    assert open_source(path, periodic=True).domain == Domain(1)
    assert open_source(path, vectors=True, periodic=True).domain == Vectors()


def test_channels_first_and_last_and_constant_ones(tmp_path):
    fields = np.stack([waves(6), waves(6), waves(6)])
    last = open_source(save(tmp_path, a=np.moveaxis(fields, 0, -1), y=fields[0]))
    assert (last.domain, last.output) == (Channels(Domain(1), 3), Domain(1))
    first = open_source(save(tmp_path, a=np.moveaxis(fields, 0, 1), y=fields[0]))
    assert torch.equal(first.dataset().a, last.dataset().a)
    assert said(first, "the axis of 3 is taken for channels")
    mixed = open_source(
        save(tmp_path, f=fields[0], c=np.arange(6), v=RNG.random((6, 2)), u=fields[1]), input=["f", "c", "v"], output="u"
    )
    a = mixed.dataset().a
    assert mixed.domain == Channels(Domain(1), 4)
    assert torch.equal(a[:, 1], torch.arange(6.0, dtype=torch.float64)[:, None].expand(6, 64))


def test_numbers_are_vectors_or_numbers(tmp_path):
    path = save(tmp_path, p=np.arange(6), q=RNG.random((6, 2)), u=waves(6), drag=RNG.random((6, 1)))
    both = open_source(path, input=["p", "q"], output="drag")
    a, y = both.read(slice(None))
    assert (both.domain, both.output, a.shape, y.shape) == (Vectors(), Domain(0), (6, 3), (6,))
    several = open_source(path, input="u", output=["q", "drag"])
    assert (several.output, several.read(range(4))[1].shape) == (Vectors(), (4, 3))
    assert open_source(path, input="p", output="u").read(range(1))[0].shape == (1, 1)


def test_matlab_vectors_give_extents(tmp_path):
    x, t = np.arange(64) * 2 * np.pi / 64, np.linspace(0, 3, 31)
    u0 = waves(5)
    scipy.io.savemat(tmp_path / "b.mat", {"u0": u0, "u": waves(5), "x": x, "t": t})
    source = open_source(tmp_path / "b.mat")
    assert source.domain.periodic
    assert source.domain.extent == pytest.approx(2 * np.pi, rel=1e-5)
    assert torch.equal(source.read(range(5))[0], torch.from_numpy(u0))


def test_netcdf_coordinates_names_attributes_and_fill_values(tmp_path):
    y, x = np.linspace(0, 2, 33), np.linspace(-1, 1, 41)
    field = RNG.standard_normal((7, 1, 1)) * np.exp(y[:, None] + 2 * x)
    content = xarray.Dataset({"a": (("sample", "y", "x"), field), "u": (("sample", "y", "x"), field**2)}, {"y": y, "x": x})
    content.to_netcdf(tmp_path / "c.nc")
    source = open_source(tmp_path / "c.nc")
    assert source.domain == Domain(2, periodic=False, extent=2.0)
    assert torch.equal(source.dataset().y, torch.from_numpy(field**2))
    field[3, 5, 5] = np.nan
    packing = {"a": {"_FillValue": -32768, "dtype": "int16", "scale_factor": 0.01}}
    content.assign(a=(("sample", "y", "x"), field)).to_netcdf(tmp_path / "gap.nc", encoding=packing)
    with pytest.raises(RaffiaError, match=r"a must be finite; 1 of the 7 samples read .* the first is sample 3"):
        open_source(tmp_path / "gap.nc")
    whole = content.assign(a=(("sample", "y", "x"), np.nan_to_num(field)))
    whole.to_netcdf(tmp_path / "packed.nc", encoding=packing)
    np.testing.assert_allclose(open_source(tmp_path / "packed.nc").read(range(7))[0], np.nan_to_num(field), atol=0.006)


def test_longitudes_go_around_and_latitudes_do_not(tmp_path):
    lat, lon = np.linspace(-90, 90, 37), np.arange(0, 360, 5)
    field = np.arange(1, 9)[:, None, None] * (np.deg2rad(lat)[:, None] + np.cos(np.deg2rad(lon) + 1))
    dims = ("time", "lat", "lon")
    content = xarray.Dataset({"heat": (dims, field), "rain": (dims, field**2)}, {"lat": lat, "lon": lon})
    content.to_zarr(tmp_path / "c.zarr", zarr_format=2, consolidated=False)
    with pytest.raises(RaffiaError, match=r"which of heat 8×37×72, rain 8×37×72 holds the inputs.*--input heat --output rain"):
        open_source(tmp_path / "c.zarr")
    source = open_source(tmp_path / "c.zarr", input="heat", output="rain")
    assert source.domain == Domain(2, extent=(180.0, 360.0), axes=("box", "periodic"))
    assert said(source, "axis 2 as periodic", "lon goes once around, to one step before 360", "samples are along the axis time")


def test_coordinates_in_a_column_go_along_the_axis(tmp_path):
    x = np.linspace(0, 3, 49)
    source = open_source(save(tmp_path, X_train0=waves(9, x, False), X_train1=x[:, None], y_train=waves(9, x, False)))
    assert source.domain == Domain(1, periodic=False, extent=3.0)


def test_coordinates_that_are_not_equispaced_make_a_mesh_of_the_line(tmp_path):
    x = np.sort(RNG.random(64))
    source = open_source(save(tmp_path, a=waves(5, x), u=waves(5, x), x=x))
    assert torch.equal(source.domain.nodes[:, 0], torch.from_numpy(x))
    field = waves(5, x)[:, :, None] * waves(5, x)[:, None]
    with pytest.raises(RaffiaError, match="the coordinates x are not equispaced"):
        open_source(save(tmp_path, a=field, u=field, x=x, y=x))


def test_nodes_and_cells_make_a_mesh(tmp_path):
    nodes = np.stack(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5)), -1).reshape(-1, 2)
    corner = np.array([i * 5 + j for i in range(4) for j in range(4)])[:, None]
    cells = np.concatenate([corner + np.array([0, 1, 5]), corner + np.array([1, 5, 6])])
    path = save(tmp_path, a=RNG.random((7, 25)), u=RNG.random((7, 25)), where=nodes, triangles=cells + 1)
    source = open_source(path)
    assert source.domain == Mesh(torch.from_numpy(nodes), cells=torch.from_numpy(cells))
    assert source.output is None
    assert said(source, "triangles counts nodes from 1")
    with pytest.raises(RaffiaError, match="fits neither inputs nor outputs"):
        open_source(path, coordinates="triangles")


@pytest.mark.parametrize("kind", ["h5", "zarr", "npy"])
def test_a_glance_reads_a_few_rows_of_what_may_be_huge(kind, tmp_path, monkeypatch):
    path = tmp_path / f"big.{kind}"
    if kind == "h5":
        with h5py.File(path, "w") as file:
            for name in "ay":
                file.create_dataset(name, (10**9, 64), chunks=(64, 64), dtype="f4")[:64] = waves(64)
    elif kind == "zarr":
        group = zarr.open_group(path, mode="w")
        for name in "ay":
            array = group.create_array(name, shape=(10**9, 64), chunks=(64, 64), dtype="f4")
            array[:64] = array[10**6 - 64 : 10**6] = waves(64)
    else:
        for name in "ay":
            array = np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", np.float32, (10**6, 64))
            array[np.linspace(0, 10**6 - 1, 64, dtype=int)] = waves(64)
    source = open_source(path) if kind != "npy" else open_source(tmp_path / "a.npy", output_path=tmp_path / "y.npy")
    assert len(source) >= 10**6
    assert source.domain == Domain(1)
    a, _ = source.read(range(10**6 - 5, 10**6))
    assert a.shape == (5, 64)


def test_batches_cover_all_rows_once(tmp_path):
    path = save(tmp_path, a=waves(10), y=waves(10))
    source = open_source(path)
    assert torch.equal(torch.cat([a for a, _ in source.batches(4)]), read(path).a)
    assert [len(y) for _, y in source.batches(4, start=3)] == [4, 3]
    with pytest.raises(RaffiaError, match="rows must be within 0 to 10"):
        source.read(range(8, 12))


def test_what_is_not_a_file_is_said(tmp_path):
    with pytest.raises(RaffiaError, match="there is no file"):
        open_source(tmp_path / "no.h5")
    with pytest.raises(RaffiaError, match="there is no file of a kind that raffia reads"):
        open_source(tmp_path)
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(RaffiaError, match=r"no kind that raffia reads. It reads .npz"):
        open_source(tmp_path / "notes.md")


def test_many_parameters_are_a_vector_where_neighbours_have_nothing_in_common(tmp_path):
    mu = RNG.random((50, 12))
    path = save(tmp_path, mu=mu, u=waves(50, np.linspace(0, 1, 40), False))
    source = open_source(path)
    assert source.domain == Vectors()
    assert said(source, "mu: 12 numbers a sample are a vector")
    assert open_source(path, vectors=True).domain == Vectors()
    assert open_source(path, periodic=False).domain == Domain(1, periodic=False)


def test_few_numbers_stay_a_vector_whatever_the_convention_of_the_outputs(tmp_path):
    path = save(tmp_path, mu=RNG.random((50, 3)), u=waves(50, np.linspace(0, 1, 40), False))
    assert open_source(path, periodic=False).domain == Vectors()


def test_samples_that_may_be_along_either_axis_are_asked_for(tmp_path):
    with pytest.raises(RaffiaError, match=r"64 of them.*100 of them"):
        open_source(save(tmp_path, a=waves(64, np.arange(100) / 100), u=waves(100)), periodic=True)


def test_arrays_that_only_have_the_length_of_the_grid_are_no_coordinates(tmp_path):
    x = np.linspace(0, 2, 64)
    extra = {"lam": RNG.random((64, 1)), "stats": RNG.random((64, 2)), "w": np.ones((64, 1))}
    source = open_source(save(tmp_path, a=waves(9, x, False), u=waves(9, x, False), x=x, **extra))
    assert source.domain == Domain(1, periodic=False, extent=2.0)


def test_axes_in_different_units_are_taken_as_of_one_length(tmp_path):
    x, t = np.linspace(0, 1, 33), np.linspace(0, 1000, 21)
    f = RNG.standard_normal((7, 1, 1)) * np.exp(x[:, None]) * np.exp(-t / 500)
    source = open_source(save(tmp_path, a=f, u=f**2, x=x, t=t))
    assert source.domain == Domain(2, periodic=False)
    assert said(source, "axes of lengths 1 and 1000 are of different kinds")
    assert open_source(tmp_path / "d.npz", extent=(1.0, 1000.0)).domain.extents == (1.0, 1000.0)


def channel(n, *shape, axes=("periodic", "box")):
    """Fields that go around a channel and are free at its walls."""
    domain = Domain(2, axes=axes)
    return GaussianField(domain, "neumann", tau=3.0, n_modes=30).sample(n, domain.grid(*shape), seed=0).numpy()


def test_axes_that_differ_are_told_apart_by_values(tmp_path):
    f = channel(9, 32, 25) + np.linspace(0, 3, 25)
    source = open_source(save(tmp_path, a=f, u=f**2))
    assert source.domain == Domain(2, axes=("periodic", "box"))
    assert said(source, "axis 1 as periodic", "axis 2 as a box", "times a usual step")
    turned = open_source(save(tmp_path, a=f.swapaxes(1, 2), u=f.swapaxes(1, 2)))
    assert turned.domain == Domain(2, axes=("box", "periodic"))


def test_values_that_only_agree_at_both_ends_do_not_make_an_axis_of_a_box_periodic(tmp_path):
    x, y = np.linspace(0, 1, 41), np.linspace(0, 1, 31)
    f = RNG.uniform(1, 2, (9, 1, 1)) * (x * (1 - x) + 0.01 * x)[:, None] + 5 * RNG.standard_normal((9, 1, 1)) * y
    assert open_source(save(tmp_path, a=f, u=f)).domain == Domain(2, periodic=False)


@pytest.mark.filterwarnings("ignore:Darcy is not resolved")
@pytest.mark.parametrize(("points", "dtype"), [(17, "f4"), (33, "f8")])
def test_outputs_that_vanish_at_the_first_row_only_have_their_last_end_left_out(points, dtype, tmp_path):
    """As in neuraloperator's files of Darcy flow."""
    a, y = Darcy(fine_points=33).dataset(20, points=points, seed=0)
    path = save(tmp_path, x=a[:, :-1, :-1].numpy().astype(dtype), y=y[:, :-1, :-1].numpy().astype(dtype))
    source = open_source(path)
    assert source.domain == Domain(2, axes="left")
    assert said(
        source, "a box without its last end", "all functions vanish at the first point, and would one step beyond the last"
    )
    turned = save(tmp_path, x=a[:, 1:, :].numpy(), y=y[:, 1:, :].numpy())
    assert open_source(turned).domain == Domain(2, axes=("right", "box"))


def test_integrals_vanish_at_the_first_point_and_have_both_ends(tmp_path):
    x = np.linspace(0, 1, 64)
    a = waves(30, x, periodic=False)
    source = open_source(save(tmp_path, a=a, u=np.cumsum(a, 1) - a[:, :1]))
    assert source.domain == Domain(1, periodic=False)


@pytest.mark.parametrize(
    ("x", "name", "kind", "extent"),
    [
        ((np.arange(40) + 0.5) / 40, "x", "cells", 1.0),
        (np.arange(-87.5, 90, 5), "lat", "cells", 180.0),
        (np.arange(40) / 40, "x", "left", 1.0),
        (np.arange(1, 41) / 40, "x", "right", 1.0),
        (np.arange(0, 5, 0.125), "t", "left", 5.0),
        (np.linspace(0, 2, 40), "x", "box", 2.0),
        (np.arange(2.5, 360, 9), "lon", "periodic", 360.0),
        (np.arange(40) * np.pi / 20, "theta", "periodic", 2 * np.pi),
    ],
)
def test_coordinates_say_which_nodes_an_axis_has(x, name, kind, extent, tmp_path):
    f = waves(9, np.linspace(0, 1, len(x)), periodic=False)
    source = open_source(save(tmp_path, a=f, u=f**2, **{name: x}), input="a", output="u")
    assert source.domain.kinds[0].name == kind
    assert source.domain.extent == pytest.approx(extent, rel=1e-5)


def test_centres_of_cells_around_a_circle_are_periodic_where_values_go_on(tmp_path):
    x = (np.arange(64) + 0.5) / 64
    assert open_source(save(tmp_path, a=waves(9, x), u=waves(9, x), x=x)).domain == Domain(1)


def test_axes_are_said(tmp_path):
    f = RNG.standard_normal((6, 12, 10))
    path = save(tmp_path, a=f, u=f)
    source = open_source(path, axes="periodic,cells")
    assert source.domain == Domain(2, axes=("periodic", "cells"))
    assert said(source, "as asked for")
    assert open_source(path, axes="left").domain == Domain(2, axes="left")
    assert read(path, axes=("box", "box")).domain == Domain(2, periodic=False)
    for wrong, words in (
        ("periodic,wall", "--axes.* needs one of periodic, box, cells, left, right .* got 'wall'"),
        ("box,box,box", "2 axes"),
    ):
        with pytest.raises(RaffiaError, match=words):
            open_source(path, axes=wrong)
    with pytest.raises(RaffiaError, match="give one of them"):
        open_source(path, axes="box", periodic=False)
    repeated = waves(9, np.linspace(0, 1, 65))
    assert open_source(save(tmp_path, a=repeated, u=repeated), axes="periodic").read(range(9))[0].shape == (9, 64)


@pytest.mark.parametrize("periodic", [True, False])
def test_a_few_faulty_samples_of_many_do_not_decide_whether_a_grid_is_periodic(periodic, tmp_path):
    a = waves(1000, X if periodic else np.linspace(0, 1, 64), periodic)
    a[[3, 500]] = 1e6 * (X if periodic else np.sin(2 * np.pi * X))
    assert open_source(save(tmp_path, a=a, u=a)).domain == Domain(1, periodic=periodic)


def test_a_few_faulty_samples_of_many_do_not_hide_a_repeated_end(tmp_path):
    a = waves(1000, np.linspace(0, 1, 65))
    a[[3, 500], 0] = -0.43
    source = open_source(save(tmp_path, a=a, u=a))
    assert (source.domain, said(source, "repeats the first")) == (Domain(1), True)


@pytest.fixture
def numbers():
    """Twenty parameters ↦ thirty numbers, and four parameters ↦ values at many nodes in no order."""
    mu, nodes = RNG.random((60, 20)), RNG.random((1201, 2))
    return {
        "numbers": (mu, np.tanh(mu @ RNG.standard_normal((20, 30)))),
        "nodes": (mu[:, :4], np.sin(3 * mu[:, :2] @ nodes.T) + mu[:, 2:3] * np.cos(4 * nodes[:, 0])),
    }


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("kind", ["npz", "npy", "csv"])
@pytest.mark.parametrize("case", ["numbers", "nodes"])
def test_numbers_without_coordinates_are_vectors_and_need_no_flag(case, kind, vectors, numbers, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, y = numbers[case]
    files = ["a.npy", "--outputs", "y.npy"] if kind == "npy" else [f"d.{kind}"]
    np.savez("d.npz", mu=a, u=y)
    np.save("a.npy", a)
    np.save("y.npy", y)
    names = [f"{name}{i}" for name, values in (("x", a), ("y", y)) for i in range(values.shape[1])]
    np.savetxt("d.csv", np.hstack([a, y]), delimiter=",", header=",".join(names), comments="")
    words = ["--map", "linear", "--no-report", "-o", "m.safetensors", *(["--vectors"] if vectors else [])]
    code, out, err = run(capsys, "fit", *files, *words)
    assert code == 0, err
    assert vectors or "--box" in out  # the flag that says otherwise
    reading = load("m.safetensors").schema_
    assert (reading.input.space, reading.output.space) == (Vectors(), Vectors())
    assert run(capsys, "predict", "m.safetensors", files[0], "-o", "p.npy")[0] == 0
    assert np.load("p.npy").shape == y.shape


def test_vectors_of_several_channels_come_back_in_their_layout(tmp_path, capsys):
    mu, shuffled = RNG.random((40, 2)), RNG.permutation(64)
    u = np.stack([mu @ RNG.random((2, 64)), mu @ RNG.random((2, 64))], -1)[:, shuffled]
    path = save(tmp_path, mu=mu, u=u)
    assert open_source(path).output == Vectors()
    assert run(capsys, "fit", path, "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")[0] == 0
    assert run(capsys, "predict", tmp_path / "m.safetensors", path, "-o", tmp_path / "p.npy")[0] == 0
    np.testing.assert_allclose(np.load(tmp_path / "p.npy"), u, atol=1e-6)


def test_vectors_makes_vectors_of_all_values_and_gives_them_back_in_their_shape(tmp_path, capsys):
    mu = RNG.random((30, 2))
    field = mu[:, :1, None] * waves(1).reshape(1, 8, 8) + mu[:, 1:, None]
    for name, u in (("field", field), ("channels", np.stack([field[:, 0], 2 * field[:, 1]], -1))):
        np.savez(tmp_path / "d.npz", mu=mu, u=u)
        words = ("--vectors", "--map", "linear", "--no-report", "-o", tmp_path / "m.safetensors")
        assert run(capsys, "fit", tmp_path / "d.npz", *words)[0] == 0, name
        assert load(tmp_path / "m.safetensors").schema_.output.space == Vectors()
        assert run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "-o", tmp_path / "p.npy")[0] == 0
        np.testing.assert_allclose(np.load(tmp_path / "p.npy"), u, atol=1e-6)
        assert run(capsys, "evaluate", tmp_path / "m.safetensors", tmp_path / "d.npz", "--json")[0] == 0


def test_pairs_of_fields_that_follow_one_another_are_samples(tmp_path):
    """156 pairs on 32² points: that they may be one sample is no reason to ask, as nothing is learnt from one."""
    x, t = np.arange(32) / 32, 0.02 * np.arange(156)[:, None, None]
    f = np.sin(2 * np.pi * (x[:, None] - t)) * np.cos(2 * np.pi * (x + 0.5 * t)) + 0.3 * np.sin(4 * np.pi * x + t)
    source = open_source(save(tmp_path, a=f, u=f**2))
    assert (len(source), source.domain) == (156, Domain(2))
    assert said(source, "--samples-axis")


@pytest.mark.parametrize("outputs", ["rough fields", "closed curves"])
def test_the_kind_of_a_grid_is_noted_and_not_asked(outputs, tmp_path):
    rough = outputs == "rough fields"
    u = RNG.standard_normal((30, 12, 13)) if rough else waves(30, np.linspace(0, 1, 65))
    for inputs in (RNG.random((30, 3)), u):
        source = open_source(save(tmp_path, mu=inputs, u=u))
        assert source.output_space == (Domain(2, periodic=False) if rough else Domain(1))
        assert said(source, "--periodic" if rough else "--box")


@pytest.mark.parametrize(
    "place", ["raffia.data.opening.spaces_of", "raffia.data.opening.reader_of", "raffia.data.row_reader.decode"]
)
def test_a_fault_of_ours_is_not_called_a_damaged_file(place, tmp_path, monkeypatch):
    np.savez(tmp_path / "d.npz", a=np.ones((5, 4)), y=np.ones((5, 4)))

    def fault(*_, **__):
        raise KeyError("a fault of ours")

    monkeypatch.setattr(place, fault)
    with pytest.raises(KeyError, match="a fault of ours"):
        open_source(tmp_path / "d.npz", input="a", output="y", periodic=False).dataset()


def test_a_fault_of_ours_in_a_parser_is_not_called_a_damaged_file(tmp_path, monkeypatch):
    def fault(*_, **__):
        raise KeyError("a fault of ours")

    (tmp_path / "d.csv").write_text("a,y\n1,2\n3,4\n5,6\n")
    monkeypatch.setattr("raffia.data.readers.tables.parse.is_number", fault)
    with pytest.raises(KeyError, match="a fault of ours"):
        open_source(tmp_path / "d.csv")
