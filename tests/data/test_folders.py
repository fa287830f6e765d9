"""Several files as one dataset: a file for each sample, parts of the samples, and tables of parameters beside them."""

import h5py
import numpy as np
import pytest
import scipy.io
import torch

from raffia import Channels, Domain, RaffiaError, Vectors
from raffia.data import open_source, variables
from tests.data.test_source import SHARED, said, shared, waves
from tests.data.test_tables import curves, published, write
from tests.test_cli import run

PUBLIC = SHARED / "public"
RNG = np.random.default_rng(5)
X = np.linspace(0, 1, 25)


@shared
def test_the_cavity_is_a_file_a_sample_with_the_number_in_its_name():
    pattern = PUBLIC / "cavity" / "AR_1x1" / "vertical_centerline_Re*.csv"
    source = open_source(pattern, input="filename numbers", output=["x-velocity", "y-velocity"])
    a, y = published("cavity")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, a)
    turned = y[:, ::-1]  # y-coordinate goes down in the files
    np.testing.assert_array_equal(np.moveaxis(data.y.numpy(), 1, -1) / (a[..., None] * 1.004808655580044e-06), turned)
    assert source.output == Channels(Domain(1, extent=1.0, axes=("cells",)), 2)
    assert said(
        source, "64 files, one a sample", "the same in all files, and read once: cellnumber, x-coordinate, y-coordinate"
    )
    one = source.schema.pairs(pattern.with_name("vertical_centerline_Re250.csv")).dataset()
    np.testing.assert_array_equal(one.a, [[250]])
    np.testing.assert_array_equal(one.y[0], data.y[list(a[:, 0]).index(250)])


def sines(folder, speeds, points=X, suffix=".csv"):
    """A file for each speed, with columns x and u = sin(speed·x), and another speed that does not vary."""
    folder.mkdir(exist_ok=True)
    for speed in speeds:
        rows = "\n".join(f"{x},{np.sin(speed * x)}" for x in points)
        write(folder, f"x,u\n{rows}\n", f"run_v{speed}_k3{suffix}")
    return folder


def test_files_are_in_the_order_that_people_count_in(tmp_path):
    speeds = [2, 10, 1, 0.5, 33]
    folder = sines(tmp_path / "runs", speeds)
    for place in (folder, folder / "*.csv", f"{folder}/run_v*.csv"):
        source = open_source(place)
        np.testing.assert_array_equal(source.dataset().a.flatten(), sorted(speeds))
        np.testing.assert_array_equal(source.dataset().y, np.sin(np.outer(sorted(speeds), X)))
        assert said(source, "filename numbers are those after 'run_v'", "inputs are filename numbers, outputs are u")


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".h5", ".pt", ".txt"])
def test_files_of_every_format_are_stacked(suffix, tmp_path):
    fields = waves(12).reshape(3, 4, 64)
    for number, field in enumerate(fields, 8):
        path = tmp_path / f"s{number}{suffix}"
        if suffix == ".npz":
            np.savez(path, u=field, x=np.arange(64) / 64, nu=0.1 * number)
        elif suffix == ".h5":
            with h5py.File(path, "w") as file:
                file["u"], file["x"], file["nu"] = field, np.arange(64) / 64, 0.1 * number
        elif suffix == ".pt":
            torch.save({"u": torch.from_numpy(field), "nu": torch.tensor(0.1 * number)}, path)
        elif suffix == ".npy":
            np.save(path, field)
        else:
            np.savetxt(path, field)
    found = variables(tmp_path)
    values = found["values" if suffix in (".npy", ".txt") else "u"]
    assert values.shape == (3, 4, 64)
    for rows in (None, slice(1, 3), slice(0, 0)):
        np.testing.assert_allclose(values.read(rows), fields if rows is None else fields[rows], rtol=1e-15)
    np.testing.assert_array_equal(found["filename numbers"].read(), [[8], [9], [10]])
    assert list(found["file names"].read()) == [f"s{number}{suffix}" for number in (8, 9, 10)]
    if "nu" in found:
        np.testing.assert_allclose(found["nu"].read().astype(float), [0.8, 0.9, 1.0], rtol=1e-6)
    assert "x" not in found or found["x"].shape == (64,)


