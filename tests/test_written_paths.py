"""Paths that raffia rollout writes lie as the trajectories of the training did, so that they can be read again."""

import numpy as np
import pytest

import raffia
from raffia import data
from raffia.cli import main

X, T = np.arange(16) / 16, 0.1 * np.arange(9)


def flow(n=8, seed=0):
    """Sums of waves that move and fall, a linear equation's: (n, states, points)."""
    k = np.arange(1, 4)[:, None]
    a, b = np.random.default_rng(seed).standard_normal((2, n, 1, 3, 1))
    phase = 2 * np.pi * k * (X - 0.3 * T[:, None, None])
    return (np.exp(-0.5 * k * T[:, None, None]) * (a * np.cos(phase) + b * np.sin(phase))).sum(2)


U, V = flow(), flow(seed=1)
NU = np.repeat([1.0, 2.0, 3.0, 4.0], 2)
LAYOUTS = {  # arrays of a file, and their paths as (n, states, …) by name
    "time after trajectories": ({"u": U}, {}, lambda u: u),
    "time last": ({"u": np.moveaxis(U, 1, 2)}, {}, lambda u: np.moveaxis(u, 2, 1)),
    "time first": ({"u": np.moveaxis(U, 1, 0)}, {}, lambda u: np.moveaxis(u, 0, 1)),
    "time last of all": ({"u": np.moveaxis(U, 0, 2)}, {"time": 0, "samples_axis": 2}, lambda u: np.moveaxis(u, 2, 0)),
    "one trajectory": ({"u": U[0]}, {}, lambda u: u[None]),
    "one, time last": ({"u": U[0].T}, {}, lambda u: u.T[None]),
    "channels last": ({"u": np.stack([U, V], -1)}, {}, lambda u: np.moveaxis(u, -1, 2)),
    "an axis of one": ({"u": U[:, :, None]}, {}, lambda u: u[:, :, 0]),
    "turned around": ({"u": U[..., ::-1], "x": X[::-1]}, {}, lambda u: u[..., ::-1]),
}


@pytest.fixture
def rolled(tmp_path, capsys, monkeypatch):
    """Run raffia rollout, and give what it says."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["raffia", "rollout", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert not stop.value.code, err
        return " ".join(out.split())

    return run


def fitted(path, **options):
    model = raffia.fit(data.open_source(path, window=1, stride=1, **options), "linear").model
    model.save(path.with_suffix(".safetensors"))
    return model, path.with_suffix(".safetensors")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("suffix", [".npy", ".h5"])
def test_a_path_lies_as_the_trajectories_of_the_training_and_is_read_again(tmp_path, rolled, layout, suffix):
    arrays, options, in_order = LAYOUTS[layout]
    path, out, again = tmp_path / "d.npz", tmp_path / f"out{suffix}", tmp_path / f"again{suffix}"
    np.savez(path, **({"t": T, "x": X} | arrays))
    model, file = fitted(path, **options)
    starts = model.schema_.opened(path, first=True).values
    rolled(file, path, "--steps", 4, "-o", out)
    written = next(iter(data.variables(out).values())).read()
    assert written.ndim == arrays["u"].ndim
    wanted = np.asarray(model.rollout(starts, 4))
    np.testing.assert_allclose(in_order(written), wanted, atol=1e-12)
    np.testing.assert_array_equal(model.schema_.opened(out, first=True).values, starts)
    rolled(file, out, "--steps", 4, "-o", again)
    np.testing.assert_allclose(next(iter(data.variables(again).values())).read(), written, atol=1e-12)


def test_where_the_training_had_one_trajectory_several_paths_are_along_a_first_axis(tmp_path, rolled):
    path, several, out = tmp_path / "d.npz", tmp_path / "e.npz", tmp_path / "out.npy"
    np.savez(path, u=U[0].T, t=T, x=X)
    model, file = fitted(path)
    np.savez(several, u=np.moveaxis(U[:3], 1, 2), x=X)
    rolled(file, several, "--steps", 4, "-o", out)
    assert np.load(out).shape == (3, 16, 5)
    np.testing.assert_array_equal(model.schema_.opened(out, first=True).values, U[:3, 0])


@pytest.mark.parametrize("suffix", [".h5", ".zarr"])
def test_states_of_several_arrays_and_what_is_fixed_are_arrays_of_the_file_too(tmp_path, rolled, suffix):
    path, out = tmp_path / "d.npz", tmp_path / f"out{suffix}"
    np.savez(path, u=U, v=V, nu=NU, t=T, x=X)
    model, file = fitted(path, input=["u", "v", "nu"])
    starts = model.schema_.opened(path, first=True).values
    rolled(file, path, "--steps", 3, "-o", out)
    held = {name: v.read() for name, v in data.variables(out).items()}
    wanted = np.asarray(model.rollout(starts, 3))
    np.testing.assert_allclose(held["u"], wanted[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(held["v"], wanted[:, :, 1], atol=1e-12)
    np.testing.assert_array_equal(held["nu"], NU)
    np.testing.assert_array_equal(model.schema_.opened(out, first=True).values, starts)
    rolled(file, path, "--steps", 3, "-o", tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, atol=1e-12)  # which has one array: channels


def test_what_was_noticed_of_the_file_and_how_long_a_step_is_are_said(tmp_path, rolled):
    path, other = tmp_path / "d.npz", tmp_path / "e.npz"
    np.savez(path, u=U, t=T, x=X)
    np.savez(other, u=np.moveaxis(U, 1, 2), t=T, x=X)
    model = raffia.fit(data.open_source(path, window=1, stride=2), "linear").model
    model.save(tmp_path / "m.safetensors")
    said = rolled(tmp_path / "m.safetensors", other, "--steps", 3, "-o", tmp_path / "out.npy")
    assert "u has time along axis 2, as long as t; in the training it was axis 1." in said
    assert "a step is 2 steps of the training file." in said
