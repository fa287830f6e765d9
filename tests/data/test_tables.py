"""Tables as people have them: dialects, units, runs of columns, curves in long tables, and samples in columns."""

import importlib.util
import sys

import numpy as np
import pytest

from raffia import Domain, RaffiaError, Vectors
from raffia.data import open_source, variables
from raffia.data.readers import Layout
from raffia.data.readers.tables.wide import selected
from tests.data.test_source import SHARED, said, shared
from tests.test_cli import run

PUBLIC = SHARED / "public"
RNG = np.random.default_rng(3)


def published(name):
    """The arrays of a public set, as the script beside them reads it."""
    spec = importlib.util.spec_from_file_location("load", PUBLIC / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SETS[name]()[:2]


def write(folder, text, name="d.csv", encoding="utf-8"):
    (folder / name).write_bytes(text.encode(encoding))
    return folder / name


def lines(*columns, header, mark=","):
    rows = [mark.join(map(str, row)) for row in zip(*columns, strict=True)]
    return "\n".join([mark.join(header), *rows]) + "\n"


def curves(lengths, name="run", reverse=False):
    """A long table of u = p·t² on other points for each sample, and the parameters p."""
    p, rows = RNG.uniform(1, 2, len(lengths)), [f"{name},p,t,u"]
    for i, n in enumerate(lengths):
        t = np.linspace(0, 1, n)
        rows += [f"{i},{p[i]},{x},{p[i] * x**2}" for x in (t[::-1] if reverse else t)]
    return "\n".join(rows) + "\n", p


@shared
def test_foam_is_one_long_table_told_apart_by_two_columns():
    source = open_source(PUBLIC / "foam" / "exp_data_18-03-2025.csv", resample="0:0.44:200")
    a, y = published("foam")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, a)
    np.testing.assert_array_equal(data.y, y)
    assert (source.domain, source.output) == (Vectors(), Domain(1, periodic=False, extent=0.44))
    assert said(source, "distinguished by TestID and RepeatID", "in per cent", "resampled linearly to 200 points of Strain")


@shared
def test_spectra_are_a_run_of_columns_and_labels_a_number():
    source = open_source(PUBLIC / "nir" / "milk-powder.csv")
    a, y = published("nir")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, a)
    np.testing.assert_array_equal(data.y, y[:, 0])


@shared
def test_daily_temperatures_and_monthly_rain_are_runs_of_dates_in_two_files():
    folder = PUBLIC / "weather"
    source = open_source(folder / "canadian_temperature_daily.csv", output_path=folder / "canadian_precipitation_monthly.csv")
    a, y = published("weather")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, a)
    np.testing.assert_array_equal(data.y, y)


@shared
def test_daily_temperatures_with_stations_in_columns_are_asked_about_and_the_same(tmp_path):
    for name in ("temperature_daily", "precipitation_monthly"):
        text = (PUBLIC / "weather" / f"canadian_{name}.csv").read_text()
        rows = [line.split(",") for line in text.splitlines()]
        write(tmp_path, "\n".join(",".join(row) for row in zip(*rows, strict=True)), f"{name}.csv")
    files = tmp_path / "temperature_daily.csv", tmp_path / "precipitation_monthly.csv"
    with pytest.raises(RaffiaError, match=r"--table wide.*--table columns"):
        open_source(files[0], output_path=files[1])
    source = open_source(files[0], output_path=files[1], table="columns")
    a, y = published("weather")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, a)
    np.testing.assert_array_equal(data.y, y)


VALUES = np.array([[1.5, -2.25, 3e-3], [4.0, 5.5, 6.75], [0.1, 0.2, 0.3], [7.0, 8.0, 9.5]])