def test_whole_numbers_in_one_file_and_fractions_in_another_are_fractions(tmp_path):
    for i, values in enumerate((np.arange(12), np.arange(12) + 0.5)):
        np.savez(tmp_path / f"run{i}.npz", u=values)
    found = variables(tmp_path)["u"]
    np.testing.assert_array_equal(found.read(), [np.arange(12), np.arange(12) + 0.5])
    assert found.read().dtype == np.dtype(found.dtype)


def test_only_the_files_of_the_rows_asked_for_are_read(tmp_path):
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.full((3, 50), number))
    values = variables(tmp_path)["values"]
    (tmp_path / "3.npy").unlink()
    assert values.read(slice(1, 3))[:, 0, 0].tolist() == [1, 2]
    with pytest.raises(RaffiaError, match=r"3.npy"):
        values.read()


def test_curves_of_files_on_different_points_are_resampled_and_other_files_to_the_same_points(tmp_path):
    folder = tmp_path / "runs"
    for number, points in ((1, 301), (2, 401), (3, 351)):
        sines(folder, [number], np.linspace(0, 1, points)[:: -1 if number == 2 else 1])
    source = open_source(folder)
    grid = np.linspace(0, 1, 256)
    np.testing.assert_allclose(source.dataset().y, np.sin(np.outer([1, 2, 3], grid)), atol=1e-4)
    assert said(source, "3 curves of 301 to 401 points are resampled linearly to 256 points of x from 0 to 1")
    other = source.schema.pairs(sines(tmp_path / "test", [5, 7], np.linspace(0, 1, 999))).dataset()
    np.testing.assert_allclose(other.y, np.sin(np.outer([5, 7], grid)), atol=1e-4)


def test_files_that_store_the_same_points_in_other_orders_are_sorted(tmp_path):
    folder, noisy = sines(tmp_path / "runs", [1, 2]), X.repeat(4) + np.linspace(0, 0.03, 100)
    sines(folder, [3], X[::-1])
    source = open_source(folder)
    np.testing.assert_array_equal(source.dataset().y, np.sin(np.outer([1, 2, 3], X)))
    assert said(source, "sorted by x")
    assert source.output_space == Domain(1, periodic=False, extent=1.0)
    noisy[50] -= 0.01  # a measured coordinate goes back once
    sines(tmp_path / "measured", [1], noisy)
    sines(tmp_path / "measured", [2], np.linspace(0, 1.03, 100))
    y = open_source(tmp_path / "measured", resample="0.1:0.9:50").dataset().y
    np.testing.assert_allclose(y, np.sin(np.outer([1, 2], np.linspace(0.1, 0.9, 50))), atol=1e-3)


def test_fields_on_coordinates_that_differ_from_file_to_file_are_refused(tmp_path):
    for number in (1, 2):
        np.savez(tmp_path / f"s{number}.npz", x=np.linspace(0, number, 30), u=RNG.standard_normal((5, 30)))
    with pytest.raises(RaffiaError, match=r"x differs from file to file, and u of shape \(5, 30\) lies along it"):
        variables(tmp_path)


def test_a_long_table_in_two_files_is_as_in_one(tmp_path):
    header, *rows = curves([60, 70, 65, 75])[0].splitlines()
    whole = write(tmp_path, "\n".join([header, *rows]), "whole.csv")
    for number, some in (("part1", rows[:130]), ("part2", rows[130:])):
        write(tmp_path, "\n".join([header, *some]), f"{number}.csv")
    one, two = (open_source(path, resample="0:1:40").dataset() for path in (whole, tmp_path / "part*.csv"))
    np.testing.assert_array_equal(two.a, one.a)
    np.testing.assert_array_equal(two.y, one.y)


def test_a_folder_that_changes_is_told_from_what_it_was(tmp_path):
    folder = sines(tmp_path / "runs", [1, 2, 3])
    before = open_source(folder / "*.csv").stamp
    assert before == open_source(folder / "*.csv").stamp
    sines(folder, [4])
    assert before != open_source(folder / "*.csv").stamp


