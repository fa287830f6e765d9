"""Trajectories in files: an axis of time, found or asked for, and pairs of states that follow one another."""

import h5py
import numpy as np
import pytest
import torch
import xarray

from raffia import Dataset, Domain, RaffiaError
from raffia.data import open_source, own

RNG = np.random.default_rng(0)
X = np.arange(32) / 32


def waves(n=6, states=9, dtype=np.float64):
    """Waves that move and fall: (n, states, points)."""
    k, phase = RNG.integers(1, 4, (n, 1, 1)), RNG.uniform(0, 6, (n, 1, 1))
    t = np.linspace(0, 0.8, states)[None, :, None]
    return (np.exp(-t) * np.sin(2 * np.pi * k * (X - 0.4 * t) + phase)).astype(dtype)


def flow(n=6, states=9):
    """Sums of four waves that move and fall, of which values tell time from space: (n, states, points)."""
    k = np.arange(1, 5)[:, None]
    a, b = np.random.default_rng(7).standard_normal((2, n, 1, 4, 1)) / k
    t = 0.05 * np.arange(states)[:, None, None]
    phase = 2 * np.pi * k * (X - t)
    return (np.exp(-0.8 * k**2 * t) * (a * np.cos(phase) + b * np.sin(phase))).sum(2)


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
    assert any("as the other axis is periodic" in note for note in source.notes)


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
    with pytest.raises(RaffiaError, match="--time 0 or --time 1 or --time 2"):
        open_source(tmp_path / "d.npy")
    check(open_source(tmp_path / "d.npy", time=1, stride=2, periodic=True), u, stride=2)
    with pytest.raises(RaffiaError, match="must be an axis of d 5×7×32; got 3"):
        open_source(tmp_path / "d.npy", time=3)


def test_one_long_trajectory_is_pairs_of_its_states(tmp_path):
    u = waves(1, 40)
    source = open_source(saved(tmp_path / "d.npz", u=u[0], t=np.arange(40.0)), time=0)
    check(source, u)
    assert len(source) == 39


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
    with pytest.raises(RaffiaError, match="has 1 state along axis 1, and pairs need 2 or more"):
        open_source(saved(tmp_path / "e.npz", u=u[:, :1]), time=1)
    with pytest.raises(RaffiaError, match=r"two states or more.* --time 0"):
        open_source(saved(tmp_path / "f.npz", u=u[:, :1], t=np.zeros(1)))


def test_other_files_are_read_alike_and_states_as_states(tmp_path):
    u, more = waves(), waves(3)
    reading = open_source(saved(tmp_path / "d.npz", u=u, t=0.1 * np.arange(9))).schema
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
    begin = source.schema.opened(path, first=True).values
    np.testing.assert_array_equal(begin, u[:, [0, 2]])
    with pytest.raises(RaffiaError, match="has 12 states along axis 1, and pairs need 14 or more"):
        open_source(path, window=7, horizon=7)
    with pytest.raises(RaffiaError, match=r"--horizon .* must be a positive integer.*got 0"):
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
    with pytest.raises(RaffiaError, match="--input NAME"):
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
    assert any("fixed along a trajectory" in note and ": nu;" in note for note in source.notes)
    rows = source.read(range(5, 13))[0]
    np.testing.assert_array_equal(rows, data.a[5:13])
    check(open_source(path, input="u"), u)
    less = saved(tmp_path / "e.npz", u=u, t=np.arange(9.0))
    with pytest.raises(RaffiaError, match=r"nu must go with the trajectories u 6×9×32, as in the training, .* it is not there"):
        source.schema.pairs(less)
    states = source.schema.opened(saved(tmp_path / "f.npz", u=u[:, 3], nu=nu)).values
    np.testing.assert_array_equal(states, data.a.reshape(6, 8, -1, 32)[:, 3])
    with pytest.raises(RaffiaError, match="u 6×32 holds single states, and the model takes nu beside them"):
        source.schema.opened(saved(tmp_path / "g.npz", u=u[:, 3]))


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
    assert "states change" not in notes(u)
    slow = u[:, :1] * (1 + 0.005 * np.arange(40)[:, None])
    assert "states" not in notes(slow).partition("later")[2]  # small steps of exact data are no worse than large ones
    broken = u.copy()
    broken[2, 5, 7] = np.nan
    with pytest.raises(
        RaffiaError, match=r"sample 83 \(trajectory 2, pair 5 of it, counted from 0\). Leave those trajectories out"
    ):
        open_source(saved(tmp_path / "e.npz", u=broken, t=np.arange(40.0))).dataset()


