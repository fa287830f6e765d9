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
from raffia.spaces.trimmed import largest
from raffia.surrogate.example_pairs import ExamplePairs

Kind = Literal["ordinary", "modal", "kernel"]

MOST_PAIRS = 4096  # of which a kernel is formed in a contest
MODAL_BYTES = {1: 2**31, 2: 2**28, 3: 2**28}  # of block equations of modal coefficients, by dimension; time goes with them
CROWDED = 32  # features of a mode, below which local ones are also tried with ordinary coefficients
SIZES = 3  # how much larger or smaller what was moved may be
MOST_NODES = 2048  # of a mesh on which Fourier series are summed one by one in a contest


Learn = Callable[[ExamplePairs, float], tuple[FeatureMap, float]]
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
    """A feature map that takes part in a contest, with its name and the settings that models with it need."""

    name: str
    feature_map: FeatureMap
    most: int = sys.maxsize
    """The largest number of features that fits into memory."""

    @property
    def kernel(self) -> bool:
        """Whether a model is trained by its kernel, without random features. A search is then cheap enough for every fold."""
        return self.coefficients == "kernel"

    def arguments(self, common: dict[str, Any], most_modal: int = sys.maxsize) -> dict[str, Any]:
        """Return the arguments of a model with these features: the `common` ones, changed as the features need."""
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
    applies: Callable[[ExamplePairs], bool]
    make: Callable[[ExamplePairs], FeatureMap]
    """The features to start from in a contest."""
    plain: Callable[[ExamplePairs], FeatureMap] | None = None
    """Those that the name alone gives, where they are others: those of the paper."""
    enters: Callable[[ExamplePairs], bool] = lambda pairs: True
    """Whether a contest on such pairs tries them."""
    most: Callable[[ExamplePairs], int] = lambda pairs: sys.maxsize
    """How many features a model may have at most."""

    def candidate(self, pairs: ExamplePairs) -> Candidate:
        """The features for a contest on given pairs."""
        shared = {one.name: getattr(self, one.name) for one in fields(Traits)}
        return Candidate(self.name, self.make(pairs), self.most(pairs), **shared)


def _scalar(pairs: ExamplePairs, **law: Any) -> ScalarFeatures:
    n_modes = math.prod(pairs.a.shape[1:]) if pairs.domain.tabular else 64 * pairs.domain.dim**2
    return ScalarFeatures(n_modes=n_modes, tau=10.0 / pairs.domain.longest, domain=pairs.domain, **law)


def _fourier(pairs: ExamplePairs) -> FourierFeatures:
    """They see the mean of inputs where it varies."""
    one, unit = not pairs.domain.has_components, pairs.domain.longest
    means = pairs.a.double().flatten(1).mean(1) if one else torch.zeros(2, dtype=torch.float64)
    mean = 1.0 if len(means) > 1 and float(means.std()) > 1e-3 * float(pairs.a.double().std()) else None
    shape = {"amplitude": 2.0, "bias": 0.5, "activation": "gelu", "profile": "matern", "mean": mean}
    n_modes = 128 if pairs.domain.dim == 1 else 256
    return FourierFeatures(n_modes, 10.0 / unit, 2.0, 0.0025 * unit, domain=pairs.domain, **shape)  # type: ignore[arg-type]


def _modal(pairs: ExamplePairs) -> FeatureMap:
    """Where an axis has ends, features know where they are."""
    plain = _fourier(pairs)
    if pairs.domain.periodic or not pairs.domain.one_channel.gridded:
        return plain
    return PlacedFeatures(plain.set_params(activation="identity", bias=0.0), field_tau=5.0 / pairs.domain.longest)


def _predictor_corrector(pairs: ExamplePairs, eta: float = 1e-4, **more: Any) -> PredictorCorrectorFeatures:
    """The paper's, with lengths in units of the longest side."""
    unit = pairs.domain.longest
    return PredictorCorrectorFeatures(tau=7.5 / unit, eta=eta * unit**2, domain=cast(Domain, pairs.domain), **more)


def _multiplicative(pairs: ExamplePairs) -> PredictorCorrectorFeatures:
    size = {"s_plus": 1 / float(pairs.a.max()), "s_minus": -1 / float(pairs.a.min())}
    return _predictor_corrector(pairs, 1e-5, **size, steps=3, randomisation="multiplicative")


