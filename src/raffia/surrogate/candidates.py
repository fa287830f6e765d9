"""The families of features that raffia tries on data, as one table: for contests, and for whoever names one."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features import (
    CarriedFeatures,
    FeatureMap,
    FourierFeatures,
    GalerkinFeatures,
    IteratedFeatures,
    LocalFeatures,
    PlacedFeatures,
    PredictorCorrectorFeatures,
    ProductFeatures,
    ScalarFeatures,
    product_search,
)
from raffia.features.equations import found
from raffia.spaces import Domain, Mesh, Space
from raffia.spaces.robust_sizes import largest

Kind = Literal["ordinary", "modal", "kernel"]

MOST_PAIRS = 4096  # of which a kernel is formed in a contest
MODAL_BYTES = {1: 2**31, 2: 2**28, 3: 2**28}  # of block equations of modal coefficients, by dimension; time goes with them
CROWDED = 32  # features of a mode, below which local ones are also tried with ordinary coefficients
SIZES = 3  # how much larger or smaller what was moved may be
MOST_NODES = 2048  # of a mesh on which Fourier series are summed one by one in a contest


@dataclass(frozen=True)
class Glance:
    """Some pairs, and the spaces they live in: what a family is chosen by."""

    a: Tensor
    y: Tensor
    domain: Space
    output: Space
    streamed: bool = False
    """Whether pairs are read once, in bounded memory."""

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.a)

    @property
    def modes(self) -> int:
        """How many blocks modal coefficients have, about."""
        one = self.output.one_channel
        points = math.prod(self.y.shape[self.y.ndim - one.ndim :])
        return min(points, self.n) if isinstance(one, Mesh) else points // 2 + 1 if one.periodic else points

    @property
    def on_one_domain(self) -> bool:
        """Whether inputs and outputs are functions on the same nodes."""
        one, there = self.domain.one_channel, self.output.one_channel
        functions = one.dim > 0 and one == there
        return functions and self.a.shape[self.a.ndim - one.ndim :] == self.y.shape[self.y.ndim - one.ndim :]

    @property
    def on_a_rectangle(self) -> bool:
        """Whether inputs and outputs are functions of one channel on a rectangle."""
        return self.domain == self.output and self.domain.dim == 2 and isinstance(self.domain, Domain) and self.domain.boxed


Learn = Callable[[Glance, float], tuple[FeatureMap, float]]
"""Features that pairs make, and their error on some that were left out; little is tried where it is above a limit."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """How features of a family are trained, searched and judged."""

    coefficients: Kind = "ordinary"
    tuned: bool = True
    """Whether a search has something to find."""
    normalize: bool | Literal["function"] = "function"
    steps: tuple[int, ...] = ()
    """Of a search in stages, after each of which features may be given up; none where the search of the contest serves."""
    trained_on: int = sys.maxsize
    """How many pairs models are trained on to be judged, at most: features that take long are few, and need no more."""
    swept: bool = False
    """Whether the hyperparameters of a winner are refined one by one."""
    learn: Learn | None = None
    """How features are made of the training pairs, where these decide more than a few hyperparameters."""


@dataclass(frozen=True)
class Candidate(Traits):
    """A feature map for given pairs."""

    name: str
    feature_map: FeatureMap
    most: int = sys.maxsize
    """How many features a model may have at most, by its memory."""

    @property
    def kernel(self) -> bool:
        """Whether it is trained without features; a search takes so little then that every fold can have its own."""
        return self.coefficients == "kernel"

    def arguments(self, common: dict[str, Any], most_modal: int = sys.maxsize) -> dict[str, Any]:
        """Arguments of a model of these features: the common ones, but for what these need; at most so many modal features."""
        own: dict[str, Any] = {"n_features": min(common["n_features"], self.most)}
        if self.kernel:
            own = {"n_features": math.inf, "solver": None}
        elif self.coefficients == "modal":
            own = {"n_features": min(own["n_features"], most_modal), "coefficients": "modal", "solver": None}
        if isinstance(self.feature_map, ScalarFeatures):
            own["points"] = None  # what is a number for each input has no grid to be coarsened
        return {"normalize": self.normalize, **common, **own}


@dataclass(frozen=True)
class Family(Traits):
    """A row of the table: when it applies and how its features are made, by a contest that starts from them and by default."""

    name: str
    applies: Callable[[Glance], bool]
    make: Callable[[Glance], FeatureMap]
    """The features to start from in a contest."""
    plain: Callable[[Glance], FeatureMap] | None = None
    """Those that the name alone gives, where they are others: those of the paper."""
    enters: Callable[[Glance], bool] = lambda glance: True
    """Whether a contest on such pairs tries them."""
    most: Callable[[Glance], int] = lambda glance: sys.maxsize
    """How many features a model may have at most."""

    def candidate(self, glance: Glance) -> Candidate:
        """The features for a contest on given pairs."""
        shared = {one.name: getattr(self, one.name) for one in fields(Traits)}
        return Candidate(self.name, self.make(glance), self.most(glance), **shared)


def _scalar(glance: Glance, **law: Any) -> ScalarFeatures:
    n_modes = math.prod(glance.a.shape[1:]) if glance.domain.tabular else 64 * glance.domain.dim**2
    return ScalarFeatures(n_modes=n_modes, tau=10.0 / glance.domain.longest, domain=glance.domain, **law)


def _fourier(glance: Glance) -> FourierFeatures:
    """They see the mean of inputs where it varies."""
    one, unit = not glance.domain.has_components, glance.domain.longest
    means = glance.a.double().flatten(1).mean(1) if one else torch.zeros(2, dtype=torch.float64)
    mean = 1.0 if len(means) > 1 and float(means.std()) > 1e-3 * float(glance.a.double().std()) else None
    shape = {"amplitude": 2.0, "bias": 0.5, "activation": "gelu", "profile": "matern", "mean": mean}
    n_modes = 128 if glance.domain.dim == 1 else 256
    return FourierFeatures(n_modes, 10.0 / unit, 2.0, 0.0025 * unit, domain=glance.domain, **shape)  # type: ignore[arg-type]


def _modal(glance: Glance) -> FeatureMap:
    """Where an axis has ends, features know where they are."""
    plain = _fourier(glance)
    if glance.domain.periodic or not glance.domain.one_channel.gridded:
        return plain
    return PlacedFeatures(plain.set_params(activation="identity", bias=0.0), field_tau=5.0 / glance.domain.longest)


def _predictor_corrector(glance: Glance, eta: float = 1e-4, **more: Any) -> PredictorCorrectorFeatures:
    """The paper's, with lengths in units of the longest side."""
    unit = glance.domain.longest
    return PredictorCorrectorFeatures(tau=7.5 / unit, eta=eta * unit**2, domain=cast(Domain, glance.domain), **more)


