"""Trajectories in files: an axis of time, found or asked for, and pairs of states that follow one another."""

import numpy as np
import pytest

from raffia import Domain, RaffiaError
from raffia.data import open_source

RNG = np.random.default_rng(0)
X = np.arange(32) / 32


def waves(n=6, states=9, dtype=np.float64):
    """Waves that move and fall: (n, states, points)."""
    k, phase = RNG.integers(1, 4, (n, 1, 1)), RNG.uniform(0, 6, (n, 1, 1))
    t = np.linspace(0, 0.8, states)[None, :, None]
    return (np.exp(-t) * np.sin(2 * np.pi * k * (X - 0.4 * t) + phase)).astype(dtype)


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


def check(source, u, stride=1):
    data = source.dataset()
    np.testing.assert_array_equal(data.a.reshape(len(u), -1, 32), u[:, :-stride])
    np.testing.assert_array_equal(data.y.reshape(len(u), -1, 32), u[:, stride:])
    assert source.each == u.shape[1] - stride


def test_an_array_of_times_tells_the_axis(tmp_path):
    u = waves()
    source = open_source(saved(tmp_path / "d.npz", u=u, t=0.1 * np.arange(9), x=2 * X))
    check(source, u)
    assert source.domain == Domain(1, extent=2.0)
    assert any("time along axis 1, as long as t" in note for note in source.notes)
    assert any("a step is 0.1 of t" in note for note in source.notes)
    last = open_source(saved(tmp_path / "e.npz", u=np.moveaxis(u, 1, -1), t=0.1 * np.arange(9)))
    check(last, u)


def test_time_last_in_single_precision_without_coordinates_is_told_from_a_circle(tmp_path):
    u = waves(dtype=np.float32)
    np.save(tmp_path / "d.npy", np.moveaxis(u, 1, -1))
    source = open_source(tmp_path / "d.npy")
    check(source, u)
    assert any("as the other axis goes around" in note for note in source.notes)


def test_of_fields_in_a_plane_time_is_the_axis_of_another_length(tmp_path):
    u = np.einsum("nti,j->nijt", waves(), np.cos(2 * np.pi * X))
    np.save(tmp_path / "d.npy", u)
    source = open_source(tmp_path / "d.npy")
    data = source.dataset()
    np.testing.assert_array_equal(data.a.reshape(6, 8, 32, 32), np.moveaxis(u, -1, 1)[:, :-1])
    assert any("time along axis 3, the only one of another length" in note for note in source.notes)


def test_what_is_unclear_is_asked_for_and_said_by_time(tmp_path):
    u = RNG.standard_normal((5, 7, 32))
    np.save(tmp_path / "d.npy", u)
    with pytest.raises(RaffiaError, match="--time 1, along the last one --time 2"):
        open_source(tmp_path / "d.npy")
    check(open_source(tmp_path / "d.npy", time=1, stride=2, periodic=True), u, stride=2)
    with pytest.raises(RaffiaError, match="must be an axis of d 5×7×32; got 3"):
        open_source(tmp_path / "d.npy", time=3)


def test_one_long_trajectory_is_pairs_of_its_states(tmp_path):
    u = waves(1, 40)
    source = open_source(saved(tmp_path / "d.npz", u=u[0], t=np.arange(40.0)), time=0)
    check(source, u)


def test_channels_stay_channels(tmp_path):
    u = np.stack([waves(), waves()], axis=2)
    source = open_source(saved(tmp_path / "d.npz", u=u, t=np.arange(9.0)))
    assert source.domain.channels == 2
    np.testing.assert_array_equal(source.dataset().y.reshape(6, 8, 2, 32), u[:, 1:])


def test_unequal_steps_and_a_single_state_are_refused(tmp_path):
    u = waves()
    times = 0.1 * np.arange(9)
    times[5:] += 0.3  # a gap
    with pytest.raises(RaffiaError, match=r"t must be one after the other in equal steps; they are 0.1 to 0.4 apart"):
        open_source(saved(tmp_path / "d.npz", u=u, t=times))
    with pytest.raises(RaffiaError, match="has 1 states along axis 1, and pairs need 2 or more"):
        open_source(saved(tmp_path / "e.npz", u=u[:, :1]), time=1)


def test_other_files_are_read_alike_and_states_as_states(tmp_path):
    u, more = waves(), waves(3)
    reading = open_source(saved(tmp_path / "d.npz", u=u, t=0.1 * np.arange(9))).reading
    test = saved(tmp_path / "e.npz", u=more, t=0.1 * np.arange(9))
    check(reading.pairs(test), more)
    np.testing.assert_array_equal(reading.opened(test, first=True).values, more[:, 0])
    np.testing.assert_array_equal(reading.inputs(saved(tmp_path / "f.npz", u=more[:, 4])), more[:, 4])


def test_rows_anywhere_are_those_of_the_whole(tmp_path):
    u = waves(4, 6)
    np.save(tmp_path / "d.npy", u)
    source = open_source(tmp_path / "d.npy", time=1, periodic=True)
    whole = source.dataset()
    for start, stop in ((0, 3), (4, 6), (3, 17), (19, 20), (5, 10)):
        a, y = source.read(range(start, stop))
        np.testing.assert_array_equal(a, whole.a[start:stop])
        np.testing.assert_array_equal(y, whole.y[start:stop])
