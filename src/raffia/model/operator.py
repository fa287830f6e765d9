"""The trained operator a ↦ F(a; α) = (1/m) Σ_j α_j φ(a; θ_j) on any grid, its error bars, and the state of a fitted model."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import torch
from sklearn.base import clone
from torch import Tensor

from raffia.constraints import check_spaces
from raffia.data import Array
from raffia.errors import RaffiaError
from raffia.model.accumulator import Accumulator
from raffia.model.coefficients import coefficients_of
from raffia.model.error_bars import ConformalBand, band_of, scores_of
from raffia.model.preprocessing import Prepared
from raffia.model.settings import Settings
from raffia.model.splitting import groups_of
from raffia.model.time_stepping import Lost, Marching
from raffia.model.trained import HELD_OUT, LEFT_OUT, Trained
from raffia.regression import arriving, joined
from raffia.spaces import Space
from raffia.transforms import is_abstract, outside_transforms
from raffia.tuning import History
from raffia.validation import as_tensor, check_count, check_pairs

RESOLVED = 0.01
"""An error of interpolation that needs no warning where the error of a model is not known."""


class Operator:
    """Predicts with a training result. `settings` give the device and the limits of memory."""

    def __init__(self, trained: Trained, settings: Settings) -> None:
        self.trained = trained
        self.settings = settings
        self.frame = trained.frame
        where = {name: getattr(settings, name) for name in ("device", "batch_size", "memory_budget")}
        partner = trained.partner
        self.partner = None if partner is None else Operator(partner, replace(partner.settings, **where))
        self._kept: tuple[tuple[object, ...], Callable[[Tensor], Tensor]] | None = None

    def __call__(self, a: object) -> Tensor:
        """Predictions, in the units of the data and the precision of the inputs."""
        return self.mean(self.inputs(a))

    def again(self, a: Tensor) -> Tensor:
        """Predictions for predictions, without the checks of user input (predicted functions may repeat their first point by chance)."""
        return self.mean(self.frame.input_scaling.apply(a))

    def moved(self, device: torch.device) -> "Operator":
        """The same operator on another device."""
        return Operator(self.trained, replace(self.settings, device=device))

    def inputs(self, a: object) -> Tensor:
        """Checked inputs in training units."""
        return self.frame.inputs(self.settings, a)

    def resolution_warning(self, inputs: Tensor) -> str:
        """A sentence if these inputs are on a finer grid, to which interpolation of the training outputs is worse than the model."""
        here, there = self.frame.nodes_for(inputs).one_channel, self.frame.output_nodes.one_channel
        error = self.trained.errors.get(HELD_OUT, self.trained.errors.get(LEFT_OUT, RESOLVED))
        finer = len(here.shape) == len(there.shape) and any(n > m for n, m in zip(here.shape, there.shape, strict=True))
        if not finer or not error < self.frame.interpolation_error:
            return ""
        return (
            f"the training outputs are hardly resolved by their grid of {there.shape} points: between its nodes, errors may be about "
            f"{self.frame.interpolation_error:.1g}, where the model has {error:.1g} at them. Predict on that grid, or train on a finer one."
        )

    def mean(self, inputs: Tensor) -> Tensor:
        """Predictions for inputs in training units, averaged with those of the second model if there is one."""
        if self.partner is None:
            return self._mean(inputs)
        return torch.lerp(self._mean(inputs), self.partner.again(self.frame.input_scaling.undo(inputs)), self.trained.share)

    def _mean(self, inputs: Tensor) -> Tensor:
        combined, device = self._combination(inputs), self.settings.place(inputs)
        rows = max(self.frame.values_at(inputs).size, inputs[0].numel() if self.frame.values.shape else 16)
        parts = inputs.split(self.settings.workspace(device).predict_size(rows))
        if inputs.device == device:
            sums = joined(len(inputs), (combined(part) for part in parts))
        else:
            sent = arriving(((part,) for part in parts), device)
            sums = joined(len(inputs), (combined(part).to(inputs.device) for (part,) in sent))
        return self.frame.outputs(sums, inputs)

    def path(self, a: object, steps: int, every: int) -> Tensor:
        """The state in a, and where applying the operator again and again leads it, after each `every` steps: (n, states, *state)."""
        check_count("steps", steps)
        check_count("every", every)
        if every > steps:
            raise RaffiaError(f"every must be at most steps={steps}, or the path is its start alone; got {every}.")
        kept, lost = [], None
        for step, state in enumerate(islice(self.states(a), steps + 1)):
            lost = lost or Lost(len(state))
            if not is_abstract(state):
                lost.look(step, state)
            if step % every == 0:
                kept.append(state)
        if lost is not None and lost.words:
            warnings.warn(f"{lost.words}. What follows is NaN; the others went on.", stacklevel=3)
        return torch.stack(kept, 1)

    def states(self, a: object) -> Iterator[Tensor]:
        """The states of the trajectory from a, one after the other, without end."""
        steps = None if self.trained.schema is None else self.trained.schema.steps
        return Marching.of(self.frame.input, self.frame.output, steps).path(self, as_tensor("a", a), self.again)

    def compare(self, a: object, y: object) -> tuple[Tensor, Tensor]:
        """Predictions for a, and the error of each with respect to y by the error measure of the model."""
        outputs, inputs = as_tensor("y", y), self.inputs(a)
        check_pairs(inputs, outputs)
        predicted = self.mean(inputs)
        if outputs.shape != predicted.shape:
            raise RaffiaError(
                f"y must have the shape of the predictions, {tuple(predicted.shape)}; got {tuple(outputs.shape)}."
            )
        return predicted, self.frame.errors(outputs, predicted)

    def centre(self, a: object) -> tuple[Tensor, Tensor]:
        """Predictions, with the standard deviations of the training outputs as the scale of their errors."""
        mean = self(a)
        return mean, self.frame.output_scaling.stretch(torch.ones_like(mean))

    def has_seen(self, inputs: Tensor) -> bool:
        """Whether any of these inputs (in training units) is a training input, as far as they are known."""
        if self.trained.pairs is None or self.trained.pairs[0].shape[1:] != inputs.shape[1:]:
            return False
        known = self.trained.pairs[0].cpu()
        return bool((groups_of(torch.cat([known, inputs.double().cpu()]))[len(known) :] < len(known)).any())

    def errors_of(self, pairs: Prepared) -> Tensor:
        """The errors of predictions for pairs in training units."""
        guess = self.frame.in_training_units(self.mean(pairs.inputs), pairs.inputs)
        return self.frame.measure.errors(pairs.outputs, guess, pairs.grid)

    def _combination(self, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """The trained operator for such inputs; cached, so that predicting one input at a time is fast."""
        key, kept = (self.frame.input.grid_of(inputs), inputs.dtype, self.settings.place(inputs)), self._kept
        if kept is None or not _same(kept[0], key):
            kind = coefficients_of(self.settings)
            with outside_transforms():
                kept = self._kept = (key, kind.combination(self.frame, self.trained.solution, inputs))
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        """Without the cache, which cannot be sent to other processes."""
        return vars(self) | {"_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """If the GPU does not exist here, compute on the device of the data."""
        vars(self).update(state)
        if not torch.cuda.is_available():
            self.settings = replace(self.settings, device=None)


def elsewhere(operator: Operator, space: Space) -> Trained:
    """The training result for functions on a mesh instead of a grid, or on a grid instead of a mesh."""
    settings, frame = operator.settings, operator.frame
    if frame.modes is not None:
        raise RaffiaError("modal coefficients are those of the modes of a grid or mesh: fit a model there, or pass 'ordinary'.")
    if frame.input.region != space.region:
        raise RaffiaError(f"space must lie in the domain that the model was trained on, {frame.input.region}; got {space!r}.")
    domain = frame.input.over(space)
    check_spaces(frame.equalities, domain, frame.output.over(space))
    feature_map = clone(settings.feature_map).set_params(domain=domain)
    output = None if settings.output == frame.input else settings.output
    there = replace(settings, feature_map=feature_map, output=output)
    scaling = frame.output_scaling.elsewhere(space)
    measure = replace(frame.measure, offset=scaling.offset, nodes=scaling.nodes)
    moved = replace(frame, input=domain, output_scaling=scaling, measure=measure)
    partner = None if operator.partner is None else elsewhere(operator.partner, space)
    return replace(operator.trained, settings=there, frame=moved, partner=partner)


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether all entries are equal; identical objects are not compared node by node."""
    return all(p is q or p == q for p, q in zip(one, other, strict=True))


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
        """A function that maps inputs to the pointwise variance of y, noise included.

        Its values are in training units, those of the outputs after normalisation.
        """
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
    return replace(trained, statistics=sums.total, pairs=(distinct.inputs, distinct.outputs), ridge=ridge, noise=None)


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