def table(mark=",", decimal=".", header=("p", "q", "r"), end="\n"):
    rows = [mark.join(repr(float(v)).replace(".", decimal) for v in row) for row in VALUES]
    return end.join([mark.join(header), *rows]) + end


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (table(), "utf-8"),
        (table(), "utf-8-sig"),
        (table("\t"), "utf-16"),
        (table(";", ","), "cp1252"),
        (table(";"), "utf-8"),
        (table("\t", ","), "utf-8"),
        (table("|"), "utf-8"),
        (table("   "), "utf-8"),
        (table(" ", ","), "utf-8"),
        (table(", "), "utf-8"),
        (table(",", end="\r\n"), "utf-8"),
        (table(",", end=",\n"), "utf-8"),
        (table(" ", end="  \n"), "utf-8"),
        (table(",", end=",\n").replace("r,\n", "r\n"), "utf-8"),
        ("# measured by hand\n" + table(), "utf-8"),
        ("# p q r\n" + table(" ").partition("\n")[2], "utf-8"),
        (table().replace("\n4.0", "\n# a pause\n4.0", 1).replace("p,q,r", "# a\np,q,r"), "utf-8"),
        (table().replace("p,q,r", '"p","q","r"'), "utf-8"),
        (table(header=("p [mm]", "q (°C)", "r[kg/m³]")), "utf-8"),
        (table(";", ",", header=("p [mm]", "q (°C)", "r")), "cp1252"),
        ("\n" + table() + "\n\n", "utf-8"),
        ("".join(f"{i},{row}\n" for i, row in zip(["", 0, 1, 2, 3], table().split("\n"), strict=False)), "utf-8"),
    ],
)  # fmt: skip
def test_every_dialect_gives_the_same_numbers(text, encoding, tmp_path):
    found = {name: v for name, v in variables(write(tmp_path, text, encoding=encoding)).items() if v.numeric}
    assert list(found) == ["p", "q", "r"]
    np.testing.assert_array_equal(np.stack([v.read() for v in found.values()], axis=1), VALUES)


def test_units_in_the_header_are_kept_beside_the_name(tmp_path):
    path = write(tmp_path, table(header=("strain [mm]", "Temp (°C)", "f(x)")))
    found = variables(path)
    assert {name: v.attributes.get("units") for name, v in found.items()} == {"strain": "mm", "Temp": "°C", "f(x)": None}
    source = open_source(path, input="strain [mm]", output="Temp")
    np.testing.assert_array_equal(source.dataset().a, VALUES[:, :1])
    two = variables(write(tmp_path, table(header=("T [K]", "T [°C]", "p"))))
    assert list(two) == ["T [K]", "T [°C]", "p"]


def test_per_cent_are_the_numbers_before_the_signs(tmp_path):
    found = variables(write(tmp_path, "a;share\n1;0,15%\n2;12 %\n3;\n"))["share"]
    np.testing.assert_array_equal(found.read(), [0.15, 12, np.nan])
    assert found.attributes["units"] == "%"
    assert any("share is in per cent" in note for note in found.notes)


def test_repeated_columns_are_read_once_if_they_are_the_same(tmp_path):
    found = variables(write(tmp_path, "x,u,x,u\n0.5,1,0.5,3\n1.5,2,1.5,4\n2.5,2,2.5,9\n"))
    assert set(found) == {"x", "u", "u (2)"}
    np.testing.assert_array_equal(found["u (2)"].read(), [3, 4, 9])
    assert any("x stands there twice" in note for note in found["u"].notes)


def test_a_matrix_without_names_is_one_array_and_columns_have_numbers(tmp_path):
    values = RNG.standard_normal((6, 5))
    np.savetxt(tmp_path / "m.txt", values)
    found = variables(tmp_path / "m.txt")
    assert list(found) == ["m"]
    np.testing.assert_allclose(found["m"].read(), values, rtol=1e-15)
    data = open_source(tmp_path / "m.txt", input="1..4", output="5").dataset()
    np.testing.assert_allclose(data.a, values[:, :4], rtol=1e-15)
    np.testing.assert_allclose(data.y, values[:, 4], rtol=1e-15)


def test_a_first_line_in_equal_steps_names_columns(tmp_path):
    values, waves = RNG.standard_normal((5, 12)).cumsum(1), np.arange(1100, 1124, 2)
    path = write(tmp_path, "\n".join(",".join(map(repr, map(float, row))) for row in values))
    assert list(variables(path)) == ["d"]
    path.write_text(",".join(map(str, waves)) + "\n" + path.read_text())
    found = variables(path)
    assert list(found) == ["1100..1122", "columns of 1100..1122"]
    np.testing.assert_array_equal(found["columns of 1100..1122"].read(), waves)
    assert any("counts in equal steps" in note for note in found["1100..1122"].notes)


