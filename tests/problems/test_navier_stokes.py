import json
import math
import sys

import numpy as np
import pytest
import torch

from raffia import Domain, RaffiaError, cli
from raffia.problems import NavierStokes
from raffia.problems.navier_stokes import FORCINGS

PI = torch.pi
X, Y = Domain(2).grid(32).nodes().unbind(-1)


def distance(u, v):
    return float(torch.linalg.vector_norm(u - v) / torch.linalg.vector_norm(v))


def gradient(f):
    k = 2j * PI * torch.fft.fftfreq(f.shape[-1], 1 / f.shape[-1]).double()
    modes = torch.fft.fft2(f)
    return torch.fft.ifft2(k[:, None] * modes).real, torch.fft.ifft2(k * modes).real


def velocity(vorticity):
    k = 2 * PI * torch.fft.fftfreq(vorticity.shape[-1], 1 / vorticity.shape[-1]).double()
    squared = k[:, None] ** 2 + k**2
    stream = torch.fft.ifft2(torch.where(squared > 0, torch.fft.fft2(vorticity) / squared.clamp(min=1), 0)).real
    along, across = gradient(stream)
    return across, -along


def test_taylor_green_vortices_decay():
    """ω = sin 2πpx sin 2πqy is its own stream function, up to a factor, and decays at rate ν|k|²."""
    vortices = (torch.sin(2 * PI * 2 * X) * torch.sin(2 * PI * Y))[None]
    u = NavierStokes(viscosity=0.01, forcing=None, time=(0.5, 1.5), fine_points=32).solve(vortices)
    for i, t in enumerate((0.5, 1.5)):
        torch.testing.assert_close(u[:, i], math.exp(-0.01 * 4 * PI**2 * 5 * t) * vortices)


@pytest.mark.parametrize(("forcing", "squared"), [("diagonal", 8 * PI**2), ("kolmogorov", 64 * PI**2)])
def test_forced_fluid_at_rest_has_the_laminar_solution(forcing, squared):
    """Both forcings are eigenfunctions, −Δf = κf, so ω = f (1 − e^(−νκt)) / νκ."""
    problem = NavierStokes(viscosity=0.01, forcing=forcing, time=0.7, fine_points=32)
    rate = 0.01 * squared
    wanted = FORCINGS[forcing](X, Y) * (1 - math.exp(-rate * 0.7)) / rate
    torch.testing.assert_close(problem.solve(torch.zeros(1, 32, 32).double())[0], wanted)


@pytest.mark.parametrize(("forcing", "squared"), [("diagonal", 8 * PI**2), ("kolmogorov", 64 * PI**2)])
def test_the_laminar_flow_of_a_forcing_stands_still(forcing, squared):
    """ω = f / νκ with −Δf = κf: u·∇ω = 0 and νΔω + f = 0. For Kolmogorov's, ω = cos 8πy / 64π²ν."""
    laminar = FORCINGS[forcing](X, Y)[None] / (0.01 * squared)
    u = NavierStokes(viscosity=0.01, forcing=forcing, time=(1.0, 20.0), fine_points=32).solve(laminar)
    torch.testing.assert_close(u, laminar[:, None].expand_as(u), rtol=0, atol=1e-12)


def test_energy_of_a_flow_without_forcing_is_lost_to_viscosity():
    """d/dt ½∫|u|² = −ν∫ω², the integral over time by Simpson's rule."""
    problem = NavierStokes(viscosity=0.01, forcing=None, deviation=3.0, regularity=4.0)
    w = problem.trajectories(3, 64, steps=8, dt=0.02, seed=0)
    u1, u2 = velocity(w)
    energy, enstrophy = (u1**2 + u2**2).mean((-2, -1)) / 2, w.square().mean((-2, -1))
    assert (energy.diff() < 0).all()
    simpson = torch.tensor([1, 4, 2, 4, 2, 4, 2, 4, 1], dtype=torch.float64) * 0.02 / 3
    torch.testing.assert_close(energy[:, 0] - energy[:, -1], 0.01 * enstrophy @ simpson, rtol=1e-6, atol=0)


