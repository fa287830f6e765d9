"""Error bars: the noise level, and the posterior distribution of predictions; and the state of a fitted model, which keeps them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import coefficients_of
from raffia.model.error_bars import ConformalBand, band_of, scores_of
from raffia.model.operator import Operator
from raffia.model.settings import Settings
from raffia.model.trained import Trained
from raffia.transforms import outside_transforms
from raffia.tuning import History


class Posterior:
    """Error bars of an operator: y = F(a) + noise, with the posterior distribution of the coefficients."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.kind = coefficients_of(operator.settings)
        self.trained = without_copies(operator)
        self.partner = None if operator.partner is None else Posterior(operator.partner)

    def centre(self, a: object) -> tuple[Tensor, Tensor]:
        """Predictions and their standard deviations. A model without error bars uses those of the training outputs."""
        if not self.has_bars:
            return self.operator.centre(a)
        inputs = self.operator.inputs(a)
        return self.operator.mean(inputs), self.std(inputs)

    def novelty(self, inputs: Tensor) -> Tensor:
        """The distance of inputs (in training units) from the training inputs: above 1 they lie outside."""
        trained = self.trained
        if trained.novelty is None:
            raise RaffiaError(
                "novelty needs the training inputs, and this model was loaded from a file of an earlier version, or trained in batches: "
                "train it again, on all pairs at once."
            )
        frame = trained.frame
        return trained.novelty(frame.input_scaling.undo(inputs), frame.input, frame.input_nodes).to(inputs.device)

    def band(self, a: Array, y: Array, level: float) -> ConformalBand:
        """A conformal band from pairs that were not used in training."""
        if self.operator.has_seen(self.operator.inputs(a)):
            raise RaffiaError(
                "conformal needs pairs that were not used in training; some of these were. Hold pairs out, or call band()."
            )
        return band_of(self.centre, scores_of(self.centre, a, y).tolist(), level)

    def std(self, inputs: Tensor) -> Tensor:
        """The standard deviation of y at every point, in the units of the data, for inputs in training units."""
        if (bars := self.trained.error_bars) is not None:
            frame = self.trained.frame
            return bars.std(self.novelty(inputs).cpu(), frame.output_nodes, frame.nodes_for(inputs)).to(inputs)
        own = self.trained.frame.output_scaling.stretch(self.variance(inputs.double()).sqrt()).to(inputs.dtype)
        if self.partner is None:
            return own  # the standard deviation of a sum is at most the sum of both
        theirs = self.partner.std(self.partner.operator.inputs(self.trained.frame.input_scaling.undo(inputs)))
        return torch.lerp(own, theirs, self.trained.share)

    @cached_property
    @outside_transforms()
    def variance(self) -> Callable[[Tensor], Tensor]:
        """The variance of y, in training units, as a function of inputs."""
        return self.kind.variance(self.known)

    @cached_property
    @outside_transforms()
    def known(self) -> Trained:
        """The training result with the noise level, whose estimate needs the training pairs once."""
        trained = self.trained
        if why := self.kind.why_no_error_bars(trained):
            raise RaffiaError(why)
        if trained.noise is not None:
            return trained
        if trained.pairs is None and self.kind.noise_needs_pairs:
            raise RaffiaError(
                "error bars need a noise level, which is estimated from the training data: call fit on all of them, and predict with "
                "return_std=True once before saving with statistics=True."
            )
        return replace(trained, noise=self.kind.noise(trained))

    @property
    def has_bars(self) -> bool:
        """Whether the model has error bars: its kind allows them, and it has statistics and a noise level (or can estimate it)."""
        trained = self.trained
        if trained.error_bars is not None:
            return True
        known = trained.noise is not None or trained.pairs is not None or not self.kind.noise_needs_pairs
        own = known and trained.statistics is not None and not self.kind.why_no_error_bars(trained)
        return own and (self.partner is None or self.partner.has_bars)


def left_out_errors(trained: Trained) -> Tensor | None:
    """y − F(a) of each training pair for the model trained without it, in the units of the data; None where no formula gives it."""
    errors = coefficients_of(trained.settings).left_out(trained)
    if errors is None:
        return None
    errors = trained.frame.output_scaling.stretch(errors)
    if trained.partner is None:
        return errors
    others = left_out_errors(trained.partner)
    return None if others is None or others.shape != errors.shape else torch.lerp(errors, others, trained.share)


def without_copies(operator: Operator) -> Trained:
    """The training result with statistics of distinct inputs only: repeated ones would count as independent observations."""
    trained = operator.trained
    if trained.pairs is None or trained.statistics is None or trained.error_bars is not None:
        return trained
    pairs = trained.known_pairs()
    distinct = pairs.distinct()
    if len(distinct) == len(pairs):
        return trained
    sums = Accumulator(operator.settings, len(distinct), trained.frame).take(distinct)
    ridge = trained.ridge * (len(distinct) / len(pairs))
    return replace(trained, statistics=sums.statistics, pairs=sums.pairs, ridge=ridge, noise=None)


@dataclass
class FittedState:
    """The state of a fitted model beside its parameters; training replaces it as a whole."""

    trained: Trained | None = None
    sums: Accumulator | None = None
    """Statistics that partial_fit has added and that are not solved yet."""
    history: History | None = None
    operator: Operator | None = None
    posterior: Posterior | None = None

    def operator_of(self, trained: Trained, settings: Settings) -> Operator:
        """The trained operator; a new one if the device or the limits of memory changed."""
        settings.check_same(trained.settings)
        if self.operator is None or self.operator.settings.resources != settings.resources:
            self.operator = Operator(trained, settings)
        return self.operator

    def posterior_of(self, operator: Operator) -> Posterior:
        """The error bars of an operator; its noise level is stored in the trained model."""
        if self.posterior is None or self.posterior.operator is not operator:
            self.posterior = Posterior(operator)
            if self.posterior.has_bars and operator.trained.error_bars is None:
                self.trained = replace(operator.trained, noise=self.posterior.known.noise)
        return self.posterior

    def __getstate__(self) -> dict[str, Any]:
        """The content of a file with statistics, without data and caches."""
        light = self.trained and self.trained.light(statistics=True)
        return {"trained": light, "sums": self.sums, "history": self.history, "operator": None, "posterior": None}

    def __deepcopy__(self, memo: object) -> "FittedState":
        return replace(self)