def spectra(tmp_path, order=None):
    """Spectra at 1100, 1102, … nm with a label and a remark, columns in some order."""
    waves = np.arange(1100, 1162, 2)
    values = np.cumsum(RNG.standard_normal((9, len(waves))), axis=1)
    columns = {"labels": range(9), **{str(w): v for w, v in zip(waves, values.T, strict=True)}, "remark": ["fine"] * 9}
    names = list(columns) if order is None else [list(columns)[i] for i in order]
    return write(tmp_path, lines(*[columns[name] for name in names], header=names)), values, waves


def test_columns_named_by_numbers_are_one_function_with_these_coordinates_in_any_order(tmp_path):
    for order in (None, RNG.permutation(33)):
        path, values, waves = spectra(tmp_path, order)
        source = open_source(path)
        assert said(source, "inputs are 1100..1160, outputs are labels")
        np.testing.assert_array_equal(source.dataset().a, values)
        assert source.domain == Domain(1, periodic=False, extent=float(waves[-1] - waves[0]))


def test_a_range_of_columns_has_its_own_coordinates(tmp_path):
    path, values, waves = spectra(tmp_path)
    inside = (waves >= 1110) & (waves <= 1141)
    for name in ("1110..1141", "1110..1140"):
        source = open_source(path, input=name, output="labels")
        np.testing.assert_array_equal(source.dataset().a, values[:, inside])
        assert source.domain == Domain(1, periodic=False, extent=30.0)
    source = open_source(path, input=["1110", "1120"], output="labels")
    np.testing.assert_array_equal(source.dataset().a, values[:, [5, 10]])
    with pytest.raises(RaffiaError, match=r"input='2000..2100' .*does not hold it"):
        open_source(path, input="2000..2100", output="labels")


def test_columns_with_a_stem_and_a_number_are_an_array_and_a_few_are_parameters(tmp_path):
    u = np.cumsum(RNG.standard_normal((8, 40)), axis=1)
    names = [*[f"p{i}" for i in range(1, 4)], *[f"u_{i}" for i in range(40)]]
    p = RNG.standard_normal((8, 3))
    path = write(tmp_path, lines(*p.T, *u.T, header=names))
    source = open_source(path)
    assert (source.domain, source.output) == (Vectors(), Domain(1, periodic=False))
    np.testing.assert_array_equal(source.dataset().a, p)
    np.testing.assert_array_equal(source.dataset().y, u)
    source = open_source(path, input=["p3", "p1"], output="u_10..u_29")
    np.testing.assert_array_equal(source.dataset().a, p[:, [2, 0]])
    np.testing.assert_array_equal(source.dataset().y, u[:, 10:30])


def test_curves_on_the_same_points_are_not_resampled(tmp_path):
    text, p = curves([21] * 5)
    source = open_source(write(tmp_path, text))
    data = source.dataset()
    np.testing.assert_array_equal(data.a.flatten(), p)
    np.testing.assert_array_equal(data.y, p[:, None] * np.linspace(0, 1, 21) ** 2)
    assert not said(source, "resampled")
    assert source.output == Domain(1, periodic=False, extent=1.0)


def test_curves_of_different_lengths_are_resampled_and_that_is_said(tmp_path):
    text, p = curves([201, 301, 251])
    source = open_source(write(tmp_path, text))
    y = source.dataset().y.numpy()
    assert y.shape == (3, 251)
    np.testing.assert_allclose(y, p[:, None] * np.linspace(0, 1, 251) ** 2, atol=1e-4)
    assert said(source, "3 curves of 201 to 301 points are resampled linearly to 251 points of t from 0 to 1")
    coarse = open_source(write(tmp_path, text), resample="0.25:0.75:11").dataset().y
    np.testing.assert_allclose(coarse, p[:, None] * np.linspace(0.25, 0.75, 11) ** 2, atol=1e-4)


