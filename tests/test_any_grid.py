"""A model that was trained on one grid predicts as well on any other grid that resolves the data."""

import math
import warnings

import pytest
import torch

import raffia
from raffia import (
    Channels,
    Dataset,
    Domain,
    FourierFeatures,
    LocalFeatures,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
)
from raffia.features import (
    BranchTrunk,
    CarriedFeatures,
    GalerkinFeatures,
    IteratedFeatures,
    NeuralFeatures,
    PlacedFeatures,
    SpectralNetwork,
    Union,
)

LARGER = 1.2  # errors on other grids are at most so much larger
FINER = (1.03, 1.3, 2, 4)
WAVES = {"profile": "matern", "amplitude": 1.0, "tau": 10.0, "bias": 0.5, "activation": "tanh"}
SPACES = {
    "circle": (Domain(1), 32), "box": (Domain(1, periodic=False), 33), "cells": (Domain(1, axes="cells"), 32),
    "left": (Domain(1, axes="left"), 32), "right": (Domain(1, axes="right"), 32), "torus": (Domain(2), 16),
    "square": (Domain(2, periodic=False), 13), "mixed": (Domain(2, axes=("periodic", "box")), 17),
    "cells and left": (Domain(2, axes=("cells", "left")), 13),
}  # fmt: skip
MAPS = {
    "fourier": lambda domain, a, y: FourierFeatures(12, domain=domain, **WAVES),
    "local": lambda domain, a, y: LocalFeatures(0.3, domain=domain),
    "iterated": lambda domain, a, y: IteratedFeatures(2, n_modes=6, domain=domain),
    "carried": lambda domain, a, y: CarriedFeatures(turn=0.1, power=2.0, domain=domain),
    "placed": lambda domain, a, y: PlacedFeatures(LocalFeatures(0.3, domain=domain), n_modes=6),
    "galerkin": lambda domain, a, y: GalerkinFeatures.suited(a, y, domain),
    "neural": lambda domain, a, y: NeuralFeatures(BranchTrunk(12, 6, 6), domain=domain),
    "union": lambda domain, a, y: Union((FourierFeatures(12, domain=domain, **WAVES), LocalFeatures(0.3, domain=domain))),
    "scalar": lambda domain, a, y: ScalarFeatures(6, domain=domain),
    "kernel": lambda domain, a, y: ScalarFeatures(None, domain=domain),
}
SCALAR = ("scalar", "kernel")
ROWS = [
    (space, name, kind)
    for space in SPACES
    for name in MAPS
    for kind in ("ordinary", "modal")
    if name not in SCALAR or kind == "ordinary"
]
FAST = [
    (space, name, kind) for space, name, kind in ROWS if space in ("box", "left") and name in ("local", "galerkin", *SCALAR)
]
FAST += [("circle", "neural", "modal"), ("cells", "local", "modal"), ("right", "fourier", "modal")]


def waves(domain, shape, n, seed, vanishing):
    """Sums of a few sines, which vanish at boundaries, or have values and slopes of any size there."""
    count, phase = (3, 2, 1)[domain.dim - 1], 0 if vanishing else 1
    x = domain.grid(*shape).nodes()
    parts = [
        torch.stack(
            [((2 if kind.periodic else 1) * math.pi * k * x[..., axis] + phase * k).sin() / k for k in range(1, count + 1)]
        )
        for axis, kind in enumerate(domain.kinds)
    ]
    products = parts[0]
    for part in parts[1:]:
        products = (products[:, None] * part[None]).flatten(0, 1)
    c = torch.randn(n, len(products), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return torch.einsum("nk,k...->n...", c, products)


def finer(domain, points):
    for factor in FINER:
        yield tuple(
            kind.points(max(kind.intervals(points) + 1, round(factor * kind.intervals(points)))) for kind in domain.kinds
        )


def error(model, domain, shape, operator, inputs):
    a = inputs(20, shape, 5)
    grid, y = domain.grid(*shape), operator(a)
    return float((grid.norm(model.predict(a) - y) / grid.norm(y)).mean())


def check(model, domain, points, operator, inputs):
    here = error(model, domain, (points,) * domain.dim, operator, inputs)
    for shape in finer(domain, points):
        assert error(model, domain, shape, operator, inputs) <= LARGER * here, shape


def trained(feature_map, kind, a, y):
    count = math.inf if getattr(feature_map, "n_modes", 0) is None else 24
    normalize = not isinstance(feature_map, (GalerkinFeatures, PredictorCorrectorFeatures))
    return RandomFeatureModel(feature_map, count, "auto", coefficients=kind, normalize=normalize).fit(a, y)


def check_row(space, name, kind):
    domain, points = SPACES[space]
    for vanishing in (True, False)[domain.periodic :]:

        def inputs(n, shape, seed, vanishing=vanishing):
            return waves(domain, shape, n, seed, vanishing)

        a = inputs(40, (points,) * domain.dim, 0)
        check(trained(MAPS[name](domain, a, square(a)), kind, a, square(a)), domain, points, square, inputs)


def square(a):
    return a - a**2 / 3


@pytest.mark.parametrize(("space", "name", "kind"), FAST)
def test_errors_hold_on_finer_grids(space, name, kind):
    check_row(space, name, kind)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("space", "name", "kind"),
    [row for row in ROWS if row not in FAST],
)
def test_errors_of_every_map_in_every_space_hold_on_finer_grids(space, name, kind):
    check_row(space, name, kind)