def _like_darcy(pairs: ExamplePairs) -> bool:
    """A positive coefficient, and outputs that vanish on the boundary."""
    y = pairs.y
    edge = torch.cat([y[:, 0], y[:, -1], y[:, :, 0], y[:, :, -1]], dim=1)
    return bool(pairs.a.min() > 0) and largest(edge) <= 1e-6 * largest(y)


def _galerkin(pairs: ExamplePairs, limit: float) -> tuple[FeatureMap, float]:
    parameters, error = found(pairs.a, pairs.y, pairs.domain, limit)
    return GalerkinFeatures(**parameters, domain=pairs.domain), error


def _few_nodes(pairs: ExamplePairs) -> bool:
    one = pairs.domain.one_channel
    return not isinstance(one, Mesh) or len(one.nodes) <= MOST_NODES


def _not_single_numbers(pairs: ExamplePairs) -> bool:
    return pairs.domain.ndim > 0


def _few_pairs(pairs: ExamplePairs) -> bool:
    """A kernel between all of them fits into memory, and is found in seconds."""
    return not pairs.streamed and pairs.n <= MOST_PAIRS


def _on_one_grid(pairs: ExamplePairs) -> bool:
    return pairs.on_one_domain and pairs.domain.one_channel.gridded


def _channelled(pairs: ExamplePairs) -> bool:
    return pairs.domain.has_components or pairs.output.has_components


def _carried(pairs: ExamplePairs) -> bool:
    """One function on a grid, or as many channels as dimensions, or more, which may be a velocity."""
    enough = pairs.domain.has_components and pairs.domain.channels >= pairs.domain.dim
    return _on_one_grid(pairs) and pairs.domain.dim <= 3 and (enough or not _channelled(pairs))


def _of_one_quantity(pairs: ExamplePairs) -> bool:
    """Whether outputs may be later states of the inputs: few pairs, of about the same size."""
    sizes = [float(f.abs().max()) for f in (pairs.a, pairs.y)]
    return _few_pairs(pairs) and max(sizes) < 10 * min(sizes)


def _moved(pairs: ExamplePairs) -> bool:
    """Whether outputs may be inputs that were moved: some are as large, or inputs are one function on a torus."""
    if pairs.domain.periodic:
        return _few_pairs(pairs)
    (a, y), points = (pairs.a, pairs.y), math.prod(pairs.output.one_channel.grid_of(pairs.y).shape)
    sizes = [f.double().reshape(len(f), -1, points).std((0, 2)) for f in (a, y)]
    ratios = sizes[1][:, None] / sizes[0]
    return _few_pairs(pairs) and bool(((ratios > 1 / SIZES) & (ratios < SIZES)).any())


