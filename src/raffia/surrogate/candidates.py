"""The families of features that raffia tries on data, as one table: for contests, and for whoever names one."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features import FeatureMap, FourierFeatures, PredictorCorrectorFeatures, ScalarFeatures
from raffia.spaces import Domain, Mesh, Space

MOST_NODES = 2048  # of a mesh on which Fourier series are summed one by one in a contest


@dataclass(frozen=True)
class Glance:
    """Some pairs, and the spaces they live in: what a family is chosen by."""

    a: Tensor
    y: Tensor
    domain: Space
    output: Space

    @property
    def on_one_domain(self) -> bool:
        """Whether inputs and outputs are functions on the same nodes."""
        one, there = self.domain.one_channel, self.output.one_channel
        functions = one.dim > 0 and one == there
        return functions and self.a.shape[self.a.ndim - one.ndim :] == self.y.shape[self.y.ndim - one.ndim :]

    @property
    def on_a_rectangle(self) -> bool:
        """Whether inputs and outputs are functions of one channel on a rectangle."""
        return (
            self.domain == self.output and self.domain.dim == 2 and isinstance(self.domain, Domain) and not self.domain.periodic
        )


@dataclass(frozen=True)
class Candidate:
    """A feature map for given pairs, and whether a search has something to find."""

    name: str
    feature_map: FeatureMap
    tuned: bool = True
    normalize: bool = True

    @property
    def settings(self) -> dict[str, Any]:
        """What a model of these features must be told; what is a number for each input has no grid to be coarsened."""
        return {"normalize": self.normalize} | ({"points": None} if isinstance(self.feature_map, ScalarFeatures) else {})


@dataclass(frozen=True)
class Family:
    """A row of the table: when it applies and how its features are made, by a contest that starts from them and by default."""

    name: str
    applies: Callable[[Glance], bool]
    make: Callable[[Glance], FeatureMap]
    """The features to start from in a contest."""
    plain: Callable[[Glance], FeatureMap] | None = None
    """Those that the name alone gives, where they are others: those of the paper."""
    enters: Callable[[Glance], bool] = lambda glance: True
    """Whether a contest on such pairs tries them."""
    tuned: bool = True
    normalize: bool = True

    def candidate(self, glance: Glance) -> Candidate:
        """For a contest on given pairs."""
        return Candidate(self.name, self.make(glance), self.tuned, self.normalize)


def _scalar(glance: Glance, **law: Any) -> ScalarFeatures:
    n_modes = math.prod(glance.a.shape[1:]) if glance.domain.tabular else 64 * glance.domain.dim**2
    return ScalarFeatures(n_modes=n_modes, domain=glance.domain, **law)


def _fourier(glance: Glance) -> FourierFeatures:
    shape = {"amplitude": 2.0, "bias": 0.5, "activation": "gelu", "profile": "matern"}
    return FourierFeatures(128 if glance.domain.dim == 1 else 256, 10.0, 2.0, domain=glance.domain, **shape)  # type: ignore[arg-type]


def _predictor_corrector(glance: Glance) -> PredictorCorrectorFeatures:
    low, high = float(glance.a.min()), float(glance.a.max())
    assert isinstance(glance.domain, Domain)  # as the family asks
    return PredictorCorrectorFeatures(
        s_plus=1 / high, s_minus=-1 / low, eta=1e-5, steps=3, randomisation="multiplicative", domain=glance.domain
    )


def _like_darcy(glance: Glance) -> bool:
    """A positive coefficient, and outputs that vanish on the boundary."""
    y = glance.y
    edge = torch.cat([y[:, 0], y[:, -1], y[:, :, 0], y[:, :, -1]], dim=1)
    return bool(glance.a.min() > 0) and bool(edge.abs().max() <= 1e-6 * y.abs().max())


def _few_nodes(glance: Glance) -> bool:
    one = glance.domain.one_channel
    return not isinstance(one, Mesh) or len(one.nodes) <= MOST_NODES


def _not_single_numbers(glance: Glance) -> bool:
    return glance.domain.ndim > 0


FAMILIES = (
    Family("linear", _not_single_numbers, lambda glance: _scalar(glance, law="affine"), tuned=False),
    Family("scalar", _not_single_numbers, _scalar),
    Family(
        "fourier",
        lambda glance: glance.on_one_domain,
        _fourier,
        plain=lambda glance: FourierFeatures(domain=glance.domain),
        enters=_few_nodes,
    ),
    Family(
        "predictor-corrector",
        lambda glance: glance.on_a_rectangle,
        _predictor_corrector,
        plain=lambda glance: PredictorCorrectorFeatures(domain=glance.domain),  # type: ignore[arg-type]
        enters=_like_darcy,
        tuned=False,
        normalize=False,
    ),
)
"""The cheapest first; a new family is a row here."""


def candidates(a: Tensor, y: Tensor, domain: Space, output: Space) -> Iterator[Candidate]:
    """Those that a contest on such pairs tries."""
    glance = Glance(a, y, domain, output)
    return (family.candidate(glance) for family in FAMILIES if family.applies(glance) and family.enters(glance))


def named(name: str, a: Tensor, y: Tensor, domain: Space, output: Space) -> FeatureMap:
    """The features of a family by its name, if it applies to such pairs."""
    glance, family = Glance(a, y, domain, output), {family.name: family for family in FAMILIES}.get(name)
    if family is None:
        raise RaffiaError(f"features must be 'auto', a feature map or one of {[f.name for f in FAMILIES]}; got {name!r}.")
    if not family.applies(glance):
        raise RaffiaError(
            f"--map {name} (features={name!r}) does not go with these data, which have inputs in {domain} and outputs in {output}: "
            "fourier needs functions on one domain, predictor-corrector functions on a rectangle; scalar and linear take any inputs "
            "but single numbers."
        )
    return (family.plain or family.make)(glance)
