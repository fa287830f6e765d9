import math

import pytest
import torch

from raffia import Domain, FourierFeatures, GaussianField, RaffiaError, resample
from raffia.features import ACTIVATIONS, fourier
from raffia.features.activations import activate
from raffia.features.fourier import wavenumber_filter

PAPER = ("elu", "relu", "tanh", "sigmoid", "sin", "selu", "softplus")


def convolved(a, theta_field, features):
    """F⁻¹(χ · Fa · Fθ) by the sums that define it, with full complex transforms."""
    K = a.shape[-1]
    k = torch.fft.fftfreq(K, 1 / K, dtype=torch.float64)
    chi = wavenumber_filter(2 * math.pi * features.delta * k.abs(), features.beta)
    x = torch.arange(K, dtype=torch.float64) / K
    waves = torch.exp(2j * math.pi * k[:, None] * x)
    coefficients = [(f[..., None, :] * waves.conj()).mean(-1) for f in (a, theta_field)]
    return (chi * coefficients[0] * coefficients[1]) @ waves


@pytest.mark.parametrize("activation", PAPER)
def test_feature_is_the_activated_filtered_convolution(activation):  # eqn:rf_fourier
    features = FourierFeatures(n_modes=20, activation=activation, amplitude=300.0)
    grid = Domain(1).grid(40)
    a = GaussianField(n_modes=38).sample(1, grid, seed=0)
    xi = features.draw(1, seed=0)
    theta = GaussianField(tau=features.tau, regularity=features.regularity, n_modes=20)(xi[:, 1:], grid)
    wanted = ACTIVATIONS[activation](300 * convolved(a[0], theta[0], features).real)
    torch.testing.assert_close(features(a, xi)[0, 0], wanted, atol=1e-12, rtol=1e-10)


def test_filter_is_the_papers():  # eqn:filter and its figure: peak near k = 32 for δ = 0.0025, β = 4
    k = torch.arange(0, 200, dtype=torch.float64)
    chi = wavenumber_filter(2 * math.pi * 0.0025 * k, 4.0)
    r = 2 * math.pi * 0.0025 * k
    assert chi[0] == 0
    assert int(chi.argmax()) == 32
    torch.testing.assert_close(chi[:30], 2 * r[:30])
    torch.testing.assert_close(chi[40:], (r[40:] + 0.5) ** -4)


def test_elu_is_the_papers():  # eqn:activation_elu
    r = torch.linspace(-3, 3, 13, dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS["elu"](r), torch.where(r >= 0, r, r.exp() - 1))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_in_place_are_the_plain_ones_to_rounding(name):
    r = torch.cat([torch.linspace(-60, 60, 4801), torch.tensor([0.0, 1e-9, -1e-9, 1e4, -1e4])]).double()
    torch.testing.assert_close(activate(name, r.clone()), ACTIVATIONS[name](r), rtol=4e-16, atol=4e-16)


@pytest.mark.parametrize(("waves", "points"), [(9, 16), (8, 16), (8, 15), (3, 16)])
def test_waves_summed_by_a_matrix_are_the_inverse_transform(waves, points):
    spectrum = torch.view_as_complex(torch.linspace(-1, 1, 4 * waves, dtype=torch.float64).reshape(2, waves, 2).contiguous())
    spectrum[:, 0] = spectrum[:, 0].real.to(spectrum)
    product = torch.view_as_real(spectrum).flatten(-2) @ fourier._waves(waves, points, torch.device("cpu"))
    torch.testing.assert_close(product, torch.fft.irfft(spectrum, n=points, norm="forward"))


def test_amplitude_is_not_a_scale_of_the_output():
    a = GaussianField().sample(2, Domain(1).grid(64), seed=0)
    one, two = (FourierFeatures(amplitude=s)(a, FourierFeatures().draw(3, seed=0)) for s in (500.0, 1000.0))
    assert (two / one - 2).abs().max() > 0.1


