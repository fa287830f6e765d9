import numpy as np
import pytest
import torch

from raffia import Burgers, Domain, FourierFeatures, RaffiaError, RandomFeatureModel, load
from raffia.features import BrownianBridge
from raffia.model.error_bars import ConformalBand, band_of, scores_of
from raffia.regression import LeftOut, Noise, noise_of


@pytest.fixture(scope="module")
def fitted(burgers):
    return RandomFeatureModel(FourierFeatures(n_modes=24), 60, ridge=1e-5).fit(burgers.a[:30], burgers.y[:30])


def test_variance_is_the_quadratic_form_of_the_posterior_covariance(fitted, burgers):
    """Var F(x) = s² φ(x)ᵀ (G + λ)⁻¹ φ(x)/m, so std² = σ² + that."""
    a = burgers.a[30:33]
    _, std = fitted.predict(a, return_std=True)
    phi = fitted.feature_map(a, fitted.feature_map.draw(60, seed=0))
    inverse = torch.linalg.inv(fitted.equations_.gram + 1e-5 * torch.eye(60))
    noise = fitted.noise_
    wanted = noise.variance + noise.scale(fitted.output_grid_) / 60 * torch.einsum("njx,jk,nkx->nx", phi, inverse, phi)
    torch.testing.assert_close(std**2, wanted, rtol=1e-6, atol=1e-12)


def test_error_bars_do_not_depend_on_the_grid(fitted):
    fine = Burgers(fine_points=256).dataset(3, 128, seed=9).a
    std = [fitted.predict(f, return_std=True)[1] for f in (fine, fine[:, ::2].contiguous())]
    torch.testing.assert_close(std[0][:, ::2], std[1], rtol=1e-3, atol=1e-9)


def test_noise_is_read_off_the_errors_of_leaving_one_out():
    """Independent numbers on K points: K_eff is K and the variance is theirs."""
    generator = torch.Generator().manual_seed(0)
    e = 0.3 * torch.randn(4000, 16, dtype=torch.float64, generator=generator)
    grid = Domain(1).grid(16)
    noise = noise_of(LeftOut(torch.zeros(1, 4000), grid.embed(e), torch.zeros(4000)), grid)
    assert noise.variance == pytest.approx(0.09, rel=0.05)
    assert noise.effective_points == pytest.approx(16, rel=0.05)
    together = e[:, :1].expand(-1, 16)  # one number a function, repeated
    assert noise_of(
        LeftOut(torch.zeros(1, 4000), grid.embed(together), torch.zeros(4000)), grid
    ).effective_points == pytest.approx(1)
    assert noise_of(LeftOut(torch.zeros(1, 4000), grid.embed(e), torch.full((4000,), 16.0)), grid).variance == pytest.approx(
        0.045, rel=0.05
    )


def test_uncertainty_is_larger_away_from_the_data(fitted, burgers):
    near, far = (fitted.predict(f, return_std=True)[1].mean() for f in (burgers.a[30:], 4 * burgers.a[30:]))
    assert far > 1.5 * near


def test_arrays_in_give_arrays_out(fitted, burgers):
    mean, std = fitted.predict(burgers.a[:2].numpy(), return_std=True)
    assert isinstance(mean, np.ndarray)
    assert isinstance(std, np.ndarray)


def test_error_bars_survive_saving_with_statistics(fitted, burgers, tmp_path):
    before = fitted.predict(burgers.a[:2], return_std=True)[1]
    fitted.save(tmp_path / "m.safetensors", statistics=True)
    torch.testing.assert_close(load(tmp_path / "m.safetensors").predict(burgers.a[:2], return_std=True)[1], before)
    fitted.save(tmp_path / "small.safetensors")
    with pytest.raises(RaffiaError, match="statistics=True"):
        load(tmp_path / "small.safetensors").predict(burgers.a[:2], return_std=True)