def test_fields_of_unequal_shapes_are_refused_with_both_files_and_a_remedy(tmp_path):
    for number, points in ((1, 20), (2, 20), (3, 21)):
        np.save(tmp_path / f"u{number}.npy", np.ones((20, points)))
    with pytest.raises(RaffiaError, match=r"values has shape \(20, 20\) in u1.npy and \(20, 21\) in u3.npy.*--files parts"):
        variables(tmp_path)


def test_a_folder_with_an_array_in_each_file_holds_these_arrays(tmp_path):
    arrays = {"params": RNG.random((30, 2)), "snapshots_u": RNG.random((30, 40)), "cells": np.arange(117).reshape(39, 3)}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    found = variables(tmp_path)
    assert set(found) == set(arrays)
    source = open_source(tmp_path, input="params", output="snapshots_u")
    np.testing.assert_array_equal(source.dataset().y, arrays["snapshots_u"])


def test_parts_of_the_samples_go_one_after_the_other(tmp_path):
    a = waves(30)
    for name, rows in (("part1", slice(0, 10)), ("part2", slice(10, 20)), ("part10", slice(20, 30))):
        np.savez(tmp_path / f"{name}.npz", a=a[rows], u=2 * a[rows], x=np.arange(64) / 64)
    source = open_source(tmp_path / "part*.npz")
    a_read, y = source.read(slice(8, 23))
    np.testing.assert_array_equal(a_read, a[8:23])
    np.testing.assert_array_equal(y, 2 * a[8:23])
    assert said(source, "3 files, each with some of the samples, in the order part1.npz, …, part10.npz")


def test_files_with_other_numbers_of_rows_are_parts_and_files_alike_can_be_said_to_be(tmp_path):
    a = waves(30)
    np.savez(tmp_path / "train.npz", a=a[:18], u=a[:18])
    np.savez(tmp_path / "zest.npz", a=a[18:], u=a[18:])
    np.testing.assert_array_equal(open_source(tmp_path).dataset().a, a)
    for name, rows in (("train", slice(0, 15)), ("zest", slice(15, 30))):
        np.savez(tmp_path / f"{name}.npz", a=a[rows], u=a[rows])
    assert len(open_source(tmp_path, periodic=True)) == 2
    np.testing.assert_array_equal(open_source(tmp_path, files="parts").dataset().a, a)


def test_tables_that_are_parts_are_read_as_tables(tmp_path):
    for number in range(3):
        rows = "\n".join(f"{number},{number + k / 10},{k}" for k in range(4))
        write(tmp_path, f"p,q,y\n{rows}\n", f"batch_{number}.csv")
    source = open_source(tmp_path, input=["p", "q"], output="y")
    assert len(source) == 12
    np.testing.assert_array_equal(source.dataset().y, [0, 1, 2, 3] * 3)


@pytest.mark.parametrize("how", ["names", "stems", "numbers", "order"])
def test_a_table_of_parameters_goes_with_files_by_names_numbers_or_order(how, tmp_path):
    speeds = [1, 2, 10]
    folder = sines(tmp_path / "runs", speeds)
    named = {"names": "run_v{}_k3.csv", "stems": "run_v{}_k3", "numbers": "{}"}.get(how)
    order = speeds if how == "order" else [10, 1, 2, 99]
    header = "" if how == "order" else "run,"
    rows = [("" if named is None else named.format(v) + ",") + f"{v / 2},{v * v}" for v in order]
    parameters = write(tmp_path, f"{header}half,square\n" + "\n".join(rows), "runs.csv")
    source = open_source(folder, parameters=parameters)
    np.testing.assert_array_equal(source.dataset().a, [[v / 2, v * v] for v in speeds])
    np.testing.assert_array_equal(source.dataset().y, np.sin(np.outer(speeds, X)))
    assert source.domain == Vectors()
    assert said(source, "parameters are from runs.csv")
    assert open_source(folder, parameters=parameters, input="square").dataset().a.flatten().tolist() == [1, 4, 100]
    again = source.schema.pairs(folder, parameters=parameters).dataset()
    np.testing.assert_array_equal(again.a, source.dataset().a)
    np.testing.assert_array_equal(source.schema.inputs(folder, parameters=parameters), source.dataset().a)
    np.testing.assert_array_equal(source.opened().dataset().y, source.dataset().y)


