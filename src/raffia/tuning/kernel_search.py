"""Hyperparameters of a kernel by leaving out one pair at a time, which has a closed formula for every ridge: no draws, no descent."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from jaxtyping import Float
from sklearn.base import clone
from torch import Tensor

from raffia.features.scalar import AFFINE_SHARE, ScalarFeatures
from raffia.progress import Progress
from raffia.regression import DualPath, coordinates_of, kernel_coordinates
from raffia.tuning.base import History, Trial
from raffia.tuning.objective import PREFIX
from raffia.tuning.workers import side_by_side

LAWS = (("student", 3), ("student", 5), ("student", 7), ("gaussian", 5), ("cauchy", 5))
OWN_LENGTHS = 16  # components of vectors, up to which each may have a length scale of its own
WORTH = 0.985  # a move is made if the error falls below so much of what it was


@dataclass(frozen=True)
class Place:
    """A setting: ℓ in units of the median distance, what the affine part has of the variance of the other, and powers of whitening."""

    law: str
    dof: int
    lengthscale: float = 0.5
    slope: float = -1.0
    whitening: float = 0.0
    own: tuple[float, ...] = ()
    """Of each component of a vector, log₁₀ of its length scale relative to the shared one."""


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Coordinates of inputs, outputs, and what errors are relative to."""

    feature_map: ScalarFeatures
    inputs: Float[Tensor, "n size"]
    outputs: Float[Tensor, "n rank"]
    sizes: Float[Tensor, "n"]

    def at(self, place: Place) -> ScalarFeatures:
        """The feature map of a setting."""
        unit, square = self._units
        length = unit * 10**place.lengthscale
        affine = math.sqrt(10**place.slope * (1 - AFFINE_SHARE) / AFFINE_SHARE * length**2 / square)
        lengths = length if not place.own else length * 10 ** torch.tensor(place.own, dtype=torch.float64)
        options = {"law": place.law, "dof": place.dof, "affine": affine, "lengthscale": lengths, "whitening": place.whitening}
        return clone(self.feature_map).set_params(**options)

    def error(self, place: Place) -> float:
        """Return the leave-one-out error of these hyperparameters with the best ridge, or infinity if the kernel matrix has no solution."""
        feature_map = self.at(place)
        x = self.inputs
        if place.own:
            x = x / feature_map.lengthscale.to(x)  # type: ignore[union-attr]  # a vector
        kernel = feature_map.kernel_of(*2 * (kernel_coordinates(feature_map, x)[0],))
        try:
            return DualPath.of_kernel(kernel).best(self.outputs, self.sizes)[1]
        except (ValueError, torch.linalg.LinAlgError):
            return math.inf

    @cached_property
    def _units(self) -> tuple[float, float]:
        """The median distance between inputs, and their mean square."""
        squared = torch.cdist(self.inputs, self.inputs).square()
        apart = squared[squared > 0]
        return math.sqrt(float(apart.median()) if len(apart) else 1.0), max(float(self.inputs.square().sum(1).mean()), 1e-300)


def search_kernel(
    feature_map: ScalarFeatures,
    inputs: Float[Tensor, "n size"],
    outputs: Float[Tensor, "n columns"],
    sizes: Float[Tensor, "n"],
    verbose: bool = False,
) -> tuple[ScalarFeatures, History]:
    """The best law, length scales, affine part and whitening found, and what was tried; inputs are coordinates, outputs embedded."""
    begun, history = time.perf_counter(), History()
    problem = KernelProblem(feature_map, coordinates_of(inputs), coordinates_of(outputs), sizes.to(outputs))
    tried: dict[Place, float] = {}

    def errors(places: list[Place]) -> None:
        new = [place for place in dict.fromkeys(places) if place not in tried]
        for place, value in zip(new, side_by_side(problem.error, new), strict=True):
            tried[place] = value
            history.trials.append(Trial(_parameters(problem.at(place)), value))
            progress.step(min(tried.values()))

    def error(place: Place) -> float:
        errors([place])
        return tried[place]

    with Progress("kernels", 64, verbose) as progress:
        errors([Place(*law, length, slope) for law in LAWS for length in (-0.5, 0.0, 0.5, 1.0) for slope in (-3.0, 0.0)])
        leaders = [min((p for p in tried if (p.law, p.dof) == law), key=error) for law in LAWS]
        best = min(
            (_descended(start, error, errors, feature_map, inputs.shape[1]) for start in sorted(leaders, key=error)[:2]),
            key=error,
        )
    history.seconds = time.perf_counter() - begun
    return problem.at(best), history


def _descended(
    start: Place,
    error: Callable[[Place], float],
    errors: Callable[[list[Place]], None],
    feature_map: ScalarFeatures,
    size: int,
) -> Place:
    """Moves along one number at a time, in steps that are halved where none is worth it."""
    step, own = 1.0, feature_map.domain.tabular and 1 < size <= OWN_LENGTHS
    best = Place(**vars(start) | {"own": (0.0,) * size}) if own else start
    while step > 0.2:
        moves = list(_moves(best, step, own, feature_map.n_modes is None and size > 1))
        errors(moves)
        moved = min(moves, key=error)
        if error(moved) < WORTH * error(best):
            best = moved
        else:
            step /= 2
    return best


def _moves(place: Place, step: float, own: bool, whitening: bool) -> Iterator[Place]:
    parts = vars(place)
    for sign in (-1, 1):
        yield Place(**parts | {"lengthscale": min(3.0, max(-2.0, place.lengthscale + 0.5 * sign * step))})
        yield Place(**parts | {"slope": min(4.0, max(-6.0, place.slope + 2 * sign * step))})
        if whitening and not own:
            yield Place(**parts | {"whitening": min(1.0, max(-2.0, place.whitening + 0.5 * sign * step))})
        for i in range(len(place.own)):
            moved = list(place.own)
            moved[i] += 0.5 * sign * step
            yield Place(**parts | {"own": tuple(moved)})


def _parameters(feature_map: ScalarFeatures) -> dict[str, Any]:
    names = ("law", "dof", "lengthscale", "affine", "whitening")
    return {PREFIX + name: getattr(feature_map, name) for name in names}
