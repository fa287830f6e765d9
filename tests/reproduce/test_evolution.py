"""Models of one step beside published ones: what `raffia benchmark time` prints."""

import json
import sys
import types
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from raffia import RaffiaError
from raffia.cli import app
from raffia.problems import Scenario
from raffia.reproduce.evolution import APEBENCH, CASES, check_case, compared, drawn, in_deviations, published, relative


@pytest.fixture
def small(monkeypatch):
    sizes = {"points": 32, "trajectories": 6, "steps": 6, "tests": 3, "followed": 12, "shown": (1, 12), "averaged": 10}
    case = replace(APEBENCH, problem=Scenario(points=32, fine_points=32), **sizes)
    monkeypatch.setitem(CASES, "burgers", case)
    return case


def test_the_table_has_errors_beside_published_ones_and_the_file_has_all_of_them(small, tmp_path):
    told = ["benchmark", "time", "--only", "burgers", "--effort", "quick", "--output", str(tmp_path / "found.json")]
    result = CliRunner().invoke(app, told, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    (row,) = json.loads((tmp_path / "found.json").read_text())
    errors = torch.tensor(row["errors"], dtype=torch.float64)
    assert len(errors) == small.followed
    assert f"{errors[:10].log().mean().exp():.3g}" in result.output
    assert f"{errors[9]:.3g}" in result.output
    for other in published("burgers")["rows"]:
        assert f"{other['method']} (published)" in result.output
        assert f"{other['error']:.3g}" in result.output
    assert "APEBench" in result.output


def test_errors_are_those_of_paths_from_the_beginnings_of_other_trajectories(small):
    found, surrogate = compared("burgers", 0, effort="quick")
    train, test = drawn("burgers", 0)
    assert train.shape == (6, 7, 32)
    assert not (train[:3, 0] == test[:, 0]).any()
    state, errors = test[:, 0], []
    for truth in test.unbind(1)[1:]:
        state = surrogate.model.predict(state)
        errors.append(((state - truth).norm(dim=1) / truth.norm(dim=1)).mean())
    torch.testing.assert_close(found.errors, torch.stack(errors))
    assert found.mean == pytest.approx(float(torch.stack(errors)[:10].log().mean().exp()))


def test_errors_in_deviations_are_one_for_the_mean_of_the_truth():
    truth = torch.randn(2, 4, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 3
    mean = truth.mean((-2, -1), keepdim=True).expand_as(truth)
    torch.testing.assert_close(in_deviations(mean, truth), torch.ones(2, 3, dtype=torch.float64))
    torch.testing.assert_close(relative(2 * truth, truth), torch.ones(2, 3, dtype=torch.float64))


def test_every_case_has_published_facts_with_a_source():
    for name in CASES:
        facts = published(name)
        assert facts["source"]
        assert all(row["error"] > 0 for row in facts["rows"])


def test_data_of_apebench_are_those_of_its_scenarios(monkeypatch):
    made = np.arange(24.0, dtype=np.float32).reshape(2, 3, 1, 4)

    class Made:
        def __init__(self, train_seed):
            self.seed = train_seed

        def get_train_data(self):
            return made + self.seed

        def get_test_data(self):
            return made

    package = types.ModuleType("apebench.scenarios")
    package.scenario_dict = {"diff_kdv": Made}
    monkeypatch.setitem(sys.modules, "apebench", types.ModuleType("apebench"))
    monkeypatch.setitem(sys.modules, "apebench.scenarios", package)
    train, test = drawn("kdv", 5, data="apebench")
    np.testing.assert_array_equal(train, made[:, :, 0] + 5)
    np.testing.assert_array_equal(test, made[:, :, 0])
    monkeypatch.setitem(sys.modules, "apebench.scenarios", None)
    with pytest.raises(RaffiaError, match="pip install apebench"):
        drawn("kdv", 0, data="apebench")
    with pytest.raises(RaffiaError, match="gray-scott"):
        check_case("gray-scott", "apebench")


def test_an_unknown_case_is_refused():
    with pytest.raises(RaffiaError, match="must be one of burgers, kdv"):
        check_case("heat")
    result = CliRunner().invoke(app, ["benchmark", "time", "--only", "heat"])
    assert isinstance(result.exception, RaffiaError)
    assert "heat" in str(result.exception)


@pytest.mark.parametrize(
    "words", [["--trajectories", "0"], ["--trajectories", "-5"], ["--seeds", "0"], ["--effort", "huge"], ["--data", "theirs"]]
)
def test_wrong_options_are_refused_before_the_work(words, monkeypatch):
    monkeypatch.setattr("raffia.cli.benchmark.compared", lambda *_, **__: pytest.fail("work was begun"))
    result = CliRunner().invoke(app, ["benchmark", "time", *words])
    assert result.exit_code == 2
    assert words[0] in result.output


def test_the_maze_is_resolved():
    case = CASES["gray-scott"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        u = case.problem.trajectories(1, case.points, 1, case.dt)
    assert u.shape == (1, 2, 2, 128, 128)