def test_bias_shifts_the_argument_by_a_random_number_whatever_the_input_is():
    features = FourierFeatures(bias=0.7, activation="identity")
    xi = features.draw(3, seed=0)
    flat = features(torch.full((1, 16), 2.5, dtype=torch.float64), xi)
    torch.testing.assert_close(flat[0], (0.7 * xi[:, :1]).expand(3, 16))


@pytest.mark.parametrize("points", [63, 64, 65, 129, 256])
def test_odd_and_even_grids_see_the_same_feature(points):
    """A band-limited input, features of the modes that 63 points hold: equal to the values interpolated from a fine grid."""
    features = FourierFeatures(n_modes=62, activation="identity")
    grid, fine = Domain(1).grid(points), Domain(1).grid(512)
    field, xi = GaussianField(n_modes=62), features.draw(4, seed=0)
    there = resample(features(field.sample(2, fine, seed=1), xi), fine, grid)
    torch.testing.assert_close(features(field.sample(2, grid, seed=1), xi), there, atol=1e-10, rtol=0)


def test_on_a_coarse_grid_high_modes_are_dropped_not_aliased():
    wide, narrow = FourierFeatures(n_modes=64), FourierFeatures(n_modes=14)
    a = GaussianField(n_modes=14).sample(2, Domain(1).grid(16), seed=0)
    xi = wide.draw(3, seed=0)
    torch.testing.assert_close(wide(a, xi), narrow(a, xi[:, :15]))


@pytest.mark.parametrize(("n_modes", "points"), [(128, 2), (128, 1), (1, 64)])
def test_too_coarse_a_grid_is_refused(n_modes, points):
    features = FourierFeatures(n_modes=n_modes)
    with pytest.raises(RaffiaError, match="no wavenumber left"):
        features(torch.ones(1, points, dtype=torch.float64), features.draw(2, seed=0))


def test_unknown_activation_is_refused_with_the_list():
    with pytest.raises(RaffiaError, match=r"activation must be one of .*elu.*got 'swish'"):
        FourierFeatures(activation="swish")(torch.ones(1, 8).double(), FourierFeatures().draw(1, seed=0))


def test_profiles_are_the_standard_deviations_of_the_multipliers():
    xi = FourierFeatures(n_modes=20).draw(4000, seed=0)
    grid = Domain(1).grid(64)
    k = torch.arange(1, 11, dtype=torch.float64)
    matern = FourierFeatures(n_modes=20, profile="matern", tau=9.0, regularity=3.0, amplitude=2.0)
    multiplier, _ = matern.prepare(xi, grid)
    spread = multiplier[:, 0, 1:].real.std(0)
    torch.testing.assert_close(spread, 2 * (1 + (2 * math.pi * k / 9) ** 2) ** -1.5, rtol=0.06, atol=0)
    weights = torch.linspace(1, 2, 10, dtype=torch.float64)
    free = FourierFeatures(n_modes=20, profile=weights, amplitude=1.0).prepare(xi, grid)[0][:, 0]
    torch.testing.assert_close(free[:, 1:] / torch.complex(xi[:, 2::2], -xi[:, 1::2]), weights.expand(4000, -1).to(free.dtype))


def test_impossible_profiles_are_refused():
    a, xi = torch.rand(1, 32, dtype=torch.float64), FourierFeatures(n_modes=20).draw(2, seed=0)
    with pytest.raises(RaffiaError, match="each wavenumber, here 10; got 3"):
        FourierFeatures(n_modes=20, profile=torch.ones(3))(a, xi)