def test_a_table_of_parameters_that_misses_a_file_is_refused(tmp_path):
    folder = sines(tmp_path / "runs", [1, 2, 3])
    parameters = write(tmp_path, "file,p\nrun_v1_k3.csv,5\nrun_v2_k3.csv,6\n", "p.csv")
    with pytest.raises(RaffiaError, match=r"no row for 1 of 3 files, such as run_v3_k3.csv"):
        open_source(folder, parameters=parameters)
    write(tmp_path, "p\n5\n6\n", "p.csv")
    with pytest.raises(RaffiaError, match="2 rows for 3 files, and no column of it names them"):
        open_source(folder, parameters=parameters)


def test_a_folder_of_several_kinds_or_of_none_is_refused(tmp_path):
    with pytest.raises(RaffiaError, match="there is no file of a kind that raffia reads"):
        variables(tmp_path / "*.csv")
    for number in range(2):
        write(tmp_path, "x,u\n1,2\n", f"a{number}.csv")
        np.save(tmp_path / f"b{number}.npy", X + number)
    with pytest.raises(RaffiaError, match=r"several kinds \(.csv, .npy\).*Pass a pattern"):
        variables(tmp_path)
    assert variables(tmp_path / "[b]*")["values"].shape == (2, 25)


def saved(folder, **arrays):
    folder.mkdir(exist_ok=True)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    return folder


def test_files_named_after_what_they_hold_are_one_dataset(tmp_path):
    """Parameters, fields and the nodes of a mesh in a file each, the nodes in columns or in rows."""
    nodes, params = RNG.random((40, 2)), RNG.random((30, 3))
    p, u = np.sin(params @ RNG.random((3, 40))), np.cos(params @ RNG.random((3, 40)))
    for coords in (nodes, nodes.T):
        source = open_source(saved(tmp_path / "set", params=params, field_p=p, field_u=u, coords=coords))
        np.testing.assert_array_equal(source.dataset().y, np.stack([p, u], 1))
        np.testing.assert_array_equal(source.output.of.nodes, nodes)
        new = source.schema.inputs(saved(tmp_path / f"new{coords.shape[0]}", params=params[:2]))
        np.testing.assert_array_equal(new, params[:2])
    one = open_source(tmp_path / "set", input="params", output="field_*")
    assert (one.schema.input.names, one.schema.output.names) == (("params",), ("field_p", "field_u"))
    time = np.arange(30)[:, None]
    with pytest.raises(RaffiaError) as error:
        open_source(saved(tmp_path / "flow", time=time, field_p=p, field_u=u, coords=nodes))
    assert "--input time --output field_p --output field_u, or for a model of time steps --input field_p" in str(error.value)
    np.testing.assert_array_equal(open_source(tmp_path / "flow", input="time", output="field_*").dataset().a, time)
    steps = open_source(tmp_path / "flow", input="field_*")
    np.testing.assert_array_equal(steps.dataset().y, np.stack([p, u], 1)[1:])


def test_of_train_and_test_files_in_a_folder_those_of_the_training_are_read(tmp_path):
    a = waves(30)
    apart = saved(tmp_path / "apart", x_train=a[:20], y_train=2 * a[:20], x_test=a[20:], y_test=2 * a[20:])
    both = saved(tmp_path / "both")
    for name, rows in (("train", slice(0, 20)), ("test", slice(20, 30))):
        np.savez(both / f"{name}.npz", a=a[rows], u=2 * a[rows])
    for folder in (apart, both):
        source = open_source(folder)
        np.testing.assert_array_equal(source.dataset().y, 2 * a[:20])
        assert said(source, "named like test sets")
    tested = open_source(both).schema.pairs(both / "test.npz").dataset()
    np.testing.assert_array_equal(tested.y, 2 * a[20:])


def test_a_folder_with_one_file_or_one_folder_in_it_is_that(tmp_path):
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    np.savez(tmp_path / "outer" / "inner" / "d.npz", a=(a := waves(20)), u=2 * a)
    source = open_source(tmp_path / "outer")
    np.testing.assert_array_equal(source.dataset().a, a)
    np.testing.assert_array_equal(source.schema.inputs(tmp_path / "outer"), a)


