"""Iterated features: the recurrence written out, what it is in known cases, and what a search makes of it."""

import dataclasses
import math

import pytest
import torch

from raffia import Channels, Darcy, Domain, GaussianField, Mesh, RaffiaError, RandomFeatureModel, metrics
from raffia.features import IteratedFeatures
from raffia.spaces.spectral import Series
from raffia.testing import check_feature_map
from raffia.tuning import GradientSearch, objective_for
from raffia.tuning.base import defined_start

SQUARE, TORUS, LINE, CIRCLE = Domain(2, periodic=False), Domain(2), Domain(1, periodic=False), Domain(1)


def smooth(n, grid, seed=0):
    boundary = "periodic" if grid.domain.periodic else "neumann"
    return GaussianField(grid.domain, boundary, tau=3.0, n_modes=6).sample(n, grid, seed=seed)


def vector(*numbers):
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize(
    ("domain", "boundary", "points", "tolerance"),
    [
        (CIRCLE, "neumann", 33, 1e-3),
        (Domain(1, periodic=False, extent=2.0), "neumann", 33, 1e-3),
        (LINE, "dirichlet", 65, 5e-3),  # the source does not vanish at the ends, and sines of it decay slowly
        (Domain(2, extent=(1.0, 2.0)), "neumann", 16, 5e-3),
        (SQUARE, "neumann", 17, 5e-3),
        (SQUARE, "dirichlet", 33, 2e-2),
        (Domain(3), "neumann", 8, 5e-2),
    ],
)
def test_they_keep_the_contract_up_to_aliasing(domain, boundary, points, tolerance):
    features = IteratedFeatures(2, alpha=2.0, n_modes=6, field_tau=3.0, boundary=boundary, domain=domain)
    check_feature_map(features, points=points, grid_tolerance=tolerance)


def test_without_aliasing_the_same_theta_is_the_same_function_on_every_grid():
    plain = {name: vector(0.3, 0.5, 0.0) for name in ("source", "growth", "potential", "stream")}  # no tanh, so few waves
    features = IteratedFeatures(2, n_modes=4, domain=CIRCLE, **plain)
    check_feature_map(features, lambda n, grid: GaussianField(grid.domain, n_modes=2).sample(n, grid, seed=0), points=17)


def multiplier(f, grid, boundary, power, tau):
    series = Series(grid, boundary)
    return series.synthesis((series.squares + tau**2) ** (-power / 2) * series.analysis(f))


def derivatives(f, grid, boundary):
    series = Series(grid, boundary)
    return series.with_gradient(series.analysis(f))[1]


@pytest.mark.parametrize(("domain", "boundary"), [(TORUS, "periodic"), (SQUARE, "neumann"), (SQUARE, "dirichlet")])
def test_a_feature_in_the_plane_is_the_recurrence(domain, boundary):
    grid = domain.grid(14)
    alpha, beta, gamma, zeta = vector(0.5, 1.0, 2.0), vector(0.3, -0.4), vector(0.7, 0.2), vector(-0.6, 0.9)
    c = {name: vector(*numbers) for name, numbers in zip(
        ("source", "growth", "potential", "stream"),
        ((0.3, 1.0, -0.5), (0.1, 0.4, 0.2), (0.0, 0.8, 0.3), (0.0, -0.2, 1.1)), strict=True)}  # fmt: skip
    features = IteratedFeatures(
        2, alpha, 1.5, **c, beta=beta, gamma=gamma, zeta=zeta, power=1.2, weight=0.7, smoothing=0.2, n_modes=9,
        boundary="neumann" if boundary == "periodic" else boundary, domain=domain,
    )  # fmt: skip
    a, theta = smooth(2, grid), features.draw(3, seed=0)
    found, (fields,) = features(a, theta), features.prepare(theta, grid)
    inputs = Series(grid, "periodic" if domain.periodic else "neumann")
    for i in range(2):
        q = inputs.synthesis(torch.exp(-(0.2**2) * inputs.squares / 2) * inputs.analysis(a[i]))
        s = {name: c0 + c1 * q + c2 * torch.tanh(q) for name, (c0, c1, c2) in c.items()}
        slope = [
            (c["potential"][1] + c["potential"][2] / torch.cosh(q) ** 2) * d for d in derivatives(q, grid, inputs.boundary)
        ]
        psi = inputs.synthesis(inputs.squares.clamp(min=1) ** -0.6 * inputs.analysis(s["stream"]))
        dx, dy = derivatives(psi, grid, inputs.boundary)
        for j in range(3):
            p = multiplier(s["source"] * fields[j, 0], grid, boundary, 0.5, 1.5)
            for step in range(2):
                px, py = derivatives(p, grid, boundary)
                coupled = beta[step] * s["growth"] * p + gamma[step] * (slope[0] * px + slope[1] * py)
                coupled = coupled + zeta[step] * (dx * py - dy * px)
                p = multiplier(s["source"] * fields[j, step + 1] + coupled, grid, boundary, float(alpha[step + 1]), 1.5)
            torch.testing.assert_close(found[i, j], p, rtol=1e-9, atol=1e-12)


