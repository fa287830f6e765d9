"""The parameters of a model as an immutable value, which training and prediction use without the model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from torch import Tensor

from raffia.constraints import Constraint, Equality, Inequality
from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.features.wrapped import Projected
from raffia.measures.noise import white_noise
from raffia.regression import FeatureStream, Solver, Workspace
from raffia.spaces import Nodes, Space, digest_of
from raffia.transforms import outside_transforms
from raffia.validation import check_count, check_device, check_instance, check_seed


@dataclass(frozen=True, eq=False)
class Settings:
    """The arguments of `RandomFeatureModel`. `identity` compares those that coefficients depend on."""

    feature_map: FeatureMap
    n_features: int | float = 1024
    ridge: float | Tensor | Literal["auto"] = 0.0
    """A number, "auto", or for modal coefficients a vector with one ridge for each block."""
    solver: Solver | None = None
    batch_size: int | None = None
    random_state: int = 0
    device: str | torch.device | None = None
    memory_budget: int | None = None
    points: int | Literal["auto"] | None = None
    output: Space | None = None
    normalize: bool | Literal["function"] = False
    coefficients: Literal["ordinary", "modal"] = "ordinary"
    constraints: tuple[Constraint, ...] | list[Constraint] = ()

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "Settings":
        """Settings with these values, which need not be valid: `check` validates."""
        settings = object.__new__(cls)
        vars(settings).update(values)
        return settings

    @property
    def resources(self) -> tuple[object, ...]:
        """The device and the limits of memory, which coefficients do not depend on."""
        return self.device, self.batch_size, self.memory_budget

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of the constructor, here and of the model."""
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}

    def frozen(self) -> "Settings":
        """The same settings with a copy of the feature map, which the user may change later."""
        return Settings.of(self.arguments | {"feature_map": clone(self.feature_map)})

    def check(self) -> None:
        """Refuse invalid settings."""
        if self.coefficients not in ("ordinary", "modal"):
            raise RaffiaError(f"coefficients must be 'ordinary' or 'modal'; got {self.coefficients!r}.")
        if self.modal and self.solver is not None:
            raise RaffiaError(
                f"solver={self.solver!r} is for ordinary coefficients; modal ones are solved block by block: pass solver=None."
            )
        check_numbers(
            self.n_features, 0.0 if self._has_ridges else self.ridge, self.batch_size, self.memory_budget, self.points
        )
        check_instance("feature_map", self.feature_map, FeatureMap, "FourierFeatures()")
        if self.solver is not None:
            check_instance("solver", self.solver, Solver, "Cholesky()")
        check_seed("random_state", self.random_state)
        if self.output is not None:
            check_instance("output", self.output, Space, "Mesh(nodes)")
        if self.normalize not in (True, False, "function"):
            raise RaffiaError(f"normalize must be True, False or 'function'; got {self.normalize!r}.")
        check_device(self.device)
        self._check_constraints()

    @property
    def modal(self) -> bool:
        """Whether coefficients differ from mode to mode."""
        return self.coefficients == "modal"

    @property
    def equalities(self) -> tuple[Equality, ...]:
        """Constraints that hold everywhere."""
        return tuple(one for one in self.constraints if isinstance(one, Equality))

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        """Constraints that hold at collocation points."""
        return tuple(one for one in self.constraints if isinstance(one, Inequality))

    @property
    def features(self) -> FeatureMap:
        """The feature map, projected by equalities that treat all channels alike."""
        alike = tuple(equality for equality in self.equalities if equality.channelwise)
        return Projected(self.feature_map, alike) if alike else self.feature_map

    def _check_constraints(self) -> None:
        """Raise an error for objects that are no constraints, and for inequalities unless coefficients are ordinary."""
        listed = type(self.constraints) in (tuple, list)
        if not listed or len(self.equalities) + len(self.inequalities) != len(self.constraints):
            raise RaffiaError(
                f"constraints must be a list of constraints, such as [Conserved(), Positive()]; got {self.constraints!r}."
            )
        for one in self.inequalities:
            one.check_points()
        if self.inequalities and (self.modal or self.n_features == math.inf or self.solver is not None):
            raise RaffiaError(
                f"constraints: {self.inequalities[0]} is an inequality, which needs ordinary coefficients of finitely many features, and "
                f"solver=None; got coefficients={self.coefficients!r}, n_features={self.n_features} and solver={self.solver!r}. "
                "Equalities, such as Conserved(), work with all kinds."
            )

    @property
    def _has_ridges(self) -> bool:
        """Whether `ridge` is a vector with a ridge for each block; infinite ridges are allowed."""
        return self.modal and torch.is_tensor(self.ridge) and self.ridge.ndim == 1 and bool((self.ridge >= 0).all())

    @cached_property
    def identity(self) -> str:
        """All settings that coefficients depend on, as a text that is the same in every process."""
        normalize = self.normalize if self.normalize == "function" else bool(self.normalize)
        constraints = tuple(self.constraints)
        values = (self.feature_map, self.n_features, self.random_state, self.output, normalize, self.coefficients, constraints)
        return "; ".join(identity_of(value) for value in values)

    def check_same(self, before: "Settings") -> None:
        """Refuse settings for which the coefficients were not computed."""
        if self.identity != before.identity:
            raise RaffiaError(
                "feature_map, n_features, random_state, normalize, coefficients, constraints or output changed since the model was "
                "fitted: call fit again."
            )

    def place(self, like: Tensor) -> torch.device:
        """The device on which the model computes for inputs such as `like`."""
        return like.device if self.device is None else torch.device(self.device)

    def theta(self, like: Tensor) -> Tensor:
        """θ in the precision of `like`, on the device of the model; drawn once."""
        device = self.place(like)
        indices, shape = self.feature_map.kept, tuple(self.feature_map.theta_shape)
        if indices is None:
            return _theta(int(self.n_features), shape, self.random_state, like.dtype, device)
        return _theta(int(indices.max()) + 1, shape, self.random_state, like.dtype, device)[indices.to(device)]

    def workspace(self, device: torch.device) -> Workspace:
        """The limits of memory on a device."""
        return Workspace(int(min(self.n_features, 2**31)), device, self.batch_size, self.memory_budget)

    def stream(self, like: Tensor, grid: Nodes, values: Nodes) -> FeatureStream:
        """Features on the nodes `values` and outputs on `grid`, for inputs such as `like`."""
        theta = self.theta(like)
        return FeatureStream.within(self.workspace(theta.device), self.features, theta, grid, values)


