import math

import numpy as np
import pytest
import torch

from raffia import Burgers, Domain, RaffiaError

GRID = Domain(1).grid(256)
X = GRID.axes()[0]


def bump(points=256):
    x = Domain(1).grid(points).axes()[0]
    return (0.8 * torch.sin(2 * torch.pi * x) + 0.3 * torch.cos(4 * torch.pi * x + 1))[None]


def cole_hopf(a, viscosity, time):
    """u = −2ε φ_x/φ with φ_t = ε φ_xx, φ(0) = exp(−∫a/2ε), everything on a fine grid by Fourier series."""
    n = a.shape[-1]
    k = 2j * torch.pi * torch.fft.fftfreq(n, 1 / n, dtype=torch.float64)
    a_hat = torch.fft.fft(a)
    integral = torch.fft.ifft(torch.where(k == 0, 0, a_hat / torch.where(k == 0, 1, k))).real
    phi = torch.fft.fft(torch.exp(-integral / (2 * viscosity))) * torch.exp(viscosity * k**2 * time)
    return -2 * viscosity * torch.fft.ifft(k * phi).real / torch.fft.ifft(phi).real


def distance(u, v):
    return float(torch.linalg.vector_norm(u - v) / torch.linalg.vector_norm(v))


@pytest.mark.parametrize(("viscosity", "time"), [(0.01, 1.0), (0.05, 0.3), (0.2, 2.0)])
def test_solution_is_the_cole_hopf_solution(viscosity, time):
    exact = cole_hopf(bump(4096), viscosity, time)[:, ::16]
    assert distance(Burgers(viscosity=viscosity, time=time).solve(bump()), exact) < 1e-8


def test_a_path_that_goes_on_long_after_its_shocks_is_the_cole_hopf_solution():
    times = tuple(float(t) for t in range(1, 31))
    u = Burgers(time=times).solve(bump())
    for time in (1, 5, 30):
        assert distance(u[:, time - 1], cole_hopf(bump(4096), 0.01, time)[:, ::16]) < 3e-8


def test_random_inputs_are_solved_to_the_stated_accuracy():
    problem = Burgers(fine_points=2048)
    a = Burgers(fine_points=1024).input_measure.sample(6, Domain(1).grid(2048), seed=0)
    assert distance(problem.solve(a), cole_hopf(a, 0.01, 1.0)) < 5e-8