@pytest.mark.parametrize("kind", ["ordinary", "modal"])
def test_errors_of_spectral_networks_hold_on_finer_grids(kind):
    domain = Domain(1)
    a = waves(domain, (32,), 40, 0, False)
    model = trained(NeuralFeatures(SpectralNetwork(6, 6)), kind, a, square(a))
    check(model, domain, 32, square, lambda n, shape, seed: waves(domain, shape, n, seed, False))


@pytest.mark.parametrize("kind", ["ordinary", "modal"])
def test_errors_of_predictor_corrector_features_hold_on_finer_grids(kind):
    domain = Domain(2, periodic=False)

    def inputs(n, shape, seed):
        return waves(domain, shape, n, seed, False).div(3).exp()

    a = inputs(30, (17, 17), 0)
    check(trained(PredictorCorrectorFeatures(n_modes=16, eta=1e-2), kind, a, square(a)), domain, 17, square, inputs)


def test_errors_hold_on_finer_grids_for_inputs_with_channels():
    domain = Domain(1, periodic=False)

    def inputs(n, shape, seed):
        return torch.stack([waves(domain, shape, n, seed + i, i == 0) for i in range(2)], 1)

    a = inputs(40, (33,), 0)
    model = RandomFeatureModel(
        LocalFeatures(0.3, domain=Channels(domain, 2)), 24, "auto", coefficients="modal", normalize=True, output=domain
    ).fit(a, a[:, 0] * a[:, 1])
    check(model, domain, 33, lambda a: a[:, 0] * a[:, 1], inputs)


@pytest.mark.parametrize("normalize", [False, True, "function"])
@pytest.mark.parametrize("operator", [torch.tanh, lambda a: a + a**3, square])
def test_features_that_do_not_vanish_where_outputs_do_serve_finer_grids(operator, normalize):
    """Their sine coefficients decay like 1/k, so that each grid aliases them differently."""
    domain = Domain(1, periodic=False)
    a = waves(domain, (33,), 60, 0, True)
    model = RandomFeatureModel(LocalFeatures(domain=domain), 32, "auto", coefficients="modal", normalize=normalize)
    check(model.fit(a, operator(a)), domain, 33, operator, lambda n, shape, seed: waves(domain, shape, n, seed, True))


def test_a_surrogate_predicts_as_well_on_finer_grids():
    domain = Domain(1, periodic=False)
    a = waves(domain, (33,), 60, 0, True)
    surrogate = raffia.fit(Dataset(a, torch.tanh(a), domain), "local", n_features=32)
    check(surrogate.model, domain, 33, torch.tanh, lambda n, shape, seed: waves(domain, shape, n, seed, True))


def test_predictions_and_error_bars_on_another_grid_do_not_depend_on_other_inputs():
    domain = Domain(1, periodic=False)
    a = waves(domain, (33,), 40, 0, True)
    model = RandomFeatureModel(LocalFeatures(0.3, domain=domain), 24, "auto", coefficients="modal").fit(a, square(a))
    new = torch.cat([waves(domain, (50,), 2, 1, True), torch.randn(2, 50, dtype=torch.float64)])
    mean, std = model.predict(new, return_std=True)
    for i in range(len(new)):
        one, bar = model.predict(new[i : i + 1], return_std=True)
        torch.testing.assert_close(one[0], mean[i], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(bar[0], std[i], rtol=1e-9, atol=1e-9)


def test_error_bars_on_another_grid_are_those_of_the_training_grid_between_its_nodes():
    domain = Domain(1, periodic=False)
    a = waves(domain, (33,), 40, 0, True)
    model = RandomFeatureModel(LocalFeatures(0.3, domain=domain), 24, "auto", coefficients="modal").fit(a, square(a))
    coarse, fine = (model.predict(waves(domain, (n,), 4, 1, True), return_std=True)[1] for n in (33, 65))
    torch.testing.assert_close(fine[:, ::2], coarse, rtol=1e-6, atol=1e-9)
    assert (fine >= 0).all()


@pytest.mark.parametrize(("points", "resolved"), [(24, False), (33, True)])
def test_finer_grids_are_warned_of_where_the_training_grid_does_not_resolve_outputs(points, resolved):
    """a − a²/3 of sines that vanish at the ends has a kink in its odd continuation, which 33 points resolve and 24 do not."""
    domain = Domain(1, periodic=False)

    def inputs(n, shape, seed):
        k, c = torch.arange(1, 5), torch.randn(n, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        return c @ torch.sin(math.pi * k * domain.grid(*shape).nodes()).mT

    a = inputs(80, (points,), 0)
    model = raffia.fit(Dataset(a, square(a), domain), "local", n_features=64).model
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        here, there = (error(model, domain, (n,), square, inputs) for n in (points, 4 * points - 3))
    assert any("resolved" in str(one.message) for one in caught) is not resolved
    assert (there <= 2 * here) is resolved