@lru_cache(maxsize=4)
@outside_transforms()
def _theta(n_features: int, shape: tuple[int, ...], seed: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """The result of `FeatureMap.draw`: row j depends on (seed, j) alone."""
    return white_noise(n_features, shape, seed, stream="theta").to(device, dtype)


def check_numbers(
    n_features: object, ridge: object, batch_size: object = None, memory_budget: object = None, points: object = None
) -> None:
    """Refuse invalid counts and ridges."""
    for name, value in (("n_features", n_features), ("batch_size", batch_size), ("memory_budget", memory_budget)):
        if (value is not None or name == "n_features") and not (name == "n_features" and value == math.inf):
            check_count(name, value)
    number = isinstance(ridge, (int, float, np.number)) and not isinstance(ridge, bool)
    if ridge != "auto" and not (number and 0 <= ridge < float("inf")):  # type: ignore[operator]
        raise RaffiaError(f"ridge must be a finite number >= 0, or 'auto'; got {ridge!r}.")
    if points not in (None, "auto") and (isinstance(points, bool) or not isinstance(points, int) or points < 3):
        raise RaffiaError(f"points must be an integer >= 3, 'auto', or None for the grid of the data; got {points!r}.")


def identity_of(value: object) -> str:
    """A text that is equal for equal values; for tensors and meshes it contains a hash."""
    if isinstance(value, BaseEstimator):
        parts = (f"{name}={identity_of(part)}" for name, part in sorted(value.get_params(deep=False).items()))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, (Tensor, np.ndarray)):
        return f"{tuple(value.shape)} of {value.dtype} {digest_of(torch.as_tensor(value))}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(identity_of, value))})"
    return value.digest if isinstance(value, Space) else repr(value)