def _multiplicative(glance: Glance) -> PredictorCorrectorFeatures:
    size = {"s_plus": 1 / float(glance.a.max()), "s_minus": -1 / float(glance.a.min())}
    return _predictor_corrector(glance, 1e-5, **size, steps=3, randomisation="multiplicative")


def _like_darcy(glance: Glance) -> bool:
    """A positive coefficient, and outputs that vanish on the boundary."""
    y = glance.y
    edge = torch.cat([y[:, 0], y[:, -1], y[:, :, 0], y[:, :, -1]], dim=1)
    return bool(glance.a.min() > 0) and largest(edge) <= 1e-6 * largest(y)


def _galerkin(glance: Glance, limit: float) -> tuple[FeatureMap, float]:
    parameters, error = found(glance.a, glance.y, glance.domain, limit)
    return GalerkinFeatures(**parameters, domain=glance.domain), error


def _few_nodes(glance: Glance) -> bool:
    one = glance.domain.one_channel
    return not isinstance(one, Mesh) or len(one.nodes) <= MOST_NODES


def _not_single_numbers(glance: Glance) -> bool:
    return glance.domain.ndim > 0


def _few_pairs(glance: Glance) -> bool:
    """A kernel between all of them fits into memory, and is found in seconds."""
    return not glance.streamed and glance.n <= MOST_PAIRS