def test_on_a_line_the_stream_carries_and_dilates():
    """With ζ = δ and without a source but for p₀, one step is p₀ ↦ ζ ∂(q p₀)."""
    none, q_alone, grid = vector(0.0, 0.0, 0.0), vector(0.0, 1.0, 0.0), CIRCLE.grid(32)
    features = IteratedFeatures(
        1, 0.0, source=none, growth=none, potential=none, stream=q_alone, zeta=0.8, delta=0.8, power=0.0, weight=1.0, smoothing=0.0,
        n_modes=5, start=torch.ones(32, dtype=torch.float64), domain=CIRCLE,
    )  # fmt: skip
    a, theta = smooth(2, grid), features.draw(3, seed=0)
    (fields,) = features.prepare(theta, grid)
    product = a[:, None] * fields[None, :, 0]
    (wanted,) = derivatives(product.movedim(-1, 0), grid, "periodic")
    torch.testing.assert_close(features(a, theta), 0.8 * wanted.movedim(0, -1), rtol=1e-9, atol=1e-10)


def test_without_iterations_and_randomness_it_is_a_multiplier():
    features = IteratedFeatures(0, 1.3, 2.0, source=vector(0.0, 1.0, 0.0), weight=0.0, smoothing=0.0, domain=TORUS)
    grid = TORUS.grid(15)
    a = smooth(2, grid)
    series = Series(grid, "periodic")
    wanted = series.synthesis((series.squares + 4.0)[..., None] ** (-0.65) * series.analysis(a.movedim(0, -1))).movedim(-1, 0)
    torch.testing.assert_close(features(a, features.draw(1, seed=0))[:, 0], wanted)


def test_with_darcys_numbers_the_iteration_solves_darcys_equation():
    """a = e^q and f = a (1 − q): −Δu = 1 − q + ∇q·∇u, in units of length with the side π."""
    grid = SQUARE.grid(65)
    q = 2 * smooth(1, grid)
    a = q.exp()
    u = math.pi**2 * Darcy(source=(a * (1 - q))[0], fine_points=65).solve(a)
    known = {"source": vector(1.0, -1.0, 0.0), "growth": 0.0, "potential": vector(0.0, 1.0, 0.0), "beta": 0.0, "zeta": 0.0}
    errors = []
    for iterations in (0, 1, 2, 4):
        features = IteratedFeatures(iterations, 2.0, 1e-3, **known, gamma=1.0, weight=0.0, smoothing=0.0, boundary="dirichlet")
        errors.append(metrics.relative_error(u, features(q, features.draw(1, seed=0))[:, 0], grid))
    assert errors[0] > 10 * errors[1] > 20 * errors[2]
    assert errors[3] < 5e-4  # that of the solver's stencil


