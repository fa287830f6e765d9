"""Every feature map inherits this suite: add a row."""

from dataclasses import dataclass

import pytest
import torch
from sklearn.base import clone

from raffia import Domain, FeatureMap, FourierFeatures, GaussianField, LocalFeatures, PredictorCorrectorFeatures, ScalarFeatures
from raffia.features import (
    BranchTrunk,
    BrownianBridge,
    GalerkinFeatures,
    IteratedFeatures,
    NeuralFeatures,
    PlacedFeatures,
    ProductFeatures,
    SpectralNetwork,
    Union,
)
from raffia.spaces import POINT
from raffia.spaces.spectral import wavenumbers
from raffia.testing import check_feature_map

CIRCLE = Domain(1)


@dataclass(repr=False, eq=False)
class MeanOf(FeatureMap):
    """Scalar-valued: σ(θ₁ · mean of a² + θ₂), as a newcomer would write it."""

    scale: float = 1.0
    domain: Domain = CIRCLE

    @property
    def theta_shape(self):
        return (2,)

    def values_on(self, grid):
        return POINT

    def __call__(self, a, theta):
        return torch.tanh(self.scale * a.square().mean(-1)[:, None] * theta[:, 0] + theta[:, 1])


def _galerkin(domain, points=17):
    """An equation of the grid that maps are checked on, with functions and loads that mean nothing."""
    grid = domain.grid(points)
    numbers = [torch.tensor(c).double() for c in ((3.0, 0.2, 0.1), (0.5, 0.1, 0.0), (0.3, 0.1))]
    basis = GaussianField(domain, domain.natural_boundary, n_modes=6).sample(5, grid, seed=3)
    draws = torch.eye(5, dtype=torch.float64)
    return GalerkinFeatures(*numbers, 0.3, 0.1, 2.0, basis, draws[0], draws, 0.1 * draws, domain.natural_boundary, domain)


def _stepping(domain, kinds, substeps=1):
    """A heat equation with some products, on a grid that is coarser than others."""
    points = (16,) * domain.dim
    plain = ProductFeatures(kinds, 0.5, substeps, points, domain=domain)
    waves = wavenumbers(plain.products.grid)
    decay = torch.exp(-0.1 * sum(k**2 for k in waves))[None, None].to(torch.complex128)
    B = 0.1 * decay.expand(1, plain.products.count, *decay.shape[2:])
    return clone(plain).set_params(D=decay, B=B, E=B / 2)


MAPS = [
    *(_galerkin(domain) for domain in (CIRCLE, Domain(1, periodic=False), Domain(2, axes=("periodic", "box")), Domain(2))),
    FourierFeatures(n_modes=8),
    FourierFeatures(n_modes=12, activation="gelu", bias=0.5, amplitude=8.0, tau=14.0),
    FourierFeatures(n_modes=6, domain=Domain(1, extent=3.0), activation="tanh"),
    FourierFeatures(
        n_modes=8, domain=Domain(1, periodic=False, extent=2.0), activation="gelu", profile="matern", amplitude=3.0
    ),
    FourierFeatures(n_modes=20, domain=Domain(2), activation="tanh", bias=0.3),
    FourierFeatures(n_modes=20, domain=Domain(2, periodic=False, extent=(1.0, 2.0)), profile="matern", amplitude=2.0),
    FourierFeatures(n_modes=10, domain=Domain(3), activation="sin", profile="matern", amplitude=2.0),
    IteratedFeatures(0, 0.5, source=torch.tensor([0.3, 1.0, 0.0]).double(), n_modes=4, domain=CIRCLE),
    *(
        LocalFeatures(0.5, domain=domain)
        for domain in (CIRCLE, Domain(1, periodic=False), Domain(2), Domain(3, periodic=False))
    ),
    *(
        LocalFeatures(0.5, domain=Domain(len(axes), axes=axes))
        for axes in (("periodic", "box"), ("cells",), ("cells", "periodic"))
    ),
    *(
        IteratedFeatures(0, 2.0, source=torch.tensor([0.3, 1.0, 0.0]).double(), n_modes=4, domain=Domain(len(axes), axes=axes))
        for axes in (("periodic", "box"), ("cells",), ("cells", "periodic"), ("periodic", "cells", "box"))
    ),
    IteratedFeatures(0, 2.0, source=torch.tensor([0.3, 1.0, 0.0]).double(), n_modes=4, domain=Domain(2, extent=(1.0, 2.0))),
    *(
        FourierFeatures(n_modes=10, domain=Domain(len(axes), axes=axes), activation="tanh", profile="matern", amplitude=2.0)
        for axes in (("periodic", "box"), ("box", "periodic"), ("cells",), ("cells", "cells"), ("periodic", "cells", "box"))
    ),
    *(
        PlacedFeatures(FourierFeatures(10, domain=domain, activation="identity", profile="matern", amplitude=2.0), n_modes=6)
        for domain in (CIRCLE, Domain(1, periodic=False), Domain(2, axes=("periodic", "box")), Domain(1, axes="cells"))
    ),
    ScalarFeatures(n_modes=5, domain=Domain(2, axes=("periodic", "box"))),
    ScalarFeatures(n_modes=6, domain=Domain(2, axes=("cells", "periodic")), affine=None),
    NeuralFeatures(BranchTrunk(width=6, rank=3, n_modes=5), domain=Domain(2, axes=("box", "periodic"))),
    ScalarFeatures(n_modes=5),
    ScalarFeatures(n_modes=5, law="affine", affine=None),
    ScalarFeatures(n_modes=6, law="student", domain=Domain(2, periodic=False), affine=None),
    ScalarFeatures(n_modes=5, law="cauchy", lengthscale=torch.linspace(1, 2, 5, dtype=torch.float64)),
    NeuralFeatures(BranchTrunk(width=6, rank=3, n_modes=5)),
    NeuralFeatures(BranchTrunk(width=6, rank=3, n_modes=5), domain=Domain(2, periodic=False)),
    Union((FourierFeatures(n_modes=8), FourierFeatures(n_modes=4, activation="tanh", tau=9.0))),
    Union(
        (ScalarFeatures(n_modes=5), ScalarFeatures(n_modes=3, law="student")),
        scales=torch.tensor([1.0, 2.0], dtype=torch.float64),
        shares=(0.7, 0.3),
    ),
    BrownianBridge(n_modes=20),
    MeanOf(),
    ProductFeatures(points=(16,)),
    _stepping(Domain(1, extent=2.0), ("squares", "slopes", "cubes")),
    _stepping(Domain(2), ("transport", "squares"), substeps=3),
]


