"""Trajectories in files: an axis of time, found or asked for, and pairs of states that follow one another."""

import numpy as np
import pytest

from raffia import Dataset, Domain, RaffiaError
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
    with pytest.raises(RaffiaError, match="a single entry there are no steps, as pairs need two states or more"):
        open_source(saved(tmp_path / "f.npz", u=u[:, :1], t=np.zeros(1)))


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


def test_windows_and_horizons_are_channels_of_states_in_a_row(tmp_path):
    u = waves(5, 12)
    path = saved(tmp_path / "d.npz", u=u, t=0.1 * np.arange(12))
    source = open_source(path, window=2, horizon=3, stride=2)
    each = 12 - (2 + 3 - 1) * 2
    data = source.dataset()
    assert source.each == each
    assert (source.domain.channels, source.output.channels) == (2, 3)
    for i, k in ((0, 0), (3, 2), (4, each - 1)):
        np.testing.assert_array_equal(data.a[i * each + k], u[i, [k, k + 2]])
        np.testing.assert_array_equal(data.y[i * each + k], u[i, [k + 4, k + 6, k + 8]])
    assert any("a pair is 2 states in a row and the 3 that follow, 2 steps apart" in note for note in source.notes)
    begin = source.reading.opened(path, first=True).values
    np.testing.assert_array_equal(begin, u[:, [0, 2]])
    with pytest.raises(RaffiaError, match="has 12 states along axis 1, and pairs need 14 or more"):
        open_source(path, window=7, horizon=7)
    with pytest.raises(RaffiaError, match=r"--horizon .* must be 1 or more; got 0"):
        open_source(path, horizon=0)


def test_windows_of_several_channels_keep_those_of_a_state_together(tmp_path):
    u, v = waves(), waves()
    whole = np.stack([u, v], axis=2)
    one = open_source(saved(tmp_path / "d.npz", w=whole, t=np.arange(9.0)), window=2).dataset()
    two = open_source(saved(tmp_path / "e.npz", u=u, v=v, t=np.arange(9.0)), input=["u", "v"], window=2).dataset()
    last = open_source(saved(tmp_path / "f.npz", w=np.moveaxis(whole, 2, -1), t=np.arange(9.0)), window=2).dataset()
    for data in (one, two, last):
        np.testing.assert_array_equal(data.a.reshape(6, 7, 2, 2, 32), np.stack([whole[:, :-2], whole[:, 1:-1]], axis=2))
        np.testing.assert_array_equal(data.y.reshape(6, 7, 2, 32), whole[:, 2:])
    with pytest.raises(RaffiaError, match="name it with --input NAME, several of one shape are channels"):
        open_source(tmp_path / "e.npz", time=1)


@pytest.mark.parametrize("numbers", [(), (2,)])
def test_what_is_fixed_along_a_trajectory_is_a_constant_channel_of_its_inputs(tmp_path, numbers):
    u, nu = waves(), RNG.uniform(size=(6, *numbers))
    path = saved(tmp_path / "d.npz", u=u, t=np.arange(9.0), nu=nu)
    source = open_source(path, time=1)
    data = source.dataset()
    np.testing.assert_array_equal(data.a.reshape(6, 8, -1, 32)[:, :, 0], u[:, :-1])
    constant = np.broadcast_to(nu.reshape(6, 1, -1, 1), (6, 8, max(1, *numbers, 1), 32))
    np.testing.assert_array_equal(data.a.reshape(6, 8, -1, 32)[:, :, 1:], constant)
    np.testing.assert_array_equal(data.y.reshape(6, 8, 32), u[:, 1:])
    assert any("nu is fixed along a trajectory" in note for note in source.notes)
    rows = source.read(range(5, 13))[0]
    np.testing.assert_array_equal(rows, data.a[5:13])
    check(open_source(path, input="u"), u)
    less = saved(tmp_path / "e.npz", u=u, t=np.arange(9.0))
    with pytest.raises(RaffiaError, match=r"nu must go with the trajectories u 6×9×32, as in the training, .* it is not there"):
        source.reading.pairs(less)
    states = source.reading.opened(saved(tmp_path / "f.npz", u=u[:, 3], nu=nu)).values
    np.testing.assert_array_equal(states, data.a.reshape(6, 8, -1, 32)[:, 3])
    with pytest.raises(RaffiaError, match="u 6×32 holds single states, and the model takes nu beside them"):
        source.reading.opened(saved(tmp_path / "g.npz", u=u[:, 3]))


