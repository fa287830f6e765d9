"""Models of one time step: whole trajectories are held out, and followed step after step."""

import math

import numpy as np
import pytest
import torch

import raffia
from raffia import Burgers, load
from raffia.cli import main
from raffia.data import open_source, write_trajectories
from raffia.surrogate.rollouts import Rollout, is_bounded, paths_of, rolled_out, steadied


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    problem = Burgers(viscosity=0.05, fine_points=64)
    path = tmp_path_factory.mktemp("steps") / "d.npz"
    write_trajectories(path, problem.trajectories(12, 32, 8, 0.05, seed=0), problem.domain.grid(32), 0.05, {})
    return path


@pytest.fixture(scope="module")
def found(file):
    return raffia.fit(file, "local", n_features=48, seed=1)


def test_whole_trajectories_are_held_out_and_followed(file, found):
    assert all(set(range(8 * i, 8 * i + 8)) <= set(found.rows) for i in {row // 8 for row in found.rows})
    u = np.load(file)["u"]
    held = sorted({row // 8 for row in found.rows})
    assert found.rollout.trajectories == len(held)
    assert len(found.rollout.errors) == 8
    assert found.rollout.errors[-1] < 0.1
    assert found.rollout.bounded
    assert found.rollout.followed == 80
    source = open_source(file)
    paths = paths_of(source.dataset(), found.rows, source)
    np.testing.assert_array_equal(paths, u[held])


def test_errors_of_a_rollout_are_those_of_the_composed_model(found, file):
    paths = torch.from_numpy(np.load(file)["u"][:3])
    rollout = rolled_out(found.model, paths, 8)
    third = found.model.compose(paths[:, 0], 3)
    wanted = ((third - paths[:, 3]).norm(dim=1) / paths[:, 3].norm(dim=1)).mean()
    torch.testing.assert_close(rollout.errors[2], wanted)


def test_the_steps_until_predictions_are_no_longer_alike_are_counted():
    correlations = torch.tensor([0.99, 0.95, 0.7, 0.95])
    rollout = Rollout(torch.ones(4), correlations, 2, 40, True)
    assert rollout.alike == 2
    assert "correlation above 0.9 for 2 of them; over 40 steps values stayed bounded" in rollout.words


def test_a_model_that_grows_is_steadied_by_larger_ridges():
    """Outputs are 1.05 times the inputs: what is learnt grows, until the ridge takes a share away."""
    a = raffia.GaussianField(n_modes=6).sample(40, raffia.Domain(1).grid(32), seed=0)
    model = raffia.RandomFeatureModel(raffia.ScalarFeatures(None, law="affine"), math.inf, 1e-4).fit(a, 1.05 * a)
    paths = torch.stack([a, 1.05 * a], 1)
    assert not is_bounded(model, paths, 60)
    assert steadied(model, paths, 6) == "ridges are 100 times as large, so that values stay bounded step after step."
    assert is_bounded(model, paths, 60)
    assert model.ridge_ == pytest.approx(1e-2)


def test_a_model_that_cannot_be_steadied_is_left_as_it_was(found, file):
    model = load_copy(found.model)
    grown = torch.from_numpy(np.load(file)["u"][:3]) * 1e-9  # everything is large beside these
    predicted = model.predict(grown[:, 0] * 0 + 1)
    steadied(model, torch.zeros_like(grown), 8)
    torch.testing.assert_close(model.predict(grown[:, 0] * 0 + 1), predicted)


def load_copy(model):
    return raffia.RandomFeatureModel(**model.get_params(deep=False)).adopt(model.trained_)


def test_the_command_says_how_it_does_step_after_step_and_the_page_shows_it(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["raffia", "fit", str(file), "--map", "local", "--features", "32", "-o", "m.safetensors"])
    with pytest.raises(SystemExit) as stop:
        main()
    out = " ".join(capsys.readouterr().out.split())
    assert not stop.value.code
    assert "applied again and again, on" in out
    assert "Step after step" in (tmp_path / "m.html").read_text()
    assert load(tmp_path / "m.safetensors").reading_.steps.axis == 1