def test_spectral_networks_keep_the_contract_up_to_aliasing():
    """A pointwise function between convolutions makes modes that a coarse grid folds back."""
    check_feature_map(NeuralFeatures(SpectralNetwork(width=4, n_modes=4)), points=33, grid_tolerance=1e-2)


def test_sine_series_keep_the_contract_for_inputs_that_vanish_at_the_boundary():
    features = FourierFeatures(n_modes=8, domain=Domain(1, periodic=False), boundary="dirichlet", activation="tanh", bias=0.3)
    check_feature_map(features, lambda n, grid: GaussianField(grid.domain, "dirichlet", n_modes=6).sample(n, grid, seed=0))


@pytest.mark.parametrize("axes", [("left",), ("left", "left"), ("right", "periodic")])
def test_features_keep_the_contract_where_an_end_is_left_out(axes):
    """Inputs that vanish at ends exactly, others up to what is put back there."""
    domain = Domain(len(axes), axes=axes)

    def vanishing(n, grid):
        return GaussianField(grid.domain, "dirichlet", n_modes=6).sample(n, grid, seed=0)

    odd = FourierFeatures(n_modes=8, domain=domain, boundary="dirichlet", activation="tanh", profile="matern", amplitude=2.0)
    check_feature_map(odd, vanishing)
    check_feature_map(ScalarFeatures(n_modes=5, domain=domain, boundary="dirichlet"), vanishing)
    even = FourierFeatures(n_modes=8, domain=domain, activation="tanh", profile="matern", amplitude=2.0)
    check_feature_map(even, points=65, grid_tolerance=1e-2)


def permeability(n, grid):
    """Positive and smooth."""
    return GaussianField(grid.domain, "neumann", n_modes=6).sample(n, grid, seed=0).exp()


@pytest.mark.parametrize(("kind", "steps"), [("additive", 1), ("multiplicative", 2)])
def test_predictor_corrector_keeps_the_contract_up_to_its_order(kind, steps):
    """Finite differences: the same function on a finer grid to second order, so a loose bound on 33 points."""
    features = PredictorCorrectorFeatures(n_modes=20, randomisation=kind, steps=steps, eta=1e-2)
    check_feature_map(features, permeability, points=33, grid_tolerance=2e-2)


@pytest.mark.parametrize("feature_map", MAPS, ids=lambda m: type(m).__name__)
def test_feature_map_keeps_the_contract(feature_map):
    check_feature_map(feature_map)


@dataclass(repr=False, eq=False)
class Broken(FeatureMap):
    """Breaks one clause of the contract at a time."""

    how: str = ""
    scale: float = 2.0
    domain: Domain = CIRCLE

    @property
    def theta_shape(self):
        return (1,)

    def __call__(self, a, theta):
        scale = torch.as_tensor(self.scale).detach() if self.how == "gradient" else self.scale
        phi = scale * theta[:, 0][None, :, None] * a[:, None, :] ** 2
        if self.how == "shape":
            return phi.transpose(0, 1)
        if self.how == "batch":
            return phi - phi.mean(0)
        if self.how == "grid":
            return phi * a.shape[-1]
        if self.how == "float32":
            return phi.double()
        return phi


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("shape", "φ must have shape"),
        ("batch", "one sample at a time"),
        ("grid", "finer grid"),
        ("float32", "float32"),
        ("gradient", "differentiable"),
    ],
)
def test_the_check_sees_each_broken_clause(how, words):
    with pytest.raises(AssertionError, match=words):
        check_feature_map(Broken(how))


def test_the_unbroken_map_passes_the_check():
    check_feature_map(Broken())
