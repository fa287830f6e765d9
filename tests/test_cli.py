import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from raffia import (
    Burgers,
    Channels,
    Domain,
    FourierFeatures,
    GaussianField,
    RaffiaError,
    RandomFeatureModel,
    Vectors,
    cli,
    data,
    load,
    metrics,
)
from raffia.cli.generate import PROBLEMS
from raffia.report import ridge_in_words
from raffia.tuning import GradientSearch
from tests import processes


def run(capsys, *words):
    """Run a command as `raffia …` would; return exit code, stdout, stderr."""
    sys.argv = ["raffia", *map(str, words)]
    try:
        cli.main()
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    return code, *capsys.readouterr()


@pytest.fixture
def train(tmp_path, capsys):
    path = tmp_path / "train.npz"
    assert run(capsys, "generate", "burgers", "--n", 30, "--points", 32, "-o", path)[0] == 0
    return path


@pytest.fixture
def model(train, tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    code, out, _ = run(capsys, "fit", train, "--map", "fourier", "--features", 40, "--ridge", "1e-6", "--no-report", "-o", path)
    assert code == 0
    assert "trained on 30 pairs" in out
    return path


def test_generate_fit_predict_evaluate_is_one_chain(train, model, tmp_path, capsys):
    test, prediction = tmp_path / "test.npz", tmp_path / "p.npy"
    run(capsys, "generate", "burgers", "--n", 10, "--points", 64, "--seed", 1, "-o", test)
    assert run(capsys, "predict", model, test, "-o", prediction)[0] == 0
    with np.load(test) as file:
        a, y = file["a"], file["y"]
    assert np.allclose(np.load(prediction), load(model).predict(a), rtol=1e-12)
    code, out, _ = run(capsys, "evaluate", model, test, "--json")
    assert code == 0
    assert json.loads(out)["mean relative L2 error"] == pytest.approx(metrics.relative_error(y, np.load(prediction)))
    assert "worst" in run(capsys, "evaluate", model, test)[1]


def test_predicting_twice_is_composition(model, train, tmp_path, capsys):
    run(capsys, "predict", model, train, "--times", 2, "-o", tmp_path / "p.npy")
    with np.load(train) as file:
        assert np.allclose(np.load(tmp_path / "p.npy"), load(model).compose(file["a"], 2), rtol=1e-12)


def test_a_rollout_writes_the_path_and_says_whether_it_stayed_bounded(model, train, tmp_path, capsys):
    code, out, _ = run(capsys, "rollout", model, train, "--steps", 5, "--every", 2, "-o", tmp_path / "path.npy")
    assert code == 0
    assert "values stayed bounded" in out
    with np.load(train) as file:
        assert np.allclose(np.load(tmp_path / "path.npy"), load(model).rollout(file["a"], 5, every=2), rtol=1e-12)
    growing = load(model)
    growing.adopt(replace(growing.trained_, solution=replace(growing.trained_.solution, coef=20 * growing.coef_)))
    growing.save(tmp_path / "growing.safetensors")
    code, out, _ = run(capsys, "rollout", tmp_path / "growing.safetensors", train, "--steps", 3, "-o", tmp_path / "path.npy")
    assert "values grew beyond 10 times the largest at the start" in out
    assert run(capsys, "rollout", model, train, "--steps", 2, "--every", 3, "-o", tmp_path / "path.npy")[0] == 2


def test_paths_are_written_in_blocks_to_any_format_that_takes_them(model, train, tmp_path, capsys, monkeypatch):
    whole, (h5, store) = tmp_path / "path.npy", (tmp_path / "path.h5", tmp_path / "path.zarr")
    run(capsys, "rollout", model, train, "--steps", 4, "-o", whole)
    monkeypatch.setattr("raffia.cli.rollout.TOGETHER", 7 * 64)  # blocks of a few trajectories
    for output in (h5, store):
        code, out, err = run(capsys, "rollout", model, train, "--steps", 4, "-o", output)
        assert code == 0, err
        assert "values stayed bounded" in out
        np.testing.assert_allclose(data.variables(output)["u"].read(), np.load(whole), rtol=1e-10, atol=1e-12)
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    code, _, err = run(capsys, "rollout", model, train, "--steps", 4, "-o", tmp_path / "path.txt")
    assert code == 2
    assert "--output must end in .npy or .h5 or .hdf5 or .zarr" in err


def test_a_path_that_is_lost_is_written_as_far_as_it_goes(model, train, tmp_path, capsys):
    growing = load(model)
    growing.adopt(replace(growing.trained_, solution=replace(growing.trained_.solution, coef=1e150 * growing.coef_)))
    growing.save(tmp_path / "growing.safetensors")
    code, out, _ = run(capsys, "rollout", tmp_path / "growing.safetensors", train, "--steps", 8, "-o", tmp_path / "path.npy")
    path, words = np.load(tmp_path / "path.npy"), " ".join(out.split())
    first = int(np.isnan(path).any((0, 2)).argmax())
    assert code == 0
    assert first > 1
    assert np.isfinite(path[:, :first]).all()
    assert f"from step {first} on some are not finite" in words


def linear_step(folder, capsys, factor):
    """A model of u ↦ factor·u in a file, and states."""
    a = GaussianField(n_modes=6).sample(12, Domain(1).grid(32), seed=0).numpy()
    np.savez(folder / "d.npz", u=np.stack([factor**k * a for k in range(3)], 1), t=np.arange(3))
    model = folder / "m.safetensors"
    assert run(capsys, "fit", folder / "d.npz", "--periodic", "--map", "linear", "--no-report", "--model", model)[0] == 0
    return model, a


def test_one_path_that_is_lost_leaves_the_others_in_the_file(tmp_path, capsys, monkeypatch):
    model, a = linear_step(tmp_path, capsys, 1.5)
    a[3] *= 1e300
    np.save(tmp_path / "wild.npy", a)
    monkeypatch.setattr("raffia.cli.rollout.TOGETHER", 5 * 32)
    _, out, _ = run(capsys, "rollout", model, tmp_path / "wild.npy", "--steps", 60, "-o", tmp_path / "path.npy")
    path = np.load(tmp_path / "path.npy")
    step = int(np.isnan(path[3]).any(-1).argmax())
    assert step > 1
    assert np.isnan(path[3, step:]).all()
    assert np.isfinite(np.delete(path, 3, 0)).all()
    assert f"from step {step} on some are not finite, 1 of 12 paths: 3 (step {step}), and missing" in " ".join(out.split())


def test_bounds_of_a_rollout_are_of_all_paths_and_of_the_training(tmp_path, capsys, monkeypatch):
    model, a = linear_step(tmp_path, capsys, 0.5)
    monkeypatch.setattr("raffia.cli.rollout.TOGETHER", 5 * 32)
    np.save(tmp_path / "a.npy", a * np.linspace(1, 0.1, 12)[:, None])
    np.save(tmp_path / "zero.npy", 0 * a)
    _, out, _ = run(capsys, "rollout", model, tmp_path / "a.npy", "--steps", 2, "-o", tmp_path / "path.npy")
    path = np.abs(np.load(tmp_path / "path.npy"))
    assert f"at most {path[:, -1].max():.3g} at the end, {path[:, 0].max():.3g} at the start" in " ".join(out.split())
    _, out, _ = run(capsys, "rollout", model, tmp_path / "zero.npy", "--steps", 5, "-o", tmp_path / "path.npy")
    assert "values stayed bounded" in out


def test_fitting_with_a_bar_is_fitting(train, model):
    with np.load(train) as file:
        whole = load(model).fit(file["a"], file["y"])
    assert np.allclose(whole.coef_, load(model).coef_, rtol=1e-6)


def test_fit_says_how_wide_the_band_is_that_predict_writes(train, tmp_path, capsys):
    model, fitting = tmp_path / "m.safetensors", ("fit", train, "--map", "fourier", "--features", 40, "--held-out", 10)
    code, out, _ = run(capsys, *fitting, "--band", 0.8, "-o", model)
    assert code == 0
    said = re.search(r"band of 80 %: .*within ± ([\d.e-]+) of its prediction, by 10 pairs", out)
    assert said[0] in model.with_suffix(".html").read_text().replace("Band", "band")
    run(capsys, "predict", model, train, "--band", 0.8, "-o", tmp_path / "p.npy")
    middle, upper = np.load(tmp_path / "p.npy"), np.load(tmp_path / "p-upper.npy")
    np.testing.assert_allclose(upper - middle, float(said[1]), rtol=5e-3)


def test_a_band_for_which_too_few_pairs_are_held_out_is_refused_before_training(train, tmp_path, capsys):
    model = tmp_path / "m.safetensors"
    code, _, err = run(capsys, "fit", train, "--band", 0.9, "--held-out", 5, "-o", model)
    assert code != 0
    assert "band=0.9: level=0.9 needs at least 9 calibration pairs; got 5" in " ".join(err.split())
    assert not model.exists()


@pytest.mark.parametrize("features", ["kernel", "linear", "modal", "fourier"])
def test_with_nothing_held_out_and_a_ridge_of_ones_own_the_training_error_is_told(train, tmp_path, capsys, features):
    file = tmp_path / "m.safetensors"
    words = ("--map", features, "--held-out", 0, "--ridge", 1e-3, "--features", 20, "-o", file)
    code, out, _ = run(capsys, "fit", train, *words)
    assert code == 0
    data, model = np.load(train), load(file)
    scaled = model.output_scaling_.apply(torch.from_numpy(data["y"]))
    guess = model.output_scaling_.apply(torch.from_numpy(model.predict(data["a"])))
    assert f"training error {float((guess - scaled).norm() / scaled.norm()):.4f}" in " ".join(out.split())


def test_by_default_the_ridge_is_found_and_the_error_is_foretold(train, tmp_path, capsys):
    fitting = ("fit", train, "--map", "fourier", "--features", 40, "--held-out", 0, "-o", tmp_path / "auto.safetensors")
    code, out, _ = run(capsys, *fitting)
    assert code == 0
    assert "(leave-one-out)" in out
    assert f"{load(tmp_path / 'auto.safetensors').loo_error_:.4f}" in out


def test_points_are_counted_or_found_and_too_few_bring_one_line_of_warning(train, tmp_path, capsys):
    base = ("fit", train, "--map", "fourier", "--features", 20, "--ridge", "1e-4", "--held-out", 0)
    fitting = (*base, "-o", tmp_path / "m.safetensors", "--points")
    assert run(capsys, *fitting, "auto")[0] == 0
    code, _, err = run(capsys, *fitting, 4)
    assert code == 0
    assert err.startswith("raffia: points=4 changes inner products of features by ")
    assert err.count("\n") == 1
    assert load(tmp_path / "m.safetensors").input_grid_.shape == (4,)
    code, _, err = run(capsys, *fitting, "few")
    assert (code, err) == (2, "raffia: --points must be a number, or auto; got 'few'.\n")


def test_tuning_prints_what_it_found(train, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "raffia.cli.fit.GradientSearch", lambda **settings: GradientSearch(steps=3, contest_steps=1, swept=1, **settings)
    )
    code, out, _ = run(
        capsys, "fit", train, "--map", "fourier", "--features", 40, "--tune", "-o", tmp_path / "tuned.safetensors"
    )
    assert code == 0
    assert "found " in out
    assert "validation error" in out
    assert "left out in turn" in out
    assert f"tau {load(tmp_path / 'tuned.safetensors').feature_map.tau:.3g}" in out


def test_features_that_do_not_go_with_the_data_are_refused(train, tmp_path, capsys):
    code, _, err = run(capsys, "fit", train, "--map", "predictor-corrector", "-o", tmp_path / "m.safetensors")
    assert code == 2
    assert "predictor-corrector functions on a rectangle" in err


def test_bench_prints_a_table_and_writes_what_it_measured(tmp_path, capsys):
    code, out, _ = run(capsys, "bench", "--quick", "-o", tmp_path / "bench.json")
    assert code == 0
    report = json.loads((tmp_path / "bench.json").read_text())
    assert {row["what"] for row in report["rows"]} >= {"Burgers: assemble", "Burgers: solve", "Darcy: predict", "tune, 2 steps"}
    assert all(row["seconds"] > 0 and row["fraction"] > 0 and row["peak_memory"] > 0 for row in report["rows"])
    assert all(rate > 0 for rate in report["ceilings"].values())
    assert "GFLOP/s" in out
    assert run(capsys, "bench", "--quick", "--device", "abacus")[0] == 2


def test_reproduce_prints_numbers_writes_pages_and_keeps_what_is_done(tmp_path, capsys):
    code, out, _ = run(capsys, "reproduce", "fig:bb_compare", "-o", tmp_path / "report")
    assert code == 0
    assert re.search(r"fig:bb_compare: \d+\.\d s", out)
    assert (tmp_path / "report" / "index.html").stat().st_size > 50_000
    assert "fig:bb_compare: already there" in run(capsys, "reproduce", "bb_compare", "-o", tmp_path / "report")[1]


def test_values_at_points_are_generated(tmp_path, capsys):
    assert run(capsys, "generate", "bridge", "--n", 5, "-o", tmp_path / "b.npz")[0] == 0


def test_darcy_data_are_fitted_with_predictor_corrector_features(tmp_path, capsys):
    train, model = tmp_path / "d.npz", tmp_path / "d.safetensors"
    run(capsys, "generate", "darcy", "--n", 12, "--points", 9, "--set", "fine_points=17", "-o", train)
    for kind in ("fourier", "scalar"):
        assert run(capsys, "fit", train, "--map", kind, "--features", 8, "--ridge", "1e-8", "--no-report", "-o", model)[0] == 0
    known = ("fit", train, "--map", "predictor-corrector", "--features", 8, "--ridge", "1e-8", "--no-report", "-o", model)
    assert run(capsys, *known)[0] == 0
    _, out, _ = run(capsys, "evaluate", model, train, "--json")
    assert json.loads(out)["mean relative L2 error"] < 0.3


@pytest.mark.filterwarnings("ignore:.*is not resolved")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_generated(name, tmp_path, capsys):
    known = PROBLEMS[name]().get_params()
    small = {"fine_points": 16, "time": 0.05, "n_modes": 50, "step": 0.01, "warm_up": 0.1, "frequency": 100.0}
    small |= {"time": 1.0, "warm_up": 1} if name == "scenario" else {}  # whole steps
    words = [word for key, value in small.items() if key in known for word in ("--set", f"{key}={value}")]
    code, _, err = run(capsys, "generate", name, "--n", 2, "--points", 8, *words, "-o", tmp_path / "d.npz")
    assert (code, err) == (0, "")
    dataset = data.read(tmp_path / "d.npz")
    assert len(dataset) == 2
    assert dataset.settings["problem"] == PROBLEMS[name].__name__


def test_trajectories_are_those_of_the_problem(tmp_path, capsys):
    words = (
        "--trajectories",
        3,
        "--steps",
        4,
        "--dt",
        0.1,
        "--points",
        16,
        "--set",
        "fine_points=64",
        "--set",
        "viscosity=0.1",
        "--seed",
        2,
    )
    assert run(capsys, "generate", "burgers", *words, "-o", tmp_path / "t.npz")[0] == 0
    with np.load(tmp_path / "t.npz") as file:
        u, t, x, settings = (file[name] for name in ("u", "t", "x", "settings"))
    wanted = Burgers(viscosity=0.1, fine_points=64).trajectories(3, 16, 4, 0.1, seed=2)
    np.testing.assert_array_equal(u, wanted.numpy())
    np.testing.assert_allclose(t, [0, 0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(x, np.arange(16) / 16)
    assert json.loads(str(settings))["viscosity"] == 0.1


@pytest.mark.parametrize("command", ["reproduce", "demo", "generate", "inspect", "fit", "predict", "evaluate", "bench"])
def test_every_help_shows_an_example(capsys, command):
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert f"Example: raffia {command}" in " ".join(out.split())


def test_the_help_of_fit_has_its_options_under_headings(capsys):
    code, out, _ = run(capsys, "fit", "--help")
    assert code == 0
    parts = re.split(r"^(\w+):\n", out, flags=re.MULTILINE)
    options = {
        name: set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert list(options) == ["Arguments", "Data", "Errors", "Model", "Effort", "Output", "Other"]
    assert {"--input", "--output", "--axes"} <= options["Data"]
    assert {"--held-out", "--groups", "--blocks", "--test", "--band"} <= options["Errors"]
    assert {"--map", "--features", "--ridge"} <= options["Model"]
    assert {"--effort", "--tune", "--device"} <= options["Effort"]
    assert options["Output"] == {"--model", "--report"}
    assert options["Other"] == {"--help"}
    assert "<" not in out  # types are in words


def test_evaluate_has_relative_errors_deviations_and_each_channel(tmp_path, capsys):
    rng = np.random.default_rng(0)
    a = rng.random((40, 2))
    u = np.stack([100 + a @ rng.random((2, 12)), 1e-3 * (2 + np.sin(a @ rng.random((2, 12))))], 1)
    np.savez(tmp_path / "d.npz", a=a, u=u, x=np.linspace(0, 1, 12))
    assert run(capsys, "fit", tmp_path / "d.npz", "--box", "--map", "linear", "-o", tmp_path / "m.safetensors")[0] == 0
    report = json.loads(run(capsys, "evaluate", tmp_path / "m.safetensors", tmp_path / "d.npz", "--json")[1])
    guess, line = load(tmp_path / "m.safetensors").predict(a), Domain(1, periodic=False)
    both = Channels(line, 2).grid_of(torch.from_numpy(u))
    assert report["mean relative L2 error"] == pytest.approx(metrics.relative_error(u, guess, both))
    assert report["channel 1"] == pytest.approx(metrics.relative_error(u[:, 1], guess[:, 1], line.grid(12)), rel=1e-6)
    assert report["in units of deviations"] > report["mean relative L2 error"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "fig:none"], "ITEM must be all, or one of fig:bb_compare"),
        (["fit", "nowhere.npz", "-o", "m.safetensors"], "there is no file nowhere.npz"),
        (["evaluate", "nowhere.safetensors", "nowhere.npz"], "there is no file nowhere.safetensors"),
        (["fit", "TRAIN", "--ridge", "some", "-o", "m.safetensors"], "--ridge must be a number, or auto"),
        (["fit", "TRAIN", "--ridge", "-1", "-o", "m.safetensors"], "ridge must be a finite number >= 0"),
        (["generate", "burgers", "-o", "x.csv"], "--output must end in .npz"),
        (["generate", "burgers", "--set", "viscosity=-1", "--n", "2", "-o", "x.npz"], "viscosity=…) must be positive"),
        (["generate", "darcy", "--trajectories", "2", "-o", "x.npz"], "is for time-dependent problems, which Darcy is not"),
        (["generate", "darcy", "--time", "1", "-o", "x.npz"], "--time: Darcy has no time, but domain,"),
        (
            ["generate", "helmholtz", "--set", "frequency=abc", "-o", "x.npz"],
            "--set frequency: Helmholtz(frequency=…) must be a number",
        ),
        (["generate", "helmholtz", "--set", "domain=1", "-o", "x.npz"], "--set domain: Helmholtz(domain=…) must be"),
        (["generate", "wave", "--set", "c=1", "-o", "x.npz"], "--set c: Wave has no c, but domain,"),
        (["generate", "burgers", "--n", "2", "--seed", "-5", "-o", "x.npz"], "a seed must be an integer"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    source = tmp_path.parent / f"{tmp_path.name}-train.npz"
    np.savez(source, a=np.ones((3, 8)), y=np.ones((3, 8)))
    words = [str(source) if word == "TRAIN" else word for word in words] + (["--periodic"] if "TRAIN" in words else [])
    code, out, err = run(capsys, *words)
    assert code == 2
    assert err.startswith("raffia: ")
    assert said in err
    assert err.count("\n") == 1
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_wrong_words_are_exit_code_2_without_a_traceback(capsys):
    for words in (
        ["generate", "heat", "-o", "x.npz"],
        ["reproduce", "--scale", "huge"],
        ["demo", "heat"],
        ["fit"],
        ["nonsense"],
        ["generate", "burgers", "--n", "0", "-o", "x.npz"],
    ):
        code, _, err = run(capsys, *words)
        assert code == 2
        assert "Traceback" not in err


def test_values_that_show_no_function_are_vectors_unless_a_grid_is_given(tmp_path, capsys):
    a = np.random.default_rng(0).random((12, 9))
    np.savez(tmp_path / "box.npz", a=a, y=a**2)
    assert run(capsys, "fit", tmp_path / "box.npz", "--map", "linear", "-o", tmp_path / "m.safetensors")[0] == 0
    assert load(tmp_path / "m.safetensors").feature_map.domain == Vectors()
    fitting = ("fit", tmp_path / "box.npz", "--box", "--map", "fourier", "--features", 20, "--ridge", "1e-6")
    words = (*fitting, "-o", tmp_path / "m.safetensors")
    assert run(capsys, *words)[0] == 0
    assert load(tmp_path / "m.safetensors").feature_map.domain == Domain(1, periodic=False)


def test_output_to_a_pipe_has_no_bars_and_no_colours(train):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "raffia",
            "fit",
            str(train),
            "--map",
            "scalar",
            "--features",
            "20",
            "-o",
            str(train.parent / "m.safetensors"),
        ],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) <= 12  # a note, a table of errors, two lines


def test_version_is_printed(capsys):
    assert run(capsys, "--version")[1].startswith("raffia 0.")


def test_files_that_do_not_fit_the_command_are_refused(model, train, tmp_path, capsys):
    a = np.random.default_rng(0).standard_normal((6, 16))
    about = json.dumps({"domain": {"dim": 1, "periodic": False, "extent": 1.0}, "settings": {}})
    nan = a.copy()
    nan[2, 3] = np.nan
    np.savez(tmp_path / "box.npz", a=a, y=a, raffia=np.array(about))
    np.savez(tmp_path / "uneven.npz", a=a[:4], y=a)
    np.savez(tmp_path / "nan.npz", a=a, y=nan)
    np.savez(tmp_path / "empty.npz", a=a[:0], y=a[:0])
    (tmp_path / "text.npz").write_text("not arrays")
    before = train.read_bytes()
    for words, said in (
        (["evaluate", model, tmp_path / "box.npz"], "the model was trained on"),
        (["predict", model, tmp_path / "box.npz", "-o", tmp_path / "p.npy"], "the model was trained on"),
        (
            ["fit", tmp_path / "uneven.npz", "--periodic", "--ridge", "1e-3", "-o", tmp_path / "m.safetensors"],
            "4 inputs and 6 outputs",
        ),
        (["evaluate", model, tmp_path / "nan.npz"], "y must be finite"),
        (["evaluate", model, tmp_path / "empty.npz"], "at least one sample"),
        (["predict", model, tmp_path / "text.npz", "-o", tmp_path / "p.npy"], "no arrays in it"),
        (["fit", train, "-o", train], "--model must end in .safetensors"),
        (["fit", train, "-o", tmp_path / "no" / "m.safetensors"], "there is no folder"),
        (["generate", "burgers", "--n", 1, "--time", "nan", "-o", tmp_path / "g.npz"], "must be positive"),
        (["fit", train, "--map", "fourier", "--device", "cuda", "-o", tmp_path / "m.safetensors"], "device='cuda' needs a GPU"),
    ):
        if "cuda" in words and torch.cuda.is_available():
            continue
        code, _, err = run(capsys, *words)
        assert (code, err.count("\n")) == (2, 1), err
        assert said in err
    assert train.read_bytes() == before


def test_wrong_kinds_of_objects_are_named():
    def model(**settings):
        return RandomFeatureModel(FourierFeatures(n_modes=8), 9, **settings)

    a = np.random.default_rng(0).standard_normal((9, 16))
    for name, work in (
        ("a", lambda: model().fit(a.tolist(), a)),
        ("solver", lambda: model(solver="cholesky").fit(a, a)),
        ("feature_map", lambda: RandomFeatureModel(FourierFeatures, 9).fit(a, a)),
        ("random_state", lambda: model(random_state=None).fit(a, a)),
        ("device", lambda: model(device="meta").fit(a, a)),
        ("n", lambda: Burgers().dataset(5.0, 32)),
        ("times", lambda: model(ridge=1e-3).fit(a, a).compose(a, 1.5)),
    ):
        with pytest.raises(RaffiaError, match=f"^{name} must be "):
            work()


def test_models_of_several_arrays_remember_their_names_and_order(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 24)
    hot, cold = (np.sin(x * rng.uniform(1, 3, (30, 1)) + rng.uniform(0, 3, (30, 1))) for _ in range(2))
    dose = rng.random(30)
    np.savez(tmp_path / "d.npz", hot=hot, cold=cold, dose=dose, answer=hot + 2 * cold + dose[:, None])
    names = [word for name in ("hot", "cold", "dose") for word in ("--input", name)]
    fitting = (
        "fit",
        tmp_path / "d.npz",
        *names,
        "--output",
        "answer",
        "--box",
        "--map",
        "linear",
        "--normalize",
        "--no-report",
    )
    assert run(capsys, *fitting, "-o", tmp_path / "m.safetensors")[0] == 0
    code, _, err = run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "-o", tmp_path / "p.npy")
    assert code == 0, err
    inputs = np.stack([hot, cold, np.broadcast_to(dose[:, None], hot.shape)], 1)
    assert np.allclose(np.load(tmp_path / "p.npy"), load(tmp_path / "m.safetensors").predict(inputs))
    _, out, _ = run(capsys, "evaluate", tmp_path / "m.safetensors", tmp_path / "d.npz", "--json")
    assert json.loads(out)["mean relative L2 error"] < 1e-3


def test_channels_that_come_last_are_predicted_as_they_are_fitted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 24)[:, None]
    a = np.sin(x * rng.uniform(1, 3, (30, 1, 2)) + rng.uniform(0, 3, (30, 1, 2)))
    np.savez(tmp_path / "d.npz", a=a, u=a.sum(-1))
    fitting = (
        "fit",
        tmp_path / "d.npz",
        "--box",
        "--map",
        "linear",
        "--normalize",
        "--no-report",
        "-o",
        tmp_path / "m.safetensors",
    )
    assert run(capsys, *fitting)[0] == 0
    assert run(capsys, "predict", tmp_path / "m.safetensors", tmp_path / "d.npz", "-o", tmp_path / "p.npy")[0] == 0
    assert np.allclose(np.load(tmp_path / "p.npy"), a.sum(-1), atol=1e-3)


