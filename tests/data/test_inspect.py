import numpy as np
import pytest
import zarr

from raffia import plotting
from raffia.data import open_source
from tests.data.examples import WRITERS, write
from tests.data.test_source import SHARED, save, shared, waves
from tests.test_cli import run


def test_inspect_shows_what_is_there_and_what_to_type_next(tmp_path, capsys):
    values = waves(6)
    values[0, 0], values[5, 5] = 12.5, np.nan
    path = save(tmp_path, a=waves(6), u=waves(6), extra=values, label=np.array("text"))
    code, out, _ = run(capsys, "inspect", path, "--figure", tmp_path / "f.png")
    assert code == 0
    assert "12.5" in out
    assert "inputs:  6 × functions on 64 points of a torus of extent 1.0" in out
    assert f"raffia fit {path}" in out
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_asked_for_is_in_the_command_to_type_next(tmp_path, capsys):
    path = save(tmp_path, first=waves(6), second=waves(6), third=waves(6))
    code, _, err = run(capsys, "inspect", path)
    assert (code, "--input NAME --output NAME" in err) == (2, True)
    _, out, _ = run(capsys, "inspect", path, "--input", "first", "--input", "second", "--output", "third", "--box")
    assert "2 channels of functions on 64 points of a box" in out
    assert f"raffia fit {path} --input first --input second --output third --box" in out


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_can_be_inspected(kind, tmp_path, capsys):
    words = ["--input", "a", "--output", "a" if kind.startswith("npy") else "k", "--box"]
    code, out, err = run(capsys, "inspect", write(kind, tmp_path), *words)
    assert (code, err) == (0, "")
    assert "7×12" in out


def test_an_array_that_cannot_be_read_does_not_hide_the_others(tmp_path, capsys):
    group = zarr.open_group(tmp_path / "d.zarr", mode="w")
    for name, values in {"a": waves(6), "u": waves(6), "spatial_ref": np.array(0)}.items():
        group.create_array(name, data=values)  # a zero is the fill value, and not written
    code, out, _ = run(capsys, "inspect", tmp_path / "d.zarr")
    assert code == 0
    assert "array spatial_ref has no chunk" in out
    assert "functions on 64 points" in out


@shared
@pytest.mark.parametrize("name", ["pina/holed_poisson.pt", "deeponet-extrapolation/poisson_test_ls_0.2_5082.npz"])
def test_functions_on_a_mesh_are_drawn_at_its_nodes(name):
    source = open_source(SHARED / name)
    a, y = source.read(range(1))
    figure = plotting.pair(a[0], y[0], source.domain, source.output)
    assert any(axes.collections for axes in figure.axes)


def test_a_damaged_file_is_one_line(tmp_path, capsys):
    (tmp_path / "d.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    code, _, err = run(capsys, "inspect", tmp_path / "d.h5")
    assert (code, err.count("\n")) == (2, 1)
    assert "d.h5" in err


def test_inspect_takes_the_options_of_fit_and_names_them_in_the_next_command(tmp_path, capsys):
    a, u = np.random.default_rng(0).standard_normal((2, 20, 3)) @ np.cos(np.outer(np.arange(3), np.linspace(0, 2, 12)))
    np.savez(tmp_path / "d.npz", a=a, u=u)
    for flag, sides in (("--vectors", (True, True)), ("--input-vectors", (True, False)), ("--output-vectors", (False, True))):
        code, out, _ = run(capsys, "inspect", tmp_path / "d.npz", flag)
        assert (code, out.rstrip().endswith(flag)) == (0, True)
        assert ("inputs:  20 × 12 numbers" in out, "outputs: 20 × 12 numbers" in out) == sides
