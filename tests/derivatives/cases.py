"""Tiny trained models: every map, on the spaces that it takes, with each normalisation and each kind of coefficients."""

import math
from dataclasses import replace

import torch

from raffia import (
    Channels,
    Domain,
    FourierFeatures,
    GaussianField,
    LocalFeatures,
    Mesh,
    PredictorCorrectorFeatures,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
)
from raffia.constraints import BoundaryValues, Conserved
from raffia.features import (
    ACTIVATIONS,
    BranchTrunk,
    BrownianBridge,
    CarriedFeatures,
    GalerkinFeatures,
    IteratedFeatures,
    NeuralFeatures,
    PlacedFeatures,
    ProductFeatures,
    Selected,
    SpectralNetwork,
    Union,
)

CIRCLE, LINE, TORUS, SQUARE = Domain(1), Domain(1, periodic=False), Domain(2), Domain(2, periodic=False)
MIXED, CELLS = Domain(2, axes=("periodic", "box")), Domain(2, axes=("cells", "left"))
MESH = Mesh(torch.rand(9, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64), domain=SQUARE)
SHAPES = {CIRCLE: (9,), LINE: (8,), TORUS: (5, 4), SQUARE: (5, 5), MIXED: (5, 4), CELLS: (5, 4), MESH: (9,)}
GRIDS = [CIRCLE, LINE, TORUS, SQUARE, MIXED, CELLS]
FOURIER = {"n_modes": 6, "profile": "matern", "amplitude": 2.0, "bias": 0.5}


def fourier(space, activation="elu", **more):
    return FourierFeatures(domain=space, activation=activation, **FOURIER | more)


def galerkin(space):
    """An equation whose functions, loads and correction mean nothing."""
    grid, count = space.one_channel.grid(*SHAPES[space.one_channel]), space.channels
    mass, stiffness, source = (
        torch.tensor([first, *[0.2] * count, *[0.1] * count]).double()[skip:] for first, skip in ((3.0, 0), (0.5, 0), (0.0, 1))
    )
    basis = GaussianField(grid.domain, grid.domain.natural_boundary, n_modes=6).sample(4, grid, seed=3)
    draws = torch.eye(4, dtype=torch.float64)
    equation = {"basis": basis, "load": draws[0], "loads": draws, "correction": 0.1 * draws}
    return GalerkinFeatures(
        mass, stiffness, source, shift=0.8, scale=0.5, boundary=grid.domain.natural_boundary, domain=space, **equation
    )


MAPS = {
    **{f"fourier {i}": fourier(space) for i, space in enumerate([*GRIDS, MESH, Channels(CIRCLE, 2), Channels(SQUARE, 2)])},
    **{f"fourier {name}": fourier(CIRCLE, name) for name in ACTIVATIONS if name not in ("elu", "identity")},
    "fourier of a paper": FourierFeatures(n_modes=8, amplitude=300.0),
    "fourier that see means": fourier(TORUS, mean=0.7),
    "fourier in sines": fourier(LINE, boundary="dirichlet"),
    "fourier in space": fourier(Domain(3), "gelu"),
    **{f"iterated {i}": IteratedFeatures(2, n_modes=5, domain=space) for i, space in enumerate(GRIDS)},
    "iterated channels": IteratedFeatures(1, n_modes=5, domain=Channels(TORUS, 2)),
    **{f"local {i}": LocalFeatures(0.5, domain=space) for i, space in enumerate([*GRIDS, Channels(SQUARE, 2)])},
    "products 1": ProductFeatures(("squares", "slopes", "cubes"), points=(8,), domain=CIRCLE),
    "products 2": ProductFeatures(("squares", "transport"), points=(8, 6), substeps=2, domain=TORUS),
    "products channels": ProductFeatures(("advection",), points=(8, 6), domain=Channels(TORUS, 2)),
    "carried 1": CarriedFeatures(domain=CIRCLE),
    "carried 2": CarriedFeatures(2, domain=TORUS, source=torch.ones(5, 4).double().cumsum(0)),
    "carried 3": CarriedFeatures(domain=Domain(3)),
    **{
        f"carried between {i}": CarriedFeatures(2, power=2.0, domain=space)
        for i, space in enumerate((LINE, SQUARE, MIXED, CELLS))
    },
    "carried along": CarriedFeatures(2, power=0.3, velocity="last", domain=Channels(TORUS, 3)),
    "carried along walls": CarriedFeatures(power=0.3, velocity="first", domain=Channels(MIXED, 2)),
    "carried by a curl": CarriedFeatures(power=2.0, domain=Channels(Domain(3), 3)),
    "carried by a curl between": CarriedFeatures(power=2.0, domain=Channels(Domain(3, periodic=False), 3)),
    **{f"galerkin {i}": galerkin(space) for i, space in enumerate([*GRIDS, Channels(SQUARE, 2)])},
    **{
        f"placed {i}": PlacedFeatures(fourier(space, "identity"), n_modes=5)
        for i, space in enumerate([*GRIDS, Channels(CIRCLE, 2)])
    },
    "placed of local ones": PlacedFeatures(LocalFeatures(0.5, domain=TORUS), n_modes=5, activation="sin"),
    "additive": PredictorCorrectorFeatures(n_modes=6, eta=1e-2),
    "multiplicative": PredictorCorrectorFeatures(n_modes=6, randomisation="multiplicative", steps=2, eta=1e-2),
    **{f"scalar {i}": ScalarFeatures(4, domain=space) for i, space in enumerate([*GRIDS, MESH, Channels(LINE, 2)])},
    "scalar student": ScalarFeatures(4, law="student", affine=None),
    "scalar vectors": ScalarFeatures(4, domain=Vectors()),
    "bridge": BrownianBridge(n_modes=8),
    "neural": NeuralFeatures(BranchTrunk(5, 3, 4)),
    "neural square": NeuralFeatures(BranchTrunk(5, 3, 4), domain=SQUARE),
    "spectral": NeuralFeatures(SpectralNetwork(3, 3)),
    "union": Union((fourier(CIRCLE), LocalFeatures(0.5, domain=CIRCLE))),
    "selected": Selected(fourier(CIRCLE), torch.tensor([0, 2, 3, 6, 7])),
    "union of numbers": Union((ScalarFeatures(3), ScalarFeatures(4, law="cauchy"))),
}
"""By a name, which a test shows."""
PERMEABILITIES = ("additive", "multiplicative")  # of positive inputs, which are not normalised