def test_noise_is_measured_and_single_steps_are_taken(tmp_path):
    clean = waves(6, 60)
    path = saved(tmp_path / "d.npz", u=clean + 0.02 * RNG.standard_normal(clean.shape), t=np.arange(60.0))
    source = open_source(path)
    assert source.steps.stride == 1
    assert sum("noise" in note for note in source.notes) == 1
    assert "noise" not in " ".join(open_source(saved(tmp_path / "e.npz", u=clean, t=np.arange(60.0))).notes)


def test_windows_are_refused_where_there_are_no_trajectories(tmp_path):
    u = waves()
    pairs = saved(tmp_path / "d.npz", a=u[:, 0], y=u[:, 1])
    with pytest.raises(RaffiaError, match="--window is for one array of trajectories"):
        open_source(pairs, window=2)
    with pytest.raises(RaffiaError, match=r"--window applies to trajectories, which are read only if no output is named"):
        open_source(pairs, window=2, input="a", output="y")


def test_trajectories_under_another_name_are_followed_too(tmp_path):
    np.save(tmp_path / "d.npy", waves())
    np.save(tmp_path / "e.npy", more := waves(3))
    reading = open_source(tmp_path / "d.npy", time=1, periodic=True, window=2).schema
    np.testing.assert_array_equal(reading.opened(tmp_path / "e.npy", first=True).values, more[:, :2])
    np.save(tmp_path / "f.npy", more[:, 0])
    with pytest.raises(RaffiaError, match="f 3×32 holds single states, and the model takes 2 in a row"):
        reading.opened(tmp_path / "f.npy", first=True)


