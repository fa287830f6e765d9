"""Models of any inputs and outputs: functions on grids and meshes, channels, vectors, numbers; normalised or not."""

import numpy as np
import pytest
import torch

from raffia import (
    Channels,
    Domain,
    FourierFeatures,
    GaussianField,
    Mesh,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
    load,
    metrics,
    resample,
)
from raffia.model.accumulator import Accumulator

LINE, CIRCLE, SQUARE, CUBE = Domain(1, periodic=False, extent=2.0), Domain(1), Domain(2, periodic=False), Domain(3)
CHANNEL, CELLS = Domain(2, axes=("periodic", "box"), extent=(2.0, 1.0)), Domain(2, axes=("cells", "left"))
NODES = torch.from_numpy(np.random.default_rng(0).random((40, 2)))
MESH = Mesh(torch.cat([NODES, torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])]), domain=SQUARE)
SHAPES = {
    LINE: (17,), CIRCLE: (16,), SQUARE: (7, 8), CUBE: (5, 6, 7), MESH: (44,), Vectors(): (3,), Domain(0): (), CHANNEL: (6, 7),
    CELLS: (7, 6), Channels(CELLS, 2): (2, 7, 6), Channels(CIRCLE, 2): (2, 16), Channels(SQUARE, 3): (3, 7, 8),
    Channels(MESH, 2): (2, 44),
}  # fmt: skip


def fourier(domain, **settings):
    return FourierFeatures(10, profile="matern", amplitude=1.0, bias=0.5, activation="tanh", domain=domain, **settings)


def samples(space, n=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, *SHAPES[space], generator=generator, dtype=torch.float64) + 0.5


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("output", SHAPES, ids=str)
@pytest.mark.parametrize("domain", [space for space in SHAPES if space.ndim], ids=str)
def test_every_input_goes_with_every_output_and_survives_its_file(domain, output, normalize, tmp_path):
    a, y = samples(domain), samples(output, seed=1)
    model = RandomFeatureModel(ScalarFeatures(6, 0.2, domain=domain), 60, output=output, normalize=normalize).fit(a, y)
    assert torch.as_tensor(model.predict(a)).shape == y.shape
    assert float(model.errors(a, y).max()) < 1e-3  # more features than samples: they are interpolated
    model.save(tmp_path / "model.safetensors")
    assert torch.equal(load(tmp_path / "model.safetensors").predict(a), model.predict(a))


@pytest.mark.parametrize(
    "domain",
    [Channels(CIRCLE, 2), Channels(SQUARE, 3), Channels(MESH, 2), CIRCLE, SQUARE, CUBE, MESH, CHANNEL, Channels(CELLS, 2)],
    ids=str,
)
@pytest.mark.parametrize("count", [None, 1, 2])
def test_features_that_are_functions_take_channels_in_and_out(domain, count, tmp_path):
    one = domain.of if isinstance(domain, Channels) else domain
    a, truth = samples(domain), samples(one, seed=1)
    y = truth if count is None else torch.stack([truth] * count, 1)
    model = RandomFeatureModel(fourier(domain), 50, 1e-6, normalize=True).fit(a, y)
    predicted = model.predict(a)
    assert predicted.shape == y.shape
    model.save(tmp_path / "model.safetensors")
    assert torch.equal(load(tmp_path / "model.safetensors").predict(a), predicted)
    if count == 2:
        assert torch.allclose(predicted[:, 0], predicted[:, 1])


