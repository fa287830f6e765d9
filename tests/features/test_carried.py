import math

import pytest
import torch

from raffia import CarriedFeatures, Channels, Domain, GaussianField, NavierStokes, RaffiaError, RandomFeatureModel, resample
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


@pytest.mark.parametrize("features", [CarriedFeatures(0), CarriedFeatures(domain=Domain(2, periodic=False))])
def test_what_they_cannot_do_is_refused(features):
    with pytest.raises(RaffiaError, match="CarriedFeatures needs steps >= 1 and functions of one channel on a torus"):
        features(torch.rand(2, 8, 8, dtype=torch.float64), features.draw(1, 0))


def test_channels_are_refused():
    features = CarriedFeatures(domain=Channels(PLANE, 2))
    with pytest.raises(RaffiaError, match="functions of one channel on a torus"):
        features(torch.rand(2, 2, 8, 8, dtype=torch.float64), features.draw(1, 0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_search_learns_to_carry_vorticity():
    """From values that favour nothing: the turn of a velocity, and that a stream function is about two derivatives smoother."""
    problem = NavierStokes(forcing=None, deviation=2.0, time=0.5)
    (a, y), (test, truth) = problem.dataset(60, 16, seed=0), problem.dataset(30, 16, seed=1)
    model = RandomFeatureModel(CarriedFeatures.suited(a, y, PLANE, steps=2), 16, "auto", coefficients="modal")
    before = -model.fit(a, y).score(test, truth)
    model.tune(a, y, GradientSearch(40, 4, screened=4, swept=0))
    assert -model.score(test, truth) < 0.5 * before
    assert model.feature_map.power > 1.5
