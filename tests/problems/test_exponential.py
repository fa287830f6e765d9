import math

import numpy as np
import pytest
import torch

from raffia import Burgers, Domain
from raffia.problems.exponential import Spectrum, integrate, phi, stepper

CPU = torch.device("cpu")


def distance(u, v):
    return float(torch.linalg.vector_norm(u - v) / torch.linalg.vector_norm(v))


def bump(points):
    x = Domain(1).grid(points).axes()[0]
    return (0.8 * torch.sin(2 * torch.pi * x) + 0.3 * torch.cos(4 * torch.pi * x + 1))[None]


def burgers(u, times, viscosity, step):
    spectrum = Spectrum(Domain(1).grid_of(u), CPU)
    (k,) = spectrum.waves
    return integrate(u, times, spectrum, -viscosity * k**2, lambda v: -0.5j * k * spectrum.of(spectrum.values(v) ** 2), step)


def cole_hopf(a, viscosity, time):
    """u = −2ε φ_x/φ with φ_t = ε φ_xx, φ(0) = exp(−∫a/2ε)."""
    n = a.shape[-1]
    k = 2j * torch.pi * torch.fft.fftfreq(n, 1 / n, dtype=torch.float64)
    integral = torch.fft.ifft(torch.where(k == 0, 0, torch.fft.fft(a) / torch.where(k == 0, 1, k))).real
    phi_hat = torch.fft.fft(torch.exp(-integral / (2 * viscosity))) * torch.exp(viscosity * k**2 * time)
    return -2 * viscosity * torch.fft.ifft(k * phi_hat).real / torch.fft.ifft(phi_hat).real


@pytest.mark.parametrize("turn", [1.0, -1.0, 1j, -1j])
def test_phi_functions_are_integrals(turn):
    """φ_j(z) = ∫₀¹ e^((1−s)z) s^(j−1) / (j−1)! ds, by Gauss's quadrature."""
    z = turn * torch.logspace(-8, 1.3, 60, dtype=torch.float64).to(torch.complex128)
    nodes, weights = (torch.from_numpy(f) for f in np.polynomial.legendre.leggauss(40))
    s = (nodes + 1) / 2
    for j, found in enumerate(phi(z), 1):
        wanted = (torch.exp((1 - s) * z[:, None]) * s ** (j - 1) * weights).sum(-1) / 2 / math.factorial(j - 1)
        torch.testing.assert_close(found, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.filterwarnings("ignore:.*in time")
def test_time_stepping_has_order_four():
    exact = cole_hopf(bump(1024), 0.02, 0.5)[:, ::8]
    steps = [1 / 40, 1 / 80, 1 / 160]
    errors = [distance(burgers(bump(128), [0.5], 0.02, h)[:, 0], exact) for h in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4, abs=0.35)


def test_coefficients_are_exact_for_a_constant_slope():
    """v' = ℓv + c has v(h) = e^(ℓh) v + (e^(ℓh) − 1) c / ℓ, for stiff, growing and turning modes alike."""
    linear = torch.tensor([-1e6, -3.0, -1e-9, 0.5, 40j], dtype=torch.complex128)
    v, c, h = torch.ones(5, dtype=torch.complex128), 2.0, 0.3
    wanted = torch.exp(linear * h) * v + c * torch.from_numpy(np.expm1((linear * h).numpy())) / linear
    torch.testing.assert_close(stepper(linear, lambda w: torch.full_like(w, c), h)(v), wanted)


def test_space_discretisation_is_spectral():
    """The error falls geometrically: each doubling of the points gains more digits than the one before."""
    exact = cole_hopf(bump(1024), 0.05, 0.5)
    errors = [distance(burgers(bump(n), [0.5], 0.05, 2e-3)[:, 0], exact[:, :: 1024 // n]) for n in (16, 32, 64)]
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 500


def test_burgers_equation_with_the_modes_it_needs_is_that_with_all_of_them():
    a = Burgers(fine_points=256).input_measure.sample(3, Domain(1).grid(256), seed=0)
    u = burgers(a, [0.3, 1.0], 0.02, 1e-3)
    assert distance(u, Burgers(viscosity=0.02, time=(0.3, 1.0), fine_points=256).solve(a)) < 1e-8


def test_what_depends_on_time_is_integrated_with_the_same_order():
    """v' = −2v + cos 3t has v(t) = (2 cos 3t + 3 sin 3t − 2 e^(−2t)) / 13 from zero."""
    steps, errors = (10, 20, 40), []
    for count in steps:
        h, v = 1 / count, torch.zeros(1, dtype=torch.float64)
        advance = stepper(torch.tensor([-2.0]).double(), torch.zeros_like, h, lambda t: torch.tensor(math.cos(3 * t)).double())
        for i in range(count):
            v = advance(v, i * h)
        errors.append(abs(float(v) - (2 * math.cos(3) + 3 * math.sin(3) - 2 * math.exp(-2)) / 13))
    assert -np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_heat_flow_is_exact_in_every_dimension(dim):
    domain = Domain(dim, extent=(1.0, 2.0, 0.5)[:dim])
    grid = domain.grid(*(12, 10, 9)[:dim])
    wave = 2 * torch.pi * sum(x / L for x, L in zip(grid.nodes().unbind(-1), domain.extents, strict=True))
    spectrum = Spectrum(grid, CPU)
    rate = sum((2 * torch.pi / L) ** 2 for L in domain.extents)
    u = integrate(torch.cos(wave)[None], [0.01, 0.03], spectrum, -spectrum.squared, torch.zeros_like)
    for i, t in enumerate((0.01, 0.03)):
        torch.testing.assert_close(u[0, i], math.exp(-rate * t) * torch.cos(wave))


def test_squares_of_kept_modes_do_not_alias():
    """The spectrum of u² on a grid and on one of twice the points agree in all kept modes."""
    for points in (15, 16, 18):
        coarse, fine = (Spectrum(Domain(2).grid(n), CPU) for n in (points, 2 * points))
        v = coarse.of(torch.randn(points, points, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
        x, y = Domain(2).grid(2 * points).nodes().unbind(-1)
        u = torch.zeros_like(x)
        k1, k2 = (k.flatten().tolist() for k in coarse.waves)
        for i, p in enumerate(k1):
            for j, q in enumerate(k2):
                u += (1 if q == 0 else 2) * (v[i, j] * torch.exp(1j * (p * x + q * y))).real
        on_coarse, on_fine = coarse.of(coarse.values(v).square()), fine.of(u.square())
        rows = [i for i in range(points) if coarse.kept[i, 0]]
        there = [i if i < points // 2 else i + points for i in rows]
        torch.testing.assert_close(on_coarse[rows], on_fine[there][:, : on_coarse.shape[1]], rtol=1e-10, atol=1e-12)


def test_results_do_not_depend_on_the_batch(monkeypatch):
    a = torch.cat([bump(64), 0.5 * bump(64), bump(64).roll(5, 1)])
    whole = burgers(a, [0.2], 0.05, 5e-3)
    monkeypatch.setattr("raffia.problems.exponential.NUMBERS_IN_CACHE", 64)
    torch.testing.assert_close(burgers(a, [0.2], 0.05, 5e-3), whole, rtol=0, atol=1e-14)


def test_steps_that_are_too_long_are_told():
    with pytest.warns(UserWarning, match=r"not resolved in time: steps of 0.05 make an error of about .* Pass step="):
        burgers(3 * bump(64), [0.5], 0.1, 0.05)
