"""Models of one time step: whole trajectories are held out, and followed step after step."""

import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

import raffia
from raffia import Burgers, Domain, load
from raffia.cli import main
from raffia.data import open_source, write_trajectories
from raffia.model.time_stepping import Marching
from raffia.model.trained import WorkPlan
from raffia.problems import Scenario
from raffia.surrogate.budget import Clock
from raffia.surrogate.candidates import named
from raffia.surrogate.entries import Contest, Entry
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.options import ModelOptions
from raffia.surrogate.plan import Choice, Request
from raffia.surrogate.rollouts import Paths, Rollout, paths_of, rolled_out, stays_bounded
from raffia.surrogate.stability import stabilise

CIRCLE = raffia.Domain(1)


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
    paths = paths_of(open_source(file).dataset(), found.rows)
    np.testing.assert_array_equal(paths.states, u[held])
    np.testing.assert_array_equal(paths.begin, u[held, 0])


def test_errors_of_a_rollout_are_those_of_the_composed_model(found, file):
    paths = torch.from_numpy(np.load(file)["u"][:3])
    domain = found.test.domain
    rollout = rolled_out(found.model, Paths(paths[:, 0], paths, Marching(domain, domain)), 8)
    third = found.model.compose(paths[:, 0], 3)
    wanted = ((third - paths[:, 3]).norm(dim=1) / paths[:, 3].norm(dim=1)).mean()
    torch.testing.assert_close(rollout.errors[2], wanted)


def test_the_entry_of_the_least_error_along_noisy_trajectories_leads():
    u = Scenario(points=48, fine_points=48).trajectories(16, points=48, steps=12, dt=1.0, seed=0)
    noisy = u + 0.01 * u.std() * torch.randn(u.shape, dtype=u.dtype, generator=torch.Generator().manual_seed(0))
    data = raffia.Dataset.of_trajectories(noisy, CIRCLE)
    pairs, guess = ExamplePairs.of(data), torch.zeros(8, 48)
    local, products = (
        Entry(named(name, pairs.a, pairs.y, CIRCLE, CIRCLE), torch.full((8,), error), guess, seconds=0.0, found="")
        for name, error in (("local", 0.0150), ("products", 0.0155))
    )
    request = Request(
        features="auto", options=ModelOptions(n_features=64), clock=Clock(WorkPlan(seconds=60.0, compared=512), 0.0)
    )
    held = Contest([local, products], n_train=100, n_validation=8)
    assert held.best is local
    assert request.led_along(held, pairs, paths_of(data, range(len(data)))).best is products


def standing_waves(n=16, states=14):
    """Displacements of a string without its velocities: one state does not tell the next, two do."""
    rng, t, x = np.random.default_rng(0), 0.3 * np.arange(states)[:, None], np.arange(24) / 24
    waves = [np.cos(k * t + p) * np.cos(2 * np.pi * k * (x - q)) for k in (1, 2, 3) for p, q in ((0, 0), (1, 0.1), (2, 0.2))]
    return np.einsum("ni,itx->ntx", rng.standard_normal((n, len(waves))), np.stack(waves))


@pytest.mark.parametrize(("window", "horizon", "stride"), [(2, 1, 1), (2, 3, 1), (3, 2, 2), (2, 1, 2)])
def test_windows_are_shifted_and_horizons_kept_along_a_path(tmp_path, window, horizon, stride):
    """Standing waves obey a linear recurrence of two steps, which a linear model of two states finds exactly."""
    u = standing_waves(24)
    np.savez(tmp_path / "d.npz", u=u, t=0.3 * np.arange(14))
    source = open_source(tmp_path / "d.npz", window=window, horizon=horizon, stride=stride)
    found = raffia.fit(source, "linear")
    found.model.save(tmp_path / "m.safetensors")
    model = load(tmp_path / "m.safetensors")
    begin = model.schema_.opened(tmp_path / "d.npz", first=True).values
    truth = u[:, (window - 1) * stride :: stride]
    path = model.rollout(begin, 7, every=2)
    assert path.shape == (24, 4, 24)
    np.testing.assert_allclose(path[:, : len(truth[0, ::2])], truth[:, ::2][:, :4], atol=1e-8)
    np.testing.assert_array_equal(torch.stack([*islice(model.states(begin), 3)], 1), model.rollout(begin, 2))
    assert len(found.rollout.errors) == found.rollout.truth.shape[1] - 1
    assert found.rollout.errors.max() < 1e-8
    assert found.rollout.bounded


