"""How sure a model is: the noise level, and the posterior of its predictions under the linear-Gaussian model."""

from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.model.conformal import ConformalBand, band_of, scores_of
from raffia.model.operator import Operator
from raffia.pairs import Array
from raffia.regression import CoefficientLaw, Noise, RidgePath, Statistics, leave_one_out, noise_of
from raffia.training.trained import Trained


class Posterior:
    """Error bars of what an operator predicts: y = F(a) + noise, with coefficients whose law `CoefficientLaw` is."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.trained = operator.trained

    def centre(self, a: object) -> tuple[Tensor, Tensor]:
        """Predictions and their standard deviations; those of the training outputs, where the model has none of its own."""
        if not self.has_bars:
            return self.operator.centre(a)
        inputs = self.operator.inputs(a)
        return self.operator.mean(inputs), self.std(inputs)

    def band(self, a: Array, y: Array, level: float) -> ConformalBand:
        """A conformal band by pairs that training did not see."""
        if self.operator.has_seen(self.operator.inputs(a)):
            raise RaffiaError(
                "conformal needs pairs that training did not see; some of these it saw. Hold pairs out, or call band()."
            )
        return band_of(self.centre, scores_of(self.centre, a, y).tolist(), level)

    def std(self, inputs: Tensor) -> Tensor:
        """√(σ² + Var F) at every point, in the units of the data, for inputs in training units."""
        law, frame, noise = self.law, self.trained.frame, self.noise
        nodes, wide = frame.nodes_for(inputs), inputs.double()
        grid = nodes.one_channel
        stream = self.operator.settings.stream(wide, grid, frame.values_at(inputs))
        values = torch.zeros(len(inputs), *grid.shape, dtype=torch.float64, device=inputs.device)
        variance = [law.variance(rows) for rows, _ in stream.blocks(wide, values)]
        pointwise = torch.cat(variance).reshape(len(inputs), grid.size)
        pointwise = pointwise / grid.root_weights.to(pointwise) ** 2
        std = (pointwise + noise.variance).sqrt().reshape(len(inputs), *nodes.shape)
        return frame.output_scaling.stretch(std).to(inputs.dtype)

    def sample(self, inputs: Tensor, count: int, seed: int) -> Tensor:
        """Draws of the function F(a_i): (count, n, *grid), in the units of the data, for inputs in training units."""
        wide = inputs.double()
        draws = [self.operator.combination(coef, wide)(wide) for coef in self.law.sample(count, seed)]
        frame = self.trained.frame
        shape = (count, len(inputs), *frame.nodes_for(inputs).shape)
        return frame.output_scaling.undo(torch.stack(draws).reshape(shape)).to(inputs.dtype)

    def log_marginal_likelihood(self, noise: float | None) -> float:
        """log p(y) of the linear-Gaussian model, each embedded coordinate an observation; `noise=None` takes the likeliest."""
        if noise is not None and not noise > 0:
            raise RaffiaError(f"noise must be positive; got {noise!r}.")
        statistics = self._statistics("log_marginal_likelihood")
        path, rows, ridge = (
            RidgePath(statistics),
            statistics.n_samples * self.trained.frame.values.size,
            self._ridge(statistics),
        )
        return path.log_marginal_likelihood(ridge, path.likeliest_noise(ridge, rows) if noise is None else noise, rows)

    @cached_property
    def law(self) -> CoefficientLaw:
        """The Gaussian law of the coefficients given the data."""
        coef, noise, statistics = self.trained.solution.coef, self.noise, self._statistics("error bars")
        shifted = statistics.gram.clone()
        shifted.diagonal().add_(self._ridge(statistics))
        return CoefficientLaw(coef, torch.linalg.cholesky(shifted), noise.scale(self.trained.frame.output_nodes))

    @cached_property
    def noise(self) -> Noise:
        """The noise level, from leaving out one training function at a time; needs the training pairs once."""
        trained, settings = self.trained, self.operator.settings
        if trained.solution.coef.ndim == 2:
            raise RaffiaError(
                "posterior draws and error bars are for outputs of one channel and features that are functions, not numbers."
            )
        if trained.noise is not None:
            return trained.noise
        if trained.pairs is None:
            raise RaffiaError(
                "error bars need a noise level, which is read off the training data: call fit on all of them, and predict with "
                "return_std=True once before saving with statistics=True."
            )
        statistics, frame = self._statistics("return_std"), trained.frame
        stream = settings.stream(trained.pairs[0], frame.output_nodes, frame.values)
        left_out = leave_one_out(RidgePath(statistics), stream, *trained.pairs, [self._ridge(statistics)])
        return noise_of(left_out, frame.output_nodes)

    @property
    def has_bars(self) -> bool:
        """Whether the model has error bars: one channel of functions, its statistics, and a noise level or what it is read off."""
        trained = self.trained
        known = trained.noise is not None or trained.pairs is not None
        return known and trained.solution.coef.ndim == 1 and trained.statistics is not None

    def known(self) -> Trained:
        """What training found, with the noise level where there is one."""
        return replace(self.trained, noise=self.noise) if self.has_bars and self.trained.noise is None else self.trained

    def _statistics(self, purpose: str) -> Statistics:
        if self.trained.statistics is None:
            raise RaffiaError(f"{purpose} needs the statistics of the training data: save the model with statistics=True.")
        return self.trained.statistics

    def _ridge(self, statistics: Statistics) -> float:
        """λ, or where it is less the least that keeps G + λ positive definite to working precision."""
        return max(self.trained.ridge, statistics.n_features * torch.finfo(torch.float64).eps * statistics.scale)
