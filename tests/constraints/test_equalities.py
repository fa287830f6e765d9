"""Equalities hold for every input and on every grid, whatever the model is made of."""

import math

import pytest
import torch

import raffia
from raffia import (
    Channels,
    Domain,
    FourierFeatures,
    GaussianField,
    LocalFeatures,
    Mesh,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
    load,
)
from raffia.constraints import (
    BoundaryValues,
    Conserved,
    DivergenceFree,
    Integral,
    Positive,
    conserved_by,
    impose,
    project_features,
)
from raffia.constraints.divergence import derivative_wavenumbers
from raffia.features.wrapped import Projected
from raffia.testing import check_feature_map
from tests.hostile_models import changed, parts

CIRCLE, LINE, SQUARE = Domain(1), Domain(1, periodic=False), Domain(2, periodic=False)
KINDS = {
    "ordinary": {},
    "numbers for each channel": {"normalize": True},
    "mean function": {"normalize": "function"},
    "modal": {"coefficients": "modal"},
    "coarse": {"points": 32},
    "found ridge": {"ridge": "auto"},
    "scalar features": {"feature_map": ScalarFeatures(8)},
    "kernel": {"feature_map": ScalarFeatures(8), "n_features": math.inf},
}


def random_functions(n, shape, domain=CIRCLE, seed=0):
    """Rough, and with means: nothing that a model was trained on."""
    return torch.randn(n, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.7


def model_of(constraints, feature_map=None, n_features=40, ridge=1e-4, **how):
    feature_map = FourierFeatures(16) if feature_map is None else feature_map
    return RandomFeatureModel(feature_map, n_features, ridge, constraints=constraints, **how)


@pytest.fixture(scope="module")
def shifted(burgers):
    """Pairs of Burgers' equation with means of their own, which it conserves."""
    means = torch.linspace(-1, 1, len(burgers.a), dtype=torch.float64)[:, None]
    return burgers.a + means, burgers.y + means


@pytest.mark.parametrize("kind", KINDS)
def test_the_integral_is_that_of_the_input_on_every_grid(shifted, kind):
    model = model_of([Conserved()], **KINDS[kind]).fit(*shifted)
    for points in (32, 64, 101, 1000):
        a = random_functions(5, (points,))
        assert (model.predict(a).mean(1) - a.mean(1)).abs().max() < 1e-13


def test_the_integral_stays_when_a_model_is_applied_again_and_again(shifted):
    a, y = shifted
    path = model_of([Conserved()]).fit(a, y).rollout(a[:4], 20)
    assert (path.mean(2) - a[:4].mean(1, keepdim=True)).abs().max() < 1e-13


def test_coefficients_are_the_least_squares_of_projected_features(burgers):
    a, y, ridge, m = burgers.a, burgers.y, 1e-3, 20
    model = model_of([Integral(0.0)], n_features=m, ridge=ridge).fit(a, y)
    phi = model.feature_map(a, model.feature_map.draw(m, seed=0))
    phi = (phi - phi.mean(2, keepdim=True)).transpose(1, 2).reshape(-1, m) / (8 * m)  # 8 = √64 nodes
    rows = torch.cat([phi, math.sqrt(ridge / m) * torch.eye(m, dtype=torch.float64)])
    target = torch.cat([y.flatten() / 8, torch.zeros(m, dtype=torch.float64)])
    torch.testing.assert_close(model.coef_, torch.linalg.lstsq(rows, target[:, None]).solution[:, 0], rtol=1e-8, atol=1e-8)


def test_what_a_constraint_knows_need_not_be_learnt(shifted):
    """Fourier features see no means, so without the constraint they cannot be right."""
    a, y = shifted
    errors = [-model_of(c).fit(a[:30], y[:30]).score(a[30:], y[30:]) for c in ((), [Conserved()])]
    assert errors[1] < 0.2 * errors[0]


def test_channels_have_integrals_of_their_own(burgers):
    a = torch.stack([burgers.a, burgers.y], 1)
    y = torch.stack([burgers.y, burgers.a], 1)
    features = FourierFeatures(16, domain=Channels(CIRCLE, 2))
    new = random_functions(3, (2, 75))
    both = model_of([Integral((1.0, -2.0))], features).fit(a, y).predict(new)
    torch.testing.assert_close(both.mean(2), torch.tensor([[1.0, -2.0]]).double().expand(3, 2), rtol=0, atol=1e-13)
    one = model_of([Conserved(channels=(1,))], features, normalize=True).fit(a, y).predict(new)
    assert (one.mean(2) - new.mean(2))[:, 1].abs().max() < 1e-13
    assert (one.mean(2) - new.mean(2))[:, 0].abs().min() > 1e-3


@pytest.mark.parametrize("how", [{}, {"normalize": True}, {"normalize": "function"}, {"coefficients": "modal"}], ids=str)
@pytest.mark.parametrize("domain", [LINE, SQUARE, Domain(2, axes=("periodic", "box"))], ids=lambda d: d.noun)
def test_boundary_values_are_exact_on_every_grid(domain, how):
    shape = (17,) * domain.dim
    a = GaussianField(domain, "neumann", n_modes=6).sample(12, domain.grid(*shape), seed=0)
    model = model_of([BoundaryValues(0.25)], LocalFeatures(domain=domain), **how).fit(a, a.square())
    new = random_functions(3, tuple(points + 7 for points in shape))
    for axis, kind in enumerate(domain.kinds, 1):
        ends = [model.predict(new).select(axis, end) for end in (0, -1)]
        assert all((end == 0.25).all() for end in ends) or kind.periodic


def test_boundary_values_of_the_input_beside_an_integral():
    a = GaussianField(LINE, "neumann", n_modes=6).sample(12, LINE.grid(33), seed=0)
    model = model_of([Conserved(), BoundaryValues("input")], LocalFeatures(domain=LINE), normalize=True).fit(a, a**3)
    new = random_functions(4, (50,))
    guess = model.predict(new)
    assert torch.equal(guess[:, [0, -1]], new[:, [0, -1]])
    grid = LINE.grid(50)
    assert (grid.inner(guess, torch.ones_like(guess)) - grid.inner(new, torch.ones_like(new))).abs().max() < 1e-13


def test_features_that_vanish_at_ends_are_better_for_functions_that_do(pressures):
    a, u = pressures.a[:50], pressures.y[:50]
    errors = [
        -model_of(c, LocalFeatures(domain=SQUARE)).fit(a[:40], u[:40]).score(a[40:], u[40:]) for c in ((), [BoundaryValues()])
    ]
    assert errors[1] < 0.5 * errors[0]


def divergence(u, grid):
    k = derivative_wavenumbers(grid)
    return torch.fft.irfftn((1j * k * torch.fft.rfftn(u, dim=(-2, -1))).sum(-3), s=grid.shape)


@pytest.mark.parametrize("shape", [(16, 16), (15, 24)])
def test_velocities_have_no_divergence_on_every_grid(shape):
    torus = Domain(2, extent=(1.0, 2.0))
    psi = GaussianField(torus, "periodic", n_modes=20).sample(10, torus.grid(16, 16), seed=0)
    k = derivative_wavenumbers(torus.grid(16, 16))
    u, v = (torch.fft.irfft2(1j * k[axis] * torch.fft.rfft2(psi), s=(16, 16)) for axis in (1, 0))
    w = torch.stack([u, -v], 1)
    features = FourierFeatures(16, domain=Channels(torus, 2))
    model = model_of([DivergenceFree()], features, normalize=True).fit(w, w * 0.9)
    grid = torus.grid(*shape)
    guess = model.predict(random_functions(3, (2, *shape)))
    assert divergence(guess, grid).abs().max() < 1e-12 * guess.abs().max() * 50
    plain = model_of((), features, normalize=True).fit(w, w * 0.9)
    assert divergence(plain.predict(w), torus.grid(16, 16)).abs().max() > 1e-3
    assert model.score(w, w * 0.9) >= plain.score(w, w * 0.9)  # an orthogonal projection onto where outputs are


def test_the_leray_projection_keeps_curls_and_kills_gradients():
    torus = Domain(2)
    grid = torus.grid(12, 12)
    psi = GaussianField(torus, "periodic", n_modes=20).sample(2, grid, seed=0)
    k = derivative_wavenumbers(grid)
    dx, dy = (torch.fft.irfft2(1j * k[axis] * torch.fft.rfft2(psi), s=(12, 12)) for axis in (0, 1))
    nodes = Channels(torus, 2).grid_of(torch.stack([dx, dy], 1))
    curl, slope = torch.stack([dy, -dx], 1), torch.stack([dx, dy], 1)
    torch.testing.assert_close(impose([DivergenceFree()], curl, nodes), curl)
    assert impose([DivergenceFree()], slope, nodes).abs().max() < 1e-12 * slope.abs().max()


@pytest.mark.parametrize("equalities", [(Conserved(),), (BoundaryValues(),), (BoundaryValues(1.0), Integral(2.0))], ids=str)
def test_a_projection_leaves_what_it_made(equalities):
    grid = SQUARE.grid(9)
    once = impose(equalities, random_functions(3, (9, 9)), grid)
    torch.testing.assert_close(impose(equalities, once, grid), once, rtol=0, atol=1e-14)
    torch.testing.assert_close(
        impose(equalities, project_features(equalities, once, grid), grid), project_features(equalities, once, grid)
    )


@pytest.mark.parametrize("equalities", [(Conserved(),), (BoundaryValues(), Integral(0.0))], ids=str)
def test_projected_features_keep_the_contract(equalities):
    """But for grids: a parabola is the same on all, an integral only where quadratures are exact."""
    check_feature_map(Projected(LocalFeatures(domain=LINE), equalities), points=65, grid_tolerance=1e-2)


@pytest.mark.parametrize(
    "constraints", [[Conserved()], (Integral(0.5), DivergenceFree(channels=(0,))), [BoundaryValues("input")]]
)
def test_a_saved_model_predicts_and_promises_the_same(tmp_path, burgers, constraints):
    features = LocalFeatures(domain=LINE) if constraints == [BoundaryValues("input")] else FourierFeatures(16)
    model = model_of(constraints, features).fit(burgers.a, burgers.y)
    model.save(tmp_path / "m.safetensors", statistics=True)
    again = load(tmp_path / "m.safetensors")
    assert torch.equal(again.predict(burgers.a), model.predict(burgers.a))
    assert again.solution_.guarantees == model.solution_.guarantees
    assert len(again.solution_.guarantees) == len(constraints)
    assert "every input" in again.solution_.guarantees[0]
    again.partial_fit(burgers.a, burgers.y)
    assert again.solution_.guarantees == model.solution_.guarantees


def test_parts_and_batches_make_the_model_of_all(shifted):
    a, y = shifted
    whole = model_of([Conserved()]).fit(a, y)
    parts = model_of([Conserved()]).partial_fit(a[:15], y[:15]).partial_fit(a[15:], y[15:])
    batches = model_of([Conserved()]).fit([(a[:15], y[:15]), (a[15:], y[15:])])
    for model in (parts, batches):
        torch.testing.assert_close(model.predict(a), whole.predict(a), rtol=1e-7, atol=1e-9)


def test_a_pruned_and_a_tuned_model_conserve(shifted):
    a, y = shifted
    model = model_of([Conserved()]).fit(a, y).prune(20)
    assert (model.predict(a).mean(1) - a.mean(1)).abs().max() < 1e-13
    tuned = model_of([Conserved()]).tune(a, y, raffia.tuning.RidgeSearch())
    assert (tuned.predict(a).mean(1) - a.mean(1)).abs().max() < 1e-13
    assert tuned.held_out_error_ < 1


def test_a_model_taken_to_a_mesh_conserves_by_its_quadrature(shifted):
    a, y = shifted
    x = torch.rand(40, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mesh = Mesh(x, domain=CIRCLE)
    new = random_functions(3, (40,))
    guess = model_of([Conserved()]).fit(a, y).on(mesh).predict(new)
    assert ((guess - new) @ mesh.root_weights.square()).abs().max() < 1e-13


def test_constraints_are_parameters_like_others(burgers):
    model = model_of([Conserved()]).fit(burgers.a, burgers.y)
    model.set_params(constraints=[Integral(0.0)])
    with pytest.raises(RaffiaError, match="constraints or output changed"):
        model.predict(burgers.a)


def test_a_file_whose_frame_and_settings_disagree_is_refused(tmp_path, burgers):
    path = tmp_path / "m.safetensors"
    model_of([Conserved()]).fit(burgers.a, burgers.y).save(path)

    def other(header, tensors):
        parts(header)["frame"]["equalities"] = {"tuple": []}

    with pytest.raises(RaffiaError, match="other equalities"):
        load(changed(path, tmp_path / "changed.safetensors", other))


@pytest.mark.parametrize(
    ("constraint", "feature_map", "output", "words"),
    [
        (Conserved(), ScalarFeatures(domain=Vectors()), None, "inputs are vectors"),
        (Integral(), ScalarFeatures(8), Domain(0), "outputs are scalars"),
        (Conserved(channels=(1,)), FourierFeatures(16), None, r"channels \(1,\)"),
        (Integral((1.0, 2.0)), FourierFeatures(16), None, "one finite value"),
        (Integral(math.nan), FourierFeatures(16), None, "one finite value"),
        (BoundaryValues(), FourierFeatures(16), None, "both ends of an axis"),
        (BoundaryValues(), FourierFeatures(16, domain=Domain(1, axes="cells")), None, "no nodes at their ends"),
        (BoundaryValues("input"), ScalarFeatures(8), Channels(LINE, 1), "inputs where outputs are"),
        (DivergenceFree(), FourierFeatures(16, domain=LINE), None, "on a torus"),
    ],
    ids=str,
)
def test_a_constraint_that_says_nothing_here_is_refused(burgers, constraint, feature_map, output, words):
    y = burgers.y[:, 0] if output == Domain(0) else burgers.y[:, None] if output is not None else burgers.y
    with pytest.raises(RaffiaError, match=words):
        model_of([constraint], feature_map, output=output).fit(burgers.a, y)


@pytest.mark.parametrize("wrong", [Conserved(), ["conserved"], [Conserved], None], ids=str)
def test_what_is_no_list_of_constraints_is_refused(burgers, wrong):
    with pytest.raises(RaffiaError, match=r"such as \[Conserved\(\), Positive\(\)\]"):
        model_of(()).set_params(constraints=wrong).fit(burgers.a, burgers.y)


def test_what_data_conserve_is_found_to_the_rounding_of_the_data():
    a = random_functions(8, (3, 64))
    y = 2 * a.roll(5, 2)
    y[:, [0, 2]] /= 2
    y[:, 1] += 0.1
    space = Channels(CIRCLE, 3)
    assert conserved_by(a, y, space) == Conserved(channels=(0, 2))
    assert conserved_by(a.float().numpy(), y.float().numpy(), space) == Conserved(channels=(0, 2))
    assert conserved_by(a[:, 0], y[:, 0], CIRCLE) == Conserved()
    assert conserved_by(a[:, 1], y[:, 1], CIRCLE) is None
    assert conserved_by(a[:, :2], y[:, :1], Channels(CIRCLE, 1)) == Conserved(channels=(0,))
    assert conserved_by(a[:, 0, :32], y[:, 0], CIRCLE) is None
    assert conserved_by(a[:, 0], y[:, 0, :8], Vectors()) is None
    assert "channel 0, 2 is that of the input" in conserved_by(a, y, space).in_words


@pytest.mark.parametrize("one", [Conserved(), Integral((1.0, 2.0), (0, 1)), BoundaryValues("input"), Positive(7)], ids=str)
def test_constraints_are_shown_as_they_are_written(one):
    assert eval(repr(one)) == one
    assert repr(Conserved()) == "Conserved()"


def test_a_constant_factor_is_no_conservation():
    a = random_functions(8, (64,))
    assert conserved_by(a, a * (1 + 1e-9), CIRCLE) is None
    assert Positive().in_words == "values are not negative"


def leaking(rate, count=12, steps=100):
    """Trajectories that move and lose a share `rate` of their mean in each step, as pairs with the labels of their trajectories."""
    start = 1 + 0.1 * random_functions(count, (32,))
    u = torch.stack([(1 - rate) ** t * start.roll(t, 1) for t in range(steps + 1)], 1)
    return u, torch.arange(count).repeat_interleave(steps)


@pytest.mark.parametrize(("dtype", "rate"), [(torch.float32, 2e-5), (torch.float32, 2e-6), (torch.float64, 1e-13)])
def test_a_leak_of_less_than_rounding_in_a_step_is_noticed_along_trajectories(dtype, rate):
    for wanted, share in ((None, rate), (Conserved(), 0.0)):
        u, labels = leaking(share)
        a, y = (f.flatten(0, 1).to(dtype) for f in (u[:, :-1], u[:, 1:]))
        assert conserved_by(a, y, CIRCLE, labels) == wanted


@pytest.mark.parametrize(("count", "wanted"), [(100, Conserved()), (12, None)])
def test_one_bad_trajectory_of_a_hundred_does_not_decide_and_one_of_twelve_does(count, wanted):
    u, labels = leaking(0.0, count, steps=5)
    u[3, 2:] += 0.1
    assert conserved_by(u[:, :-1].flatten(0, 1), u[:, 1:].flatten(0, 1), CIRCLE, labels) == wanted


def test_the_integral_may_be_that_of_another_channel_of_the_input():
    a = random_functions(12, (2, 32))
    y = a[:, 1].roll(3, 1)
    assert conserved_by(a, y, CIRCLE, of=[1]) == Conserved(None, of=(1,))
    assert conserved_by(a, y, CIRCLE) is None
    features = FourierFeatures(16, domain=Channels(CIRCLE, 2))
    model = model_of([Conserved((0,), of=(1,))], features, output=CIRCLE).fit(a, y)
    new = random_functions(3, (2, 75))
    assert (model.predict(new).mean(1) - new[:, 1].mean(1)).abs().max() < 1e-13
    for wrong in (Conserved((0,), of=(2,)), Conserved((0,), of=(0, 1))):
        with pytest.raises(RaffiaError, match="channels"):
            model_of([wrong], features, output=CIRCLE).fit(a, y)


@pytest.mark.parametrize(("n", "faulty", "found"), [(1000, 2, Conserved()), (1000, 100, None), (5, 1, None)])
def test_a_few_faulty_samples_of_many_do_not_hide_a_conservation_law(n, faulty, found):
    a = random_functions(n, (16,))
    y = a.roll(5, 1)
    y[:faulty] += 1e3
    assert conserved_by(a, y, CIRCLE) == found
