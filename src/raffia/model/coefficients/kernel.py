"""As many features as there are numbers: the kernel itself, or where it is affine, linear regression, in terms of pairs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.model.coefficients.base import Chosen, Coefficients
from raffia.model.preprocessing import Frame, Prepared
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.regression import (
    KernelEquations,
    KernelRidge,
    KernelSolution,
    KernelStream,
    LinearRidge,
    Solution,
    Spread,
    Statistics,
)
from raffia.spaces import interpolate
from raffia.transforms import followed


@dataclass(frozen=True, eq=False)
class Law:
    """Errors of leaving out each pair, in units of their deviation, and covariances at new inputs."""

    errors: Float[Tensor, "n columns"]
    spread: Spread


class Kernel(Coefficients):
    """Coefficients that are functions, one for each training pair, or for each principal component of the inputs if the map is linear."""

    noise_needs_pairs: ClassVar[bool] = False

    def stream(self, settings: Settings, frame: Frame, pairs: Prepared) -> KernelStream:
        """Coordinates of inputs, and outputs."""
        return KernelStream(settings.feature_map, pairs.grid, settings.place(pairs.inputs))

    def form(self, settings: Settings, frame: Frame, expected: int | None, device: torch.device) -> type[Statistics]:
        """The pairs."""
        if settings.solver is not None:
            raise RaffiaError(f"n_features=inf has a solver of its own; got solver={settings.solver!r}. Pass solver=None.")
        return KernelEquations

    def chosen(self, settings: Settings, statistics: Any, pairs: Prepared, errors: bool = True) -> Chosen:
        """By closed formulas for leaving out one pair."""
        sizes = pairs.frame.measure.sizes(pairs.outputs, pairs.grid).to(statistics.rhs)
        return self._chosen(settings, statistics, sizes)

    def chosen_by_folds(self, settings: Settings, folds: Sequence[Statistics]) -> Chosen:
        """All pairs are there, so each is left out by itself."""
        statistics = sum(folds[1:], start=folds[0])
        size = statistics.rhs.square().sum(1).mean().sqrt()
        return self._chosen(settings, statistics, size.expand(statistics.n_samples))

    def _chosen(self, settings: Settings, statistics: Any, sizes: Tensor) -> Chosen:
        ridge = _ridge_of(settings)
        path = ridge.path(statistics)
        found, error = path.best(ridge.centred(statistics.rhs), sizes)
        return Chosen(found, error, solution=ridge.solve(statistics, found, path))

    def left_out(self, settings: Settings, trained: Trained) -> Float[Tensor, "n *output"]:
        """By a closed formula."""
        method, equations = _ridge_of(settings), cast(KernelEquations, trained.statistics)
        errors = method.path(equations).left_out(method.centred(equations.targets), trained.ridge)
        return trained.frame.output_nodes.unembed(errors)

    def solve(self, settings: Settings, statistics: Any, ridge: Any) -> Solution:
        """By the method of the map."""
        return _ridge_of(settings).solve(statistics, ridge)

    def combination(self, settings: Settings, frame: Frame, solution: Any, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """F on the grid of the training inputs, to which others are interpolated."""
        place = settings.place(inputs)
        values = _ridge_of(settings).values(solution.to(place))
        return lambda a: values(coordinates(settings.feature_map, frame, a.to(place))).to(a.dtype)

    def complete(self, settings: Settings, frame: Frame, solution: Any) -> bool:
        """As many rows as centres, or as directions and an intercept; a column for each value of an output."""
        centres, origin, directions = solution.centres, solution.origin, solution.directions
        if (origin is None) != (directions is None) or (centres is None and directions is None):
            return False
        rows = 1 + len(directions) if centres is None else len(centres)
        seen = directions is None or directions.shape[1:] == origin.shape
        met = centres is None or directions is None or centres.shape[1] == len(directions)
        return seen and met and solution.coef.shape == (rows, frame.output_nodes.size)

    def training_error(self, settings: Settings, trained: Trained) -> float:
        """‖y − F(a)‖ / ‖y‖, from the pairs themselves."""
        equations = cast(KernelEquations, trained.statistics)
        guess = _ridge_of(settings).values(cast(KernelSolution, trained.solution))(equations.inputs)
        return float(torch.linalg.vector_norm(equations.targets - guess) / equations.energy.sqrt())

    def noise(self, settings: Settings, trained: Trained) -> Tensor:
        """The variance of each embedded value of an output."""
        return self.law(settings, trained).errors.square().mean(0)

    def law(self, settings: Settings, trained: Trained) -> Law:
        """From errors of leaving out each pair: e_i (1 − h_i)^½ have one variance."""
        equations: Any = trained.statistics
        method = _ridge_of(settings)
        path = method.path(equations)
        ridge = max(float(trained.ridge), torch.finfo(torch.float64).eps * len(path.U) * float(path.s.max()))
        errors = path.residuals(method.centred(equations.rhs), ridge) / path.unexplained(ridge).sqrt()[:, None]
        return Law(errors, method.spread(equations, path, ridge))

    def variance(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor) -> Tensor:
        """s²(x) (1 + Var F / s²)."""
        frame, x = trained.frame, coordinates(settings.feature_map, trained.frame, inputs.to(law.errors.device))
        width = torch.cat([law.spread(part, part).diagonal() for part in x.split(256)]).clamp(min=0)
        variance = (1 + width)[:, None] * law.errors.square().mean(0)
        return frame.on_nodes(variance.sqrt().to(inputs.device), inputs).square()

    def draws(self, settings: Settings, trained: Trained, law: Any, inputs: Tensor, count: int, seed: int) -> Tensor:
        """Errors of leaving out, each with a weight that is normal with the covariance of the inputs."""
        if followed(inputs):
            raise RaffiaError("draws of a kernel's posterior have no derivatives in the inputs: pass a.detach().")
        x = coordinates(settings.feature_map, trained.frame, inputs.to(law.errors.device))
        s, U = torch.linalg.eigh(law.spread(x, x))
        root = (U * s.clamp(min=0).sqrt()) @ U.mT  # the same on every machine, whatever signs eigenvectors have
        generator = torch.Generator().manual_seed(seed)
        z = torch.randn(count, len(x), len(law.errors), dtype=root.dtype, generator=generator).to(root.device)
        mean = self.combination(settings, trained.frame, trained.solution, inputs)(inputs)
        return mean + (root @ z @ law.errors / math.sqrt(len(law.errors))).to(mean)


def _ridge_of(settings: Settings) -> KernelRidge | LinearRidge:
    return LinearRidge() if getattr(settings.feature_map, "law", "") == "affine" else KernelRidge(settings.feature_map)


def coordinates(feature_map: FeatureMap, frame: Frame, inputs: Tensor) -> Tensor:
    """Coordinates in float64, of inputs on the grid of the training."""
    return feature_map.coordinates(interpolate(inputs, frame.input.grid_of(inputs), frame.input_nodes).double())