def _on_one_grid(glance: Glance) -> bool:
    return glance.on_one_domain and glance.domain.one_channel.gridded


def _channelled(glance: Glance) -> bool:
    return glance.domain.has_components or glance.output.has_components


def _carried(glance: Glance) -> bool:
    """One function on a grid, or as many channels as dimensions, or more, which may be a velocity."""
    enough = glance.domain.has_components and glance.domain.channels >= glance.domain.dim
    return _on_one_grid(glance) and glance.domain.dim <= 3 and (enough or not _channelled(glance))


def _of_one_quantity(glance: Glance) -> bool:
    """Whether outputs may be later states of the inputs: few pairs, of about the same size."""
    sizes = [float(f.abs().max()) for f in (glance.a, glance.y)]
    return _few_pairs(glance) and max(sizes) < 10 * min(sizes)


def _moved(glance: Glance) -> bool:
    """Whether outputs may be inputs that were moved: some are as large, or inputs are one function on a torus."""
    if glance.domain.periodic:
        return _few_pairs(glance)
    (a, y), points = (glance.a, glance.y), math.prod(glance.output.one_channel.grid_of(glance.y).shape)
    sizes = [f.double().reshape(len(f), -1, points).std((0, 2)) for f in (a, y)]
    ratios = sizes[1][:, None] / sizes[0]
    return _few_pairs(glance) and bool(((ratios > 1 / SIZES) & (ratios < SIZES)).any())