@pytest.mark.parametrize("forcing", [None, "diagonal", "kolmogorov"])
def test_forcings_have_names_on_the_command_line(forcing, tmp_path, monkeypatch):
    words = [
        "--trajectories",
        "1",
        "--steps",
        "2",
        "--dt",
        "0.1",
        "--points",
        "16",
        "--set",
        "fine_points=32",
        "--set",
        "viscosity=0.05",
    ]
    command = ["raffia", "generate", "navier-stokes", *words, "--set", f"forcing={forcing}", "-o", str(tmp_path / "w.npz")]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    with np.load(tmp_path / "w.npz") as file:
        w, settings = file["u"], json.loads(str(file["settings"]))
    assert settings["forcing"] == forcing
    wanted = NavierStokes(viscosity=0.05, forcing=forcing, fine_points=32).trajectories(1, 16, 2, 0.1)
    np.testing.assert_array_equal(w, wanted.numpy())


@pytest.mark.parametrize("forcing", [lambda x, y: x[0], lambda x, y: x / 0])
def test_forcings_that_are_no_functions_on_the_torus_are_refused(forcing):
    with pytest.raises(RaffiaError, match=r"forcing=…\) must give a finite value for each node"):
        NavierStokes(forcing=forcing, fine_points=16).solve(torch.zeros(1, 16, 16))


def test_vorticity_is_carried_by_the_velocity():
    """(ω(h) − ω(0)) / h → νΔω − u·∇ω + f."""
    problem = NavierStokes(deviation=3.0, fine_points=64, viscosity=0.02, forcing=lambda x, y: torch.sin(2 * PI * x))
    start = problem.dataset(1, 64, seed=0).y  # smooth
    dx, dy = gradient(start)
    u1, u2 = velocity(start)
    laplacian = gradient(dx)[0] + gradient(dy)[1]
    grid_x = Domain(2).grid(64).nodes()[..., 0]
    wanted = 0.02 * laplacian - u1 * dx - u2 * dy + torch.sin(2 * PI * grid_x)
    after, later = (problem.set_params(time=h, step=h).solve(start) for h in (1e-4, 2e-4))
    slope = (4 * after - later - 3 * start) / 2e-4  # of second order in h
    assert distance(slope, wanted) < 1e-5


def test_without_viscosity_energy_and_enstrophy_are_conserved():
    problem = NavierStokes(viscosity=1e-9, forcing=None, deviation=5.0, regularity=6.0, fine_points=64, step=5e-3)
    w = problem.trajectories(2, 64, steps=2, dt=0.1, seed=0)
    u1, u2 = velocity(w)
    assert distance(w[:, 2], w[:, 0]) > 0.05
    for conserved in ((u1**2 + u2**2).mean((-2, -1)), w.square().mean((-2, -1)), w.mean((-2, -1))):
        torch.testing.assert_close(conserved, conserved[:, :1].expand(-1, 3), rtol=1e-6, atol=1e-12)


def test_the_law_is_that_of_the_paper_or_has_the_deviation_asked_for():
    """E ω² = Σ_k 7^(3/2) (4π²|k|² + 49)^(−5/2); samples are means of 500 fields."""
    k = torch.arange(-60, 61).double()
    squared = 4 * PI**2 * (k[:, None] ** 2 + k**2) + 49
    variance = float((7**1.5 * squared**-2.5).sum() - 7**1.5 * 49**-2.5)  # mean zero
    grid = Domain(2).grid(16)
    usual, scaled = (NavierStokes(deviation=d).input_measure.sample(500, grid, seed=0) for d in (None, 2.0))
    assert float(usual.square().mean()) == pytest.approx(variance, rel=0.05)
    assert float(scaled.square().mean()) == pytest.approx(4.0, rel=0.05)
    torch.testing.assert_close(usual / usual.std(), scaled / scaled.std())