def _most_modal(pairs: ExamplePairs) -> int:
    """How many features memory, and patience, hold in every mode."""
    return max(16, math.isqrt(MODAL_BYTES[pairs.domain.dim] // (48 * pairs.modes)))


def _crowded(pairs: ExamplePairs) -> bool:
    """A grid so large that each mode can have few features only: they may be better off with equal coefficients, and more of them."""
    return _few_pairs(pairs) and _most_modal(pairs) < CROWDED


def _at_most(count: int) -> Callable[[ExamplePairs], int]:
    """So many features, or fewer where memory asks for it."""
    return lambda pairs: min(count, _most_modal(pairs))


FAMILIES = (
    Family(
        "linear",
        _not_single_numbers,
        lambda pairs: ScalarFeatures(None, law="affine", domain=pairs.domain),
        enters=_few_pairs,
        tuned=False,
        coefficients="kernel",
    ),
    Family(
        "products",
        lambda pairs: _on_one_grid(pairs) and pairs.domain == pairs.output and pairs.domain.one_channel.periodic,
        lambda pairs: ProductFeatures(points=pairs.domain.grid_of(pairs.a).shape, domain=pairs.domain),
        enters=_of_one_quantity,
        coefficients="modal",
        tuned=False,
        normalize=False,
        most=lambda pairs: 32,  # more than there are products
        learn=lambda pairs, limit: product_search.found(pairs.a, pairs.y, pairs.domain, limit),
    ),
    Family(
        "kernel",
        _not_single_numbers,
        lambda pairs: ScalarFeatures(None, domain=pairs.domain),
        enters=_few_pairs,
        coefficients="kernel",
    ),
    Family(
        "affine",
        _not_single_numbers,
        lambda pairs: _scalar(pairs, law="affine"),
        enters=lambda pairs: not _few_pairs(pairs),
        tuned=False,
    ),
    Family("scalar", _not_single_numbers, _scalar, enters=lambda pairs: not _few_pairs(pairs)),
    Family(
        "galerkin",
        lambda pairs: _on_one_grid(pairs) and not pairs.output.has_components,
        lambda pairs: GalerkinFeatures(domain=pairs.domain),
        enters=_few_pairs,
        coefficients="modal",
        tuned=False,
        normalize=False,
        most=lambda pairs: 12,  # those of an equation differ in its load only
        trained_on=256,
        learn=_galerkin,
    ),
    Family(
        "local",
        _on_one_grid,
        lambda pairs: LocalFeatures(domain=pairs.domain),
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
        lambda pairs: LocalFeatures(domain=pairs.domain, activation="tanh"),
        enters=_crowded,
        normalize=True,
        most=lambda pairs: 512,
        steps=(6, 14),
        trained_on=32,  # each has thousands of points, and coefficients are few
        swept=True,
    ),
    Family(
        "carried",
        _carried,
        lambda pairs: CarriedFeatures.suited(pairs.a, pairs.y, pairs.domain),
        enters=_moved,
        coefficients="modal",
        normalize=False,
        most=lambda pairs: _at_most(10 * min(pairs.domain.channels, 3))(pairs),  # each takes as long as a hundred others
        steps=(10, 40),
        trained_on=256,
    ),
    Family(
        "iterated",
        _on_one_grid,
        lambda pairs: IteratedFeatures.suited(pairs.a, pairs.y, pairs.domain).set_params(field_tau=10.0 / pairs.domain.longest),
        enters=_few_pairs,
        coefficients="modal",
        normalize=False,
        most=_at_most(128),  # more are hardly better
        steps=(20, 180),
    ),
    Family(
        "modal",
        lambda pairs: pairs.on_one_domain,
        _modal,
        enters=lambda pairs: _few_nodes(pairs) and _few_pairs(pairs),
        coefficients="modal",
        normalize=True,
        most=_most_modal,
    ),
    Family(
        "fourier",
        lambda pairs: pairs.on_one_domain,
        _fourier,
        plain=lambda pairs: FourierFeatures(
            tau=5.0 / pairs.domain.longest, delta=0.0025 * pairs.domain.longest, domain=pairs.domain
        ),
        enters=lambda pairs: _few_nodes(pairs) and not _few_pairs(pairs),
        normalize=True,
    ),
    Family(
        "predictor-corrector",
        lambda pairs: pairs.on_a_rectangle,
        _multiplicative,
        plain=_predictor_corrector,
        enters=_like_darcy,
        tuned=False,
        normalize=False,
        most=lambda pairs: 256,  # four times as many have the same error
    ),
)
"""The cheapest first; a new family is a row here."""


def candidates(a: Tensor, y: Tensor, domain: Space, output: Space, streamed: bool = False) -> Iterator[Candidate]:
    """Return the candidates of a contest on such pairs."""
    pairs = ExamplePairs(a, y, domain, output, streamed)
    return (family.candidate(pairs) for family in FAMILIES if family.applies(pairs) and family.enters(pairs))


def named(name: str, a: Tensor, y: Tensor, domain: Space, output: Space, streamed: bool = False) -> Candidate:
    """The features of a family by its name, if it applies to such pairs."""
    name = {"linear": "affine"}.get(name, name) if streamed else name
    pairs, family = ExamplePairs(a, y, domain, output, streamed), {family.name: family for family in FAMILIES}.get(name)
    if family is None:
        raise RaffiaError(f"features must be 'auto', a feature map or one of {[f.name for f in FAMILIES]}; got {name!r}.")
    if streamed and family.coefficients == "kernel":
        raise RaffiaError(
            f"--map {name} (features={name!r}) needs all pairs in memory: pass --whole, or --map scalar, features of that kernel."
        )
    if not family.applies(pairs):
        raise RaffiaError(
            f"--map {name} (features={name!r}) does not go with these data, which have inputs in {domain} and outputs in {output}: "
            "fourier and modal need functions on one domain, local, iterated and galerkin on one grid, carried one function there, or "
            "as many channels as dimensions, or more, "
            "predictor-corrector functions on a rectangle; the others take any inputs but single numbers."
        )
    features = family.learn(pairs, math.inf)[0] if family.learn else (family.plain or family.make)(pairs)
    normalize = "function" if family.coefficients == "kernel" else features.normalized
    return replace(family.candidate(pairs), feature_map=features, normalize=normalize)  # type: ignore[arg-type]