def test_raffia_fit_says_how_each_entry_of_the_contest_did_as_it_ends(tmp_path, capsys):
    a = np.random.default_rng(0).standard_normal((40, 3))
    np.savez(tmp_path / "d.npz", a=a, u=a @ np.ones((3, 2)))
    code, out, err = run(
        capsys, "fit", tmp_path / "d.npz", "--effort", "quick", "--features", 40, "-o", tmp_path / "m.safetensors"
    )
    assert code == 0, err
    assert re.search(r"linear: error \S+ \(in deviations \S+\) on \d+ pairs", out)
    assert "contest" in out
    assert "deviation" in (tmp_path / "m.html").read_text()


def unignored():
    """In a child: signals as a terminal has them, also where a background job or nohup ignores them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def stopped(command, number, **options):
    """Send the signal after the first line of output; give the exit code and stderr."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": unignored}
    with subprocess.Popen([sys.executable, *map(str, command)], **pipes | options) as process:
        process.stdout.readline()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def write_slowly(path, seconds):
    """`raffia generate`, whose file takes so many seconds to write."""

    def slowly(file, **arrays):
        file.write(b"half")
        print("writing", flush=True)
        time.sleep(seconds)

    np.savez = slowly
    processes.commands([["raffia", "generate", "burgers", "--n", "1", "--points", "16", "-o", path]])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_write_leaves_nothing_and_is_one_line(tmp_path, number):
    path = tmp_path / "d.npz"
    path.write_text("before")
    writing = processes.start(write_slowly, str(path), 60, folder=tmp_path)
    writing.first_line()
    os.kill(writing.process.pid, number)
    code, _, err = writing.ended()
    assert (code, err) == (128 + number, f"raffia: stopped by {number.name}.\n")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_command_goes_on_after_a_signal_that_its_background_job_or_nohup_ignores(tmp_path, number):
    writing = processes.start(write_slowly, str(tmp_path / "d.npz"), 0.5, folder=tmp_path, ignored=[number])
    writing.first_line()
    os.kill(writing.process.pid, number)
    code, _, err = writing.ended()
    assert (code, err) == (0, "")
    assert (tmp_path / "d.npz").read_bytes() == b"half"


