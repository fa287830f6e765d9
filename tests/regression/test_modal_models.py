"""Modal coefficients are least squares in every mode: against dense problems, refits and other grids."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone

from raffia import (
    Burgers,
    Channels,
    Darcy,
    Domain,
    FourierFeatures,
    GaussianField,
    Mesh,
    PredictorCorrectorFeatures,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    load,
    resample,
)
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import Modal
from raffia.model.preprocessing import Prepared
from raffia.regression import ModalDual, ModalEquations, modal_left_out, unpacked
from raffia.solvers import Cholesky
from raffia.spaces import interpolate
from raffia.tuning import GradientSearch, objective_for

SQUARE = Domain(2, periodic=False)
SHAPE = {"profile": "matern", "amplitude": 1.0, "tau": 10.0, "bias": 0.5, "activation": "tanh"}
MESH = Mesh(torch.rand(25, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), domain=SQUARE)
SPACES = {
    "line": (Domain(1), (12,)),
    "odd line": (Domain(1, extent=2.0), (9,)),
    "torus": (Domain(2), (6, 5)),
    "even torus": (Domain(2), (4, 6)),
    "box": (Domain(1, periodic=False), (9,)),
    "square": (SQUARE, (5, 6)),
    "square, zero at its boundary": (SQUARE, (6, 7)),
    "channel": (Domain(2, axes=("periodic", "box")), (6, 5)),
    "channel, zero at its boundary": (Domain(2, axes=("box", "periodic"), extent=(1.0, 3.0)), (6, 5)),
    "cells": (Domain(1, axes="cells"), (9,)),
    "mesh": (MESH, (25,)),
    "channels": (Channels(Domain(1), 2), (2, 8)),
    "channels on a mesh": (Channels(MESH, 2), (2, 25)),
}


def _rough(shape, seed, n):
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _pairs(name, n=10):
    shape = SPACES[name][1]
    a, noise = _rough(shape, 1, n), _rough(shape, 2, n)
    y = torch.sin(2 * a) + 0.3 * a.roll(1, -1) + 0.1 * noise
    if "zero" in name:
        y[:, [0, -1]] = 0
        if not SPACES[name][0].kinds[1].periodic:
            y[:, :, [0, -1]] = 0
    return a, y


def _model(name, m=6, ridge=1e-2, **more):
    return RandomFeatureModel(FourierFeatures(6, domain=SPACES[name][0], **SHAPE), m, ridge, coefficients="modal", **more)


def _projected(model, f):
    """P_k f for all modes k, by synthesis of one coefficient at a time: (modes, *f.shape)."""
    modes, nodes = model.trained_.frame.modes, model.output_grid_.one_channel
    c = modes.analysis(f, nodes)
    one = torch.eye(modes.count, dtype=c.dtype)
    return torch.stack([modes.synthesis(c * row, nodes) for row in one])


def _quarter(model, f):
    """The functions whose coefficients are i times those of P_k f: with them, complex coefficients are real ones."""
    modes, nodes = model.trained_.frame.modes, model.output_grid_.one_channel
    c = modes.analysis(f, nodes)
    return torch.stack([modes.synthesis(1j * c * row, nodes) for row in torch.eye(modes.count, dtype=c.dtype)])


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [4, 12])
def test_predictions_are_those_of_dense_least_squares_with_projected_features(name, n):
    """The features P_k φ_j, and their quarter turns where modes are complex, with a ridge on all; few samples and many."""
    (a, y), ridge = _pairs(name, n), 1e-2
    model = _model(name).fit(a, y)
    grid = model.output_grid_.one_channel
    theta = model.settings.theta(a)
    phi = model.feature_map(a, theta)
    own = model.trained_.frame.gains.reshape(-1, *[1] * len(grid.shape)) * a.reshape(n, -1, *grid.shape)
    modes = model.trained_.frame.modes
    sizes = 10 * len(theta) ** 0.5 * model.trained_.frame.mode_sizes
    ones = modes.synthesis(sizes.to(model.coef_.dtype), grid)
    parts = torch.cat([phi, own, ones.expand(n, 1, *grid.shape)], dim=1)
    features = _projected(model, parts)
    if model.coef_.is_complex():
        features = torch.cat([features, _quarter(model, parts)])
    rows = grid.embed(features).permute(0, 2, 1, 3).flatten(0, 1).flatten(1)  # all columns, (columns, n · points)
    m = len(theta)
    fitted = []
    for target in grid.embed(y.reshape(n, -1, *grid.shape)).unbind(1):
        gram = rows @ rows.mT / m + ridge * _weights(model, len(rows))
        fitted.append((torch.linalg.solve(gram, rows @ target.flatten()) @ rows / m).reshape(n, -1))
    values = grid.unembed(torch.stack(fitted, 1))
    torch.testing.assert_close(model.predict(a).reshape(values.shape), values, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:Darcy is not resolved")
def test_inputs_far_larger_than_features_do_not_round_off_what_is_found():
    """A change of the inputs by their last bit changes predictions by little more, though a is 1,000 times as large as φ."""
    a, y = Darcy(fine_points=33).dataset(30, 9, seed=0)
    model = RandomFeatureModel(PredictorCorrectorFeatures(n_modes=64), 60, "auto", coefficients="modal")
    first = model.fit(a, y).predict(a)
    again = model.fit(a * (1 + 1e-14 * torch.randn(a.shape, generator=torch.Generator().manual_seed(0)).double()), y).predict(a)
    torch.testing.assert_close(again, first, rtol=1e-7, atol=1e-7 * float(first.abs().max()))


def _weights(model, columns):
    """The ridge counts once for α(k); a block that stands for ψ_k and ψ_−k has two equal terms, and α is two real numbers."""
    modes = model.trained_.frame.modes
    twice = modes.twice(modes.grid)
    return torch.diag(
        twice.repeat_interleave(columns // len(twice) // (2 if model.coef_.is_complex() else 1)).repeat(
            2 if model.coef_.is_complex() else 1
        )
    )


@pytest.mark.parametrize("name", ["line", "torus", "square", "mesh", "channels"])
@pytest.mark.parametrize("n", [5, 15])
def test_errors_of_leaving_one_out_are_those_of_training_again(name, n):
    a, y = _pairs(name, n)
    found = _model(name, m=8, ridge="auto").fit(a, y).ridge_
    ridges = torch.cat([found.new_tensor([float("inf")]), found[1:].clamp(max=1e3)])
    trained = _model(name, m=8, ridge=ridges).fit(a, y).trained_
    frame, kind = trained.frame, Modal(trained.settings)
    stream = kind.stream(Prepared(frame, a, y, frame.output_nodes))
    left_out = modal_left_out(trained.statistics, stream, a, y, ridges, frame.measure)
    modes, nodes = frame.modes, frame.output_nodes.one_channel
    for i in range(3):
        others = torch.arange(n) != i
        coef = type(trained.statistics).assemble(stream, a[others], y[others]).solved(ridges)
        guess = kind.combination(frame, dataclasses.replace(trained.solution, coef=coef), a)(a[i : i + 1])
        wrong = modes.analysis((y[i] - guess[0]).reshape(-1, *nodes.shape), nodes)
        error = (modes.twice(nodes) * wrong.abs() ** 2).sum().sqrt() / frame.measure.sizes(y, frame.output_nodes)[i]
        torch.testing.assert_close(left_out.errors[i], error, rtol=1e-5, atol=1e-9)


def test_ordinary_equations_are_the_sum_of_the_blocks():
    a, y = _pairs("torus", 40)
    modal = _model("torus").fit(a, y).equations_
    ordinary = _model("torus").set_params(coefficients="ordinary").fit(a, y).equations_
    torch.testing.assert_close(modal.gram[:6, :6], ordinary.gram)
    torch.testing.assert_close(modal.rhs[:6, 0], ordinary.rhs)
    torch.testing.assert_close(modal.energy, ordinary.energy)


def test_statistics_add_pack_and_give_the_residual():
    a, y = _pairs("line", 40)
    model = _model("line").fit(a, y)
    first = Accumulator(_model("line").settings).add(a[:15], y[:15])
    halves = [first.statistics, first.empty().add(a[15:], y[15:]).statistics]  # in one frame
    total = halves[0].nothing() + halves[0] + unpacked(halves[1].packed())
    for name in ("grams", "sides", "energies", "energy"):
        torch.testing.assert_close(getattr(total, name), getattr(model.equations_, name))
    torch.testing.assert_close((total - halves[1]).grams, halves[0].grams)
    wrong = model.output_grid_.norm(model.predict(a) - y).square().sum()
    torch.testing.assert_close(total.residual(model.coef_), wrong)
    few = _model("line", m=60).fit(a, y)
    assert isinstance(few.equations_, ModalDual)
    wrong = model.output_grid_.norm(few.predict(a) - y).square().sum()
    torch.testing.assert_close(few.equations_.residual(few.coef_), wrong, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", ["line", "square", "channels"])
def test_batches_and_partial_fit_give_what_the_whole_gives(name):
    a, y = _pairs(name, 40)
    whole = _model(name).fit(a, y)
    batches = _model(name).fit([(a[i : i + 16], y[i : i + 16]) for i in range(0, 40, 16)])
    more = _model(name).partial_fit(a[:25], y[:25]).partial_fit(a[25:], y[25:])
    for other in (batches, more, _model(name, batch_size=7).fit(a, y)):
        torch.testing.assert_close(other.coef_, whole.coef_)


def test_features_and_their_normal_equations_give_the_same():
    a, y = _pairs("torus", 12)
    few, many = _model("torus", m=20).fit(a, y), _model("torus", m=20).fit([(a, y)])
    assert isinstance(few.equations_, ModalDual)
    assert isinstance(many.equations_, ModalEquations)
    torch.testing.assert_close(few.predict(a), many.predict(a), rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(few.equations_.gram, many.equations_.gram)


def test_ridges_of_folds_are_near_those_of_leaving_one_out():
    a, y = Burgers(fine_points=256).dataset(60, points=32, seed=3)
    features = FourierFeatures(32, **SHAPE)
    whole = RandomFeatureModel(features, 20, "auto", coefficients="modal").fit(a[:50], y[:50])
    folds = RandomFeatureModel(features, 20, "auto", coefficients="modal").fit(
        [(a[i : i + 10], y[i : i + 10]) for i in range(0, 50, 10)]
    )
    assert folds.fold_error_ < 2 * whole.loo_error_
    assert folds.score(a[50:], y[50:]) > 1.5 * whole.score(a[50:], y[50:])


@pytest.mark.parametrize("name", ["line", "square", "mesh"])
def test_a_model_survives_files_pickles_and_copies(name, tmp_path):
    a, y = _pairs(name, 20)
    model = _model(name, ridge="auto").fit(a, y)
    model.predict(a, return_std=True)
    model.save(tmp_path / "model.safetensors", statistics=True)
    loaded = load(tmp_path / "model.safetensors")
    for other in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        torch.testing.assert_close(other.predict(a), model.predict(a))
        torch.testing.assert_close(other.predict(a, return_std=True)[1], model.predict(a, return_std=True)[1])
    torch.testing.assert_close(loaded.ridge_, model.ridge_)
    assert loaded.loo_error_ == model.loo_error_
    again = loaded.set_params(ridge=2 * model.ridge_).partial_fit(a, y)  # every pair twice, and twice the ridge
    torch.testing.assert_close(again.predict(a), model.predict(a))


def test_ridges_that_were_found_give_the_same_model_again():
    a, y = _pairs("line", 30)
    model = _model("line", ridge="auto").fit(a, y)
    again = clone(model).set_params(ridge=model.ridge_).fit(a, y)
    torch.testing.assert_close(again.predict(a), model.predict(a))
    assert clone(again).get_params()["coefficients"] == "modal"


def test_the_error_does_not_depend_on_the_grid(burgers):
    fine_a, fine_y = Burgers(fine_points=512).dataset(80, points=256, seed=4)
    features = FourierFeatures(32, profile="matern", tau=10.0, amplitude=3.0, bias=1.0, activation="gelu")
    model = RandomFeatureModel(features, 40, "auto", coefficients="modal").fit(fine_a[:60, ::4], fine_y[:60, ::4])
    errors = [-model.score(fine_a[60:, ::step], fine_y[60:, ::step]) for step in (1, 2, 4, 8)]
    assert max(errors) < 1.02 * min(errors)
    assert errors[2] < 0.2


def test_a_single_wave_is_kept_on_every_grid_and_no_other_comes():
    """The multiplier of a linear map is found exactly, and acts on the waves that each grid holds."""
    a = _rough((16,), 1, 60)
    shift = lambda f: f.roll(f.shape[-1] // 8, -1)  # noqa: E731
    model = RandomFeatureModel(FourierFeatures(8, **SHAPE), 5, 1e-9, coefficients="modal").fit(a, shift(a))
    torch.testing.assert_close(model.predict(a), shift(a), rtol=1e-5, atol=1e-5)
    for points in (8, 24, 64):
        x = torch.arange(points, dtype=torch.float64) / points
        wave, high = torch.sin(6 * torch.pi * x), torch.cos(20 * torch.pi * x)
        moved = torch.sin(6 * torch.pi * (x - 0.125))
        torch.testing.assert_close(model.predict(wave[None])[0], moved, rtol=1e-4, atol=1e-4)
        if points > 20:
            torch.testing.assert_close(model.predict((wave + high)[None])[0], moved, rtol=1e-4, atol=2e-4)


def test_predictions_in_single_precision_and_from_numpy():
    a, y = _pairs("line", 30)
    model = _model("line").fit(a.numpy(), y.numpy())
    single = model.predict(a.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), torch.from_numpy(model.predict(a.numpy())), rtol=1e-3, atol=1e-3)
    assert isinstance(model.compose(a.numpy(), 3), np.ndarray)


def test_few_samples_are_never_much_worse_than_the_better_of_the_two_kinds():
    """Coefficients are drawn to ordinary ones where that helps."""
    a, y = Burgers(fine_points=256).dataset(200, points=64, seed=3)
    features = FourierFeatures(32, profile="matern", tau=10.0, amplitude=3.0, bias=1.0, activation="gelu")
    for n in (6, 12, 40):
        errors = {
            kind: -RandomFeatureModel(features, 60, "auto", coefficients=kind).fit(a[:n], y[:n]).score(a[100:], y[100:])
            for kind in ("ordinary", "modal")
        }
        assert errors["modal"] < 1.1 * errors["ordinary"]


def test_an_infinite_ridge_leaves_ordinary_coefficients():
    a, y = _pairs("torus", 30)
    blocks = _model("torus").fit(a, y).coef_.shape[0] - 1
    ridges = torch.tensor([1e-3] + blocks * [float("inf")], dtype=torch.float64)
    model = _model("torus", ridge=ridges).fit(a, y)
    ordinary = _model("torus", ridge=1e-3).set_params(coefficients="ordinary").fit(a, y)
    torch.testing.assert_close(model.predict(a), ordinary.predict(a))
    finer, here, there = _rough((9, 10), 5, 3), Domain(2).grid(6, 5), Domain(2).grid(9, 10)
    interpolated = interpolate(ordinary.predict(interpolate(finer, there, here)), here, there)
    torch.testing.assert_close(model.predict(finer), interpolated)


def test_what_cannot_be_is_refused():
    a, y = _pairs("line", 10)
    with pytest.raises(RaffiaError, match="'ordinary' or 'modal'"):
        _model("line").set_params(coefficients="spectral").fit(a, y)
    with pytest.raises(RaffiaError, match="pass solver=None"):
        _model("line", solver=Cholesky()).fit(a, y)
    with pytest.raises(RaffiaError, match=r"functions already\. Pass coefficients"):
        RandomFeatureModel(ScalarFeatures(4), 5, coefficients="modal").fit(a, y)
    with pytest.raises(RaffiaError, match="ridge must have 1 \\+ 7 numbers"):
        _model("line", ridge=torch.ones(3)).fit(a, y)
    with pytest.raises(RaffiaError, match="ridge must be"):
        _model("line", ridge=torch.ones(8)).set_params(coefficients="ordinary").fit(a, y)
    model = _model("line").fit(a, y)
    with pytest.raises(RaffiaError, match="fit a model there"):
        model.on(Mesh(torch.rand(20, 1), domain=Domain(1)))
    with pytest.raises(RaffiaError, match="constraints or output changed"):
        model.set_params(coefficients="ordinary").predict(a)
    on_mesh = _model("mesh").fit(*_pairs("mesh"))
    with pytest.raises(RaffiaError):
        on_mesh.predict(_rough((24,), 1, 2))


def _objective(name="line", **more):
    a, y = _pairs(name, 16)
    features = FourierFeatures(6, domain=SPACES[name][0], **SHAPE)
    grid = _model(name).fit(a, y).output_grid_
    return objective_for(features, a, y, grid, n_features=5, n_samples=12, modal=True, **more)


@pytest.mark.parametrize("name", ["line", "torus", "square", "channels"])
def test_the_objective_of_a_search_has_the_gradient_of_finite_differences(name):
    objective = _objective(name)
    start = objective.start()

    def loss(log_tau):
        return objective.loss(start | {"feature_map__tau": log_tau.exp()}, draw=2)

    point = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    loss(point).backward()
    step = 2e-3
    with torch.no_grad():
        near, far = (loss(point + h) - loss(point - h) for h in (step, 2 * step))
        slope = (8 * near - far) / (12 * step)  # of fourth order
    torch.testing.assert_close(point.grad, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["line", "square"])
def test_the_objective_is_the_error_of_such_models(name):
    """Left out, and held out, as models that are trained again have it."""
    objective = _objective(name)
    sample, ridge = objective.sample(objective.start(), 0), 1e-3
    held = slice(0, 3)
    scales = sample.V[:, :5, 3:].abs().square().sum((1, 2)) / 25
    wrong = []
    for V, Y, scale in zip(sample.V, sample.Y, scales, strict=True):
        train = V[:, 3:]
        coef = torch.linalg.solve(train @ train.mH / 5 + ridge * scale * torch.eye(len(V), dtype=V.dtype), train @ Y[3:])
        wrong.append(V[:, held].mH @ coef / 5 - Y[held])
    squares = (sample.twice[:, None, None] * torch.stack(wrong).abs() ** 2).sum((0, 2))
    torch.testing.assert_close(sample.held_out(held, ridge), (squares.sqrt() / sample.sizes[held]).mean(), rtol=1e-6, atol=0)


def test_a_search_tunes_for_modal_coefficients(burgers):
    a, y = burgers.a[:, ::4], burgers.y[:, ::4]
    features = FourierFeatures(8, profile="matern", tau=50.0, amplitude=30.0, bias=0.1, activation="gelu")
    model = RandomFeatureModel(features, 20, "auto", coefficients="modal")
    before = model.fit(a, y).loo_error_
    model.tune(a, y, GradientSearch(steps=10, contest_steps=0, screened=1, swept=1))
    assert model.held_out_error_ < before
    assert len(model.ridge) == len(model.coef_)
    assert clone(model).fit(a, y).score(a, y) == pytest.approx(model.score(a, y))


@pytest.mark.parametrize("n", [8, 30])
def test_error_bars_are_those_of_the_linear_gaussian_model(n):
    """Σ_k |ψ_k|² s_k² (1 + v_kᴴ (G_k + λ_k)⁻¹ v_k / m), and draws have the mean of the predictions and the rest of that variance."""
    a, y = _pairs("torus", n)
    model = _model("torus", m=12, ridge="auto").fit(a, y)
    new = _rough((6, 5), 7, 2)
    std = model.predict(new, return_std=True)[1]
    trained, equations = model.trained_, model.equations_.primal
    frame = trained.frame
    stream = Modal(trained.settings).stream(Prepared(frame, new, new, frame.output_nodes))
    V, _ = stream.whole(new, new)
    own, noise = model.ridge_[1:], model.noise_.variance[:, 0]
    spread = []
    for G, v, ridge in zip(equations.grams, V, own, strict=True):
        shifted = G + min(float(ridge), 1e12) * torch.eye(len(G), dtype=G.dtype)
        spread.append((v.conj() * torch.linalg.solve(shifted, v)).real.sum(0) / 12)
    spread = torch.stack(spread)
    total = (equations.twice[:, None] * noise[:, None] * (1 + spread)).sum(0) / frame.output_nodes.volume
    torch.testing.assert_close(std.square().mean((1, 2)), total, rtol=1e-6, atol=0)


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("points", [32, 128])
def test_error_bars_contain_nine_tenths(smooth, points):
    shares = []
    for seed in range(4):
        circle, n = Domain(1), 60
        a = GaussianField(circle, n_modes=30).sample(n + 60, circle.grid(points), seed=seed)
        a = a / a.std()
        noise = GaussianField(circle, n_modes=30, tau=10.0).sample(n + 60, circle.grid(points), seed=seed + 100)
        noise = noise / noise.std() if smooth else _rough((points,), seed, n + 60)
        y = torch.tanh(a) + 0.1 * noise
        features = FourierFeatures(30, profile="matern", amplitude=2.0, bias=0.5, activation="gelu")
        model = RandomFeatureModel(features, 48, "auto", coefficients="modal", random_state=seed).fit(a[:n], y[:n])
        mean, std = model.predict(a[n:], return_std=True)
        shares.append(float(((mean - y[n:]).abs() <= 1.645 * std).double().mean()))
    assert 0.85 <= np.mean(shares) <= 0.95


def test_several_channels_have_error_bars_too():
    a, y = _pairs("channels", 40)
    y[:, 1] *= 10
    model = _model("channels", ridge="auto").fit(a, y)
    std = model.predict(a, return_std=True)[1]
    assert std.shape == y.shape
    assert (std[:, 1] > 3 * std[:, 0]).all()


def test_training_on_fewer_points_is_training_on_those(burgers):
    features = FourierFeatures(8, **SHAPE)
    coarse = RandomFeatureModel(features, 10, 1e-3, coefficients="modal", points=16).fit(burgers.a, burgers.y)
    there = RandomFeatureModel(features, 10, 1e-3, coefficients="modal").fit(
        *(resample(f, Domain(1).grid(64), Domain(1).grid(16)) for f in burgers)
    )
    torch.testing.assert_close(coarse.coef_, there.coef_)
    assert coarse.predict(burgers.a).shape == burgers.y.shape


def test_batches_on_other_grids_are_interpolated_to_that_of_the_first():
    """The waves that all grids hold have the same coefficients."""
    a, y = Burgers(fine_points=256).dataset(30, points=64, seed=3)
    features = FourierFeatures(8, **SHAPE)

    def model(step):
        other = RandomFeatureModel(features, 10, 1e-3, coefficients="modal").partial_fit(a[:15, ::2], y[:15, ::2])
        return other.partial_fit(a[15:, ::step], y[15:, ::step])

    same, finer, coarser = (model(step).coef_[1:9] for step in (2, 1, 4))  # waves below 8
    torch.testing.assert_close(finer, same, rtol=1e-2, atol=1e-2 * float(same.abs().max()))
    torch.testing.assert_close(coarser[:7], same[:7], rtol=1e-1, atol=1e-1 * float(same.abs().max()))


def test_statistics_may_come_from_memory_that_starts_anywhere():
    """As arrays that were read from a socket do: torch would take them to be aligned."""
    a, y = _pairs("line", 40)
    packed = _model("line").fit(a, y).equations_.packed()
    moved = dict(packed)
    for name in ("grams", "sides"):
        bytes_ = np.zeros(packed[name].nbytes + 8, dtype=np.uint8)
        moved[name] = bytes_[8:].view(packed[name].dtype).reshape(packed[name].shape)
        moved[name][...] = packed[name]
    torch.testing.assert_close(unpacked(moved).grams, unpacked(packed).grams)
