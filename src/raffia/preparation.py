"""What a model makes of the arrays it is given: checked, moved to its device, normalised, on the grid to train on."""

import copy
import hashlib
from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_array, validate_data
from torch import Tensor

from raffia.checks import (
    ArrayLike,
    as_tensor,
    check_device,
    check_function,
    check_instance,
    check_output,
    check_pairs,
    check_seed,
    check_settings,
    output_space,
)
from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression import Solution, Solver, fits, one_channel
from raffia.resolution import coarsened
from raffia.scaling import Scaling
from raffia.spaces import ChannelGrid, Channels, Domain, Grid, Mesh, Nodes, Space, Vectors, resample

IDENTITY = Scaling(torch.zeros(()), torch.ones(()))


class Preparation(ABC):
    """The part of a model between the arrays of a user and the regression."""

    feature_map: FeatureMap
    n_features: int
    ridge: float | Literal["auto"]
    solver: Solver | None
    batch_size: int | None
    random_state: int
    device: str | torch.device | None
    memory_budget: int | None
    points: int | Literal["auto"] | None
    output: Space | None
    normalize: bool

    input_grid_: Nodes
    output_grid_: Nodes
    input_scaling_: Scaling
    output_scaling_: Scaling
    _known: tuple[FeatureMap, bool]
    _settings: str

    @property
    @abstractmethod
    def solution_(self) -> Solution:
        """The coefficients and how the solver found them."""

    def on(self, space: Domain | Mesh) -> Any:
        """The same trained operator for functions given on a mesh instead of a grid, or the other way round.

        The mesh must lie in the domain that the model was trained on: `Mesh(nodes, domain=model.feature_map.domain)`.
        """
        _ = self.solution_
        trained = self.feature_map.domain
        if trained.region != space.region:
            raise RaffiaError(f"space must lie in the domain that the model was trained on, {trained.region}; got {space!r}.")
        other = copy.copy(self)
        domain = Channels(space, trained.count) if isinstance(trained, Channels) else space
        other.feature_map = clone(self.feature_map).set_params(domain=domain)
        other.output = None if self.output == trained else self.output
        other._settings = other._fingerprint()
        return other

    def _prepared(self, a: ArrayLike, y: ArrayLike) -> tuple[Tensor, Tensor, Nodes, bool]:
        """Pairs as they are learnt from: checked, normalised, in float64, on the grid to train on (that of the first batch if there
        was one); the grid of the outputs; and whether features are numbers."""
        self._check_settings()
        inputs = self._checked(a, first=not hasattr(self, "output_grid_")).double()
        outputs = self._moved(as_tensor("y", self._tabular_target(y))).double()
        check_pairs(inputs, outputs)
        domain, theta, first = self.feature_map.domain, self._theta(inputs), getattr(self, "output_grid_", None)
        scalar, space = self._numbers(inputs), self._output_space(inputs, outputs)
        grid = check_output(inputs, outputs, domain, space, scalar)
        if self.normalize and not hasattr(self, "input_scaling_"):
            self.input_scaling_, self.output_scaling_ = Scaling.of(inputs, domain), Scaling.of(outputs, space)
        inputs, outputs = self._scaled(inputs), self._output_scaling.apply(outputs) if self.normalize else outputs
        if self.points is None:
            return inputs, outputs, grid, scalar
        if scalar:
            raise RaffiaError("points=… is for features whose values are functions: with scalar ones the grid costs nothing.")
        here = one_channel(grid)
        if first is not None and isinstance(here, Grid):
            there = one_channel(first)
            assert isinstance(there, Grid)  # as that of every batch
            return resample(inputs, here, there), resample(outputs, here, there), first, scalar
        inputs, outputs = coarsened(self.feature_map, theta, inputs, outputs, self.points)
        return inputs, outputs, space.grid_of(outputs), scalar

    def _output_space(self, inputs: Tensor, outputs: Tensor) -> Space:
        """Where the outputs live, as told or as they look."""
        return self.output or output_space(self.feature_map.domain, outputs, self._numbers(inputs))

    def _sizes(self, outputs: Tensor, grid: Nodes) -> Tensor | None:
        """What errors of normalised outputs are relative to: the norm of a function, in units of its deviation.

        Of numbers, vectors and several channels, whose means may be large beside what varies, the deviation of all of them together.
        """
        if not self.normalize:
            return None
        if self._in_deviations(grid):
            return torch.full((len(outputs),), grid.volume**0.5, dtype=outputs.dtype, device=outputs.device)
        scaling = self._output_scaling
        return grid.norm(outputs + (scaling.shift / scaling.scale).to(outputs))

    def _in_deviations(self, grid: Nodes) -> bool:
        """Whether errors are measured by the deviations of the outputs, and not by their norms."""
        several = grid.size == 1 or isinstance(grid, Vectors) or (isinstance(grid, ChannelGrid) and grid.count > 1)
        return self.normalize and several

    def _inputs(self, a: ArrayLike) -> Tensor:
        """Inputs to predict from, checked and normalised."""
        inputs = self._checked(a)
        _ = self.solution_  # says so if nothing was fitted
        if self._numbers(inputs) and isinstance(self.input_grid_, Vectors):
            self.input_grid_.grid_of(inputs)
        return self._scaled(inputs)

    def _checked(self, a: ArrayLike, first: bool = False) -> Tensor:
        tabular = isinstance(self.feature_map.domain, Vectors) and not isinstance(a, Tensor)
        inputs = self._moved(as_tensor("a", self._table(a, first) if tabular else a))
        check_function("a", inputs, self.feature_map.domain)
        return inputs

    def _table(self, a: Any, first: bool) -> np.ndarray:
        """Vectors as scikit-learn takes them: anything like an array (n, size), of whole numbers too."""
        try:
            return validate_data(self, a, reset=first, dtype=[np.float64, np.float32], ensure_min_samples=1)
        except (ValueError, TypeError) as error:
            raise RaffiaError(str(error)) from None

    def _tabular_target(self, y: Any) -> Any:
        if not isinstance(self.feature_map.domain, Vectors) or isinstance(y, Tensor):
            return y
        try:
            return check_array(y, ensure_2d=False, allow_nd=True, dtype=[np.float64, np.float32], input_name="y")
        except (ValueError, TypeError) as error:
            raise RaffiaError(str(error)) from None

    def _scaled(self, inputs: Tensor) -> Tensor:
        return self.input_scaling_.apply(inputs) if self.normalize else inputs

    @property
    def _output_scaling(self) -> Scaling:
        return self.output_scaling_ if self.normalize else IDENTITY

    def _moved(self, values: Tensor) -> Tensor:
        check_device(self.device)
        whole = self.device is not None and fits(values, torch.device(self.device))
        return values.to(self.device) if whole else values

    def _theta(self, like: Tensor) -> Tensor:
        """θ in the precision of `like`, where the model computes; drawn once."""
        device = like.device if self.device is None else self.device
        key = (self.n_features, self.random_state, self.feature_map.theta_shape, like.dtype, device)
        if self.__dict__.get("_drawn", (None,))[0] != key:
            self._drawn = (key, self.feature_map.draw(self.n_features, self.random_state).to(device, like.dtype))
        return self._drawn[1]

    def _nodes_of(self, inputs: Tensor) -> Nodes:
        """Where predictions for these inputs are: on their grid, or with features that are numbers, on that of the training outputs;
        if this was also the inputs', interpolated to the grid at hand."""
        here = one_channel(self.feature_map.domain.grid_of(inputs))
        shared = isinstance(here, Grid) and one_channel(self.input_grid_) == one_channel(self.output_grid_)
        if self._numbers(inputs) and not shared:
            return self.output_grid_
        return ChannelGrid(here, self.output_grid_.count) if isinstance(self.output_grid_, ChannelGrid) else here

    def _numbers(self, inputs: Tensor) -> bool:
        """Whether features are numbers: one of them is evaluated, once for each feature map."""
        if self.__dict__.get("_known", (None, False))[0] is not self.feature_map:
            theta = self._theta(inputs)
            self._known = (self.feature_map, self.feature_map(inputs[:1].to(theta.device), theta[:1]).ndim == 2)
        return self._known[1]

    def _check_settings(self) -> None:
        check_settings(self.n_features, self.ridge, self.batch_size, self.memory_budget, self.points)
        check_instance("feature_map", self.feature_map, FeatureMap, "FourierFeatures()")
        if self.solver is not None:
            check_instance("solver", self.solver, Solver, "Cholesky()")
        check_seed("random_state", self.random_state)
        if self.output is not None:
            check_instance("output", self.output, Space, "Mesh(nodes)")
        if not isinstance(self.normalize, (bool, np.bool_)):
            raise RaffiaError(f"normalize must be True or False; got {self.normalize!r}.")

    def _fingerprint(self) -> str:
        """What coefficients depend on, the same in every process; a mesh by its nodes."""
        features = sorted(self.feature_map.get_params(deep=False).items(), key=lambda pair: pair[0])
        told = [(name, _identity(value)) for name, value in features]
        return repr((self.n_features, self.random_state, self.normalize, _identity(self.output), told))

    def _check_unchanged(self) -> None:
        """Coefficients belong to the features they were found for."""
        if self.__dict__.get("_settings", self._fingerprint()) != self._fingerprint():
            raise RaffiaError(
                "feature_map, n_features, random_state, normalize or output changed since the model was fitted: call fit again."
            )


def _identity(value: Any) -> Any:
    """A value by what its words say, a mesh by its nodes and weights."""
    if isinstance(value, Channels):
        return value.count, _identity(value.of)
    if isinstance(value, Mesh):
        return repr(value), hashlib.sha256(
            torch.cat([value.nodes, value.root_weights[:, None]], 1).numpy().tobytes()
        ).hexdigest()
    return value