def test_rows_of_a_long_table_may_be_in_any_order(tmp_path):
    text, _ = curves([31] * 6)
    header, *rows = text.splitlines()
    straight = open_source(write(tmp_path, text)).dataset()
    shuffled = [rows[0], *RNG.permutation(rows[1:])]  # samples come in the order of their first rows
    source = open_source(write(tmp_path, "\n".join([header, *shuffled])))
    order = [int(label) for label in variables(tmp_path / "d.csv")["run"].read()]
    np.testing.assert_array_equal(source.dataset().y, straight.y[order])
    assert said(source, "6 of 6 curves are sorted by t")
    backwards, _ = curves([31] * 6, reverse=True)
    assert variables(write(tmp_path, backwards))["t"].read()[0] == 0


def test_another_long_table_is_brought_to_the_points_of_the_training(tmp_path):
    reading = open_source(write(tmp_path, curves([201, 301, 251])[0])).schema
    text, p = curves([401, 77])
    data = reading.pairs(write(tmp_path, text, "test.csv")).dataset()
    np.testing.assert_allclose(data.y, p[:, None] * np.linspace(0, 1, 251) ** 2, atol=2e-4)
    one, p = curves([50])
    np.testing.assert_allclose(reading.inputs(write(tmp_path, one, "one.csv")).flatten(), p)


def test_a_function_that_is_constant_in_another_file_is_still_a_function(tmp_path):
    def forced(forces):
        return "run,t,f,u\n" + "".join(f"{i},{j / 9},{f(j / 9)},{j}\n" for i, f in enumerate(forces) for j in range(10))

    source = open_source(write(tmp_path, forced([np.sin, np.cos, np.exp])), input="f", output="u")
    for some in ([lambda t: 2.0], [lambda t: 2.0, lambda t: 3.0]):
        f = source.schema.inputs(write(tmp_path, forced(some), "constant.csv"))
        np.testing.assert_array_equal(f, [[2.0] * 10, [3.0] * 10][: len(some)])


def test_new_parameters_alone_are_a_row_each(tmp_path):
    text = "run,p,q,t,u\n" + "".join(f"{i},{i + 0.5},{i * i},{j / 9},{i * j}\n" for i in range(5) for j in range(10))
    source = open_source(write(tmp_path, text))
    assert said(source, "parameters are p, q")
    new = write(tmp_path, "q;p\n4;1,5\n9;2,5\n", "new.csv")
    np.testing.assert_array_equal(source.schema.inputs(new), [[1.5, 4], [2.5, 9]])


def test_curves_that_do_not_reach_over_the_range_are_refused(tmp_path):
    path = write(tmp_path, curves([21, 31])[0])
    with pytest.raises(RaffiaError, match=r"d.csv: 2 of 2 curves do not reach from 0 to 2.*--resample"):
        open_source(path, resample="0:2:20")
    apart = "run,t,u\n" + "".join(f"{i},{10 * i + j},{j * j}\n" for i in range(3) for j in range(5))
    with pytest.raises(RaffiaError, match="no common range of t"):
        variables(write(tmp_path, apart))
    with pytest.raises(RaffiaError, match=r"--resample\) must be a number of points, or FIRST:LAST:POINTS"):
        open_source(path, resample="0:2")


def test_a_table_that_may_be_long_or_wide_is_asked_about_with_both_commands(tmp_path):
    design = "p,q,y\n" + "".join(f"{i},{j},{i * j + 1}\n" for i in range(4) for j in range(6))
    path = write(tmp_path, design)
    with pytest.raises(RaffiaError, match=r"--table wide.*--sample-column 'p'"):
        open_source(path)
    wide = open_source(path, input=["p", "q"], output="y")  # q cannot be both a place and an input
    assert len(wide) == len(open_source(path, table="wide", input="p", output="y")) == 24
    long = open_source(path, sample_column="p", input="p", output="y")
    np.testing.assert_array_equal(long.dataset().y, np.arange(4)[:, None] * np.arange(6) + 1)
    assert len(variables(path, Layout("wide"))["y"].read()) == 24
    np.testing.assert_array_equal(open_source(path, coordinates="q", input="p", output="y").dataset().y, long.dataset().y)