def test_ctrl_c_in_the_middle_of_a_contest_takes_the_best_so_far_and_writes_the_report(tmp_path):
    rng = np.random.default_rng(0)
    a = np.sin(2 * np.pi * (np.arange(64) / 64 + rng.random((400, 1)))) * rng.random((400, 1))
    np.savez(tmp_path / "d.npz", a=a, u=a**2)
    fitting = ["-m", "raffia", "fit", tmp_path / "d.npz", "--periodic", "--budget", "600", "-o", tmp_path / "m.safetensors"]
    begun = time.monotonic()
    assert stopped(fitting, signal.SIGINT) == (0, "")
    assert time.monotonic() - begun < 60
    assert sorted(os.listdir(tmp_path)) == ["d.npz", "m.html", "m.safetensors"]


def test_ctrl_c_while_importing_is_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("import time; print('importing', flush=True); time.sleep(60)")
    path = {"env": os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}}
    assert stopped(["-m", "raffia", "export", "--help"], signal.SIGINT, **path) == (130, "raffia: stopped by SIGINT.\n")


def test_importing_raffia_in_a_program_changes_no_signal():
    script = "import signal, raffia; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, preexec_fn=unignored)
    assert result.stdout == "True\n"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["fit", "TRAIN", "--features", 10**12, "--ridge", "1e-3", "--map", "scalar", "-o", "m.safetensors"], r"[\d.e+]+ .iB"),
        (["generate", "burgers", "--n", 2, "--points", 10**12, "-o", "d.npz"], r"[\d.e+]+ GiB"),
    ],
)
def test_too_little_memory_is_one_line_that_says_what_was_asked_for(train, tmp_path, capsys, monkeypatch, words, asked):
    monkeypatch.chdir(tmp_path)
    words = [train if word == "TRAIN" else word for word in words]
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (20 * 2**30, before[1]))
    try:
        code, _, err = run(capsys, *words)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert (code, err.count("\n")) == (2, 1)
    assert re.match(rf"raffia: out of memory: {asked} were asked for at once\. Less is needed with fewer --features", err)
    assert os.listdir(tmp_path) == ["train.npz"]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        MemoryError("Unable to allocate 7.11 PiB for an array with shape (1000000000000000,) and data type float64"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000000000 bytes. Error code 12"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8000000000 bytes."),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 10.00 GiB"),
    ],
    ids=str,
)
def test_every_error_of_memory_is_said_in_one_line(capsys, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr("raffia.cli.generate.generate_in_batches", fail)
    code, _, err = run(capsys, "generate", "burgers", "-o", "d.npz")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("raffia: out of memory")
    amount = re.search(r"(\S+) (\wiB|bytes)", str(error))
    assert ("asked for" in err) == bool(amount)


def test_other_errors_of_torch_are_not_taken_for_lack_of_memory(capsys, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("a bug")

    monkeypatch.setattr("raffia.cli.generate.generate_in_batches", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run(capsys, "generate", "burgers", "-o", "d.npz")


HOSTILE = ["velocity[m/s]", "a[/]", "[red]", "\x1b]0;title\x07", "\x9b31m", "a\nraffia: done", "\u202egnp", "\udcff", ":smile:"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_are_printed_as_they_are_without_what_a_terminal_would_obey(tmp_path, capsys, name):
    folder = tmp_path / name.replace("/", "") if "\udcff" not in name else tmp_path
    folder.mkdir(exist_ok=True)
    shown = name.encode("unicode_escape").decode()
    torch.save({name: torch.rand(9, 32), "u": torch.rand(9, 32)}, tmp_path / "d.pt")
    (folder / "d.pt").write_bytes((tmp_path / "d.pt").read_bytes())
    code, out, _ = run(capsys, "inspect", folder / "d.pt", "--periodic", "--input", name, "--output", "u")
    assert code == 0
    assert f" {shown} " in out  # in the table, and in the command to type next
    assert f"--input {shown} " in out.replace("'", "")
    model = folder / "m.safetensors"
    fitting = ("fit", folder / "d.pt", "--periodic", "--input", name, "--output", "u", "--map", "fourier", "--features", 9)
    code, more, err = run(capsys, *fitting, "-o", model)
    assert (code, err) == (0, "")
    code, _, err = run(capsys, "inspect", folder / "d.pt", "--input", f"{name}!", "--output", "u")
    assert (code, err.count("\n")) == (2, 1)
    assert shown.replace("\\n", " ") in err
    assert all(c.isprintable() for line in (out + more + err).split("\n") for c in line)


def test_warnings_are_one_line_without_what_a_terminal_would_obey(capsys, monkeypatch):
    monkeypatch.setattr(
        "raffia.cli.generate.generate_in_batches", lambda *_: warnings.warn("\x1b[31m\nred", stacklevel=1) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        run(capsys, "generate", "burgers", "-o", "d.npz")
    assert capsys.readouterr().err == "raffia: \\x1b[31m red\n"


@pytest.mark.parametrize(
    ("make", "said"),
    [(os.mkdir, "it is a folder"), (os.mkfifo, "it is a pipe or a device")],
)
def test_what_is_no_file_is_refused_before_the_work(train, tmp_path, capsys, monkeypatch, make, said):
    monkeypatch.setattr("raffia.cli.fit.open_source", lambda *_, **__: pytest.fail("work was begun"))
    monkeypatch.setattr("raffia.cli.generate.generate_in_batches", lambda *_, **__: pytest.fail("work was begun"))
    for name in ("m.safetensors", "page.html", "d.npz", "p.npy", "f.png", "bench.json"):
        make(tmp_path / name)
    for words, option in (
        (["fit", train, "-o", tmp_path / "m.safetensors"], "--model"),
        (["fit", train, "--output", tmp_path / "m.safetensors"], "--model"),
        (["fit", train, "-o", tmp_path / "page.safetensors"], "--model with its report"),
        (["generate", "burgers", "-o", tmp_path / "d.npz"], "--output"),
        (["predict", "none.safetensors", train, "-o", tmp_path / "p.npy"], "--output"),
        (["inspect", train, "--figure", tmp_path / "f.png"], "--figure"),
        (["bench", "-o", tmp_path / "bench.json"], "--output"),
    ):
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"raffia: {option}: cannot write ")
        assert said in err


def test_a_read_only_folder_is_refused_before_the_work(train, tmp_path):
    """Root may write anywhere but to a file system that is mounted read-only."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mounting = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    inside = ["unshare", "--mount", "--user", "--map-root-user", "sh", "-c", mounting, "sh", folder]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    fitting = [sys.executable, "-m", "raffia", "fit", train, "-o", folder / "m.safetensors"]
    result = subprocess.run([*inside, *fitting], capture_output=True, text=True)
    said = f"raffia: --model {folder}/m.safetensors: files cannot be written to the folder {folder}. Choose another.\n"
    assert (result.returncode, result.stdout, result.stderr) == (2, "", said)


def test_several_ridges_are_told_by_their_range():
    assert ridge_in_words(1e-6, ".1e") == "1.0e-06"
    assert ridge_in_words(torch.tensor([float("inf"), 1e-9, 3e-7, 2e-8]), ".0e") == "1e-09 … 3e-07"


@pytest.mark.parametrize("command", [["demo", "burgers"], ["reproduce", "tab:time_upscale"]])
def test_a_folder_that_cannot_be_made_or_written_to_is_refused_before_the_work(tmp_path, capsys, monkeypatch, command):
    (tmp_path / "file").touch()
    for output, said in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "out", "Not a directory")):
        code, out, err = run(capsys, *command, "--output", output)
        assert (code, out, err) == (2, "", f"raffia: --output {output}: the folder cannot be made ({said}). Choose another.\n")
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may write anywhere
    assert run(capsys, *command, "--output", tmp_path)[2].endswith(
        f"files cannot be written to the folder {tmp_path}. Choose another.\n"
    )