def test_channels_of_the_output_are_models_of_their_own():
    a, y = samples(SQUARE), samples(Channels(SQUARE, 3), seed=1)
    together = RandomFeatureModel(fourier(SQUARE), 30, 1e-4).fit(a, y).predict(a)
    for c in range(3):
        alone = RandomFeatureModel(fourier(SQUARE), 30, 1e-4).fit(a, y[:, c]).predict(a)
        assert torch.allclose(together[:, c], alone, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("phi", [fourier(SQUARE), ScalarFeatures(6, domain=SQUARE)], ids=["functions", "numbers"])
def test_normalised_models_do_not_know_the_units(phi):
    a, y = samples(SQUARE), samples(SQUARE, seed=1)
    plain = RandomFeatureModel(phi, 30, 1e-4, normalize=True).fit(a, y)
    other = RandomFeatureModel(phi, 30, 1e-4, normalize=True).fit(1000 * a + 20, 5 - 0.01 * y)
    new = samples(SQUARE, seed=2)
    assert torch.allclose(other.predict(1000 * new + 20), 5 - 0.01 * plain.predict(new), rtol=1e-7)


def test_each_channel_and_component_has_its_own_units():
    a, y = samples(Channels(SQUARE, 3)), samples(Vectors(), seed=1)
    factors, units = torch.tensor([1.0, 1e3, 1e-4]).double(), torch.tensor([1e5, 1.0, 1e-3]).double()
    make = lambda: RandomFeatureModel(ScalarFeatures(6, domain=Channels(SQUARE, 3)), 80, 1e-4, output=Vectors(), normalize=True)  # noqa: E731
    plain, scaled = make().fit(a, y), make().fit(a * factors[:, None, None], y * units)
    assert torch.allclose(scaled.predict(a * factors[:, None, None]), plain.predict(a) * units, rtol=1e-6)
    assert scaled.score(a * factors[:, None, None], y * units) == pytest.approx(plain.score(a, y), rel=1e-6)


@pytest.mark.parametrize("phi", [fourier(CIRCLE), ScalarFeatures(6, domain=CIRCLE)], ids=["functions", "numbers"])
@pytest.mark.parametrize("output", [CIRCLE, Channels(CIRCLE, 2)], ids=str)
def test_the_foretold_error_of_a_normalised_model_is_that_of_models_trained_without_each_sample(phi, output):
    a, y = samples(CIRCLE, 9), samples(output, 9, seed=1)
    model = RandomFeatureModel(phi, 12, "auto", output=output, normalize=True).fit(a, y)
    errors = []
    for i in range(9):
        rest = [j for j in range(9) if j != i]
        fold = RandomFeatureModel(phi, 12, model.ridge_, output=output, normalize=True)
        whole = Accumulator(
            fold.settings, expected=8, frame=model.trained_.frame
        )  # in the units of all samples, as the formula has it
        fold.adopt(whole.add(a[rest], y[rest]).finish())
        errors.append(float(fold.errors(a[i : i + 1], y[i : i + 1])))
    assert model.loo_error_ == pytest.approx(np.mean(errors), rel=1e-6)


def test_error_bars_of_a_normalised_model_have_the_units_of_the_data():
    domain = CIRCLE
    a = GaussianField(domain, "periodic", n_modes=8).sample(30, domain.grid(16), seed=0)
    y = a**2
    plain = RandomFeatureModel(fourier(domain), 20, 1e-4, normalize=True).fit(a, y)
    scaled = RandomFeatureModel(fourier(domain), 20, 1e-4, normalize=True).fit(a, 100 * y + 7)
    (mean, std), (mean2, std2) = plain.predict(a, return_std=True), scaled.predict(a, return_std=True)
    assert torch.allclose(mean2, 100 * mean + 7, rtol=1e-5, atol=1e-4)
    assert torch.allclose(std2, 100 * std, rtol=1e-2)


def test_one_model_serves_a_grid_and_a_mesh():
    domain, boundary = Domain(2), "periodic"
    grid = domain.grid(24, 24)
    field = GaussianField(domain, boundary, n_modes=12)
    a = field.sample(20, grid, seed=0)
    model = RandomFeatureModel(fourier(domain), 60, 1e-6, normalize=True).fit(a, a.square())
    fine = domain.grid(48, 48)
    mesh = Mesh(fine.nodes().reshape(-1, 2), fine.weights().flatten(), domain)
    new = field.sample(3, fine, seed=1)
    there = model.on(mesh).predict(new.flatten(1))
    assert torch.allclose(there, model.predict(new).flatten(1), atol=1e-9)
    assert torch.allclose(model.on(mesh).on(domain).predict(new), model.predict(new))
    with pytest.raises(RaffiaError, match="must lie in the domain"):
        model.on(MESH)


def test_numbers_take_a_mesh_where_they_were_trained_on_a_grid():
    a, y = samples(SQUARE), samples(SQUARE, seed=1)
    model = RandomFeatureModel(ScalarFeatures(4, domain=SQUARE), 30, 1e-8).fit(a, y)
    grid = SQUARE.grid(7, 8)
    mesh = Mesh(grid.nodes().reshape(-1, 2), grid.weights().flatten(), SQUARE)
    assert torch.allclose(model.on(mesh).predict(a.flatten(1)), model.predict(a))


def test_outputs_on_another_grid_of_one_domain_stay_there():
    a = samples(CIRCLE)
    y = resample(a, CIRCLE.grid(16), CIRCLE.grid(24))
    model = RandomFeatureModel(ScalarFeatures(8, domain=CIRCLE), 60, 1e-12, output=CIRCLE).fit(a, y)
    assert model.predict(a).shape == (12, 24)
    with pytest.raises(RaffiaError, match=r"one grid; got .*ScalarFeatures"):
        RandomFeatureModel(fourier(CIRCLE), 10).fit(a, y)


@pytest.mark.parametrize(
    ("domain", "output", "a", "y", "words"),
    [
        (Vectors(), None, torch.zeros(4), torch.zeros(4), r"a must have shape \(n, components\), vectors"),
        (MESH, None, torch.zeros(4, 43), torch.zeros(4), "44 values"),
        (Channels(CIRCLE, 2), None, torch.zeros(4, 8), torch.zeros(4), r"a must have shape \(n, 2, points\)"),
        (CIRCLE, MESH, torch.rand(4, 8), torch.zeros(4, 8), "44 values"),
        (CIRCLE, Vectors(2), torch.rand(4, 8), torch.zeros(4, 3), "2 components"),
        (CIRCLE, Channels(CIRCLE, 2), torch.rand(4, 8), torch.zeros(4, 8), r"y must have shape \(n, 2, points\)"),
    ],
)
def test_arrays_of_another_space_are_refused_by_name(domain, output, a, y, words):
    with pytest.raises(RaffiaError, match=words):
        RandomFeatureModel(ScalarFeatures(6, domain=domain), 10, output=output).fit(a.double(), y.double())


def test_vectors_of_another_size_than_in_training_are_refused():
    model = RandomFeatureModel(ScalarFeatures(5, domain=Vectors()), 10, 1e-6).fit(samples(Vectors()), samples(Domain(0)))
    with pytest.raises(RaffiaError, match="3 components"):
        model.predict(torch.zeros(2, 2))


def test_score_is_minus_the_mean_relative_error_whatever_the_output():
    a = samples(CIRCLE)
    for output in (CIRCLE, Channels(CIRCLE, 2), MESH):
        y = samples(output, seed=1)
        model = RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 6, 1e-3, output=output).fit(a, y)
        expected = metrics.relative_error(y, model.predict(a), output.grid_of(y))
        assert model.score(a, y) == pytest.approx(-expected)