def test_one_state_does_not_tell_where_a_string_goes_so_two_are_taken(tmp_path, found):
    u = standing_waves(24)
    np.savez(tmp_path / "d.npz", u=u, t=0.3 * np.arange(14))
    of_two = raffia.fit(tmp_path / "d.npz", "linear")
    assert any(note.startswith("a state does not tell the next") and "--window 1" in note for note in of_two.notes)
    assert of_two.rollout.errors.max() < 1e-8
    assert of_two.model.schema_ == open_source(tmp_path / "d.npz", window=2).schema
    held = {row // 12 for row in of_two.rows}  # of 14 states there are 12 windows of two that lead on
    assert sorted(of_two.rows) == [row for row in range(24 * 12) if row // 12 in held]
    np.testing.assert_array_equal(of_two.test.a, np.stack([u[:, :-2], u[:, 1:-1]], 2).reshape(-1, 2, 24)[of_two.rows])
    of_one = raffia.fit(open_source(tmp_path / "d.npz", window=1), "linear")
    assert of_one.rollout.errors[0] > 0.1
    assert "two states" not in " ".join(
        [*of_one.notes, *found.notes]
    )  # as was said; and states of Burgers' equation are complete


def test_of_streams_whole_trajectories_are_held_out_and_followed(tmp_path):
    u = standing_waves(24)
    np.savez(tmp_path / "d.npz", u=u, t=0.3 * np.arange(14))
    found = raffia.fit(open_source(tmp_path / "d.npz", window=2), "fourier", n_features=16, held_out=30, stream=True)
    assert found.rows == list(range(22 * 12, 24 * 12))
    assert found.rollout.trajectories == 2
    np.testing.assert_array_equal(found.rollout.truth.sort(0).values, np.sort(u[-2:, 1:], axis=0))


def test_what_is_fixed_stays_along_a_path(tmp_path):
    """Waves that turn by an angle of their own in a step: u_{k+1} is a product of u_k and a known number."""
    rng, angle = np.random.default_rng(1), np.repeat([0.5, 0.7, 0.9], 6)
    u = rng.uniform(1, 2, (18, 1, 1)) * angle[:, None, None] ** np.arange(8)[:, None] * np.sin(2 * np.pi * np.arange(16) / 16)
    np.savez(tmp_path / "d.npz", u=u, t=np.arange(8.0), angle=angle)
    source = open_source(tmp_path / "d.npz", periodic=True)
    assert source.steps.fixed == ("angle",)
    found = raffia.fit(source, "local", n_features=64, ridge=1e-10)
    begin = found.model.schema_.opened(tmp_path / "d.npz", first=True).values
    states = list(islice(found.model.states(begin), 4))
    assert all(state.shape == (18, 16) for state in states)
    np.testing.assert_allclose(states[3], u[:, 3], atol=0.02)


def test_channels_of_states_go_on_together(tmp_path):
    u = np.stack([standing_waves(24), -2 * standing_waves(24)], axis=2)
    np.savez(tmp_path / "d.npz", u=u, t=0.3 * np.arange(14))
    found = raffia.fit(open_source(tmp_path / "d.npz", window=2, horizon=2), "linear")
    begin = found.model.schema_.opened(tmp_path / "d.npz", first=True).values
    np.testing.assert_allclose(found.model.rollout(begin, 5), u[:, 1:7], atol=1e-8)
    assert found.rollout.space.channels == 2


def test_vectors_and_numbers_are_states_too(tmp_path):
    t = 0.2 * np.arange(30)
    phase = np.random.default_rng(0).uniform(0, 6, (10, 1))
    np.savez(tmp_path / "d.npz", u=np.stack([np.cos(t + phase), np.sin(t + phase)], axis=2), t=t)
    found = raffia.fit(open_source(tmp_path / "d.npz", horizon=2), "linear")
    assert found.rollout.errors.max() < 1e-8
    assert "correlation" not in found.rollout.words
    np.savez(tmp_path / "e.npz", u=np.cos(t + phase), t=t)
    found = raffia.fit(open_source(tmp_path / "e.npz", time=1, window=2, horizon=3), "linear")
    begin = found.model.schema_.opened(tmp_path / "e.npz", first=True).values
    np.testing.assert_allclose(found.model.rollout(begin, 9), np.cos(t + phase)[:, 1:11], atol=1e-8)


def test_models_that_take_more_than_they_give_are_not_rolled_out():
    a = torch.randn(12, 2, 16, dtype=torch.float64)
    space = raffia.Channels(raffia.Domain(1), 2)
    model = raffia.RandomFeatureModel(raffia.LocalFeatures(domain=space), 8, 1e-3).fit(a, a[:, 0])
    with pytest.raises(raffia.RaffiaError, match="applied again and again where outputs are inputs"):
        model.rollout(a, 2)


def test_a_path_that_is_lost_has_infinite_errors_and_no_correlation():
    domain = raffia.Domain(1)
    a = raffia.GaussianField(n_modes=6).sample(40, domain.grid(32), seed=0)
    model = raffia.RandomFeatureModel(raffia.ScalarFeatures(None, law="affine"), math.inf, 1e-4).fit(a, 1e120 * a)
    rollout = rolled_out(model, Paths(a[:3], a[:3, None].expand(3, 6, 32), Marching(domain, domain)), 5)
    assert rollout.errors[0] == pytest.approx(1e120, rel=0.1)
    assert rollout.errors[-1] == math.inf
    assert rollout.correlations[-1] == 0
    assert not rollout.bounded


def multiplying(factor):
    """A linear model of u ↦ factor·u, and states."""
    a = raffia.GaussianField(n_modes=6).sample(12, CIRCLE.grid(32), seed=0)
    return raffia.RandomFeatureModel(raffia.ScalarFeatures(None, law="affine"), math.inf, 1e-9).fit(a, factor * a), a


def test_a_path_that_grows_beyond_all_numbers_leaves_the_others_alone():
    model, a = multiplying(1.5)
    wild = a.clone()
    wild[3] *= 1e300
    with pytest.warns(UserWarning, match=r"from step (\d+) on some are not finite, 1 of 12 paths: 3 \(step \1\)") as told:
        path = model.rollout(wild, 60, every=5)
    step = int(str(told[0].message).split()[2])
    assert (path[3].isfinite().all(1) == (5 * torch.arange(13) < step)).all()
    calm = [row for row in range(12) if row != 3]
    torch.testing.assert_close(path[calm], model.rollout(a[calm], 60, every=5))
    states = torch.stack([*islice(model.states(wild), 61)], 1)
    assert (states[3].isfinite().all(1) == (torch.arange(61) < step)).all()
    with pytest.raises(raffia.RaffiaError, match=r"samples hold NaN or infinite values, the first is a\[3\]"):
        model.rollout(torch.where(torch.arange(12)[:, None] == 3, torch.inf, a), 2)


def test_errors_along_other_trajectories_do_not_depend_on_one_that_is_lost():
    model, a = multiplying(1.5)
    truth = torch.stack([1.5**k * a for k in range(21)], 1)
    wild = Paths(torch.cat([1e306 * a[:1], a[1:4]]), truth[:4], Marching(CIRCLE, CIRCLE))
    rollout = rolled_out(model, wild, 20)
    assert rollout.lost == 1
    assert "predictions for 1 of them did not stay finite" in rollout.words
    reached = torch.stack([*islice(wild.followed_by(model), 21)], 1)
    torch.testing.assert_close(reached[1:], torch.stack([*islice(wild.part(slice(1, 4)).followed_by(model), 21)], 1))
    assert not rollout.bounded


def test_a_state_on_the_way_may_end_where_it_begins():
    """Users are asked whether a periodic grid repeats its first point; what a model predicts is not."""
    x = torch.arange(16, dtype=torch.float64) / 16
    even = torch.cos(2 * torch.pi * (x - 15 / 32))  # as large in the first point as in the last
    a = raffia.GaussianField(n_modes=4).sample(30, CIRCLE.grid(16), seed=0)
    model = raffia.RandomFeatureModel(raffia.ScalarFeatures(None, law="affine"), math.inf, 1e-12).fit(a, 0 * a + even)
    torch.testing.assert_close(model.rollout(a[:4], 3)[:, 3], even.expand(4, 16), atol=1e-8, rtol=0)


def test_a_path_of_its_start_alone_is_refused():
    model, a = multiplying(0.5)
    with pytest.raises(raffia.RaffiaError, match="every must be at most steps=5"):
        model.rollout(a, 5, every=9)


def test_numbers_are_followed_from_one_state_as_from_two(tmp_path):
    """Numbers that are halved in a step: inputs are vectors of one component, outputs are numbers."""
    u = np.random.default_rng(0).uniform(1, 2, (12, 1)) * 0.5 ** np.arange(8)
    np.savez(tmp_path / "d.npz", v=u)
    found = raffia.fit(open_source(tmp_path / "d.npz", time=1, window=1), "linear")
    assert found.rollout.errors.max() < 1e-8
    np.testing.assert_allclose(found.model.rollout(u[:, :1], 7), u, atol=1e-8)


def test_errors_of_small_states_are_relative_to_the_usual_size_as_in_tables():
    """After one step errors are those of the table: of states that vanish, relative to a tenth of the root mean square norm."""
    model, a = multiplying(0.5)
    u = torch.stack([a, 1e-3 * a, 0 * a, 0 * a], 1)
    paths, outputs = Paths(a, u, Marching(CIRCLE, CIRCLE)), 2 * a
    rollout = rolled_out(model, paths, 3, outputs)
    usual = outputs.norm(dim=1).square().mean().sqrt()
    for step, error in enumerate(rollout.errors, 1):
        off = (model.compose(a, step) - u[:, step]).norm(dim=1)
        torch.testing.assert_close(error, (off / (0.1 * usual).clamp(min=u[:, step].norm(dim=1))).mean())
    sizes = raffia.metrics.Sizes.of(outputs, CIRCLE.grid(32))
    coarse = Paths(a[:, ::2], u[..., ::2], Marching(CIRCLE, CIRCLE))
    torch.testing.assert_close(rolled_out(model, coarse, 3, outputs).errors, rollout.errors, rtol=1e-3, atol=1e-9)
    torch.testing.assert_close(rollout.errors[0], sizes.errors(u[:, 1], model.predict(a), CIRCLE.grid(32)).relative.mean())


def test_parts_of_one_long_trajectory_are_not_called_trajectories():
    u = standing_waves(1, 80)
    found = raffia.fit(raffia.Dataset.of_trajectories(u, CIRCLE, window=2), "linear")
    assert "on 2 parts of 1 trajectory held out" in found.rollout.words
    other = raffia.Dataset.of_trajectories(standing_waves(2, 14), CIRCLE, window=2)
    tested = raffia.fit(raffia.Dataset.of_trajectories(u, CIRCLE, window=2), "linear", test=other)
    assert "on 2 trajectories held out" in tested.rollout.words


def test_the_steps_until_predictions_are_no_longer_alike_are_counted():
    correlations = torch.tensor([0.99, 0.95, 0.7, 0.95])
    rollout = Rollout(torch.ones(4), correlations, 2, 40, True)
    assert rollout.alike == 2
    assert "correlation above 0.9 for 2 of them; over 40 steps values stayed bounded" in rollout.words


def growing(ridge, features=None, count=math.inf):
    """A trained choice of a model of u ↦ 1.05 u, which grows until a ridge takes a share away, and paths of it."""
    a = raffia.GaussianField(n_modes=6).sample(40, CIRCLE.grid(32), seed=0)
    model = raffia.RandomFeatureModel(features or raffia.ScalarFeatures(None, law="affine"), count, ridge).fit(a, 1.05 * a)
    return Choice(model), Paths(a, torch.stack([a, 1.05 * a], 1), Marching(CIRCLE, CIRCLE))


def test_a_model_that_grows_is_steadied_by_larger_ridges():
    choice, paths = growing(1e-4)
    assert not stays_bounded(choice.model, paths, 60)
    steady, words = stabilise(choice, [], paths, 6)
    assert words == "ridges are 100 times as large, so that values stay bounded step after step."
    assert stays_bounded(steady.model, paths, 60, slice(8))
    assert steady.model.ridge_ == pytest.approx(1e-2)


def test_of_two_models_that_grow_together_the_better_is_taken_alone():
    (calm, paths), (wild, _) = growing(1e-2), growing(1e-9)
    together = Choice(calm.model, (wild.model, 0.9))
    assert not stays_bounded(together.joined(), paths, 60)
    steady, words = stabilise(together, [], paths, 6)
    assert words == "the better of two models is taken alone, so that values stay bounded step after step."
    assert steady.partner is None
    assert stays_bounded(steady.joined(), paths, 60, slice(8))


def test_where_ridges_do_not_help_other_features_are_taken():
    (choice, paths), (calm, _) = growing(1e-9), growing(1e-2)
    tried = []

    def others():
        for name, other in (("wild", choice), ("calm", calm), ("never", calm)):
            tried.append(name)
            yield name, other

    steady, words = stabilise(choice, others(), paths, 6)
    assert steady is calm
    assert words == "calm features are taken, so that values stay bounded step after step."
    assert tried == ["wild", "calm"]


def test_a_model_that_cannot_be_steadied_is_left_as_it_was():
    choice, paths = growing(1e-9)
    before = choice.model.predict(paths.begin)
    steady, words = stabilise(choice, [], replace(paths, states=1e-9 * paths.states), 8)  # everything is large beside these
    assert (steady, words) == (choice, "")
    torch.testing.assert_close(choice.model.predict(paths.begin), before)


def test_what_trajectories_conserve_is_conserved_and_told(tmp_path):
    problem = Scenario((0.0, 0.0, 1.5), 1.5, points=64, fine_points=64)
    u = problem.trajectories(8, 64, 6, 1.0, seed=0) + torch.linspace(-1, 1, 8).double()[:, None, None]
    write_trajectories(tmp_path / "u.npz", u, problem.domain.grid(64), 1.0, {})
    fitted = raffia.fit(tmp_path / "u.npz", features="local", n_features=16)
    assert any("the integral is that of the input" in note for note in fitted.notes)
    path = torch.as_tensor(fitted.model.rollout(u[:, 0], 6))
    torch.testing.assert_close(path.mean(-1), path[:, :1].mean(-1).expand(-1, 7), atol=1e-13, rtol=0)


def test_states_with_an_axis_for_their_one_channel_are_rolled_out_with_it():
    u = np.random.default_rng(0).standard_normal((6, 5, 16))
    model = raffia.fit(raffia.Dataset.of_trajectories(u, Domain(1)), "linear").model
    np.testing.assert_array_equal(model.rollout(u[:, :1], 3), model.rollout(u[:, 0], 3)[:, :, None])


@pytest.mark.parametrize("how", ["plain", "parameters", "window", "horizon"])
@pytest.mark.parametrize("features", ["kernel", "linear", "local"])
def test_every_kind_of_steps_keeps_the_integrals_that_the_data_keep(features, how):
    rng, k = np.random.default_rng(0), 2 * np.pi * np.fft.rfftfreq(16, 1 / 16)
    rates = rng.uniform(0.005, 0.03, 12)
    start = np.fft.rfft(rng.normal(1, 1, (12, 1)) + rng.normal(size=(12, 16))) * np.exp(-((k / 20) ** 2))
    decay = np.exp((-rates[:, None] * k**2 - 1j * k) * 0.05)  # of advection and diffusion, which keep the mean
    u = np.stack([np.fft.irfft(start * decay**t, 16) for t in range(8)], 1)
    more = {"plain": {}, "parameters": {"parameters": rates}, "window": {"window": 2}, "horizon": {"horizon": 2}}[how]
    data = raffia.Dataset.of_trajectories(u, Domain(1), **more)
    model = raffia.fit(data, features, n_features=16).model
    path = torch.as_tensor(model.rollout(data.a[data.along.starts[:3]], 10))
    assert (path.mean(-1) - path[:, :1].mean(-1)).abs().max() < 1e-14 * path.abs().max()


def test_the_command_says_how_it_does_step_after_step_and_the_page_shows_it(file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["raffia", "fit", str(file), "--map", "local", "--features", "32", "-o", "m.safetensors"])
    with pytest.raises(SystemExit) as stop:
        main()
    out = " ".join(capsys.readouterr().out.split())
    assert not stop.value.code
    assert "applied again and again, on" in out
    page = (tmp_path / "m.html").read_text()
    section = page[page.index("Step after step</h2>") :].partition("</section>")[0]
    for words in ("correlation with the truth", "Spectra: the mean square", "The median trajectory", "The worst trajectory"):
        assert words in section
    assert section.count("<img") == 4
    assert "raffia rollout m.safetensors inputs.npy" in page
    assert load(tmp_path / "m.safetensors").schema_.steps.axis == 1


def test_the_model_that_is_saved_stays_bounded_if_the_one_that_was_followed_does(tmp_path, monkeypatch):
    """Training on all pairs is undone where it makes values grow."""
    u = standing_waves(24)
    np.savez(tmp_path / "d.npz", u=u, t=0.3 * np.arange(14))
    source = open_source(tmp_path / "d.npz", window=2)
    whole = Choice.extended

    def grown(choice, data, held):
        model = whole(choice, data, held)
        trained = model.trained_
        return model.adopt(replace(trained, solution=replace(trained.solution, coef=3 * trained.solution.coef)))

    monkeypatch.setattr(Choice, "extended", grown)
    found = raffia.fit(source, "linear")
    assert found.rollout.bounded
    path = found.model.rollout(u[:, :2], 60)
    assert np.abs(path).max() < 10 * np.abs(u).max()
