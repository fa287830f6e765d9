import math
import re
import warnings

import pytest
import torch

from raffia import Burgers, Channels, Domain, RaffiaError
from raffia.problems import (
    Advection,
    AllenCahn,
    Evolution,
    GrayScott,
    KortewegDeVries,
    KuramotoSivashinsky,
    NavierStokes,
    Scenario,
    SwiftHohenberg,
    VectorBurgers,
    Wave,
)

PI = torch.pi

# Each quick to solve: short times, few points, no warm-up
QUICK = [
    Advection(fine_points=64),
    AllenCahn(time=0.5, fine_points=32, width=0.1),
    Burgers(fine_points=128, viscosity=0.05, time=0.2),
    GrayScott(time=20.0, fine_points=64, diffusion=(2e-4, 1e-4), tau=5.0),
    KortewegDeVries(time=0.02, fine_points=64, dispersion=0.01),
    KuramotoSivashinsky(time=1.0, fine_points=128, warm_up=5.0),
    NavierStokes(time=0.2, fine_points=48, viscosity=5e-3),
    Scenario(warm_up=2, time=4.0),
    SwiftHohenberg(time=1.0, fine_points=48, domain=Domain(2, extent=8 * math.pi)),
    VectorBurgers(time=0.2, fine_points=48, viscosity=0.05),
    VectorBurgers(time=0.1, fine_points=24, viscosity=0.1, tau=1.0, domain=Domain(3)),
    Wave(fine_points=32),
    Wave(fine_points=32, velocity=True, domain=Domain(1)),
]
NAMES = [f"{type(problem).__name__}{problem.channels}" for problem in QUICK]


def distance(u, v):
    return float(torch.linalg.vector_norm(u - v) / torch.linalg.vector_norm(v))