def test_score_errors_and_leave_one_out_of_numbers_are_relative_to_one_thing():
    a, y = samples(CIRCLE), samples(Domain(0), seed=1) - 1  # about zero, where no number can be relative to itself
    model = RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 6, "auto", output=Domain(0)).fit(a, y)
    size = float(y.square().mean().sqrt())
    errors = (model.predict(a) - y).abs() / size
    torch.testing.assert_close(model.errors(a, y), errors)
    assert model.score(a[:2], y[:2]) == pytest.approx(-float(errors[:2].mean()))
    refits = [RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 6, model.ridge_, output=Domain(0)) for _ in y]
    left = [
        float((m.fit(a[k := torch.arange(len(y)) != i], y[k]).predict(a[i : i + 1]) - y[i]).abs()) for i, m in enumerate(refits)
    ]
    assert model.loo_error_ == pytest.approx(sum(left) / len(left) / size, rel=1e-6)


def test_components_that_do_not_vary_are_not_divided_by_their_rounding():
    a = torch.cat([samples(Vectors()), torch.full((12, 1), 0.1, dtype=torch.float64)], 1)
    model = RandomFeatureModel(ScalarFeatures(4, domain=Vectors()), 60, 1e-6, normalize=True).fit(a, samples(Domain(0), seed=1))
    assert float(model.input_scaling_.scale[3]) == 1.0
    assert torch.allclose(model.predict(a.float()).double(), model.predict(a), atol=1e-3)


