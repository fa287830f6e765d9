import math

import pytest
import torch

from raffia import (
    Channels,
    Domain,
    FourierFeatures,
    GaussianField,
    LocalFeatures,
    Mesh,
    RaffiaError,
    RandomFeatureModel,
    resample,
)
from raffia.features import CarriedFeatures
from raffia.problems import NavierStokes
from raffia.tuning import GradientSearch

PLANE, CIRCLE = Domain(2), Domain(1)
STILL = {"spread": 0.0, "shape": 0.0, "damping": 0.0}


def smooth(domain, points, n=3, modes=8):
    return GaussianField(domain, tau=3.0, n_modes=modes).sample(n, domain.grid(points), seed=0)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_single_wave_is_not_changed_by_the_flow_around_it(steps):
    """u = ∇^⊥ M a is orthogonal to ∇a."""
    x = 2 * math.pi * PLANE.grid(32).nodes()
    a = torch.cos(x[..., 0] + 2 * x[..., 1])[None]
    features = CarriedFeatures(steps, turn=1.0, climb=0.0, power=2.0, **STILL)
    torch.testing.assert_close(features(a, features.draw(2, 0))[:, 0], a, rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("domain", "rate"), [(CIRCLE, "turn"), (CIRCLE, "climb"), (PLANE, "turn"), (PLANE, "climb"), (Domain(3), "climb")]
)
def test_to_first_order_they_are_transport(domain, rate):
    """dφ/dε = −u·∇q at ε = 0, with u made of M q, M = |k|⁻²."""
    points = 48 if domain.dim < 3 else 24
    q, grid = smooth(domain, points, modes=12), domain.grid(points)
    axes, waves = tuple(range(1, q.ndim)), []
    for axis in range(domain.dim):
        k = torch.fft.fftfreq(points, 1 / points).double()
        waves.append(1j * k.reshape(-1, *[1] * (domain.dim - 1 - axis)))
    squares = sum(-(k**2).real for k in waves)
    smoother = torch.fft.fftn(q, dim=axes) * (squares > 0) / squares.clamp(min=1)
    slopes = [torch.fft.ifftn(k * torch.fft.fftn(q, dim=axes), dim=axes).real for k in waves]
    pushes = [torch.fft.ifftn(k * smoother, dim=axes).real for k in waves]
    if domain.dim == 1:
        velocity = [torch.fft.ifftn(smoother, dim=axes).real] if rate == "turn" else pushes
    else:
        velocity = [pushes[1], -pushes[0]] if rate == "turn" else pushes
    wanted = -sum(u * slope for u, slope in zip(velocity, slopes, strict=True))
    small = {"turn": 0.0, "climb": 0.0, "power": 2.0} | STILL
    theta = CarriedFeatures(domain=domain).draw(1, 0)
    ends = [CarriedFeatures(**small | {rate: step}, domain=domain)(q, theta)[:, 0] for step in (1e-3, -1e-3)]
    found = (ends[0] - ends[1]) / 2e-3
    assert float((found - wanted).norm() / wanted.norm()) < 0.03
    assert grid.shape == tuple(found.shape[1:])


def test_damping_is_diffusion():
    a = smooth(PLANE, 16)
    features = CarriedFeatures(2, turn=0.0, climb=0.0, damping=0.1, **{"spread": 0.0, "shape": 0.0})
    k = torch.fft.fftfreq(16, 1 / 16).double()
    blur = torch.exp(-0.1 * (k[:, None] ** 2 + k**2))
    wanted = torch.fft.ifftn(blur * torch.fft.fftn(a, dim=(1, 2)), dim=(1, 2)).real
    torch.testing.assert_close(features(a, features.draw(1, 0))[:, 0], wanted)


def test_a_source_is_added_a_share_a_step_on_every_grid():
    a, source = smooth(PLANE, 16), smooth(PLANE, 8, 1)[0]
    features = CarriedFeatures(3, turn=0.0, climb=0.0, gain=2.0, scale=0.5, source=source, **STILL)
    there = resample(source, PLANE.grid(8), PLANE.grid(16))
    torch.testing.assert_close(features(a, features.draw(1, 0))[:, 0], a / 0.5 + 2.0 * there / 0.5)


def test_what_outputs_have_on_the_mean_is_a_source_if_it_is_much():
    a, f = smooth(PLANE, 16, 100), 2 * smooth(PLANE, 16, 1)[0]
    assert CarriedFeatures.suited(a, a, PLANE).source is None
    torch.testing.assert_close(CarriedFeatures.suited(a, a + f, PLANE).source, f)


@pytest.mark.parametrize("domain", [CIRCLE, PLANE, Domain(2, extent=(1.0, 2.0))])
def test_the_same_features_on_a_finer_grid(domain):
    features = CarriedFeatures(2, domain=domain)
    theta = features.draw(4, 0)
    errors = []
    for points in (24, 48):
        coarse, fine = (features(smooth(domain, k), theta) for k in (points, 2 * points))
        shared = fine[(slice(None), slice(None), *(slice(None, None, 2),) * domain.dim)]
        errors.append(float((coarse - shared).norm() / shared.norm()))
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.01