@pytest.mark.parametrize("place", ["time", "quantity"])
def test_a_table_whose_first_column_rises_is_asked_about_with_both_commands(place, tmp_path):
    t, u = np.linspace(0, 2, 30), np.cumsum(RNG.standard_normal((7, 30)), axis=1)
    path = write(tmp_path, lines(t, *u, header=[place, *[f"s{i}" for i in range(1, 8)]]))
    with pytest.raises(RaffiaError, match=r"--table wide.*--table columns"):
        open_source(path)
    np.savez(tmp_path / "y.npz", y=np.arange(7.0))
    columns = open_source(path, output_path=tmp_path / "y.npz", table="columns")
    np.testing.assert_array_equal(columns.dataset().a, u)
    assert columns.domain == Domain(1, periodic=False, extent=2.0)
    for wide in (open_source(path, table="wide", input=place, output="s"), open_source(path, input=place, output="s")):
        np.testing.assert_array_equal(wide.dataset().a.flatten(), t)
        np.testing.assert_array_equal(wide.dataset().y, u.T)
    series = write(tmp_path, lines(t, *u[:3], header=["time", "speed", "force", "heat"]), "series.csv")
    assert open_source(series, input="speed", output="heat").dataset().a.shape == (30, 1)
    assert set(variables(series)) == {"time", "speed", "force", "heat"}


def test_numbers_in_the_names_of_columns_that_are_samples_are_inputs(tmp_path):
    x, speeds = np.linspace(0, 1, 20), (10, 25, 40, 60)
    path = write(tmp_path, lines(x, *[s * np.sin(x) for s in speeds], header=["x", *[f"Re={s}" for s in speeds]]))
    source = open_source(path, input="column numbers", output="d", table="columns")
    np.testing.assert_array_equal(source.dataset().a.flatten(), speeds)
    np.testing.assert_array_equal(source.dataset().y, np.outer(speeds, np.sin(x)))


def test_fields_in_a_long_table_are_on_a_grid_or_at_nodes(tmp_path):
    x, y = np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 2, 10), indexing="ij")
    fields = [np.sin(k * x + y) for k in range(1, 5)]
    rows = [f"{k},{k / 2},{a},{b},{c}" for k, u in enumerate(fields, 1) for a, b, c in zip(x.flat, y.flat, u.flat, strict=True)]
    source = open_source(write(tmp_path, "\n".join(["case,k,x,y,u", *rows])))
    np.testing.assert_array_equal(source.dataset().y, fields)
    assert source.output.extent == (1.0, 2.0)
    fewer = [row for number, row in enumerate(rows) if number % 120 != 7]  # a node is missing in all samples
    source = open_source(write(tmp_path, "\n".join(["case,k,x,y,u", *fewer])))
    assert len(source.output.nodes) == 119
    with pytest.raises(RaffiaError, match="at different places x, y"):
        variables(write(tmp_path, "\n".join(["case,k,x,y,u", *rows[:-1]])))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no lines with values"),
        ("a,b\n", "no rows below the names"),
        ("a,b\n1,2\n3,4\n5,oops\n", r"b holds 'oops' in row 3, among numbers"),
        ("a,b\n1,2\n3,4,5,6\n5,6\n", "names 2 columns, and a row below has 4 cells"),
        ("a,b\n" + "1,2\n" * 50 + "3,4,5\n", "is damaged or not of its kind"),
        (
            "run,t,u\n1,0,1\n,1,2\n1,2,2\n1,3,2\n1,4,3\n2,0,1\n2,1,1\n2,2,1\n2,3,4\n",
            "run names the samples, and is empty in row 2",
        ),
    ],
)
def test_what_is_no_table_is_refused_by_name(text, words, tmp_path):
    with pytest.raises(RaffiaError, match=rf"d\.csv.*{words}"):
        variables(write(tmp_path, text))


def test_missing_cells_are_refused_when_they_are_used(tmp_path):
    path = write(tmp_path, "p,q,y\n1,2,3\n4,,6\n7,8,9\n")
    with pytest.raises(RaffiaError, match=r"q must be finite; 1 of the 3 samples"):
        open_source(path, input=["p", "q"], output="y").dataset()
    assert open_source(path, input="p", output="y").dataset().a.shape == (3, 1)


