"""APEBench's scenarios: their difficulties are those of equations that are known otherwise."""

import math

import pytest
import torch

from raffia import Burgers, RaffiaError
from raffia.measures import TruncatedWaves
from raffia.problems import Scenario

CIRCLE = Scenario().domain


def test_diffusion_alone_is_that_of_its_coefficient():
    """γ₂ = a₂ N² 2: a wave of wavenumber k falls by exp(−a₂ (2πk)²) in a step."""
    x = CIRCLE.grid(160).axes()[0]
    a = torch.stack([torch.sin(2 * math.pi * k * x) for k in (1, 4)])
    end = Scenario((0.0, 0.0, 3.0), 0.0, time=2.0).solve(a)
    rates = torch.tensor([math.exp(-2 * 3.0 / (2 * 160**2) * (2 * math.pi * k) ** 2) for k in (1, 4)], dtype=a.dtype)
    torch.testing.assert_close(end, rates[:, None] * a, rtol=1e-10, atol=1e-12)


def test_its_burgers_equation_is_burgers_equation():
    """With b u for u: ∂v/∂t + v ∂v/∂x = a₂ ∂²v/∂x²; a step of second order moves waves by 0.066, and is off by 0.0007."""
    a = TruncatedWaves(3).sample(4, CIRCLE.grid(160), seed=0)
    viscosity, b = 1.5 / (2 * 160**2), 1.5 / 160
    truth = Burgers(viscosity=viscosity, fine_points=640).solve(b * a) / b
    assert torch.linalg.vector_norm(Scenario().solve(a) - truth) < 1e-3 * torch.linalg.vector_norm(truth)


def test_a_trajectory_goes_on_from_the_end_of_its_warm_up():
    quick = {"linear": (0.0, 0.0, -2.0, 0.0, -18.0), "convection": 1.0}
    late = Scenario(**quick, warm_up=5).trajectories(2, 160, steps=3, dt=1.0, seed=1)
    early = Scenario(**quick).trajectories(2, 160, steps=8, dt=1.0, seed=1)
    torch.testing.assert_close(late, early[:, 5:])


def test_initial_conditions_have_height_one_and_five_waves():
    u = TruncatedWaves().sample(6, CIRCLE.grid(160), seed=3)
    assert torch.allclose(u.abs().amax(1), torch.ones(6, dtype=u.dtype))
    spectrum = torch.fft.rfft(u, norm="forward").abs()
    assert spectrum[:, 0].max() < 1e-12
    assert spectrum[:, 6:].max() < 1e-12
    assert spectrum[:, 1:6].amax(1).min() > 0.01


def test_times_between_steps_are_refused():
    with pytest.raises(RaffiaError, match="whole steps"):
        Scenario(time=0.5).solve(torch.zeros(1, 160, dtype=torch.float64))


# u after five steps at every fortieth of 160 points. By apebench 0.1.1, exponax 0.1.0 and jax 0.10.2 in float64 (JAX_ENABLE_X64=1):
# step = apebench.scenarios.scenario_dict[name]().get_ref_stepper(), then u = step(u), five times, from the u0 of the test.
APEBENCH = {
    "diff_burgers": [-0.0041305986783180875, 0.6264237135352042, 0.002617292697653939, -1.0049621111056863],
    "diff_kdv": [-0.010565526731695108, 0.5729706798349128, 0.014029060642905034, -0.9464242196766176],
    "diff_ks_cons": [-0.040494186864947324, 0.7103580805350864, 0.047033592534551576, -1.1472229601372792],
}


@pytest.mark.parametrize(
    ("name", "linear", "convection"),
    [
        ("diff_burgers", (0.0, 0.0, 1.5), 1.5),
        ("diff_kdv", (0.0, 0.0, 0.0, -14.0, -9.0), 2.0),
        ("diff_ks_cons", (0.0, 0.0, -2.0, 0.0, -18.0), 1.0),
    ],
)
def test_five_steps_are_those_of_apebench(name, linear, convection):
    x = 2 * math.pi * CIRCLE.grid(160).axes()[0]
    u0 = 0.6 * torch.sin(x) + 0.3 * torch.cos(3 * x + 1) - 0.2 * torch.sin(5 * x + 2)
    u = Scenario(linear, convection, time=5.0).solve(u0[None])[0]
    torch.testing.assert_close(u[::40], torch.tensor(APEBENCH[name], dtype=torch.float64), rtol=0, atol=1e-14)