@pytest.mark.parametrize("start", [None, torch.linspace(0, 1, 17 * 17, dtype=torch.float64).reshape(17, 17)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_a_trained_model_is_one_recurrence(start, columns):
    features = IteratedFeatures(2, n_modes=12, start=start, boundary="dirichlet")
    grid = SQUARE.grid(13)
    a, theta = smooth(3, grid), features.draw(20, seed=0)
    coef = torch.randn(20, *columns, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensordot(features(a, theta), coef, ([1], [0]))
    wanted = wanted.movedim(-1, 1) if columns else wanted
    torch.testing.assert_close(features.combination(theta, coef, grid)(a), wanted, rtol=1e-10, atol=1e-12)


def test_features_beyond_the_number_of_fields_are_linearly_dependent():
    features = IteratedFeatures(1, n_modes=3, domain=CIRCLE)
    phi = features(smooth(20, CIRCLE.grid(32)), features.draw(12, seed=0)).transpose(0, 1).flatten(1)
    assert torch.linalg.matrix_rank(phi, rtol=1e-10) == 2 * 3 + 1


def test_a_start_is_the_same_function_on_every_grid():
    coarse, fine = (SQUARE.grid(r) for r in (17, 33))
    u = torch.sin(math.pi * fine.nodes()).prod(-1)
    given = IteratedFeatures(1, n_modes=4, start=u, boundary="dirichlet")
    theta = given.draw(2, seed=0)
    here, there = given(smooth(2, coarse), theta), given(smooth(2, fine), theta)[..., ::2, ::2]
    assert (here - there).norm() < 2e-2 * there.norm()


def test_channels_have_numbers_of_their_own():
    grid, two = SQUARE.grid(11), Channels(SQUARE, 2)
    a, b = smooth(2, grid), smooth(2, grid, seed=1)
    c = vector(0.2, 0.7, -0.4)
    one = IteratedFeatures(1, source=c, growth=c, potential=c, stream=c, n_modes=5)
    for order, padded in (((a, b), vector(0.2, 0.7, -0.4, 0, 0)), ((b, a), vector(0.2, 0, 0, 0.7, -0.4))):
        both = IteratedFeatures(1, source=padded, growth=padded, potential=padded, stream=padded, n_modes=5, domain=two)
        theta = both.draw(3, seed=0)
        torch.testing.assert_close(both(torch.stack(order, 1), theta), one(a, theta))


@pytest.mark.parametrize("domain", [CIRCLE, SQUARE, Channels(TORUS, 2)])
def test_gradients_in_all_that_is_searched(domain):
    """Along one random direction in each hyperparameter, against central differences."""
    features = IteratedFeatures(2, n_modes=4, domain=domain)
    features.set_params(alpha=vector(0.5, 1.0, 1.5), gamma=vector(0.2, -0.3))
    grid, random = domain.one_channel.grid(9), torch.Generator().manual_seed(0)
    a = torch.stack([smooth(2, grid, seed) for seed in range(domain.channels)], 1)
    a = a if domain.channels > 1 else a[:, 0]
    theta = features.draw(2, seed=0)
    for name, what in features.hyperparameters.items():
        value = torch.as_tensor(getattr(features, name), dtype=torch.float64).expand(what.count or ())
        direction = torch.randn(value.shape, dtype=torch.float64, generator=random)

        def total(t, name=name, value=value, direction=direction):
            return IteratedFeatures(**features.get_params(deep=False) | {name: value + t * direction})(a, theta).square().sum()

        t = torch.zeros((), dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(total(t), t)
        near, far = (float(total(h) - total(-h)) for h in (1e-3, 2e-3))
        estimate = (8 * near - far) / 12e-3  # of fourth order
        assert float(slope) == pytest.approx(estimate, rel=1e-5, abs=1e-9), name


def test_a_number_is_searched_as_one_and_a_vector_as_several():
    searched = IteratedFeatures(3, gamma=torch.zeros(3)).hyperparameters
    assert (searched["gamma"].count, searched["beta"].count, searched["source"].count) == (3, None, 3)
    assert "delta" not in searched
    assert "zeta" not in IteratedFeatures(domain=Domain(3)).hyperparameters
    assert "gamma" not in IteratedFeatures(0).hyperparameters


def test_suited_features_have_normalised_inputs_and_the_boundary_of_the_outputs():
    grid = SQUARE.grid(9)
    a = torch.stack([5 + 2 * smooth(6, grid), smooth(6, grid, seed=1)], 1)
    vanishing = torch.sin(math.pi * grid.nodes()).prod(-1).expand(6, 9, 9)
    features = IteratedFeatures.suited(a, vanishing, Channels(SQUARE, 2)).set_params(iterations=1, n_modes=4)
    assert features.boundary == "dirichlet"
    assert IteratedFeatures.suited(a[:, 0], a[:, 0], SQUARE).boundary == "neumann"
    plain = IteratedFeatures(1, n_modes=4, boundary="dirichlet", domain=Channels(SQUARE, 2))
    mean, deviation = a.mean((0, 2, 3), keepdim=True), a.std((0, 2, 3), keepdim=True)
    theta = plain.draw(2, seed=0)
    torch.testing.assert_close(features(a, theta), plain((a - mean) / deviation, theta))


def test_a_search_begins_where_features_are_and_ends_on_the_grid_of_the_data():
    """Random values lead it astray; jumps of an input want more smoothing on a coarse grid."""
    grid = SQUARE.grid(19)
    a = smooth(20, grid)
    features = IteratedFeatures(2, n_modes=4)
    objective = objective_for(features, a, a, grid, target=64)
    assert objective.values.shape == (17, 17)
    assert objective.with_last().values.shape == (19, 19)
    assert objective.with_last().n_features > objective.n_features
    assert objective_for(features, a[:, :17, :17], a[:, :17, :17], SQUARE.grid(17)).finer is None
    small = dataclasses.replace(objective, n_features=6, n_samples=12, last=(8, 12))
    begun = defined_start(small, screened=8, swept=5)
    assert torch.equal(small.space.line(begun), small.space.line(small.start()))


def test_a_search_learns_darcy_flow_without_its_equation():
    a, u = Darcy(fine_points=65).dataset(40, 9, seed=0)
    a = (a - 7.5) / 4.5
    model = RandomFeatureModel(IteratedFeatures(1, boundary="dirichlet", n_modes=20), 40, ridge=1e-8)
    before = -model.fit(a[:30], u[:30]).score(a[30:], u[30:])
    model.tune(a[:30], u[:30], GradientSearch(steps=15))
    assert -model.score(a[30:], u[30:]) < 0.5 * before


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (IteratedFeatures(2, alpha=torch.ones(2)), "alpha=…. must be one number or 3"),
        (IteratedFeatures(domain=Mesh(torch.rand(9, 2))), "on a grid of an interval"),
    ],
)
def test_bad_input_is_refused(features, words):
    with pytest.raises(RaffiaError, match=words):
        features(torch.ones(1, 9, 9, dtype=torch.float64), features.draw(1, seed=0))
