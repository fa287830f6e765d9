"""Models with n_features=inf: kernel ridge regression, or linear regression if the kernel is affine."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.model.coefficients.base import Coefficients, RidgeChoice
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.trained import Trained
from raffia.regression import (
    DualPath,
    KernelEquations,
    KernelRidge,
    KernelSolution,
    KernelStream,
    LinearRidge,
    Ridge,
    Solution,
    Statistics,
)
from raffia.spaces import interpolate


class Kernel(Coefficients):
    """Coefficients that are functions: one for each training pair or, in a linear map, for each principal component of the inputs."""

    noise_needs_pairs: ClassVar[bool] = False

    @property
    def _method(self) -> KernelRidge | LinearRidge:
        feature_map = self.settings.feature_map
        return LinearRidge() if getattr(feature_map, "law", "") == "affine" else KernelRidge(feature_map)

    def stream(self, pairs: Prepared) -> KernelStream:
        """Coordinates of inputs, and embedded outputs."""
        return KernelStream(self.settings.feature_map, pairs.grid, self.settings.place(pairs.inputs))

    def form(self, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The pairs."""
        if self.settings.solver is not None:
            raise RaffiaError(f"n_features=inf has a solver of its own; got solver={self.settings.solver!r}. Pass solver=None.")
        return KernelEquations

    def choose_ridge(self, statistics: Any, pairs: Prepared, errors: bool = True) -> RidgeChoice:
        """By closed formulas for leaving out one pair."""
        sizes = pairs.frame.measure.sizes(pairs.outputs, pairs.grid).to(statistics.rhs)
        return self._chosen(statistics, sizes)

    def choose_ridge_by_folds(self, folds: Sequence[Statistics]) -> RidgeChoice:
        """The statistics hold all pairs, so each pair is left out in turn."""
        statistics = sum(folds[1:], start=folds[0])
        size = statistics.rhs.square().sum(1).mean().sqrt()
        return self._chosen(statistics, size.expand(statistics.n_samples))

    def _chosen(self, statistics: Any, sizes: Tensor) -> RidgeChoice:
        path = self._method.path(statistics)
        ridge, error = path.best(path.centred(statistics.rhs), sizes)
        return RidgeChoice(ridge, error, solution=self._method.solve(statistics, ridge, path))

    def left_out(self, trained: Trained) -> Float[Tensor, "n *output"]:
        """By a closed formula."""
        path = self._method.path(trained.known_statistics())
        errors = path.left_out(path.centred(trained.known_statistics().targets), trained.ridge)
        return trained.frame.output_nodes.unembed(errors)

    def solve(self, statistics: Any, ridge: Ridge) -> Solution:
        """By the method that suits the feature map."""
        return self._method.solve(statistics, float(ridge))

    def combination(self, frame: Frame, solution: Solution, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """F on the grid of the training inputs; other inputs are interpolated to it."""
        place = self.settings.place(inputs)
        values = self._method.values(cast(KernelSolution, solution).to(place))
        return lambda a: values(coordinates(self.settings.feature_map, frame, a.to(place))).to(a.dtype)

    def complete(self, frame: Frame, solution: Solution) -> bool:
        """A row for each centre, or for each direction and the intercept; a column for each value of an output."""
        parts = cast(KernelSolution, solution)
        centres, origin, directions = parts.centres, parts.origin, parts.directions
        if (origin is None) != (directions is None) or (centres is None and directions is None):
            return False
        rows = len(centres) if centres is not None else 1 + (0 if directions is None else len(directions))
        same_size = directions is None or origin is None or directions.shape[1:] == origin.shape
        same_rank = centres is None or directions is None or centres.shape[1] == len(directions)
        return same_size and same_rank and solution.coef.shape == (rows, frame.output_nodes.size)

    def training_error(self, trained: Trained) -> float:
        """‖y − F(a)‖ / ‖y‖, from the pairs in the statistics."""
        equations, solution = trained.known_statistics(), cast(KernelSolution, trained.solution)
        guess = self._method.values(solution)(equations.inputs)
        return float(torch.linalg.vector_norm(equations.targets - guess) / equations.energy.sqrt())

    def noise(self, trained: Trained) -> Tensor:
        """The variance of each embedded value of an output: all leave-one-out errors e_i (1 − h_i)^½ have the same."""
        path, ridge = self._path(trained)
        y = path.centred(trained.known_statistics().targets)
        errors = path.residuals(y, ridge) / path.unexplained(ridge).sqrt()[:, None]
        return errors.square().mean(0)

    def variance(self, trained: Trained) -> Callable[[Tensor], Tensor]:
        """Return a function that maps inputs to the pointwise variance s² + Var F(a) of y, in training units.

        Here s² is the noise variance, and Var F(a) comes from the posterior of the coefficients.
        """
        spread = self._method.spread(trained.known_statistics(), *self._path(trained))

        def variance(inputs: Tensor) -> Tensor:
            x = coordinates(self.settings.feature_map, trained.frame, inputs.to(trained.noise.device))
            width = torch.cat([spread(part) for part in x.split(256)]).clamp(min=0)
            values = (1 + width)[:, None] * trained.noise
            return trained.frame.on_nodes(values.sqrt().to(inputs.device), inputs).square()

        return variance

    def _path(self, trained: Trained) -> tuple[DualPath, float]:
        """The eigendecomposition of the kernel, and a positive ridge."""
        path = self._method.path(trained.known_statistics())
        return path, max(float(trained.ridge), torch.finfo(torch.float64).eps * len(path.U) * float(path.s.max()))


def coordinates(feature_map: FeatureMap, frame: Frame, inputs: Tensor) -> Tensor:
    """Coordinates in float64, after interpolation to the grid of the training inputs."""
    return feature_map.coordinates(interpolate(inputs, frame.input.grid_of(inputs), frame.input_nodes).double())