def test_time_first_is_read_as_many_trajectories_where_names_or_coordinates_tell(tmp_path):
    u, t = waves(), 0.1 * np.arange(9)
    first = np.moveaxis(u, 1, 0)
    check(open_source(saved(tmp_path / "d.npz", u=first, t=t, x=X)), u)
    xarray.Dataset({"u": (("time", "sample", "x"), first)}, {"x": X, "time": t}).to_netcdf(tmp_path / "d.nc")
    source = open_source(tmp_path / "d.nc")
    check(source, u)
    assert any("trajectories are along axis 1, which is called sample" in note for note in source.notes)
    with_number = open_source(saved(tmp_path / "e.npz", u=first, t=t, nu=np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])))
    assert (with_number.steps.samples, with_number.steps.fixed) == (1, ("nu",))
    np.testing.assert_array_equal(with_number.dataset().a[:, 1, 0], np.repeat([1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 8))
    plane = np.einsum("nti,j->tnij", u, np.cos(2 * np.pi * X))
    field = open_source(saved(tmp_path / "f.npz", u=plane, t=t, x=X, y=X))
    np.testing.assert_array_equal(field.dataset().a.reshape(6, 8, 32, 32), np.moveaxis(plane, 1, 0)[:, :-1])


def test_where_time_is_first_a_few_entries_are_channels_and_the_other_reading_is_offered(tmp_path):
    two = np.moveaxis(waves(2), 1, 0)
    path = saved(tmp_path / "d.npz", u=two, t=np.arange(9.0), x=X)
    source = open_source(path)
    assert source.domain.channels == 2
    assert any("--samples-axis 1 (samples_axis=1)" in note for note in source.notes)
    check(open_source(path, samples_axis=1), np.moveaxis(two, 0, 1))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_axis_of_trajectories_is_as_was_said(tmp_path, place):
    u = flow()
    for states in (0, 1, 2):
        if states != place:
            np.save(tmp_path / "d.npy", np.moveaxis(u, (0, 1), (place, states)))
            source = open_source(tmp_path / "d.npy", samples_axis=place, time=states, periodic=True)
            check(source, u)
            whole = source.dataset()
            np.testing.assert_array_equal(source.read(range(5, 21))[0], whole.a[5:21])
            np.testing.assert_array_equal(source.schema.opened(tmp_path / "d.npy", first=True).values, u[:, 0])
    np.save(tmp_path / "e.npy", np.moveaxis(u, (0, 1), (place, 2 if place == 1 else 1)))
    check(open_source(tmp_path / "e.npy", samples_axis=place), u)  # time by its values
    with pytest.raises(RaffiaError, match=f"--samples-axis .* counts trajectories, and --time .* along axis {place}"):
        open_source(tmp_path / "e.npy", samples_axis=place, time=place)
    with pytest.raises(RaffiaError, match=r"--samples-axis \(samples_axis=…\) must be the axis of e .* got 7"):
        open_source(tmp_path / "e.npy", samples_axis=7)


def test_one_trajectory_that_looks_periodic_in_time_too_is_read_as_was_said(tmp_path):
    u = np.sin(2 * np.pi * (X + np.arange(40)[:, None] / 40))[None]
    np.save(tmp_path / "d.npy", u[0].T)
    with pytest.raises(RaffiaError, match=r"--time 0 for one of 32 states, --time 1 .* with --samples-axis none for one of 40"):
        open_source(tmp_path / "d.npy")
    check(open_source(tmp_path / "d.npy", time=1, samples_axis="none", periodic=True), u)


def test_times_of_each_trajectory_must_have_steps_of_one_length(tmp_path):
    u, t = waves(), 0.1 * np.arange(9) + np.arange(6)[:, None]
    source = open_source(saved(tmp_path / "d.npz", u=u, t=t, x=X))
    check(source, u)
    assert "a step is 0.1 of t." in source.notes
    check(open_source(saved(tmp_path / "e.npz", u=np.moveaxis(u, 1, -1), t=t, x=X)), u)
    with pytest.raises(RaffiaError, match=r"a step must be as long in all trajectories; those of t are 0\.1 to 0\.2"):
        open_source(saved(tmp_path / "f.npz", u=u, t=t * np.linspace(1, 2, 6)[:, None], x=X))
    t[3, 4] += 0.05
    with pytest.raises(RaffiaError, match="t, those of trajectory 3, must be one after the other in equal steps"):
        open_source(saved(tmp_path / "g.npz", u=u, t=t, x=X))


def test_parameters_without_times_are_fixed_where_they_do_not_tell_the_trajectory(tmp_path):
    u, nu = flow(), np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    source = open_source(saved(tmp_path / "d.npz", u=u, x=X, nu=nu))
    assert (source.steps.axis, source.steps.fixed) == (1, ("nu",))
    rough = saved(tmp_path / "e.npz", u=RNG.standard_normal((6, 9, 32)), nu=nu)
    assert any(
        "for a model of one step pass --input u --input nu --time AXIS" in note
        for note in open_source(rough, periodic=True).notes
    )
    assert open_source(saved(tmp_path / "f.npz", u=u, x=X, nu=np.arange(6.0))).steps is None


def test_a_guess_of_the_axis_of_time_and_what_speaks_against_an_answer_are_said(tmp_path):
    u = flow()
    np.save(tmp_path / "d.npy", u)
    assert any("is a guess by lengths or values; --time" in note for note in open_source(tmp_path / "d.npy").notes)
    path = saved(tmp_path / "e.npz", u=u, t=0.1 * np.arange(9), x=X)
    assert open_source(path, time=2).steps.axis == 2
    np.save(tmp_path / "f.npy", RNG.standard_normal((6, 16, 16)))
    with pytest.raises(RaffiaError, match="--time 0 or"):
        open_source(tmp_path / "f.npy")
    angles = saved(tmp_path / "g.npz", u=np.cos(np.arange(12)[:, None] + 0.3 * np.arange(20)), t=0.3 * np.arange(20))
    with pytest.raises(RaffiaError, match="--time 1 for 12 of 20 numbers each"):
        open_source(angles)


def test_times_that_go_down_or_are_too_many_are_said(tmp_path):
    u = waves()
    down = open_source(saved(tmp_path / "d.npz", u=u, t=-0.1 * np.arange(9)))
    assert "a step is -0.1 of t: times go down, so a model goes back in time." in down.notes
    longer = open_source(saved(tmp_path / "e.npz", u=u, t=0.1 * np.arange(10), x=X))
    check(longer, u)
    assert "t has 10 entries for 9 states: the first 9 are taken for theirs." in longer.notes


def test_names_in_groups_and_those_of_pdebench_are_known(tmp_path):
    u, t = waves(), 0.1 * np.arange(9)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["run/u"], file["run/t"], file["run/x"] = u, t, 2 * X
    with h5py.File(tmp_path / "e.h5", "w") as file:
        file["tensor"], file["t-coordinate"], file["x-coordinate"] = u, 0.1 * np.arange(10), 2 * X
    for name in ("d.h5", "e.h5"):
        source = open_source(tmp_path / name)
        check(source, u)
        assert source.domain == Domain(1, extent=2.0)
        assert any("a step is 0.1" in note for note in source.notes)


def test_what_is_no_whole_number_is_refused(tmp_path):
    path = saved(tmp_path / "d.npz", u=waves(), t=np.arange(9.0))
    cases = [
        ("time", "1"),
        ("time", 1.0),
        ("time", True),
        ("stride", 2.5),
        ("stride", "2"),
        ("window", 2.0),
        ("window", True),
        ("horizon", None),
    ]
    for name, value in cases:
        with pytest.raises(RaffiaError, match=rf"--{name} .* got {value!r}\."):
            open_source(path, **{name: value})


def test_parts_of_an_array_are_trajectories_too_and_missing_names_are_told(tmp_path):
    u = waves()
    path = saved(tmp_path / "d.npz", u=u, t=np.arange(9.0), x=X)
    source = open_source(path, time=1, input="u[:,3:]")
    check(source, u[:, 3:])
    check(source.schema.pairs(path), u[:, 3:])
    with pytest.raises(RaffiaError, match=r"input='zz' \(--input\): .* does not hold it under that name"):
        open_source(path, input="zz", time=1)


def test_a_file_in_another_layout_than_that_of_the_training_is_read_by_its_own_signs(tmp_path):
    u, t = flow(), 0.05 * np.arange(9)
    reading = open_source(saved(tmp_path / "d.npz", u=u, t=t, x=X)).schema
    last, first = np.moveaxis(u, 1, -1), np.moveaxis(u, 1, 0)
    np.save(tmp_path / "values.npy", last)
    xarray.Dataset({"u": (("time", "run", "x"), first)}, {"x": X}).to_netcdf(tmp_path / "names.nc")
    saved(tmp_path / "times.npz", u=last, t=t)
    saved(tmp_path / "first.npz", u=first, t=t)
    for name in ("values.npy", "names.nc", "times.npz", "first.npz"):
        opened = reading.opened(tmp_path / name, first=True)
        np.testing.assert_array_equal(opened.values, u[:, 0])
        assert any("has time along axis" in note and "in the training it was axis 1" in note for note in opened.notes)
        check(reading.pairs(tmp_path / name), u)
    check(reading.pairs(saved(tmp_path / "short.npz", u=u[:, :5])), u[:, :5])
    np.save(tmp_path / "bare.npy", first)  # states of 32 points either way
    check(reading.pairs(tmp_path / "bare.npy"), u)
    np.save(tmp_path / "rough.npy", RNG.standard_normal((6, 32, 9)))
    with pytest.raises(
        RaffiaError, match=r"must have time along axis 1, as in the training; states of 32, .* time along axis 2"
    ):
        reading.opened(tmp_path / "rough.npy", first=True)


def test_where_the_training_had_one_trajectory_other_files_may_have_several(tmp_path):
    u = waves(1, 40)
    reading = open_source(saved(tmp_path / "d.npz", u=u[0], t=np.arange(40.0), x=X)).schema
    more = waves(3)
    opened = reading.opened(saved(tmp_path / "e.npz", u=more, x=X), first=True)
    np.testing.assert_array_equal(opened.values, more[:, 0])
    assert any("is taken for 3 trajectories, where the training had one" in note for note in opened.notes)
    np.save(tmp_path / "f.npy", more[0, 0])
    with pytest.raises(RaffiaError, match=r"f 32 is one state alone.* f\[None\] in NumPy"):
        reading.opened(tmp_path / "f.npy", first=True)


def test_arrays_that_are_named_and_parts_of_them_are_the_trajectories_of_another_file(tmp_path):
    u, v, nu = waves(), waves(), np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    reading = open_source(saved(tmp_path / "d.npz", u=u, t=np.arange(9.0), x=X)).schema
    two = saved(tmp_path / "e.npz", u=u, w=v, t=np.arange(9.0), x=X)
    np.testing.assert_array_equal(reading.opened(two, "w", first=True).values, v[:, 0])
    np.testing.assert_array_equal(reading.opened(two, "w[:,3:]", first=True).values, v[:, 3])
    np.testing.assert_array_equal(reading.opened(tmp_path / "d.npz", f"{two}:w", first=True).values, v[:, 0])
    check(reading.pairs(two, "w"), v)
    with pytest.raises(RaffiaError, match=r"--input .* must name 1 of the arrays of the training, u; got u, w"):
        reading.opened(two, ["u", "w"])
    with pytest.raises(RaffiaError, match=r"input='zz' \(--input\): .* does not hold it under that name"):
        reading.opened(two, "zz")
    fixed = open_source(saved(tmp_path / "f.npz", u=u, t=np.arange(9.0), x=X, nu=nu)).schema
    other = saved(tmp_path / "g.npz", w=v, nu=nu, mu=2 * nu)
    np.testing.assert_array_equal(fixed.opened(other, "w", first=True).values[:, 1, 0], nu)
    np.testing.assert_array_equal(fixed.opened(other, ["w", "mu"], first=True).values[:, 1, 0], 2 * nu)
    states = saved(tmp_path / "h.npz", w=v[:, 2], nu=nu)
    np.testing.assert_array_equal(fixed.opened(states, "w").values[:, 0], v[:, 2])


@pytest.mark.parametrize("boundary", ["periodic", "box"])
def test_files_of_ours_say_what_their_grid_is(tmp_path, boundary):
    """Points at 0, 1, …, 63 of a circle of length 64, and waves that no value shows to go around."""
    grid = Domain(1, axes=(boundary,), extent=64.0 if boundary == "periodic" else 63.0).grid(64)
    u = torch.randn(5, 6, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).cumsum(-1)
    own.write_trajectories(tmp_path / "u.npz", u, grid, 0.5, {"seed": 0})
    source = open_source(tmp_path / "u.npz")
    assert source.domain == grid.domain
    asked = open_source(tmp_path / "u.npz", periodic=boundary != "periodic")
    assert asked.domain.periodic == (boundary != "periodic")
    cut = open_source(tmp_path / "u.npz", input="u[:,:,:20]", periodic=False)
    assert cut.domain.boxed


def test_whether_a_grid_goes_around_is_told_by_all_trajectories(tmp_path):
    """All begin with the same steep front at the ends, which the others, later on, do not have."""
    k, t = np.arange(1, 6)[:, None], 0.02 * np.arange(30)[:, None, None]
    speed, size = RNG.uniform(0.2, 2, (40, 1, 1, 1)) * np.arange(40).reshape(-1, 1, 1, 1), RNG.uniform(0.5, 1, (40, 1, 5, 1))
    u = (size * np.sin(2 * np.pi * k * (np.arange(96) / 96 - speed * t))).sum(2).astype(np.float32)
    np.save(tmp_path / "u.npy", u.transpose(0, 2, 1))
    source = open_source(tmp_path / "u.npy", time=2)
    assert source.domain == Domain(1)


LAYOUTS = {
    "n t x": (0, 1, 2), "t n x": (1, 0, 2), "n x t": (0, 2, 1), "t x n": (1, 2, 0), "x n t": (2, 0, 1), "x t n": (2, 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("n", "states"), [(12, 40), (12, 12), (32, 32)])
def test_values_tell_time_from_trajectories_in_any_order_of_axes(layout, n, states, tmp_path):
    """Unrelated trajectories differ from their neighbours as from any other; states in time do not."""
    u = flow(n, states)
    np.save(tmp_path / "d.npy", u.transpose(LAYOUTS[layout]))
    source = open_source(tmp_path / "d.npy")
    check(source, u)
    data = source.dataset()
    a, y = (f.reshape(n, states - 1, 32) for f in data)
    assert torch.equal(y[:, :-1], a[:, 1:])  # the output of a pair is the input of the next
    assert any("--time" in note for note in source.notes)


@pytest.mark.parametrize("channels", [2, 3])
@pytest.mark.parametrize("place", [2, 3])
def test_channels_of_states_are_neither_time_nor_trajectories(channels, place, tmp_path):
    u = np.stack([i + flow(6 * channels, 20)[i::channels] for i in range(channels)], 2)
    np.save(tmp_path / "d.npy", np.moveaxis(u, 2, place))
    source = open_source(tmp_path / "d.npy")
    assert (source.steps.samples, source.steps.axis, source.domain.channels) == (0, 1, channels)
    np.testing.assert_array_equal(source.dataset().y.reshape(6, 19, channels, 32), u[:, 1:])


@pytest.mark.parametrize("layout", ["t x", "x t", "t x c", "t c x", "t x y"])
def test_one_long_trajectory_needs_no_flag_where_values_tell(layout, tmp_path):
    u = flow(1, 100)[0]
    arrays = {"t x": u, "x t": u.T, "t x c": np.stack([u, u**2], -1), "t c x": np.stack([u, u**2], 1)}
    arrays["t x y"] = u[:, :, None] * np.cos(2 * np.pi * np.arange(24) / 24 + 0.3)
    np.save(tmp_path / "d.npy", arrays[layout])
    source = open_source(tmp_path / "d.npy")
    assert (source.steps.samples, source.steps.axis, len(source)) == (None, layout.split().index("t"), 99)
    states = np.moveaxis(arrays[layout], layout.split().index("t"), 0)
    states = np.moveaxis(states, -1, 1) if layout == "t x c" else states
    np.testing.assert_array_equal(source.dataset().a, states[:-1])
    assert any("is a guess" in note and "--time" in note for note in source.notes)


def test_coordinates_tell_the_axis_of_time_as_the_one_that_has_none(tmp_path):
    u = flow(8, 15)[:, :, :20]  # a part of a circle
    u = u / np.abs(u).max(axis=(0, 2), keepdims=True)  # of one size at all times: values do not tell time from space
    np.save(tmp_path / "d.npy", u)
    with pytest.raises(RaffiaError, match="--time 1"):
        open_source(tmp_path / "d.npy")
    for order in ((0, 1, 2), (1, 0, 2)):
        source = open_source(saved(tmp_path / "d.npz", u=u.transpose(order), x=X[:20]))
        assert (source.steps.samples, source.steps.axis) == order[:2]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_time_is_the_axis_along_which_each_state_tells_the_next(layout, tmp_path):
    """Heat in a box without flux, in any order of axes: in space the equation is of second order; a moving pulse may go either way."""
    rng, k, x = np.random.default_rng(0), np.arange(1, 5)[:, None], np.linspace(0, 1, 40)
    rate = np.exp(-((np.pi * k) ** 2) * 1e-4 * np.arange(60)[:, None, None])
    u = (rng.standard_normal((20, 1, 4, 1)) / k * rate * np.cos(np.pi * k * x)).sum(2)
    np.save(tmp_path / "u.npy", u.transpose(LAYOUTS[layout]))
    source = open_source(tmp_path / "u.npy")
    np.testing.assert_array_equal(source.dataset().a.reshape(20, 59, 40), u[:, :-1])
    start = rng.uniform(0, 0.2, (20, 1, 1))
    pulse = np.exp(-50 * (x - 0.3 - 0.008 * np.arange(60)[:, None] - start) ** 2)
    np.save(tmp_path / "u.npy", pulse.transpose(LAYOUTS[layout]))
    with pytest.raises(RaffiaError, match="--time"):
        open_source(tmp_path / "u.npy")


def test_states_that_have_nothing_in_common_are_asked_for_and_said(tmp_path):
    """In steps of a third of a period, a state is no more like the next than like any other."""
    u = flow(12, 120)[:, ::7]
    swapped = u.transpose(1, 0, 2)
    for array in (u, swapped):
        np.save(tmp_path / "d.npy", array)
        with pytest.raises(RaffiaError, match="--time"):
            open_source(tmp_path / "d.npy")
    assert any("differs from the next as from any other" in n for n in open_source(tmp_path / "d.npy", time=1).notes)
    close = flow(12, 40)
    assert not Dataset.of_trajectories(close, Domain(1)).along.notes
    notes = Dataset.of_trajectories(close.transpose(1, 0, 2).copy(), Domain(1)).along.notes
    assert any("differs from the next as from any other" in note for note in notes)


def test_short_axes_of_states_with_coordinates_are_axes_of_the_grid(tmp_path):
    y = np.linspace(0, 0.5, 6)
    u = flow(8, 12)[..., None] * np.cos(y)
    source = open_source(saved(tmp_path / "d.npz", u=u, x=X, y=y))
    assert (source.domain.dim, source.domain.extents) == (2, (1.0, 0.5))
    np.testing.assert_array_equal(source.dataset().a.reshape(8, 11, 32, 6), u[:, :-1])


@pytest.mark.parametrize("shape", [(0, 9, 32), (5, 0, 32), (5, 9, 0), (0, 32), (9, 0), (0,)])
@pytest.mark.parametrize("beside", [{}, {"t": np.arange(9.0)}])
def test_an_array_without_values_is_refused(shape, beside, tmp_path):
    for options in ({}, {"time": 0}):
        with pytest.raises(RaffiaError, match="must hold"):
            open_source(saved(tmp_path / "d.npz", u=np.zeros(shape), **beside), **options)