def test_scalar_features_have_no_error_bars_yet_and_say_so():
    x = torch.linspace(0.1, 0.9, 8, dtype=torch.float64)
    model = RandomFeatureModel(BrownianBridge(n_modes=20), 5, ridge=1e-3).fit(
        x, torch.stack([x, x, x, x], dim=1)[:, None].squeeze(1)[:, 0]
    )
    mean, std = model.predict(x, return_std=True)
    assert mean.shape == std.shape == (8,)


def test_what_the_caller_does_to_its_arrays_after_fit_does_not_matter(burgers):
    a, y = (f[:20].numpy().copy() for f in burgers)
    model = RandomFeatureModel(FourierFeatures(n_modes=24), 30, ridge=1e-4).fit(a, y)
    untouched = RandomFeatureModel(FourierFeatures(n_modes=24), 30, ridge=1e-4).fit(a.copy(), y.copy())
    a[:], y[:] = 0, 5
    new = burgers.a[30:]
    torch.testing.assert_close(model.predict(new, return_std=True)[1], untouched.predict(new, return_std=True)[1])


def test_error_bars_are_finite_for_a_tiny_ridge_and_for_zero_outputs(burgers):
    a, y = burgers.a[:8], burgers.y[:8]
    tiny = RandomFeatureModel(FourierFeatures(n_modes=24), 200, ridge=1e-18).fit(a, y)
    nothing = RandomFeatureModel(FourierFeatures(n_modes=24), 20, ridge=1e-3).fit(a, 0 * y)
    for model in (tiny, nothing):
        assert torch.isfinite(model.predict(a, return_std=True)[1]).all()


class TestConformal:
    def test_coverage_is_exact_on_average(self):
        """Exchangeable scores: mean coverage over many calibrations is ⌈(n+1)·level⌉/(n+1)."""
        generator = torch.Generator().manual_seed(0)

        def centre(a):
            return torch.zeros_like(a), torch.ones_like(a)

        covered = []
        for _ in range(2000):
            y = torch.randn(30, 4, dtype=torch.float64, generator=generator)
            band = band_of(centre, scores_of(centre, y[:19], y[:19]).tolist(), 0.9)
            covered.append(band.covers(y[19:], y[19:]).double().mean())
        assert float(torch.stack(covered).mean()) == pytest.approx(18 / 20, abs=0.008)

    def test_band_surrounds_the_prediction_and_contains_what_it_covers(self, fitted, burgers):
        band = fitted.conformal(burgers.a[30:], burgers.y[30:], level=0.8)
        assert isinstance(band, ConformalBand)
        lower, upper = band(burgers.a[:4])
        torch.testing.assert_close((lower + upper) / 2, fitted.predict(burgers.a[:4]))
        inside = ((burgers.y[30:] >= band(burgers.a[30:])[0]) & (burgers.y[30:] <= band(burgers.a[30:])[1])).all(-1)
        assert torch.equal(inside, band.covers(burgers.a[30:], burgers.y[30:]))
        assert inside.double().mean() >= 0.8

    def test_arrays_and_shapes(self, fitted, burgers):
        a, y = (f[30:].numpy() for f in burgers)
        band = fitted.conformal(a, y, level=0.8)
        assert isinstance(band(a)[0], np.ndarray)
        assert band.covers(a, y).mean() >= 0.8
        with pytest.raises(RaffiaError, match="the shape of the predictions"):
            fitted.conformal(a, y[:, :1])
        with pytest.raises(RaffiaError, match="needs at least 9 calibration pairs; got 5"):
            fitted.conformal(a[:5], y[:5])

    def test_too_few_pairs_or_an_impossible_level_are_refused(self, fitted, burgers):
        with pytest.raises(RaffiaError, match=r"level=0.99 needs at least 99 calibration pairs; got 10"):
            fitted.conformal(burgers.a[30:], burgers.y[30:], level=0.99)
        with pytest.raises(RaffiaError, match="between 0 and 1"):
            fitted.conformal(burgers.a[30:], burgers.y[30:], level=1.5)


def test_noise_scale_is_a_density():
    assert Noise(0.5, 10.0).scale(Domain(1, extent=2.0).grid(7)) == pytest.approx(0.1)