def _most_modal(glance: Glance) -> int:
    """How many features memory, and patience, hold in every mode."""
    return max(16, math.isqrt(MODAL_BYTES[glance.domain.dim] // (48 * glance.modes)))


def _crowded(glance: Glance) -> bool:
    """A grid so large that each mode can have few features only: they may be better off with equal coefficients, and more of them."""
    return _few_pairs(glance) and _most_modal(glance) < CROWDED


def _at_most(count: int) -> Callable[[Glance], int]:
    """So many features, or fewer where memory asks for it."""
    return lambda glance: min(count, _most_modal(glance))


FAMILIES = (
    Family(
        "linear",
        _not_single_numbers,
        lambda glance: ScalarFeatures(None, law="affine", domain=glance.domain),
        enters=_few_pairs,
        tuned=False,
        coefficients="kernel",
    ),
    Family(
        "products",
        lambda glance: _on_one_grid(glance) and glance.domain == glance.output and glance.domain.periodic,
        lambda glance: ProductFeatures(points=glance.domain.grid_of(glance.a).shape, domain=glance.domain),
        enters=_of_one_quantity,
        coefficients="modal",
        tuned=False,
        normalize=False,
        most=lambda glance: 32,  # more than there are products
        learn=lambda glance, limit: product_search.found(glance.a, glance.y, glance.domain, limit),
    ),
    Family(
        "kernel",
        _not_single_numbers,
        lambda glance: ScalarFeatures(None, domain=glance.domain),
        enters=_few_pairs,
        coefficients="kernel",
    ),
    Family(
        "affine",
        _not_single_numbers,
        lambda glance: _scalar(glance, law="affine"),
        enters=lambda glance: not _few_pairs(glance),
        tuned=False,
    ),
    Family("scalar", _not_single_numbers, _scalar, enters=lambda glance: not _few_pairs(glance)),
    Family(
        "galerkin",
        lambda glance: _on_one_grid(glance) and not glance.output.has_components,
        lambda glance: GalerkinFeatures(domain=glance.domain),
        enters=_few_pairs,
        coefficients="modal",
        tuned=False,
        normalize=False,
        most=lambda glance: 12,  # those of an equation differ in its load only
        trained_on=256,
        learn=_galerkin,
    ),
    Family(
        "local",
        _on_one_grid,
        lambda glance: LocalFeatures(domain=glance.domain),
        enters=_few_pairs,
        coefficients="modal",
        normalize=True,
        most=_at_most(512),
        steps=(6, 14),
        swept=True,
    ),
    Family(
        "pointwise",
        _on_one_grid,
        lambda glance: LocalFeatures(domain=glance.domain, activation="tanh"),
        enters=_crowded,
        normalize=True,
        most=lambda glance: 512,
        steps=(6, 14),
        trained_on=32,  # each has thousands of points, and coefficients are few
        swept=True,
    ),
    Family(
        "carried",
        _carried,
        lambda glance: CarriedFeatures.suited(glance.a, glance.y, glance.domain),
        enters=_moved,
        coefficients="modal",
        normalize=False,
        most=lambda glance: _at_most(10 * min(glance.domain.channels, 3))(glance),  # each takes as long as a hundred others
        steps=(10, 40),
        trained_on=256,
    ),
    Family(
        "iterated",
        _on_one_grid,
        lambda glance: IteratedFeatures.suited(glance.a, glance.y, glance.domain, field_tau=10.0 / glance.domain.longest),
        enters=_few_pairs,
        coefficients="modal",
        normalize=False,
        most=_at_most(128),  # more are hardly better
        steps=(20, 180),
    ),
    Family(
        "modal",
        lambda glance: glance.on_one_domain,
        _modal,
        enters=lambda glance: _few_nodes(glance) and _few_pairs(glance),
        coefficients="modal",
        normalize=True,
        most=_most_modal,
    ),
    Family(
        "fourier",
        lambda glance: glance.on_one_domain,
        _fourier,
        plain=lambda glance: FourierFeatures(
            tau=5.0 / glance.domain.longest, delta=0.0025 * glance.domain.longest, domain=glance.domain
        ),
        enters=lambda glance: _few_nodes(glance) and not _few_pairs(glance),
        normalize=True,
    ),
    Family(
        "predictor-corrector",
        lambda glance: glance.on_a_rectangle,
        _multiplicative,
        plain=_predictor_corrector,
        enters=_like_darcy,
        tuned=False,
        normalize=False,
        most=lambda glance: 256,  # four times as many have the same error
    ),
)
"""The cheapest first; a new family is a row here."""


def candidates(a: Tensor, y: Tensor, domain: Space, output: Space, streamed: bool = False) -> Iterator[Candidate]:
    """Those that a contest on such pairs tries."""
    glance = Glance(a, y, domain, output, streamed)
    return (family.candidate(glance) for family in FAMILIES if family.applies(glance) and family.enters(glance))


def named(name: str, a: Tensor, y: Tensor, domain: Space, output: Space, streamed: bool = False) -> Candidate:
    """The features of a family by its name, if it applies to such pairs."""
    name = {"linear": "affine"}.get(name, name) if streamed else name
    glance, family = Glance(a, y, domain, output, streamed), {family.name: family for family in FAMILIES}.get(name)
    if family is None:
        raise RaffiaError(f"features must be 'auto', a feature map or one of {[f.name for f in FAMILIES]}; got {name!r}.")
    if streamed and family.coefficients == "kernel":
        raise RaffiaError(
            f"--map {name} (features={name!r}) needs all pairs in memory: pass --whole, or --map scalar, features of that kernel."
        )
    if not family.applies(glance):
        raise RaffiaError(
            f"--map {name} (features={name!r}) does not go with these data, which have inputs in {domain} and outputs in {output}: "
            "fourier and modal need functions on one domain, local, iterated and galerkin on one grid, carried one function there, or "
            "as many channels as dimensions, or more, "
            "predictor-corrector functions on a rectangle; the others take any inputs but single numbers."
        )
    features = family.learn(glance, math.inf)[0] if family.learn else (family.plain or family.make)(glance)
    normalize = "function" if family.coefficients == "kernel" else features.normalized
    return replace(family.candidate(glance), feature_map=features, normalize=normalize)  # type: ignore[arg-type]
