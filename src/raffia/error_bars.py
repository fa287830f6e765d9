"""Error bars of a trained model: what `RandomFeatureModel` knows of its own uncertainty."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from raffia.checks import Array, ArrayLike, as_tensor, check_count, check_pairs
from raffia.errors import RaffiaError
from raffia.features.base import FeatureMap
from raffia.regression import (
    FeatureStream,
    NormalEquations,
    RidgePath,
    Solution,
    Statistics,
    Streamed,
    TriangularFactor,
    leave_one_out,
    one_channel,
)
from raffia.scaling import Scaling
from raffia.spaces import Nodes
from raffia.uncertainty import ConformalBand, Noise, Posterior, conformal_band, noise_of


class ErrorBars(ABC):
    """The part of a model that speaks of its uncertainty; what it needs of the rest is abstract."""

    feature_map: FeatureMap
    n_features: int
    equations_: Statistics
    output_grid_: Nodes
    ridge_: float
    noise_: Noise
    _pairs: tuple[Tensor, Tensor]
    input_grid_: Nodes

    @property
    @abstractmethod
    def solution_(self) -> Solution:
        """The coefficients and how the solver found them."""

    @property
    @abstractmethod
    def coef_(self) -> Tensor:
        """The coefficients."""

    @property
    @abstractmethod
    def _output_scaling(self) -> Scaling: ...

    @abstractmethod
    def _inputs(self, a: ArrayLike) -> Tensor: ...

    @abstractmethod
    def _theta(self, like: Tensor) -> Tensor: ...

    @abstractmethod
    def _mean(self, inputs: Tensor) -> Tensor: ...

    @abstractmethod
    def _stream(self, theta: Tensor, grid: Nodes, scalar: bool = False) -> FeatureStream: ...

    @abstractmethod
    def _numbers(self, inputs: Tensor) -> bool: ...

    @abstractmethod
    def _nodes_of(self, inputs: Tensor) -> Nodes: ...

    def sample_posterior(self, a: Array, count: int, seed: int = 0) -> Array:
        """Draws of the function F(a_i) from its posterior: (count, n, *grid)."""
        check_count("count", count)
        inputs = self._inputs(a)
        posterior = self._posterior()
        theta, grid = self._theta(inputs.double()), self.feature_map.domain.grid_of(inputs)
        scaling = self._output_scaling
        draws = [
            self.feature_map.combination(theta, coef / self.n_features, grid)(inputs.to(theta))
            for coef in posterior.sample(count, seed).to(theta)
        ]
        return like(a, scaling.undo(torch.stack(draws)).to(inputs.dtype))

    def conformal(self, a: Array, y: Array, level: float = 0.9) -> ConformalBand:
        """A band around predictions that contains a whole new function with probability `level` or more; see `ConformalBand`.

        The pairs must not have been used for training.
        """
        inputs, outputs = as_tensor("a", a), as_tensor("y", y)
        check_pairs(inputs, outputs)

        def centre(values: Array) -> tuple[Tensor, Tensor]:
            functions = self._inputs(values)
            return self._mean(functions), self._std(functions)

        return conformal_band(centre, inputs, outputs, level)

    def log_marginal_likelihood(self, noise: float | None = None) -> float:
        """log p(y) of the linear-Gaussian model, each embedded coordinate an observation; `noise=None` takes the likeliest."""
        if noise is not None and not noise > 0:
            raise RaffiaError(f"noise must be positive; got {noise!r}.")
        _ = self.coef_
        path = RidgePath(self._normal_equations("log_marginal_likelihood"))
        scalar = self._numbers(torch.ones(1, *self.input_grid_.shape, dtype=torch.float64))
        rows = path.equations.n_samples * (1 if scalar else one_channel(self.output_grid_).size)
        ridge = self._positive_ridge("log_marginal_likelihood")
        return path.log_marginal_likelihood(ridge, path.likeliest_noise(ridge, rows) if noise is None else noise, rows)

    def _normal_equations(self, purpose: str) -> NormalEquations:
        equations = getattr(self, "equations_", None)
        if isinstance(equations, Streamed):
            equations = equations.normal_equations()
        if isinstance(equations, TriangularFactor):
            equations = equations.normal_equations()
        if equations is None:
            _ = self.solution_  # says so if nothing was fitted at all
            raise RaffiaError(f"{purpose} needs the statistics of the training data: save the model with statistics=True.")
        assert isinstance(equations, NormalEquations)
        return equations

    def _positive_ridge(self, purpose: str) -> float:
        """λ, or where it is less the least that keeps G + λ positive definite to working precision."""
        least = self.n_features * torch.finfo(torch.float64).eps * float(self._normal_equations(purpose).gram.diagonal().sum())
        return max(self.ridge_, least)

    def _noise(self) -> Noise:
        """The noise level, from leaving out one training function at a time; needs the training data once."""
        if not hasattr(self, "noise_"):
            if not hasattr(self, "_pairs"):
                raise RaffiaError(
                    "error bars need a noise level, which is read off the training data: call fit on all of them, and predict with "
                    "return_std=True once before saving with statistics=True."
                )
            path = RidgePath(self._normal_equations("return_std"))
            stream = self._stream(self._theta(self._pairs[0]), self.output_grid_, self._numbers(self._pairs[0]))
            left_out = leave_one_out(path, stream, *self._pairs, [self._positive_ridge("return_std")])
            self.noise_ = noise_of(left_out, self.output_grid_)
        return self.noise_

    def _posterior(self) -> Posterior:
        if self.coef_.ndim == 2:
            raise RaffiaError(
                "posterior draws and error bars are for outputs of one channel and features that are functions, not numbers."
            )
        kept = self.__dict__.get("_posterior_of", (None, None))
        if kept[0] is not self.solution_:
            noise = self._noise()
            shifted = self._normal_equations("error bars").gram.clone()
            shifted.diagonal().add_(self._positive_ridge("error bars"))
            factor = torch.linalg.cholesky(shifted)
            kept = (self.solution_, Posterior(self.coef_, factor, noise.scale(self.output_grid_)))
            self._posterior_of = kept
        return kept[1]

    def _std(self, inputs: Tensor) -> Tensor:
        """√(σ² + Var F) at every point."""
        posterior, noise = self._posterior(), self._noise()
        nodes = self._nodes_of(inputs)
        grid = one_channel(nodes)
        stream = self._stream(self._theta(inputs.double()), grid, self._numbers(inputs))
        values = torch.zeros(len(inputs), *grid.shape, dtype=torch.float64, device=inputs.device)
        variance = [posterior.variance(rows) for rows, _ in stream.blocks(inputs.double(), values)]
        pointwise = torch.cat(variance).reshape(len(inputs), grid.size)
        pointwise = pointwise / grid.root_weights.to(pointwise) ** 2
        std = (pointwise + noise.variance).sqrt().reshape(len(inputs), *nodes.shape)
        return (std * self._output_scaling.scale.to(std)).to(inputs.dtype)


def like(given: ArrayLike, values: Tensor) -> Array:
    """As an array if the user gave an array, on the device of the tensor if a tensor."""
    return values.to(given.device) if isinstance(given, Tensor) else values.numpy(force=True)