@pytest.mark.parametrize(
    ("features", "shape"),
    [
        (CarriedFeatures(0), (8, 8)),
        (CarriedFeatures(domain=Domain(4)), (4, 4, 4, 4)),
        (CarriedFeatures().set_params(velocity="given"), (8, 8)),
        (CarriedFeatures(domain=Channels(PLANE, 2)), (2, 8, 8)),
        (CarriedFeatures(velocity="first"), (8, 8)),
        (CarriedFeatures(velocity="last", domain=Channels(Domain(3), 2)), (2, 4, 4, 4)),
        (CarriedFeatures(velocity="first", source=torch.ones(8, 8), domain=Channels(PLANE, 2)), (2, 8, 8)),
    ],
)
def test_what_they_cannot_do_is_refused(features, shape):
    with pytest.raises(RaffiaError, match=r"CarriedFeatures needs steps >= 1.* Got steps="):
        features(torch.rand(2, *shape, dtype=torch.float64), features.draw(1, 0))


def test_meshes_and_vectors_are_refused():
    features = CarriedFeatures(domain=Mesh(torch.rand(8, 2)))
    with pytest.raises(RaffiaError, match="CarriedFeatures needs functions on a grid"):
        features(torch.rand(2, 8, dtype=torch.float64), features.draw(1, 0))


def weighted(features, *weights):
    """One feature, of a sum of channels that is not random."""
    theta = features.draw(1, 0)
    theta[:, -len(weights) :] = torch.tensor(weights, dtype=torch.float64)
    return theta


@pytest.mark.parametrize("velocity", ["first", "last"])
def test_a_given_velocity_that_is_constant_shifts_functions(velocity):
    """Its mean is what carries, whatever the shift and the power are."""

    def wave(x):
        return torch.sin(2 * math.pi * (x[..., 0] - 2 * x[..., 1]))

    x, shift = PLANE.grid(48).nodes(), torch.tensor([0.3, -0.2], dtype=torch.float64)
    v = torch.tensor([3.0, -2.0], dtype=torch.float64)
    channels = torch.stack([wave(x), *v[:, None, None].expand(2, 48, 48)])
    names = [1, 2, 0] if velocity == "first" else [0, 1, 2]
    numbers = {"turn": 2 * math.pi * 0.1, "power": 1.0, "velocity": velocity} | STILL
    features = CarriedFeatures(3, **numbers, domain=Channels(PLANE, 3))
    theta = weighted(features, *(1.0 if name == 0 else 0.0 for name in names))
    found = features(channels[names][None], theta)[0, 0]
    torch.testing.assert_close(found, wave(x - shift), rtol=0, atol=1e-4)