def test_options_that_make_no_sense_are_refused(tmp_path):
    path = write(tmp_path, table())
    for option, words in (
        ({"table": "tall"}, "--table"),
        ({"files": "all"}, "--files"),
        ({"resample": "1"}, "--resample"),
        ({"sample_column": "z"}, "--sample-column"),
    ):
        with pytest.raises(RaffiaError, match=words):
            open_source(path, input="p", output="q", **option)


def test_tables_without_pandas_say_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, table())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RaffiaError, match=r"need the package pandas. Run: pip install raffia\[data\]"):
        variables(path)


def test_names_of_rows_without_a_name_for_their_column_do_not_move_the_others(tmp_path):
    rows = table().splitlines()
    path = write(tmp_path, "\n".join([rows[0], *[f'"row {i}",{row}' for i, row in enumerate(rows[1:])]]))
    found = {name: v for name, v in variables(path).items() if v.numeric}
    np.testing.assert_array_equal(np.stack([found[name].read() for name in "pqr"], axis=1), VALUES)


def test_what_was_said_of_a_table_is_in_the_command_to_type_next(tmp_path, capsys):
    path = write(tmp_path, curves([30, 40, 35], name="number")[0])
    words = ["--sample-column", "number", "--resample", "0:1:20", "--input", "p", "--output", "u", "--coordinates", "t"]
    code, out, err = run(capsys, "inspect", path, *words)
    assert (code, err) == (0, "")
    assert "functions on 20 points of a box of extent 1.0" in out
    command = next(line for line in out.splitlines() if line.startswith("  raffia fit"))
    assert all(f"{option} {value}" in command for option, value in zip(words[::2], words[1::2], strict=True))


def test_a_table_of_parameters_alone_has_a_row_for_each_sample_whatever_else_names_them(tmp_path):
    rows = ["specimen,stiffness,damping,time,u"]
    for i in range(12):
        k, d = RNG.uniform(1, 4), RNG.uniform(0.1, 0.3)
        rows += [f"S{i},{k},{d},{t},{np.exp(-d * t) * np.cos(k * t)}" for t in np.linspace(0, 3, 20)]
    reading = open_source(write(tmp_path, "\n".join(rows))).schema
    new = write(tmp_path, "specimen,damping,stiffness\nA,0.1,2.0\nB,0.3,3.2\n", "new.csv")
    np.testing.assert_array_equal(reading.inputs(new), [[2.0, 0.1], [3.2, 0.3]])
    with pytest.raises(
        RaffiaError, match=r"no column of numbers stiffness, which the training had.*needs stiffness, damping; it has"
    ):
        reading.inputs(write(tmp_path, "specimen,damping,stiff\nA,0.1,2.0\n", "wrong.csv"))


@pytest.mark.parametrize("mark", [",", ";", " "])
def test_exponents_of_fortran_are_numbers(mark, tmp_path):
    a, u = np.random.default_rng(0).standard_normal((2, 9)) * 10.0 ** np.arange(-4, 5)
    rows = [f"{x:.15E}{mark}{y:.15e}".replace("E", "D").replace("e", "d") for x, y in zip(a, u, strict=True)]
    (tmp_path / "d.csv").write_text("\n".join([f"a{mark}u", *rows]) + "\n")
    found = variables(tmp_path / "d.csv")
    np.testing.assert_allclose(found["a"].read(), a, rtol=1e-14)
    np.testing.assert_allclose(found["u"].read(), u, rtol=1e-14)