def shape_of(space):
    if isinstance(space, Channels):
        return (space.count, *shape_of(space.of))
    return (4,) * space.ndim if space.dim in (0, 3) else SHAPES[space]


def pairs(space, n=6, seed=0, shape=None):
    """Positive inputs, rough as the grid is, and what a nonlinear map makes of them."""
    generator = torch.Generator().manual_seed(seed)
    a = 0.5 + torch.rand(n, *(shape or shape_of(space)), generator=generator, dtype=torch.float64)
    return a, torch.sin(2 * a) + a.roll(1, -1) if a.ndim > 1 else torch.sin(2 * a)


def trained(feature_map, m=5, **options):
    return RandomFeatureModel(feature_map, m, 1e-3, **options).fit(*pairs(feature_map.domain))


def stacked(one, other):
    """A model that adds the share of another."""
    return one.adopt(replace(one.trained_, partner=other.trained_, share=0.3))


MODELS = {
    **{
        f"{name}, normalize={way}": lambda name=name, way=way: trained(MAPS[name], normalize=way)
        for name in MAPS
        for way in (False, True, "function")
        if name not in PERMEABILITIES or not way
    },
    **{
        f"modal {name}, normalize={way}": lambda name=name, way=way: trained(MAPS[name], normalize=way, coefficients="modal")
        for name in MAPS
        for way in (False, "function")
        if "scalar" not in name and name not in ("bridge", "union of numbers") and (name not in PERMEABILITIES or not way)
    },
    **{
        f"kernel {law} {i}": lambda law=law, space=space: trained(
            ScalarFeatures(None, law=law, domain=space, whitening=0.3), math.inf, normalize=True
        )
        for law in ("gaussian", "student", "affine")
        for i, space in enumerate([CIRCLE, SQUARE, MESH, Vectors(), Channels(LINE, 2)])
    },
    "stacked": lambda: stacked(
        trained(MAPS["fourier 0"], normalize=True), trained(ScalarFeatures(4), math.inf, normalize="function")
    ),
    "conserved": lambda: trained(MAPS["fourier 0"], constraints=[Conserved()]),
    "boundary values": lambda: trained(MAPS["local 3"], constraints=[BoundaryValues("input")], normalize=True),
    "pruned": lambda: trained(MAPS["fourier 0"], 12).prune(6),
}
"""What makes each."""


def classes_in(part):
    """The classes of a map, of the maps and of the networks that it is made of."""
    found = {type(part)}
    for value in part.get_params(deep=False).values():
        for one in value if isinstance(value, tuple) else (value,):
            found |= classes_in(one) if hasattr(one, "get_params") else set()
    return found


KINDS = [*{frozenset(classes_in(feature_map)): name for name, feature_map in reversed(MAPS.items())}.values()]
"""The first row of each kind of map."""