@pytest.mark.parametrize("problem", QUICK, ids=NAMES)
def test_a_pair_is_a_function_of_seed_and_number_whatever_the_grid(problem):
    points = problem.fine_points
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the settings above resolve
        whole = problem.dataset(3, points // 2, seed=4)
    part, fine = problem.dataset(range(1, 3), points // 2, seed=4), problem.dataset(3, points, seed=4)
    torch.testing.assert_close(part.a, whole.a[1:], rtol=0, atol=1e-12)
    torch.testing.assert_close(part.y, whole.y[1:], rtol=0, atol=1e-12)
    shared = (..., *(slice(None, None, 2),) * problem.domain.dim)
    torch.testing.assert_close(fine.a[shared], whole.a, rtol=0, atol=1e-12)
    torch.testing.assert_close(fine.y[shared], whole.y, rtol=0, atol=1e-12)
    assert not torch.equal(problem.dataset(3, points // 2, seed=5).a, whole.a)
    assert whole.domain == problem.space
    assert whole.settings["problem"] == type(problem).__name__


@pytest.mark.parametrize("problem", QUICK, ids=NAMES)
def test_finer_grids_give_the_same_functions_to_their_resolution(problem):
    points = problem.fine_points
    finer = type(problem)(**{**problem.get_params(), "fine_points": 2 * points})
    (a, y), (a_fine, y_fine) = (p.dataset(2, points, seed=0) for p in (problem, finer))
    assert distance(a, a_fine) < 0.05  # rough laws have a little beyond the modes of the coarser grid
    assert distance(y, y_fine) < 0.02
    assert distance(finer.solve(a), y) < 2e-3


@pytest.mark.parametrize("problem", QUICK, ids=NAMES)
def test_trajectories_start_like_pairs_and_pass_through_their_ends(problem):
    points, time = problem.fine_points, problem.time
    u = problem.trajectories(2, points, steps=2, dt=time / 2, seed=7)
    a, y = problem.dataset(2, points, seed=7)
    assert u.shape == (2, 3, *a.shape[1:])
    assert torch.equal(u[:, 0], a)
    torch.testing.assert_close(u[:, 2], y, rtol=0, atol=2e-5)
    last = problem.trajectories(range(1, 2), points, steps=2, dt=time / 2, seed=7)
    torch.testing.assert_close(last, u[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "problem", [p for p in QUICK if p.channels > 1 or not isinstance(p, Wave)], ids=lambda problem: type(problem).__name__
)
def test_flows_are_semigroups(problem):  # Ψ_T ∘ Ψ_T = Ψ_2T
    a, half = problem.dataset(2, problem.fine_points, seed=1)
    twice = type(problem)(**{**problem.get_params(), "time": 2 * problem.time}).solve(a)
    assert distance(problem.solve(half), twice) < 1e-5


@pytest.mark.filterwarnings("ignore:GrayScott is not resolved")
def test_states_with_several_channels_live_in_their_space():
    dataset = GrayScott(time=2.0, fine_points=32).dataset(1, 16, seed=0)
    assert dataset.domain == Channels(Domain(2), 2)
    assert dataset.a.shape == dataset.y.shape == (1, 2, 16, 16)
    assert GrayScott(time=(1.0, 2.0), fine_points=16).solve(dataset.a).shape == (1, 2, 2, 16, 16)


def test_float32_comes_back_as_float32():
    a = AllenCahn(fine_points=16).input_measure.sample(1, Domain(2).grid(16), seed=0).float()
    assert AllenCahn(fine_points=16, time=0.1, width=0.2).solve(a).dtype == torch.float32


@pytest.mark.parametrize("problem", QUICK, ids=NAMES)
def test_every_device_has_the_same_solutions(problem, device):
    a, y = problem.dataset(2, problem.fine_points, seed=0)
    torch.testing.assert_close(problem.solve(a.to(device)).cpu(), y, rtol=0, atol=1e-9)


# Exact solutions


@pytest.mark.parametrize("dim", [1, 2])
def test_advection_moves_functions(dim):
    domain = Domain(dim, extent=2.0)
    x = domain.grid(32).nodes()
    speed = (0.7, -0.4)[:dim]

    def wave(x):
        return torch.exp(torch.sin(PI * x)).prod(-1)[None]

    u = Advection(speed=speed, time=(0.3, 1.1), domain=domain, fine_points=32).solve(wave(x))
    for i, t in enumerate((0.3, 1.1)):
        torch.testing.assert_close(u[:, i], wave(x - t * torch.tensor(speed, dtype=torch.float64)), rtol=0, atol=1e-12)


def test_jumps_move_without_ringing():
    problem = Advection(profile="jumps", fine_points=128)
    a, y = problem.dataset(4, 64, seed=0)
    assert set(a.unique().tolist()) == {-1.0, 1.0}
    assert torch.equal(y, a.roll(32, 1))  # c T = 1/2
    assert torch.equal(problem.solve(a), y)
    assert torch.equal(problem.dataset(4, 128, seed=0).a[:, ::2], a)


def test_waves_are_those_of_d_alembert():
    """u(t, x) = (a(x − ct) + a(x + ct)) / 2, and energy is conserved."""
    x = Domain(1).grid(64).axes()[0]

    def a(x):
        return torch.exp(torch.cos(2 * PI * x))[None]

    problem = Wave(speed=1.3, time=0.4, domain=Domain(1), fine_points=64)
    torch.testing.assert_close(problem.solve(a(x)), (a(x - 0.52) + a(x + 0.52)) / 2, rtol=0, atol=1e-12)
    u = Wave(velocity=True, fine_points=32).trajectories(2, 32, 5, 0.1, seed=0)
    k = 2 * PI * torch.fft.fftfreq(32, 1 / 32).double()
    modes = torch.fft.fft2(u)
    energy = (modes[:, :, 1].abs() ** 2 + (k[:, None] ** 2 + k**2) * modes[:, :, 0].abs() ** 2).sum((-2, -1))
    torch.testing.assert_close(energy, energy[:, :1].expand(-1, 6))


def test_a_soliton_keeps_its_shape():
    """u = 3c sech²(√c (x − ct) / 2δ) solves ∂u/∂t + u ∂u/∂x + δ² ∂³u/∂x³ = 0."""
    delta2, c, t = 1e-3, 1.0, 0.2
    x = Domain(1).grid(128).axes()[0]

    def soliton(t):
        apart = (x - 0.3 - c * t + 0.5) % 1 - 0.5
        return (3 * c / torch.cosh(math.sqrt(c / delta2) * apart / 2) ** 2)[None]

    problem = KortewegDeVries(dispersion=delta2, time=t, step=4e-4, fine_points=128)
    assert distance(problem.solve(soliton(0.0)), soliton(t)) < 1e-5


def test_korteweg_de_vries_conserves_mass_momentum_and_energy():
    problem = KortewegDeVries()
    u = problem.trajectories(2, 256, steps=3, dt=0.1, seed=0)
    u_x = torch.fft.irfft(2j * PI * torch.arange(129) * torch.fft.rfft(u), n=256)
    energy = (u**3 / 3 - problem.dispersion * u_x**2).mean(-1)
    for conserved in (u.mean(-1), u.square().mean(-1), energy):
        torch.testing.assert_close(conserved, conserved[:, :1].expand(-1, 4), rtol=1e-5, atol=1e-7)


def test_allen_cahn_is_logistic_where_it_is_flat_and_tanh_where_it_stands():
    flat = torch.tensor([0.1, -0.5, 1.5], dtype=torch.float64)
    u = AllenCahn(time=1.5, step=0.02, fine_points=8).solve(flat[:, None, None].expand(3, 8, 8))
    wanted = flat / torch.sqrt(flat**2 + (1 - flat**2) * math.exp(-3.0))
    torch.testing.assert_close(u, wanted[:, None, None].expand(3, 8, 8), rtol=1e-6, atol=0)
    x = Domain(1).grid(128).axes()[0]
    fronts = -torch.tanh((x - 0.75) / (0.02 * math.sqrt(2))) * torch.tanh((x - 0.25) / (0.02 * math.sqrt(2)))
    still = AllenCahn(width=0.02, time=2.0, domain=Domain(1), fine_points=128).solve(fronts[None])
    torch.testing.assert_close(still[0], fronts, rtol=0, atol=2e-5)


def test_allen_cahn_and_swift_hohenberg_lose_energy():
    """Both are gradient flows: of ∫ ε²|∇u|²/2 + (1 − u²)²/4, and of ∫ ((1 + Δ)u)²/2 − ru²/2 + u⁴/4."""
    for problem in (
        AllenCahn(fine_points=64, width=0.08),
        SwiftHohenberg(fine_points=64, domain=Domain(2, extent=8 * math.pi)),
    ):
        u = problem.trajectories(2, 64, steps=6, dt=0.5, seed=0)
        k = 2 * PI / problem.domain.extents[0] * torch.fft.fftfreq(64, 1 / 64).double()
        squared, modes = k[:, None] ** 2 + k**2, torch.fft.fft2(u, norm="forward").abs().square()
        if isinstance(problem, AllenCahn):
            linear, local = problem.width**2 * squared, (1 - u**2) ** 2 / 4
        else:
            linear, local = (1 - squared) ** 2 - problem.growth, u**4 / 4
        energy = (linear * modes).sum((-2, -1)) / 2 + local.mean((-2, -1))
        assert (energy.diff() < 0).all()


def test_swift_hohenberg_grows_at_its_rates():
    """Small waves grow like e^((r − (1 − k²)²)t), and a stripe saturates at 2√(r/3) to first order."""
    domain = Domain(1, extent=4 * PI)
    x = domain.grid(32).axes()[0]
    small = 1e-6 * (torch.cos(x) + torch.cos(x / 2) + torch.cos(1.5 * x))[None]
    u = SwiftHohenberg(growth=0.3, time=3.0, domain=domain, fine_points=32).solve(small)
    wanted = 1e-6 * sum(math.exp(3 * (0.3 - (1 - q**2) ** 2)) * torch.cos(q * x) for q in (1.0, 0.5, 1.5))
    assert distance(u[0], wanted) < 1e-6
    stripe = SwiftHohenberg(growth=0.01, time=1000.0, step=2.0, domain=domain, fine_points=32).solve(0.05 * torch.cos(x)[None])
    assert float(stripe.max()) == pytest.approx(2 * math.sqrt(0.01 / 3), rel=1e-3)


def test_gray_scott_is_the_reaction_where_it_is_flat():
    """Constant states follow the ordinary differential equation; (1, 0) stands still."""
    problem = GrayScott(time=50.0, fine_points=8)
    u, v = 0.6, 0.3
    for _ in range(20_000):
        made = u * v * v
        u, v = u + 2.5e-3 * (problem.feed * (1 - u) - made), v + 2.5e-3 * (made - (problem.feed + problem.kill) * v)
    state = torch.tensor([[0.6, 0.3], [1.0, 0.0]], dtype=torch.float64)[:, :, None, None].expand(2, 2, 8, 8)
    end = problem.solve(state)
    assert end[0, :, 0, 0].tolist() == pytest.approx([u, v], rel=2e-3)
    torch.testing.assert_close(end[1], state[1])
    assert float(end.flatten(2).std(-1).max()) < 1e-12


@pytest.mark.filterwarnings("ignore:.*in time")  # steps are long enough for statistics
def test_kuramoto_sivashinsky_stays_on_its_attractor():
    """Known statistics: |u| stays below 4, mean energy is near 1.7, and nearby states part."""
    problem = KuramotoSivashinsky(step=0.1, warm_up=60.0)
    u = problem.trajectories(6, 64, steps=10, dt=3.0, seed=0)
    assert float(u.abs().max()) < 4.5
    assert 1.2 < float(u.square().mean()) < 2.2
    torch.testing.assert_close(u.mean(-1), torch.zeros(6, 11, dtype=torch.float64), rtol=0, atol=1e-10)
    flow = KuramotoSivashinsky(step=0.1, time=(10.0, 40.0))
    apart = (flow.solve(u[:, 0]) - flow.solve(u[:, 0] + 1e-6 * u[:, 0].roll(3, 1))).norm(dim=-1)
    assert (apart[:, 1] / apart[:, 0]).log().mean() > 1.0


# What is told


@pytest.mark.filterwarnings("ignore:.*in time")
@pytest.mark.parametrize(
    "problem",
    [
        AllenCahn(width=0.01, fine_points=16, time=1.0),
        KortewegDeVries(dispersion=1e-5, fine_points=64, time=0.2),
        KuramotoSivashinsky(viscosity=0.2, fine_points=64, warm_up=0.0, step=0.02),
        NavierStokes(viscosity=1e-5, deviation=2.0, fine_points=32),
        AllenCahn(width=0.04, fine_points=32, time=1.0),
        VectorBurgers(viscosity=0.02, fine_points=32, time=0.2),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_grids_that_do_not_resolve_are_told(problem):
    words = rf"{type(problem).__name__} is not resolved: with (\d+) points .* fine_points=(\d+)"
    with pytest.warns(UserWarning, match=words) as told:
        problem.dataset(2, problem.fine_points, seed=0)
    points, enough = next(found.groups() for one in told if (found := re.search(words, str(one.message))))
    assert int(enough) > int(points)


def test_steps_that_are_too_long_are_told_or_refused():
    with pytest.warns(UserWarning, match="KuramotoSivashinsky is not resolved in time"):
        KuramotoSivashinsky(step=1.0, warm_up=0.0).dataset(2, 64, seed=0)
    with pytest.raises(RaffiaError, match=r"KortewegDeVries: the integration did not stay finite\. Pass a smaller step="):
        KortewegDeVries(step=0.1, deviation=5.0, time=3.0).dataset(2, 64, seed=0)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: KortewegDeVries(dispersion=0.0).dataset(1, 16), r"dispersion=…\) must be positive; got 0"),
        (lambda: NavierStokes(time=(1.0, 0.5)).dataset(1, 16), "increasing where there are several"),
        (lambda: NavierStokes(domain=Domain(1)).dataset(1, 16), "must be a torus of dimension 2; got Domain"),
        (
            lambda: AllenCahn(domain=Domain(2, periodic=False)).solve(torch.zeros(1, 9, 9)),
            "must be a torus of dimension 1 or 2 or 3",
        ),
        (
            lambda: NavierStokes().set_params(forcing="wind").dataset(1, 16),
            "'kolmogorov' or a function",
        ),
        (lambda: AllenCahn().solve(torch.zeros(1, 16)), r"of shape \(n, points, points\); got shape \(1, 16\)"),
        (lambda: GrayScott().solve(torch.zeros(1, 3, 8, 8)), r"of shape \(n, 2, points, points\)"),
        (lambda: AllenCahn().trajectories(1, 16, steps=0, dt=0.1), r"steps=…\) must be 1 or more"),
        (lambda: AllenCahn().trajectories(1, 16, steps=2, dt=-0.1), "must be positive"),
    ],
)
def test_impossible_wishes_are_refused(ask, words):
    with pytest.raises(RaffiaError, match=words):
        ask()


def test_every_evolution_is_in_the_table():
    assert {type(problem) for problem in QUICK} == set(Evolution.__subclasses__())


@pytest.mark.parametrize(("dim", "points"), [(2, 64), (3, 24)])
def test_a_velocity_that_is_a_gradient_is_the_cole_hopf_solution_in_any_dimension(dim, points):
    """u = −2ε ∇φ/φ with φ_t = ε Δφ, φ(0) = exp(−ψ/2ε) and u(0) = ∇ψ."""
    eps, time = 0.1, 0.3
    x = Domain(dim).grid(points).nodes().movedim(-1, 0)
    psi = sum(0.05 * torch.sin(2 * PI * (i + 1) * f + i) for i, f in enumerate(x)) + 0.03 * torch.cos(2 * PI * (x[0] + x[1]))
    waves = torch.meshgrid(*[2 * PI * torch.fft.fftfreq(points, 1 / points, dtype=torch.float64)] * dim, indexing="ij")

    def gradient(f):
        return torch.stack([torch.fft.ifftn(1j * k * torch.fft.fftn(f)).real for k in waves])

    heat = torch.exp(-eps * time * sum(k.square() for k in waves))
    phi = torch.fft.ifftn(heat * torch.fft.fftn(torch.exp(-psi / (2 * eps)))).real
    problem = VectorBurgers(viscosity=eps, time=time, fine_points=points, step=0.005, domain=Domain(dim))
    assert distance(problem.solve(gradient(psi)[None])[0], -2 * eps * gradient(phi) / phi) < 1e-6


def test_components_of_a_random_velocity_are_independent():
    u = VectorBurgers(fine_points=32).input_measure.sample(400, Domain(2).grid(8), seed=1)
    first, second = u[:, 0].flatten(), u[:, 1].flatten()
    assert float(u.std()) == pytest.approx(0.5, rel=0.1)
    assert abs(float(torch.corrcoef(torch.stack([first, second]))[0, 1])) < 0.1
