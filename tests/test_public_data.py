"""Data of other projects, each fitted with one command from the files as they are."""

import json
import re

import pytest

from raffia import cli
from tests.data.test_source import SHARED, shared

PINA, DEEPONET = SHARED / "pina", SHARED / "deeponet-extrapolation"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; what it printed."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        monkeypatch.setattr("sys.argv", ["raffia", *map(str, words)])
        with pytest.raises(SystemExit) as done:
            cli.main()
        out, err = capsys.readouterr()
        assert done.value.code in (0, None), err
        return out

    return command


def error_in(out):
    return float(re.search(r"mean relative error (\S+) on", out)[1])


@shared
def test_the_triangle_is_learnt_and_extrapolated(run, tmp_path):
    out = run("fit", DEEPONET / "poisson_test_ls_0.5_5082.npz", "--held-out", 20, "--no-refit")
    assert "on 20 pairs held out" in out
    assert error_in(out) <= 0.005
    rougher = run("evaluate", "poisson_test_ls_0.5_5082.safetensors", DEEPONET / "poisson_test_ls_0.2_5082.npz", "--json")
    assert json.loads(rougher)["mean relative L2 error"] <= 0.02
    assert "held out" in (tmp_path / "poisson_test_ls_0.5_5082.html").read_text()


@shared
@pytest.mark.slow
def test_advection_is_learnt(run):
    files = [PINA / f"advection_{name}.pt" for name in ("input_training", "output_training", "input_testing", "output_testing")]
    out = run("fit", files[0], "--outputs", files[1], "--test", files[2], "--test-outputs", files[3])
    assert "on 1000 pairs of the test" in out
    assert error_in(out) <= 1e-3


@shared
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_square_with_a_hole_is_learnt(run, seed):
    out = run("fit", PINA / "holed_poisson.pt", "--held-out", 25, "--seed", seed)
    assert "on 25 pairs held out" in out
    assert error_in(out) <= 0.01