def test_features_on_a_torus_of_two_dimensions_are_activated_convolutions():
    """F⁻¹(χ · Fa · Fθ) with full complex transforms and θ drawn as a Gaussian field."""
    domain, side = Domain(2, extent=(1.0, 2.0)), 20
    features = FourierFeatures(n_modes=24, activation="tanh", amplitude=300.0, delta=0.01, domain=domain)
    grid = domain.grid(side)
    a, xi = GaussianField(domain, n_modes=40).sample(1, grid, seed=0), features.draw(1, seed=0)
    theta = GaussianField(domain, tau=features.tau, regularity=features.regularity, n_modes=24)(xi[:, 1:], grid)
    k = [2 * math.pi / L * torch.fft.fftfreq(side, 1 / side, dtype=torch.float64) for L in (1.0, 2.0)]
    chi = wavenumber_filter(0.01 * (k[0][:, None] ** 2 + k[1] ** 2).sqrt(), features.beta)
    spectra = [torch.fft.fft2(f[0], norm="forward") for f in (a, theta)]
    convolution = torch.fft.ifft2(chi * spectra[0] * spectra[1], norm="forward").real
    torch.testing.assert_close(features(a, xi)[0, 0], torch.tanh(300 * convolution), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize(("boundary", "wave"), [("neumann", torch.cos), ("dirichlet", torch.sin)])
def test_on_a_box_one_cosine_or_sine_becomes_a_random_wave_of_its_frequency(boundary, wave):
    domain = Domain(1, periodic=False, extent=2.0)
    features = FourierFeatures(
        n_modes=12, activation="identity", profile="matern", amplitude=3.0, boundary=boundary, domain=domain
    )
    x, xi = domain.grid(33).axes()[0], features.draw(1, seed=0)[0]
    frequency = 2 * math.pi / 2.0  # the second of them: π k / 2 with k = 2
    weight = 3.0 * (1 + (frequency / features.tau) ** 2) ** (-features.regularity / 2)
    sine, cosine = xi[3], xi[4]
    turned = x if boundary == "neumann" else x - 0.5 * math.pi / frequency
    wanted = weight * (cosine * torch.cos(frequency * turned) + sine * torch.sin(frequency * turned))
    torch.testing.assert_close(features(wave(frequency * x)[None], xi[None])[0, 0], wanted, atol=1e-12, rtol=0)


def test_numbers_and_unknown_boundaries_are_refused():
    with pytest.raises(RaffiaError, match="FourierFeatures needs functions on a grid"):
        FourierFeatures(domain=Domain(0)).prepare(torch.zeros(1, 129).double(), Domain(0).grid())
    features = FourierFeatures(domain=Domain(1, periodic=False)).set_params(boundary="robin")
    with pytest.raises(RaffiaError, match="'neumann' or 'dirichlet'; got 'robin'"):
        features(torch.ones(1, 9).double(), features.draw(1, seed=0))


@pytest.mark.parametrize(("count", "points"), [(1, 8), (5, 12), (33, 65), (64, 128)])
def test_a_matrix_of_waves_is_the_inverse_transform(count, points):
    """What a GPU uses in place of the FFT."""
    spectrum = torch.randn(3, count, dtype=torch.complex128, generator=torch.Generator().manual_seed(0))
    spectrum[:, 0] = spectrum[:, 0].real.to(torch.complex128)
    waves = torch.view_as_real(spectrum).flatten(-2) @ fourier._waves(count, points, torch.device("cpu"))
    torch.testing.assert_close(waves, torch.fft.irfft(spectrum, n=points, norm="forward"), atol=1e-12, rtol=0)


@pytest.mark.parametrize("domain", [Domain(1), Domain(2), Domain(1, periodic=False)])
def test_features_see_the_mean_of_inputs_if_they_are_to(domain):
    a = torch.ones(2, *domain.grid(9).shape, dtype=torch.float64) * torch.tensor([1.0, 2.0]).reshape(2, *[1] * domain.dim)
    blind, seeing = FourierFeatures(8, domain=domain), FourierFeatures(8, domain=domain, mean=0.5, amplitude=1.0, bias=0.3)
    assert torch.equal(*blind(a, blind.draw(3, 0)))
    theta = seeing.draw(3, 0)
    wanted = torch.nn.functional.elu(0.3 * theta[:, 0] + 0.5 * theta[:, 1] * torch.tensor([[1.0], [2.0]]))
    torch.testing.assert_close(seeing(a, theta).flatten(2)[..., 0], wanted)
