"""Files as people have them: each is read rightly, or a question names the option that decides; none is read wrongly."""

import re

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import torch

from raffia import Channels, RaffiaError, Vectors
from raffia.data import open_source
from tests.data.test_trajectories import flow

N = 30
X = np.arange(24) / 24


def waves(n=N, x=X, seed=0):
    """Sums of three waves, periodic on [0, 1)."""
    rng, k = np.random.default_rng(seed), 2 * np.pi * np.arange(1, 4)[:, None]
    a, b = rng.standard_normal((2, n, 3))
    return a @ np.cos(k * x) + b @ np.sin(k * x)


def read(path, **options):
    """Inputs and outputs; or None, where a question names an option."""
    try:
        return open_source(path, **options)
    except RaffiaError as error:
        question = str(error)
    assert re.search(r"--[a-z]", question), question
    return None


def check(source, a, y):
    got = source.dataset()
    np.testing.assert_allclose(got.a.reshape(a.shape), a, rtol=1e-6)
    np.testing.assert_allclose(got.y.reshape(y.shape), y, rtol=1e-6)


HEADERS = {
    "numbered": [f"EXP_{i}" for i in range(10, 22)],
    "shuffled": [f"EXP_{i}" for i in np.random.default_rng(1).permutation(12)],
    "units": [f"T{i} [K]" for i in range(12)],
    "words": ["red", "green", "blue", "black", "white", "brown", "grey", "pink", "lilac", "ochre", "beige", "olive"],
}