def test_parameters_that_do_not_tell_the_trajectory_are_fixed_along_it_and_others_are_inputs_with_a_note(tmp_path):
    u = waves()
    twice = saved(tmp_path / "d.npz", u=u, t=np.arange(9.0), nu=np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]))
    assert open_source(twice).steps.fixed == ("nu",)
    once = open_source(saved(tmp_path / "e.npz", u=u, t=np.arange(9.0), nu=np.arange(6.0)))
    assert once.steps is None
    assert any("for a model of one step pass --input u --input nu" in note for note in once.notes)
    equal = saved(tmp_path / "f.npz", u=np.stack([u[0]] * 6), t=np.arange(9.0), nu=np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]))
    assert open_source(equal).steps is None  # all begin alike: they may be functions of nu


def test_one_long_trajectory_is_told_by_its_times_whichever_axis_they_are_along(tmp_path):
    u = waves(1, 40)
    check(open_source(saved(tmp_path / "d.npz", u=u[0], t=np.arange(40.0))), u)
    check(open_source(saved(tmp_path / "e.npz", u=u[0].T, t=np.arange(40.0), x=X)), u)
    check(open_source(saved(tmp_path / "f.npz", u=u, t=np.arange(40.0))), u)
    field = np.einsum("ti,j->ijt", u[0], np.cos(2 * np.pi * X))
    plane = open_source(saved(tmp_path / "g.npz", u=field, t=np.arange(40.0), x=X, y=X), window=2)
    np.testing.assert_array_equal(plane.dataset().a[:, 1], np.moveaxis(field, -1, 0)[1:-1])


def test_rows_of_windows_anywhere_are_those_of_the_whole(tmp_path):
    np.save(tmp_path / "d.npy", waves(1, 30)[0])
    source = open_source(tmp_path / "d.npy", time=0, window=3, periodic=True)
    whole = source.dataset()
    for start, stop in ((0, 1), (3, 17), (26, 27)):
        np.testing.assert_array_equal(source.read(range(start, stop))[0], whole.a[start:stop])


def test_what_goes_wrong_with_steps_is_said(tmp_path):
    def notes(u, **options):
        np.save(tmp_path / "d.npy", u)
        return " ".join(open_source(tmp_path / "d.npy", time=1, periodic=True, **options).notes)

    u = waves(6, 40)
    assert "values change" not in notes(u)
    assert "states change" not in notes(u)
    assert "from state 9 to 10, values change" in notes(np.delete(u, range(10, 14), axis=1))
    slow = u[:, :1] * (1 + 0.005 * np.arange(40)[:, None])
    assert "states" not in notes(slow).partition("later")[2]  # small steps of exact data are no worse than large ones
    assert "states are equal to rounding from step to step" in notes(u[:, :1] * np.ones((40, 1)))
    broken = u.copy()
    broken[2, 5, 7] = np.nan
    with pytest.raises(
        RaffiaError, match=r"sample 83 \(trajectory 2, pair 5 of it, counted from 0\). Leave those trajectories out"
    ):
        open_source(saved(tmp_path / "e.npz", u=broken, t=np.arange(40.0))).dataset()


def test_where_noise_hides_a_step_a_larger_stride_is_taken_and_said(tmp_path):
    u = waves(6, 60) + 0.02 * RNG.standard_normal((6, 60, 32))
    path = saved(tmp_path / "d.npz", u=u, t=np.arange(60.0))
    source = open_source(path)
    stride = source.steps.stride
    assert 1 < stride == Dataset.of_trajectories(u, Domain(1)).along.stride
    check(source, u, stride)
    said = next(note for note in source.notes if "noise alone" in note)
    assert f"pairs are states {stride} steps apart" in said
    assert "--stride 1 (stride=1) takes single steps" in said
    assert source.dataset().along.notes
    one = open_source(path, stride=1)
    check(one, u)
    assert "noise" not in " ".join([*one.notes, *one.dataset().along.notes])


def test_windows_are_refused_where_there_are_no_trajectories(tmp_path):
    u = waves()
    pairs = saved(tmp_path / "d.npz", a=u[:, 0], y=u[:, 1])
    with pytest.raises(RaffiaError, match="--window is for one array of trajectories"):
        open_source(pairs, window=2)
    with pytest.raises(
        RaffiaError, match=r"--window is for trajectories, .* does not go with inputs and outputs that are named"
    ):
        open_source(pairs, window=2, input="a", output="y")


def test_trajectories_under_another_name_are_followed_too(tmp_path):
    np.save(tmp_path / "d.npy", waves())
    np.save(tmp_path / "e.npy", more := waves(3))
    reading = open_source(tmp_path / "d.npy", time=1, periodic=True, window=2).reading
    np.testing.assert_array_equal(reading.opened(tmp_path / "e.npy", first=True).values, more[:, :2])
    np.save(tmp_path / "f.npy", more[:, 0])
    with pytest.raises(RaffiaError, match="f 3×32 holds single states, and the model takes 2 in a row"):
        reading.opened(tmp_path / "f.npy", first=True)