def test_labels_that_end_in_numbers_stay_in_the_order_of_the_file(tmp_path):
    order = RNG.permutation(40)[:12]
    names, values = [f"EXP_{i}" for i in order], RNG.standard_normal((20, 12))
    path = write(tmp_path, lines(*values.T, header=[f'"{name}"' for name in names], mark=";"))
    found = variables(path)
    assert list(found) == ["EXP"]  # and no coordinates
    assert list(found["EXP"].attributes["columns"]) == names
    np.testing.assert_array_equal(found["EXP"].read(), values)
    assert any("order of the file" in note for note in found["EXP"].notes)
    falling = [f"u{i}" for i in range(36, 0, -3)]
    found = variables(write(tmp_path, lines(*values.T, header=falling)))
    np.testing.assert_array_equal(found["u"].read(), values)
    np.testing.assert_array_equal(found["columns of u"].read(), np.arange(36, 0, -3))


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("width", [2, 3, 30])
def test_a_first_line_that_numbers_the_columns_is_no_data(width, start, tmp_path):
    values = RNG.standard_normal((11, width))
    path = write(tmp_path, lines(*values.T, header=map(str, range(start, start + width))))
    found = variables(path)
    assert list(found) == ["d"]
    np.testing.assert_array_equal(found["d"].read(), values)


def test_a_curve_that_begins_at_zero_and_one_keeps_its_first_row(tmp_path):
    t = np.linspace(0, 0.9, 10)
    path = write(tmp_path, "0,1\n" + "".join(f"{a},{b}\n" for a, b in zip(t[1:], np.cos(t[1:]), strict=True)))
    np.testing.assert_allclose(variables(path)["d"].read(), np.stack([t, np.cos(t)], 1))
    path = write(tmp_path, "0,1\n" + "".join(f"{i},{i * i + 2.5}\n" for i in range(1, 9)))
    assert variables(path)["d"].shape == (9, 2)


@shared
def test_two_tables_with_numbered_columns_have_as_many_rows(tmp_path):
    a, y = published("rd")
    found = [variables(PUBLIC / "rd" / f"{name}.csv")[name].read() for name in "XY"]
    np.testing.assert_array_equal(found[0], a)
    np.testing.assert_array_equal(found[1].reshape(-1, 50, 50), y)


def test_a_table_of_paraview_has_its_fields_on_its_nodes(tmp_path):
    nodes = np.concatenate([RNG.random((30, 2)), np.full((30, 1), 3.0)], axis=1)
    header = ['"U:0"', '"U:1"', "p", *[f'"Points:{i}"' for i in range(3)]]
    for i in range(4):
        u, p = RNG.standard_normal((30, 2)), RNG.standard_normal(30)
        write(tmp_path, lines(*u.T, p, *nodes.T, header=header), f"t{i}.csv")
    one, every = variables(tmp_path / "t3.csv"), variables(tmp_path / "t*.csv")
    np.testing.assert_array_equal(one["points"].read(), nodes[:, :2])
    assert one["points"].attributes == {"mesh part": True}
    np.testing.assert_array_equal(one["U"].read(), u[None])
    assert (every["U"].shape, every["p"].shape, every["points"].shape) == ((4, 30, 2), (4, 30), (30, 2))
    np.testing.assert_array_equal(every["p"].read(slice(3, 4)), p[None])
    source = open_source(tmp_path / "t*.csv", input="filename numbers", output="p")
    np.testing.assert_array_equal(source.output.nodes.numpy(), nodes[:, :2])


@shared
def test_the_nodes_of_tables_by_paraview_in_a_folder_are_no_fields():
    a, y = published("velocity")
    found = variables(PUBLIC / "velocity")
    assert found["points"].shape == (7219, 2)
    np.testing.assert_array_equal(found["filename numbers"].read(), a)
    fields = np.concatenate([found["U"].read(), found["p"].read()[..., None]], axis=-1)
    np.testing.assert_allclose(fields / np.abs(fields).max((0, 1)), y, rtol=1e-12)


def test_several_columns_are_chosen_by_a_pattern_or_by_their_places(tmp_path):
    values = RNG.standard_normal((9, 7))
    path = write(tmp_path, lines(*values.T, header=["p", "q", "c1", "c2", "c3", "cost", "z"]))
    for name, columns in (("c*", [2, 3, 4, 5]), ("2:6", [2, 3, 4, 5]), (":2", [0, 1]), ("c?", []), ("5:", [5, 6])):
        found = selected(variables(path), [name])
        if columns:
            np.testing.assert_array_equal(found[name].read(), values[:, columns])
        else:
            assert name not in found