@pytest.mark.parametrize("index", ["none", "pandas", "named"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("headers", HEADERS)
def test_columns_of_a_table_are_in_the_order_of_the_file(headers, separator, index, tmp_path):
    names, y = HEADERS[headers], np.random.default_rng(0).standard_normal((N, 12)).round(6)
    mu = np.random.default_rng(2).random((N, 3)).round(6)
    frame = pd.DataFrame(np.hstack([mu, y]), columns=["p0", "p1", "p2", *names])
    if index == "named":
        frame.index.name = "id"
    frame.to_csv(tmp_path / "d.csv", sep=separator, index=index != "none")
    frame[["p0", "p1", "p2"]].to_csv(tmp_path / "mu.csv", sep=separator, index=False)
    frame[names].to_csv(tmp_path / "y.csv", sep=separator, index=index != "none")
    check(open_source(tmp_path / "mu.csv", output_path=tmp_path / "y.csv", output_vectors=True), mu, y)
    one = read(tmp_path / "d.csv", input="p?", output="3:15", vectors=True) if index == "none" else None
    if one is not None:
        check(one, mu, y)


@pytest.mark.parametrize("coordinates", [True, False])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("place", [1, 2])
def test_channels_are_before_or_after_the_grid(place, count, coordinates, tmp_path):
    a, u = (np.stack([i + waves(seed=10 * i + side) for i in range(count)], 1) for side in (1, 2))
    arrays = {"a": np.moveaxis(a, 1, place), "u": np.moveaxis(u, 1, place)}
    np.savez(tmp_path / "d.npz", **arrays, **({"x": X} if coordinates else {}))
    source = open_source(tmp_path / "d.npz")
    assert (source.domain.channels, source.output_space.channels) == (count, count)
    check(source, a, u)


@pytest.mark.parametrize("place", [1, 3])
@pytest.mark.parametrize("coordinates", [True, False])
def test_channels_of_functions_on_a_plane(place, coordinates, tmp_path):
    y = np.arange(20) / 20
    a = np.stack([waves(seed=i)[:, :, None] * np.cos(2 * np.pi * y) for i in range(2)], 1)
    np.savez(tmp_path / "d.npz", a=np.moveaxis(a, 1, place), u=a[:, 0] ** 2, **({"x": X, "y": y} if coordinates else {}))
    source = open_source(tmp_path / "d.npz", **({"input": "a", "output": "u"} if coordinates else {}))
    assert source.domain.channels == 2
    check(source, a, a[:, 0] ** 2)


@pytest.mark.parametrize("kind", ["npz", "mat", "h5", "pt"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arrays_have_a_channel_for_each_part(kind, dtype, tmp_path):
    a = (waves(seed=1) + 1j * waves(seed=2)).astype(dtype)
    path = tmp_path / f"d.{kind}"
    if kind == "npz":
        np.savez(path, a=a, u=a**2)
    elif kind == "mat":
        scipy.io.savemat(path, {"a": a, "u": a**2})
    elif kind == "pt":
        torch.save({"a": torch.from_numpy(a), "u": torch.from_numpy(a**2)}, path)
    else:
        with h5py.File(path, "w") as file:
            file["a"], file["u"] = a, a**2
    source = read(path)
    assert source is not None
    assert source.domain == Channels(source.domain.one_channel, 2)
    check(source, np.stack([a.real, a.imag], 1), np.stack([(a**2).real, (a**2).imag], 1))


@pytest.mark.parametrize("size", [3, 5, 8])
@pytest.mark.parametrize("beside", [True, False])
def test_a_few_numbers_with_coordinates_are_a_function_and_without_are_a_vector(size, beside, tmp_path):
    x = np.linspace(0, 2, size)
    a = np.random.default_rng(0).standard_normal((N, 1)) * np.exp(-x)
    np.savez(tmp_path / "d.npz", a=a, u=2 * a, **({"x": x} if beside else {}))
    source = open_source(tmp_path / "d.npz")
    assert (source.domain == Vectors()) == (not beside)
    check(source, a, 2 * a)


@pytest.mark.parametrize("sizes", [(5, 7), (8, 8), (3, 20)])
def test_short_axes_of_a_grid_with_coordinates_are_no_channels(sizes, tmp_path):
    y, x = (np.linspace(0, 1 + i, size) for i, size in enumerate(sizes))
    a = np.random.default_rng(0).standard_normal((N, 1, 1)) * np.exp(-y[:, None]) * np.cos(x)
    np.savez(tmp_path / "d.npz", a=a, u=a**2, x=x, y=y + 0.1)
    flags = {"coordinates": ["y", "x"]} if sizes[0] == sizes[1] else {}
    source = open_source(tmp_path / "d.npz", input="a", output="u", **flags)
    assert source.domain.dim == 2
    check(source, a, a**2)


@pytest.mark.parametrize("names", [("U:0", "U:1", "p"), ("U_0", "U_1", "p"), ("p", "U:0", "U:1")])
@pytest.mark.parametrize("points", ["first", "last"])
def test_tables_by_paraview_have_nodes_and_vectors(names, points, tmp_path):
    rng = np.random.default_rng(0)
    nodes = np.hstack([rng.random((40, 2)), np.zeros((40, 1))]).round(6)
    values = {}
    for k in range(6):
        fields = {name: (np.sin(k + nodes[:, i % 2]) + i).round(6) for i, name in enumerate(sorted(names))}
        values[k] = fields
        where = {f"Points:{i}": nodes[:, i] for i in range(3)}
        own = {name: fields[name] for name in names}
        columns = where | own if points == "first" else own | where
        pd.DataFrame(columns).to_csv(tmp_path / f"flow_{k / 10}.csv", index=False)
    source = open_source(tmp_path)
    assert source.output_space.one_channel.nodes.shape == (40, 2)
    y = source.dataset().y.numpy()
    assert y.shape == (6, 3, 40)
    each = {name.replace("U_", "U:"): np.stack([values[k][name] for k in range(6)]) for name in names}
    for got in (y[:, i] for i in range(3)):
        assert any(np.allclose(got, wanted, atol=1e-6) for wanted in each.values())


@pytest.mark.parametrize("layout", ["n t c x", "n t x c", "t n x", "n c t x", "n t"])
@pytest.mark.parametrize("size", [20, 32])
def test_as_many_trajectories_as_states_or_points_are_told_apart_or_asked_about(layout, size, tmp_path):
    u = flow(size, size)
    two = np.stack([u, 2 + u**2], 2)
    arrays = {
        "n t c x": two,
        "n t x c": np.moveaxis(two, 2, 3),
        "t n x": np.moveaxis(u, 1, 0),
        "n c t x": np.moveaxis(two, 2, 1),
        "n t": u[:, :, 3],
    }
    np.save(tmp_path / "d.npy", arrays[layout])
    source = read(tmp_path / "d.npy")
    if source is not None:
        states = two if "c" in layout else u
        check(source, states[:, :-1], states[:, 1:])
        assert any("--time" in note for note in source.notes)


def test_files_of_two_kinds_in_a_folder_are_told_apart_by_a_pattern_that_is_named(tmp_path):
    for number in range(5):
        for kind in ("upper", "lower"):
            values = pd.DataFrame({"x": X, "p": np.sin(X + number), "q": np.cos(X + number)})
            values.to_csv(tmp_path / f"{kind}_line_{10 * number}.csv", index=False)
    with pytest.raises(RaffiaError) as error:
        open_source(tmp_path)
    question = str(error.value)
    pattern = re.search(r"'([^']*upper_line_\*\.csv)'", question)
    assert pattern, question
    assert len(open_source(pattern[1])) == 5


def test_labels_that_several_samples_share_are_offered_as_groups(tmp_path):
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(10), 3)
    np.savez(tmp_path / "d.npz", a=rng.random((30, 4)), u=rng.random((30, 2)), subject=subject)
    assert any("--groups subject" in note for note in open_source(tmp_path / "d.npz").notes)


def test_values_that_are_smooth_on_a_square_are_said_to_be(tmp_path):
    x = np.linspace(0, 1, 20)
    f = np.random.default_rng(0).random((30, 1, 1)) * np.exp(x[:, None]) * np.cos(3 * x)
    np.savez(tmp_path / "d.npz", a=np.random.default_rng(0).random((30, 3)), u=f.reshape(30, -1))
    assert any("--reshape 20,20" in note for note in open_source(tmp_path / "d.npz").notes)


def test_the_one_side_that_is_not_named_is_all_that_is_left(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((30, 4)), columns=["width", "height", "depth", "weight"])
    frame.to_csv(tmp_path / "d.csv", index=False)
    source = open_source(tmp_path / "d.csv", output="weight")
    check(source, frame.to_numpy()[:, :3], frame["weight"].to_numpy())
    assert any("--input" in note for note in source.notes)