def test_a_given_velocity_has_the_size_of_shift_and_scale():
    """v/√(scale² + shift²) on the mean; and what is carried is shifted and scaled channel by channel."""
    a = torch.rand(2, 2, 16, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    numbers = {"turn": 0.5, "power": 1.0, "velocity": "first", "domain": Channels(PLANE, 2)} | STILL
    shift, scale = torch.tensor([3.0, 4.0], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64)
    features = CarriedFeatures(shift=shift, scale=scale, **numbers)
    theta = weighted(features, 1.0, 0.0)
    plain = CarriedFeatures(**numbers | {"turn": 0.5 / math.sqrt(15)})(a, theta)
    torch.testing.assert_close(features(a, theta), plain - 3.0)


def test_in_space_a_vorticity_carries_itself_by_a_curl():
    """dφ/dε = −u·∇q with u = curl (−Δ)⁻¹ q, at ε = 0."""
    domain, points = Domain(3), 20
    q = smooth(domain, points, 3)[None]
    k = torch.stack(torch.meshgrid(*(torch.fft.fftfreq(points, 1 / points).double(),) * 3, indexing="ij"))
    inverse = 1 / k.square().sum(0).clamp(min=1)
    spectrum = torch.fft.fftn(q[0], dim=(1, 2, 3))
    u = torch.fft.ifftn(1j * torch.linalg.cross(k.to(spectrum), inverse * spectrum, dim=0), dim=(1, 2, 3)).real
    slopes = torch.fft.ifftn(1j * k * (0.5 * spectrum[0] - 2 * spectrum[2]), dim=(1, 2, 3)).real
    numbers = {"power": 2.0, "domain": Channels(domain, 3)} | STILL
    theta = weighted(CarriedFeatures(**numbers), 0.5, 0.0, -2.0)
    ends = [CarriedFeatures(turn=step, **numbers)(q, theta)[0, 0] for step in (1e-3, -1e-3)]
    found, wanted = (ends[0] - ends[1]) / 2e-3, -(u * slopes).sum(0)
    assert float((found - wanted).norm() / wanted.norm()) < 0.03


def test_in_space_a_vorticity_that_is_its_own_curl_makes_the_velocity_that_it_is():
    """curl (−Δ)⁻¹ q = q, of the flow of Arnold, Beltrami and Childress."""
    domain = Domain(3)
    x, y, z = (2 * math.pi * domain.grid(24).nodes()).unbind(-1)
    q = torch.stack([torch.sin(z) + torch.cos(y), torch.sin(x) + torch.cos(z), torch.sin(y) + torch.cos(x)])[None]
    made = {"turn": 0.3, "power": 2.0, "domain": Channels(domain, 3)} | STILL
    features = CarriedFeatures(1, **made)
    theta = weighted(features, 1.0, 2.0, 3.0)
    given = CarriedFeatures(1, **made | {"velocity": "first", "power": 0.0})
    torch.testing.assert_close(features(q, theta), given(q, theta))


@pytest.mark.parametrize(
    ("space", "ways"),
    [
        (Channels(PLANE, 2), None),
        (Channels(PLANE, 3), ("first", "last")),
        (Channels(Domain(3), 3), ("first", "made")),
        (PLANE, None),
    ],
)
def test_a_search_tries_which_channels_are_a_velocity(space, ways):
    features = CarriedFeatures(velocity="made" if space == PLANE else "first", domain=space)
    assert getattr(features.hyperparameters.get("velocity"), "options", None) == ways
    for name in ("climb", "sense"):
        assert (name in features.hyperparameters) == (space == PLANE)


def tracers(n, seed, time=0.1):
    """A steady flow on a torus, v = ∇^⊥ψ, and a function that it carries; where that is after a time, along characteristics."""
    generator = torch.Generator().manual_seed(seed)
    k = 2 * math.pi * torch.cartesian_prod(*(torch.arange(-2.0, 3.0),) * 2)[13:].double()  # one of each k and −k
    heights, phases = (torch.rand(2, n, 1, 1, 12, dtype=torch.float64, generator=generator) for _ in range(2))

    def wave(x, which, turn=0.0):
        return heights[which] / k.norm(dim=1) * torch.cos(x @ k.mT + 2 * math.pi * phases[which] + turn)

    def velocity(x):
        slopes = wave(x, 0, math.pi / 2) @ k
        return torch.stack([slopes[..., 1], -slopes[..., 0]], -1)

    nodes = PLANE.grid(16).nodes().expand(n, 16, 16, 2)
    x, h = nodes, time / 20
    for _ in range(20):
        k1 = velocity(x)
        k2 = velocity(x - h / 2 * k1)
        k3 = velocity(x - h / 2 * k2)
        x = x - h / 6 * (k1 + 2 * k2 + 2 * k3 + velocity(x - h * k3))
    a = torch.cat([velocity(nodes), wave(nodes, 1).sum(-1, keepdim=True)], -1).movedim(-1, 1)
    return a, wave(x, 1).sum(-1)


def test_what_a_given_velocity_carries_is_learnt_where_other_features_fail():
    space, (a, y), test = Channels(PLANE, 3), tracers(60, 0), tracers(10, 1)

    def error(features, m, **options):
        model = RandomFeatureModel(features, m, 1e-6, coefficients="modal", output=PLANE, **options)
        return -model.fit(a, y).score(*test)

    shape = {"amplitude": 2.0, "bias": 0.5, "activation": "gelu", "profile": "matern"}
    others = LocalFeatures(domain=space), FourierFeatures(32, 10.0, 2.0, domain=space, **shape)
    carried = CarriedFeatures.suited(a, y, space)
    carried.set_params(steps=4, turn=2 * math.pi * 0.1 * float(a[:, :2].square().mean().sqrt()))
    assert error(carried, 20) < 0.25 * min(error(other, 24, normalize=True) for other in others)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_search_learns_to_carry_vorticity():
    """From values that favour nothing: that it turns and does not climb, and that a stream function is about two derivatives smoother."""
    problem = NavierStokes(forcing=None, deviation=2.0, time=0.5)
    (a, y), (test, truth) = problem.dataset(40, 32, seed=0), problem.dataset(20, 32, seed=1)
    model = RandomFeatureModel(CarriedFeatures.suited(a, y, PLANE).set_params(steps=2), 12, "auto", coefficients="modal")
    before = -model.fit(a, y).score(test, truth)
    model.tune(a, y, GradientSearch(30, 3, screened=4, swept=0))
    assert -model.score(test, truth) < 0.5 * before
    assert abs(model.feature_map.power - 2) < 1
    assert abs(model.feature_map.climb) < 0.1 * model.feature_map.turn


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_search_learns_which_channels_are_a_velocity_and_how_far_it_goes():
    (a, y), (test, truth) = tracers(60, 0), tracers(20, 1)
    a, test = (f[:, [2, 0, 1]] for f in (a, test))  # the velocity comes last, which `suited` does not know
    model = RandomFeatureModel(CarriedFeatures.suited(a, y, Channels(PLANE, 3)), 20, "auto", coefficients="modal", output=PLANE)
    before = -model.fit(a, y).score(test, truth)
    model.tune(a, y, GradientSearch(30, 3, screened=4, swept=0))
    assert -model.score(test, truth) < 0.5 * before
    assert model.feature_map.velocity == "last"