def test_the_one_table_beside_files_has_their_parameters(tmp_path):
    speeds = RNG.permutation(np.arange(1.0, 13))
    folder = saved(tmp_path / "runs", **{f"run{i}": np.sin(speed * X) for i, speed in enumerate(speeds)})
    write(folder, "speed\n" + "\n".join(map(str, speeds)) + "\n", "parameters.csv")
    source = open_source(folder)
    np.testing.assert_array_equal(source.dataset().a[:, 0] if source.domain.tabular else source.dataset().a, speeds)
    assert said(source, "parameters.csv, the one table beside the files; --parameters says otherwise")
    np.testing.assert_array_equal(source.schema.inputs(folder).flatten(), speeds)


def test_two_sets_in_a_folder_are_asked_for_and_not_paired(tmp_path):
    np.savez(tmp_path / "one.npz", usol=RNG.random((12, 30)), t=np.arange(30.0))
    np.savez(tmp_path / "two.npz", usol=RNG.random((12, 40)), t=np.arange(40.0))
    with pytest.raises(RaffiaError, match=r"hold arrays of the same names.* Pass one of them.*--outputs"):
        open_source(tmp_path)


def test_a_file_that_is_damaged_is_named(tmp_path):
    sines(tmp_path, [1, 2])
    write(tmp_path, "x,u\n1,2\n3,4\n5,6,7,8\n", "run_v3_k3.csv")
    with pytest.raises(RaffiaError, match=r"run_v3_k3.csv: its header names 2 columns, and a row below has 4 cells"):
        variables(tmp_path)


def test_a_folder_is_inspected_fitted_and_predicted_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sines(tmp_path / "runs", np.round(np.linspace(1, 3, 20), 2))
    assert "filename numbers" in run(capsys, "inspect", "runs/*.csv")[1]
    code, _, err = run(capsys, "fit", "runs/*.csv", "--effort", "quick", "--no-report", "--model", "m.safetensors")
    assert (code, err) == (0, "")
    sines(tmp_path / "new", [1.55])
    code, _, err = run(capsys, "predict", "m.safetensors", "new/*.csv", "--output", "p.npy")
    assert (code, err) == (0, "")
    np.testing.assert_allclose(np.load("p.npy")[0], np.sin(1.55 * X), atol=0.02)


def test_numbers_that_count_files_are_no_parameters_of_several_arrays(tmp_path):
    """A table for each run, with a force and the displacement that it gives."""
    for number in range(1, 13):
        rows = "\n".join(f"{x},{np.sin(number**0.5 * x)},{np.cos(number**0.5 * x)}" for x in X)
        write(tmp_path, f"time,force,displacement\n{rows}\n", f"run_{number:02d}.csv")
    source = open_source(tmp_path)
    assert (source.schema.input.names, source.schema.output.names) == (("force",), ("displacement",))
    assert said(source, "not used: filename numbers")


def test_a_column_that_counts_rows_is_no_input_and_outputs_alone_are_enough(tmp_path):
    rows = "\n".join(f"{i};{i**2 % 7},5;{i**3 % 11},25;{i % 3},75" for i in range(1, 21))
    write(tmp_path, f"Nr.;Temperatur [°C];Druck [bar];Ausbeute [%]\n{rows}\n", "export.csv")
    with pytest.raises(RaffiaError, match="--output alone is enough, such as --output 'Ausbeute'"):
        open_source(tmp_path / "export.csv")
    source = open_source(tmp_path / "export.csv", output="Ausbeute")
    assert source.schema.input.names == ("Temperatur", "Druck")
    assert said(source, "not used: Nr.")


def test_coordinates_in_a_struct_of_matlab_are_known(tmp_path):
    a = waves(20)
    scipy.io.savemat(tmp_path / "d.mat", {"data": {"input": a, "output": 2 * a, "x": np.linspace(0, 3, a.shape[1])}})
    assert open_source(tmp_path / "d.mat").domain.extents[0] > 2.9
