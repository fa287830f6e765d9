"""The trained operator a ↦ F(a; α) = (1/m) Σ_j α_j φ(a; θ_j), on any grid."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from sklearn.base import clone
from torch import Tensor

from raffia.constraints import check_spaces
from raffia.errors import RaffiaError
from raffia.model.coefficients import coefficients_of
from raffia.model.preprocessing import Prepared
from raffia.model.settings import Settings
from raffia.model.splitting import groups_of
from raffia.model.time_stepping import Lost, Marching
from raffia.model.trained import HELD_OUT, LEFT_OUT, Trained
from raffia.regression import arriving, joined
from raffia.spaces import Space
from raffia.transforms import is_abstract, outside_transforms
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
