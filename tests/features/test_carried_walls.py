"""Carried features between walls: no velocity crosses them, and functions go where characteristics lead."""

import math

import pytest
import torch
from scipy.integrate import solve_ivp

from raffia import Channels, Domain, FourierFeatures, GaussianField, LocalFeatures, RandomFeatureModel
from raffia.features import CarriedFeatures
from raffia.features.walls import Within
from raffia.problems import NavierStokes
from raffia.testing import check_feature_map
from raffia.tuning import GradientSearch

SQUARE = Domain(2, periodic=False)
STILL = {"spread": 0.0, "shape": 0.0, "damping": 0.0}
BASIN = Domain(2, periodic=False, extent=0.5)


def reflected(f, odd):
    for dim in range(-2, 0):
        f = SQUARE.kinds[0].reflected(f, dim, odd)
    return f


@pytest.mark.parametrize(
    ("axes", "functions"),
    [(("box",), 1), (("box", "box"), 1), (("periodic", "box"), 1), (("box", "periodic", "box"), 1), (("box",) * 3, 3)],
)
@pytest.mark.parametrize(("turn", "climb"), [(1.0, 0.0), (0.0, 1.0), (0.7, -0.3)])
def test_no_velocity_crosses_a_wall(axes, functions, turn, climb):
    """Of functions that may be anything there."""
    domain = Domain(len(axes), axes=axes)
    grid, like = domain.grid(9), torch.zeros(1, dtype=torch.float64)
    f = torch.rand(1, 2, functions, *grid.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u = Within(grid, lambda k2: k2.clamp(min=1)[None] ** -1, torch.ones_like, turn, climb, False, like).made(f)
    size = float(u.abs().max())
    still = (
        len(axes) == 3 and (climb if functions == 1 else turn) == 0.0
    )  # in space one function does not turn, three do not climb
    assert (size == 0.0) == still
    for axis, kind in enumerate(domain.kinds):
        ends = u[:, :, axis].index_select(2 + axis, torch.tensor([0, 8]))
        assert kind.periodic or float(ends.abs().max()) <= 1e-13 * size


def test_what_multiplies_a_given_velocity_leaves_what_crosses_walls():
    domain = Domain(2, axes=("periodic", "box"))
    v = torch.rand(1, 2, 2, 8, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    like = torch.zeros(1, dtype=torch.float64)
    smooth = Within(domain.grid(8, 9), lambda k2: (1 + k2)[None] ** -1, torch.ones_like, 1.0, 0.0, False, like).filtered(v)
    torch.testing.assert_close(smooth[:, :, 1, :, [0, -1]], v[:, :, 1, :, [0, -1]])
    assert float((smooth - v).norm() / v.norm()) > 0.2


@pytest.mark.parametrize(("rate", "boundary"), [("turn", "dirichlet"), ("climb", "neumann")])
def test_on_a_square_they_are_those_of_the_torus_of_its_reflections(rate, boundary):
    """Odd functions have odd stream functions, even functions have even potentials: walls are lines of symmetry."""
    errors, theta = [], CarriedFeatures().draw(3, 0)
    numbers = {"turn": 0.0, "climb": 0.0, "power": 1.5, "spread": 0.3, "shape": 0.3, "damping": 0.0} | {rate: 0.5}
    for points in (17, 33):
        a = GaussianField(SQUARE, boundary, tau=3.0, n_modes=8).sample(2, SQUARE.grid(points), seed=0)
        within = CarriedFeatures(2, **numbers, domain=SQUARE)(a, theta)
        torus = CarriedFeatures(2, **numbers, domain=Domain(2, extent=2.0))
        around = torus(reflected(a, boundary == "dirichlet"), theta)[..., :points, :points]
        errors.append(float((within - around).norm() / (around - a[:, None]).norm()))
    assert errors[1] < 1e-4
    assert math.log2(errors[0] / errors[1]) > 3.5


def test_damping_between_walls_is_diffusion_without_flux():
    x = SQUARE.grid(17).nodes()
    wave = torch.cos(3 * math.pi * x[..., 0]) * torch.cos(math.pi * x[..., 1])
    still = CarriedFeatures(2, turn=0.0, climb=0.0, damping=0.1, domain=SQUARE)
    torch.testing.assert_close(still((1 + wave)[None], still.draw(1, 0))[0, 0], 1 + math.exp(-1.0) * wave)


@pytest.mark.parametrize("kind", ["box", "cells"])
def test_a_cellular_flow_carries_along_its_characteristics(kind):
    """v = ∇^⊥ sin πx sin πy, given on the grid; the error is of second order in the length of steps."""
    domain, time, errors = Domain(2, axes=(kind, kind)), 0.1, []

    def velocity(_, x):
        x, y = math.pi * torch.from_numpy(x).reshape(2, -1)
        return math.pi * torch.cat([torch.sin(x) * torch.cos(y), -torch.cos(x) * torch.sin(y)]).numpy()

    def tracer(x):
        return torch.exp(x[..., 0]) * torch.cos(3 * x[..., 1])

    nodes = domain.grid(33).nodes()
    start = nodes.movedim(-1, 0).flatten().numpy()
    back = torch.from_numpy(solve_ivp(velocity, (0, -time), start, rtol=1e-9, atol=1e-10).y[:, -1].copy())
    wanted = tracer(back.reshape(2, -1).mT).reshape(33, 33)
    a = torch.cat([torch.from_numpy(velocity(0, start)).reshape(2, 33, 33), tracer(nodes)[None]])
    for steps in (4, 8):
        numbers = {"turn": math.pi * time, "power": 0.0, "velocity": "first"} | STILL
        features = CarriedFeatures(steps, **numbers, domain=Channels(domain, 3))
        theta = features.draw(1, 0)
        theta[:, -3:] = torch.tensor([0.0, 0.0, 1.0])  # the tracer alone
        found = features(a[None], theta)[0, 0]
        errors.append(float((found - wanted).norm() / (wanted - a[2]).norm()))
    assert errors[1] < 1e-3
    assert math.log2(errors[0] / errors[1]) > 1.8


@pytest.mark.parametrize("axes", [("box",), ("box", "box"), ("periodic", "box"), ("cells", "left")])
def test_they_keep_the_contract_up_to_the_order_of_splines(axes):
    """For functions of any slope at walls, as `damping` bends them there within a length of its root."""
    check_feature_map(CarriedFeatures(2, power=2.0, domain=Domain(len(axes), axes=axes)), sines, grid_tolerance=0.02)


def sines(n, grid):
    return GaussianField(grid.domain, "dirichlet", n_modes=6).sample(n, grid, seed=0)


def basin(n, seed):
    """Vorticity in a square whose walls slip: half of the torus on which it is odd."""
    a = GaussianField(BASIN, "dirichlet", tau=7.0, n_modes=100).sample(n, BASIN.grid(17), seed=seed)
    a = 2 * a / a.std()
    problem = NavierStokes(forcing=None, time=0.5, fine_points=32)
    return a, problem.solve(reflected(a, odd=True))[..., :17, :17]


def error(features, m, pairs, test, **options):
    return -RandomFeatureModel(features, m, 1e-6, coefficients="modal", **options).fit(*pairs).score(*test)


@pytest.mark.filterwarnings("ignore")
def test_vorticity_in_a_basin_is_carried_where_other_features_fail():
    pairs, test = basin(60, 0), basin(10, 1)
    shape = {"amplitude": 2.0, "bias": 0.5, "activation": "gelu", "profile": "matern"}
    others = LocalFeatures(domain=BASIN), FourierFeatures(32, 10.0, 2.0, domain=BASIN, **shape)
    carried = CarriedFeatures.suited(*pairs, BASIN).set_params(steps=4, turn=1.0, climb=0.0, power=2.0)
    assert error(carried, 4, pairs, test) < 0.25 * min(error(other, 24, pairs, test, normalize=True) for other in others)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_search_learns_to_carry_vorticity_in_a_basin():
    pairs, test = basin(60, 0), basin(30, 1)
    model = RandomFeatureModel(CarriedFeatures.suited(*pairs, BASIN), 16, "auto", coefficients="modal")
    before = -model.fit(*pairs).score(*test)
    model.tune(*pairs, GradientSearch(40, 4, screened=4, swept=0))
    assert -model.score(*test) < 0.5 * before
    assert model.feature_map.power > 1.5