@pytest.mark.parametrize("output", [Vectors(), Channels(CIRCLE, 2), Domain(0)], ids=str)
def test_what_is_large_and_hardly_varies_does_not_hide_what_is_not_learnt(output):
    a = samples(Vectors(), 40)
    noise = torch.randn(40, *SHAPES[output], dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    y = noise + 1e5
    model = RandomFeatureModel(ScalarFeatures(3, domain=Vectors()), 20, 10.0, output=output, normalize=True).fit(a[:30], y[:30])
    assert 0.7 < float(model.errors(a[30:], y[30:]).mean()) < 2


def test_settings_that_coefficients_depend_on_may_not_change_after_the_fit():
    model = RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 10, 1e-3, normalize=True).fit(samples(CIRCLE), samples(CIRCLE))
    for change in ({"normalize": False}, {"output": Vectors()}):
        with pytest.raises(RaffiaError, match="changed since the model was fitted"):
            RandomFeatureModel.set_params(model, **change).predict(samples(CIRCLE))
        model.set_params(normalize=True, output=None)
    other = Mesh(NODES.flip(0), domain=SQUARE)
    mesh = RandomFeatureModel(ScalarFeatures(4, domain=Mesh(NODES, domain=SQUARE)), 10, 1e-3).fit(
        torch.rand(5, 40), torch.rand(5)
    )
    with pytest.raises(RaffiaError, match="changed since"):
        mesh.set_params(feature_map__domain=other).predict(torch.rand(5, 40))


def test_pairs_that_are_refused_leave_no_trace():
    model = RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 10, 1e-3, normalize=True)
    with pytest.raises(RaffiaError):
        model.partial_fit(samples(CIRCLE), samples(CIRCLE)[:, :0])
    model.partial_fit(samples(CIRCLE), samples(CIRCLE, seed=1))
    with pytest.raises(RaffiaError):
        model.partial_fit(samples(CIRCLE), samples(Channels(CIRCLE, 2)))
    fresh = RandomFeatureModel(ScalarFeatures(4, domain=CIRCLE), 10, 1e-3, normalize=True)
    fresh.partial_fit(samples(CIRCLE), samples(CIRCLE, seed=1))
    assert torch.equal(model.predict(samples(CIRCLE)), fresh.predict(samples(CIRCLE)))


def test_error_bars_have_the_shape_of_the_predictions():
    a = samples(CIRCLE, 20)
    for features, y in (
        (fourier(CIRCLE), samples(CIRCLE, 20, seed=1)[:, None]),
        (ScalarFeatures(4), samples(Domain(0), 20, seed=1)),
    ):
        mean, std = RandomFeatureModel(features, 10, "auto").fit(a, y).predict(a, return_std=True)
        assert mean.shape == std.shape == y.shape
        assert bool((std > 0).all())


def test_errors_of_another_shape_are_refused():
    a, y = samples(CIRCLE), samples(Domain(0))
    model = RandomFeatureModel(ScalarFeatures(4), 10, 1e-3).fit(a, y)
    with pytest.raises(RaffiaError, match="shape of the predictions"):
        model.errors(a, y[:, None])