def test_time_stepping_is_of_fourth_order():
    exact = cole_hopf(bump(4096), 0.02, 0.5)[:, ::16]
    steps = [1 / 20, 1 / 40, 1 / 80]
    errors = [distance(Burgers(viscosity=0.02, time=0.5, fine_points=256, step=h).solve(bump()), exact) for h in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order == pytest.approx(4, abs=0.4)


def test_space_discretisation_is_spectral():
    """The error falls geometrically: each doubling of the points gains more digits than the one before, down to rounding."""
    exact = cole_hopf(bump(4096), 0.05, 0.5)
    errors = []
    for points in (16, 32, 64):
        solution = Burgers(viscosity=0.05, time=0.5, fine_points=points, step=1e-3).solve(bump(points))
        errors.append(distance(solution, exact[:, :: 4096 // points]))
    assert errors[1] < errors[0] / 8
    assert errors[2] < errors[1] / 500


def test_burgers_flow_is_a_semigroup():  # Ψ_T ∘ Ψ_T = Ψ_2T
    half, whole = Burgers(time=0.5), Burgers(time=1.0)
    assert distance(half.solve(half.solve(bump(1024))), whole.solve(bump(1024))) < 1e-8


def test_several_times_in_one_integration_are_those_of_separate_ones():
    together = Burgers(time=(0.3, 0.5, 1.0)).solve(bump())
    assert together.shape == (1, 3, 256)
    for i, time in enumerate((0.3, 0.5, 1.0)):
        assert distance(together[:, i], Burgers(time=time).solve(bump())) < 1e-8


@pytest.mark.parametrize("steady", [True, False])
def test_forced_equation_has_the_manufactured_solution(steady):
    """u = c(t) sin 2πx solves the equation with f = c' sin + π c² sin 4πx + 4π² ε c sin."""
    eps, w = 0.05, 2 * torch.pi

    def c(t):
        return 0.5 if steady else 0.5 + 0.2 * math.sin(3 * t)

    def forcing(t, x):
        rate = 0.0 if steady else 0.6 * math.cos(3 * t)
        return rate * torch.sin(w * x) + c(t) ** 2 * w / 2 * torch.sin(2 * w * x) + eps * w**2 * c(t) * torch.sin(w * x)

    f = forcing(0.0, X) if steady else forcing
    start, end = (c(t) * torch.sin(w * X)[None] for t in (0.0, 0.7))
    assert distance(Burgers(viscosity=eps, time=0.7, forcing=f, fine_points=256).solve(start), end) < 1e-7


@pytest.mark.slow
def test_forcing_that_vanishes_at_the_output_times_sets_the_step_all_the_same():
    problem = Burgers(fine_points=512, forcing=lambda t, x: 5 * math.sin(math.pi * t) * torch.sin(2 * torch.pi * x))
    u = problem.solve(0.1 * bump())
    finer = problem.set_params(step=2e-4).solve(0.1 * bump())
    assert distance(u, finer) < 1e-6


def test_an_integration_that_blows_up_is_an_error():
    with pytest.raises(RaffiaError, match="did not stay finite"):
        Burgers(viscosity=1e-4, step=0.1, fine_points=256).solve(20 * bump())


def test_mean_is_conserved_and_energy_decays():
    u = Burgers(time=(0.2, 0.6, 1.0)).solve(bump() + 0.25)
    torch.testing.assert_close(u.mean(-1), torch.full((1, 3), 0.25, dtype=torch.float64))
    energy = torch.cat([(bump() + 0.25)[:, None], u], dim=1).square().mean(-1)
    assert (energy.diff() < 0).all()


def test_pair_i_depends_on_seed_and_i_only():
    problem = Burgers(fine_points=256)
    whole, part, other = (
        problem.dataset(9, 32, seed=4),
        problem.dataset(range(6, 9), 32, seed=4),
        problem.dataset(9, 32, seed=5),
    )
    assert torch.equal(part.a, whole.a[6:])
    torch.testing.assert_close(part.y, whole.y[6:], rtol=0, atol=1e-14)
    assert not torch.equal(other.a, whole.a)


def test_the_grid_changes_what_is_seen_of_a_pair_not_the_pair():
    problem = Burgers(fine_points=256)
    fine, coarse, odd = (problem.dataset(3, points, seed=0) for points in (256, 64, 51))
    torch.testing.assert_close(coarse.a, fine.a[:, ::4], atol=1e-12, rtol=0)
    torch.testing.assert_close(coarse.y, fine.y[:, ::4], atol=1e-8, rtol=0)
    assert odd.a.shape == odd.y.shape == (3, 51)


def test_settings_and_grid_convention_travel_with_the_data():
    dataset = Burgers(viscosity=0.03, fine_points=64).dataset(2, 32, seed=9)
    assert dataset.domain == Domain(1, periodic=True)
    assert dataset.settings["problem"] == "Burgers"
    assert (dataset.settings["viscosity"], dataset.settings["seed"], dataset.settings["points"]) == (0.03, 9, [32])
    a, y = dataset
    assert a is dataset.a
    assert y is dataset.y
    assert len(dataset) == 2


@pytest.mark.parametrize(
    ("problem", "a", "words"),
    [
        (Burgers(viscosity=0.0), bump(), "viscosity"),
        (Burgers(time=(1.0, 0.5)), bump(), "increasing"),
        (Burgers(time=-1.0), bump(), "positive"),
        (Burgers(time=float("nan")), bump(), "positive"),
        (Burgers(step=-1.0), bump(), "step"),
        (Burgers(), bump() * float("nan"), "finite"),
    ],
)
def test_impossible_settings_are_refused(problem, a, words):
    with pytest.raises(RaffiaError, match=words):
        problem.solve(a)


def test_points_must_be_given():
    with pytest.raises(RaffiaError, match="points=128"):
        Burgers().dataset(3)
