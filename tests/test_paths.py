"""Trajectories in memory: the pairs that a file of them would give, and all that follows from these."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import raffia
from raffia import Channels, Dataset, Domain, LocalFeatures, RaffiaError, RandomFeatureModel, Vectors
from raffia.data import open_source
from raffia.problems import AllenCahn, Burgers, KortewegDeVries, KuramotoSivashinsky, NavierStokes, Wave
from raffia.report import report
from raffia.surrogate.holding import Groups, hold
from raffia.surrogate.rollouts import paths_of
from raffia.surrogate.windows import incomplete

CIRCLE = Domain(1)
RNG = np.random.default_rng(0)


def states(*shape):
    """Smooth functions of the last axis that have nothing else to them."""
    x = np.arange(16) / 16
    return np.einsum("...k,kx->...x", RNG.standard_normal((*shape, 4)), [np.cos(2 * np.pi * k * x + k) for k in range(1, 5)])


@pytest.fixture(scope="module")
def flow():
    return Burgers(viscosity=0.05, fine_points=64).trajectories(12, 32, 8, 0.05, seed=0)


@pytest.fixture(scope="module")
def found(flow):
    return raffia.fit(Dataset.of_trajectories(flow, CIRCLE), "local", n_features=32, seed=1)


CASES = {
    "states": (states(5, 9), CIRCLE, {}, None),
    "windows": (states(5, 12), CIRCLE, {"window": 2, "horizon": 3, "stride": 2}, None),
    "channels": (states(5, 9, 2), Channels(CIRCLE, 2), {"window": 2}, None),
    "one": (states(1, 30), CIRCLE, {"window": 3}, None),
    "a parameter": (states(5, 9), CIRCLE, {"window": 2}, RNG.uniform(size=5)),
    "parameters": (states(5, 9, 2), Channels(CIRCLE, 2), {"horizon": 2}, RNG.uniform(size=(5, 3))),
    "vectors": (states(5, 9)[..., :3], Vectors(), {"window": 2}, RNG.uniform(size=5)),
}


@pytest.mark.parametrize("case", CASES)
def test_trajectories_in_memory_are_those_of_a_file(case, tmp_path):
    u, domain, how, numbers = CASES[case]
    how = {"stride": 1, "window": 1} | how
    beside = {} if numbers is None else {"parameters": numbers}
    np.savez(tmp_path / "d.npz", u=u, t=np.arange(u.shape[1]), **beside)
    told = {"input": ["u", *beside], "time": 1, "periodic": None if domain.tabular else True}
    source = open_source(tmp_path / "d.npz", **how, **told)
    file, data = source.dataset(), Dataset.of_trajectories(u, domain, **how, **beside)
    assert torch.equal(data.a, Dataset.of_trajectories(torch.from_numpy(u), domain, **how, **beside).a)
    torch.testing.assert_close(data.a, file.a, rtol=0, atol=0)
    torch.testing.assert_close(data.y, file.y, rtol=0, atol=0)
    assert (data.domain, data.output) == (file.domain, file.output)
    for name in ("stride", "window", "horizon", "fixed", "each", "count"):
        assert getattr(data.along, name) == getattr(file.along, name)
    assert torch.equal(data.along.trajectory, file.along.trajectory)
    assert torch.equal(data.along.first, file.along.first)
    assert raffia.data.schema_for(data, None) == source.schema


def test_a_fit_of_trajectories_in_memory_is_that_of_their_file(flow, found, tmp_path):
    np.savez(tmp_path / "d.npz", u=flow, t=0.05 * np.arange(9))
    other = raffia.fit(tmp_path / "d.npz", "local", n_features=32, seed=1)
    assert found.rows == other.rows
    assert all(set(range(8 * i, 8 * i + 8)) <= set(found.rows) for i in {row // 8 for row in found.rows})
    torch.testing.assert_close(found.rollout.errors, other.rollout.errors)
    assert (found.rollout.bounded, found.rollout.followed) == (other.rollout.bounded, 80)
    assert any("the integral is that of the input" in note for note in found.notes)
    assert found.notes == other.notes
    begin = found.model.schema_.opened(tmp_path / "d.npz", first=True).values
    torch.testing.assert_close(begin, flow[:, 0])


def test_the_page_of_a_fit_in_memory_is_that_of_a_file(found, tmp_path):
    report(found, tmp_path / "page.html", title="Steps in memory")
    page = (tmp_path / "page.html").read_text()
    section = page[page.index("Step after step</h2>") :].partition("</section>")[0]
    assert section.partition("<figure>")[0].count("applied again and again".capitalize()) == 1
    for words in ("correlation with the truth", "Spectra: the mean square", "The median trajectory", "The worst trajectory"):
        assert words in section
    with pytest.raises(RaffiaError, match="none were measured: pass held_out"):
        report(replace(found, test=None), tmp_path / "page.html")


def test_part_of_such_pairs_knows_where_they_lie(flow):
    data = Dataset.of_trajectories(flow, CIRCLE)
    rows = [8 * 3 + k for k in (5, 2, 3, 4)] + [8 * 7 + k for k in range(8)]
    some = data.part(rows)
    assert (some.along.count, some.along.each) == (2, 8)
    paths = paths_of(some, range(len(some)))
    torch.testing.assert_close(paths.states[0], flow[3, 2:7])
    torch.testing.assert_close(paths.states[1], flow[7, :5])
    half = data.part(list(range(16, 64)))
    holding = hold(half, 10, 0, Groups.by_trajectories(half.along, len(half), 10))
    assert len(holding.held) == 8 == len({int(half.along.first[row]) for row in holding.held})


def test_models_take_such_pairs_as_any_others(flow):
    data = Dataset.of_trajectories(flow, CIRCLE)
    model = RandomFeatureModel(LocalFeatures(), 32, 1e-8)
    torch.testing.assert_close(model.fit(*data).coef_, RandomFeatureModel(LocalFeatures(), 32, 1e-8).fit(data.a, data.y).coef_)
    assert len(data) == 96
    assert model.fit(data).score(data.a, data.y) > -0.1


def test_other_trajectories_are_followed_too(flow):
    data, test = Dataset.of_trajectories(flow[:9], CIRCLE), Dataset.of_trajectories(flow[9:], CIRCLE)
    found = raffia.fit(data, "local", n_features=32, test=test)
    assert found.rollout.trajectories == 3
    predicted = found.model.rollout(flow[9:, 0], 8)
    least = 0.1 * data.y.norm(dim=1).square().mean().sqrt()
    wanted = ((predicted - flow[9:])[:, 1:].norm(dim=2) / flow[9:, 1:].norm(dim=2).clamp(min=least)).mean(0)
    torch.testing.assert_close(found.rollout.errors, wanted)


def test_one_long_trajectory_is_held_out_in_blocks():
    turns = np.arange(16) / 16 + 0.06 * np.arange(30)[:, None]
    found = raffia.fit(Dataset.of_trajectories(np.sin(2 * np.pi * turns)[None], CIRCLE), "linear")
    assert "in blocks of consecutive rows" in found.split
    assert found.rollout.errors.max() < 1e-8


def test_parameters_stay_as_they_are_along_a_path():
    """Waves that fall by a factor of their own in a step: u_{k+1} is a product of u_k and a known number."""
    factor = np.repeat([0.5, 0.7, 0.9], 6)
    wave = np.sin(2 * np.pi * np.arange(16) / 16)
    u = RNG.uniform(1, 2, (18, 1, 1)) * factor[:, None, None] ** np.arange(8)[:, None] * wave
    data = Dataset.of_trajectories(u, CIRCLE, parameters=factor)
    assert (data.domain, data.output, data.along.fixed) == (Channels(CIRCLE, 2), CIRCLE, 1)
    found = raffia.fit(data, "local", n_features=64, ridge=1e-10)
    begin = data.a[data.along.first == 0]
    np.testing.assert_allclose(found.model.rollout(begin, 3)[:, 3], u[:, 3], atol=0.02)


def test_a_window_is_added_by_the_state_before():
    u = states(4, 9, 2)
    two = Channels(CIRCLE, 2)
    for how in ({}, {"stride": 2}, {"stride": 1, "horizon": 2, "parameters": RNG.uniform(size=(4, 2))}):
        one, wanted = (Dataset.of_trajectories(u, two, **{"stride": 1} | how, window=window) for window in (1, 2))
        wide = one.widened()
        assert torch.equal(wide.a, wanted.a)
        assert torch.equal(wide.y, wanted.y)
        assert (wide.domain, wide.output_space) == (wanted.domain, wanted.output_space)
        assert torch.equal(wide.along.first, wanted.along.first)


def string(n=16, count=14):
    """Displacements of a string without its velocities."""
    t, x = 0.3 * np.arange(count)[:, None], np.arange(24) / 24
    waves = [np.cos(k * t + p) * np.cos(2 * np.pi * k * (x - q)) for k in (1, 2, 3) for p, q in ((0, 0), (1, 0.1), (2, 0.2))]
    return np.einsum("ni,itx->ntx", RNG.standard_normal((n, len(waves))), np.stack(waves))


def pendulum():
    """Angles and velocities of a pendulum: (20, 31, 2)."""
    state, path = torch.from_numpy(1.5 * RNG.standard_normal((20, 2))), []
    for step in range(301):
        if step % 10 == 0:
            path.append(state)
        velocity = state[:, 1] - 0.005 * state[:, 0].sin()
        angle = state[:, 0] + 0.01 * velocity
        state = torch.stack([angle, velocity - 0.005 * angle.sin()], 1)
    return torch.stack(path, 1)


def why(u, domain, **how):
    data = Dataset.of_trajectories(u, domain, **how)
    return incomplete(data, range(len(data)))


def test_displacements_do_not_tell_where_things_go_and_two_of_them_do():
    assert "So inputs are two states; --window 1 (window=1) takes one." in why(string(), CIRCLE)
    assert why(string() + 0.02 * RNG.standard_normal((16, 14, 24)), CIRCLE)
    assert why(Wave(domain=CIRCLE).trajectories(12, 32, 10, 0.05, seed=0), CIRCLE)
    assert why(Wave().trajectories(8, 16, 8, 0.05, seed=0), Domain(2))
    assert why(pendulum()[..., :1], Vectors())
    assert why(string(), CIRCLE, parameters=RNG.uniform(size=16))
    assert why(string(), CIRCLE, horizon=2)
    assert not why(string(), CIRCLE, window=1)


EQUATIONS = [
    Burgers(fine_points=64),
    KortewegDeVries(),
    KuramotoSivashinsky(),
    NavierStokes(fine_points=32),
    AllenCahn(fine_points=32),
]


@pytest.mark.parametrize("share", [pytest.param(1.0, marks=pytest.mark.slow), 0.1, pytest.param(0.01, marks=pytest.mark.slow)])
@pytest.mark.parametrize("problem", EQUATIONS)
def test_states_of_evolution_equations_are_complete(problem, share):
    points, n = (16, 6) if problem.domain.dim == 2 else (64, 10)
    with warnings.catch_warnings(action="ignore"):  # such grids are coarse
        u = problem.trajectories(n, points, 8, share * problem.times[-1], seed=0)
    assert not why(u, problem.domain)


def test_displacements_with_velocities_are_complete():
    assert not why(pendulum(), Vectors())
    assert not why(Wave(domain=CIRCLE, velocity=True).trajectories(12, 32, 10, 0.05, seed=0), Channels(CIRCLE, 2))


def test_a_string_in_memory_has_a_window_and_goes_on():
    u = string(24)
    found = raffia.fit(Dataset.of_trajectories(u, CIRCLE), "linear")
    assert found.model.schema_.steps.window == 2
    path = found.model.rollout(torch.from_numpy(u[:, :2]), 6)
    np.testing.assert_allclose(path, u[:, 1:8], atol=1e-8)


def test_the_size_of_noise_is_noted_and_every_step_is_taken():
    u = 0.01 * RNG.standard_normal((4, 24, 16)) + np.sin(2 * np.pi * (np.arange(16) / 16 - 0.002 * np.arange(24)[:, None]))
    data = Dataset.of_trajectories(u, CIRCLE)
    assert data.along.stride == 1
    assert data.along.notes[0].startswith("values have noise of about 0.01")
    assert data.along.notes[0] in raffia.fit(data, "linear").notes


U = states(3, 6)
NAN = U.copy()
NAN[1, 4, 2] = np.nan
BAD = {
    "u must have shape (trajectories, states, points), with one state or more; got (6, 16). One trajectory is u[None]": (U[0], CIRCLE, {}),
    "where axis 2 counts channels, domain is Channels(Domain(…), count)": (states(3, 6, 2), CIRCLE, {}),
    "has 1 state along axis 1, and pairs need 2 or more": (U[:, :1], CIRCLE, {}),
    "has 6 states along axis 1, and pairs need 9 or more": (U, CIRCLE, {"stride": 4, "window": 2}),
    "hold NaN or infinite values, the first is u[1]": (NAN, CIRCLE, {}),
    "in equal steps; they are 1 to 4 apart. Interpolate u": (U, CIRCLE, {"times": [0, 1, 2, 6, 7, 8]}),
    "times must be numbers, one for each of 6 states, along axis 1 of u; got [0, 1, 2].": (U, CIRCLE, {"times": [0, 1, 2]}),
    "parameters must hold for whole trajectories, shape (3,) or (3, numbers); got (2,).": (U, CIRCLE, {"parameters": np.ones(2)}),
    "parameters must be finite": (U, CIRCLE, {"parameters": np.array([1, np.nan, 2])}),
    "u must be float32 or float64; got int64.": (np.ones((3, 6, 16), int), CIRCLE, {}),
    "u must be a NumPy array or a torch tensor; got str.": ("u.npy", CIRCLE, {}),
    "domain must be the space of a state, such as Domain(1), or Vectors() for numbers, with u[..., None]; got 'circle'.": (U, "circle", {}),
    "or Vectors() for numbers, with u[..., None]; got Domain(dim=0": (U[..., 0], Domain(0), {}),
    "stride must be a positive integer": (U, CIRCLE, {"stride": 0}),
    "u must hold at least one sample along its first axis; got shape (0, 6, 16)": (U[:0], CIRCLE, {}),
    "u must hold states of Channels(of=Domain(dim=1, periodic=True, extent=1.0), count=3)": (states(3, 6, 2), Channels(CIRCLE, 3), {}),
}  # fmt: skip


@pytest.mark.parametrize("words", BAD)
def test_what_cannot_be_trajectories_is_refused(words):
    u, domain, how = BAD[words]
    with pytest.raises(RaffiaError) as error:
        Dataset.of_trajectories(u, domain, **how)
    assert words in str(error.value)


def test_pairs_that_are_of_no_trajectories_have_no_states_before_them():
    with pytest.raises(RaffiaError, match="only pairs of trajectories have states before them"):
        Dataset(U[:, 0], U[:, 1], CIRCLE).widened()
    with pytest.raises(RaffiaError, match="must be of all 3 pairs; it is of 15"):
        Dataset(U[:, 0], U[:, 1], CIRCLE, along=Dataset.of_trajectories(U, CIRCLE).along)


def test_files_are_read_with_a_window_that_was_chosen_as_with_one_that_was_asked_for(tmp_path):
    u, v, numbers = string(6), string(6), RNG.uniform(size=(6, 2))
    np.savez(tmp_path / "d.npz", u=u, v=v, nu=numbers, t=0.3 * np.arange(14), x=np.arange(24) / 24)
    one, two = (open_source(tmp_path / "d.npz", input=["u", "v", "nu"], stride=1, window=window) for window in (1, 2))
    wide = one.dataset().widened()
    assert raffia.data.schema_for(wide, one) == two.schema
    assert torch.equal(wide.a, two.dataset().a)
    assert wide.along.fixed == 2


def test_a_test_on_another_grid_is_compared_with_the_mean_there(flow):
    found = raffia.fit(
        Dataset.of_trajectories(flow[:9], CIRCLE),
        "local",
        n_features=16,
        test=Dataset.of_trajectories(flow[9:, :, ::2], CIRCLE),
    )
    data, test = Dataset.of_trajectories(flow[:9], CIRCLE), Dataset.of_trajectories(flow[9:], CIRCLE)
    there = raffia.fit(data, "local", n_features=16, test=test)
    of_mean = [float(one.simpler["the training mean"].relative.mean()) for one in (found, there)]
    assert of_mean[0] == pytest.approx(of_mean[1], rel=1e-3)


@pytest.mark.parametrize("how", [{"stride": 2}, {"window": 2}, {"horizon": 2}])
def test_a_test_of_other_steps_is_refused(flow, how):
    data, test = Dataset.of_trajectories(flow[:9], CIRCLE, stride=1), Dataset.of_trajectories(flow[9:], CIRCLE, **how)
    with pytest.raises(RaffiaError, match="a stride of 2, the data have 1" if "stride" in how else "must be of one kind"):
        raffia.fit(data, "linear", test=test)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_states_that_are_all_equal_are_refused(value):
    for features in ("auto", "local"):
        with pytest.raises(RaffiaError, match="inputs are equal, value for value, all 72: there is nothing to learn"):
            raffia.fit(Dataset.of_trajectories(np.full((8, 10, 16), value), CIRCLE), features, n_features=16, effort="quick")


def test_labels_of_trajectories_are_those_of_their_pairs(flow):
    data, species = Dataset.of_trajectories(flow, CIRCLE), np.repeat(["one", "two", "three", "four"], 3)
    found = raffia.fit(data, "linear", groups=species, held_out=24)
    assert len(set(found.groups)) == 1
    assert found.rows == [row for row in range(96) if species[row // 8] == found.groups[0]]
    assert found.rows == raffia.fit(data, "linear", groups=np.repeat(species, 8), held_out=24).rows


def test_a_stride_must_leave_the_states_of_a_pair():
    with pytest.raises(RaffiaError, match=r"pairs need 33 or more.* horizon=8 .--horizon. and stride=4"):
        Dataset.of_trajectories(RNG.standard_normal((6, 18, 16)), CIRCLE, stride=4, horizon=8)


@pytest.mark.parametrize(
    "of", [lambda u: u[:, ::-1][:, ::-1], lambda u: u.astype(">f8"), np.ndarray.tolist], ids=["views", "bytes", "lists"]
)
def test_numbers_in_other_orders_are_the_same_numbers(of):
    u = states(3, 6)
    a, wanted = Dataset.of_trajectories(of(u), CIRCLE, stride=np.int64(2)), Dataset.of_trajectories(u, CIRCLE, stride=2)
    assert a.a.dtype == torch.float64
    assert torch.equal(a.a, wanted.a)
    flipped = Dataset.of_trajectories(u[:, ::-1], CIRCLE, stride=1)
    np.testing.assert_array_equal(flipped.a[0], u[0, -1])


def test_what_are_no_numbers_is_refused():
    u = states(3, 6)
    for words, told in (
        ("times must be numbers", {"times": "abc"}),
        ("^times must be one after the other", {"times": np.arange(6) ** 2}),
        ("stride must be a positive integer", {"stride": True}),
    ):
        with pytest.raises(RaffiaError, match=words):
            Dataset.of_trajectories(u, CIRCLE, **told)
    with pytest.raises(RaffiaError, match="masked"):
        Dataset.of_trajectories(np.ma.masked_array(u), CIRCLE)
    with pytest.raises(RaffiaError, match="u must be a NumPy array or a torch tensor; got list"):
        Dataset.of_trajectories([[1.0], [1.0, 2.0]], CIRCLE)
