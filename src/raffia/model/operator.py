"""The trained operator a ↦ F(a; α) = (1/m) Σ_j α_j φ(a; θ_j), on whatever grid inputs come."""

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
from raffia.model.copies import groups_of
from raffia.model.preprocessing import Prepared
from raffia.model.settings import Settings
from raffia.model.time_stepping import Lost, Marching
from raffia.model.trained import Trained
from raffia.regression import arriving, joined
from raffia.spaces import Space
from raffia.transforms import is_abstract, outside_transforms
from raffia.validation import as_tensor, check_count, check_pairs


class Operator:
    """Predicts with what training found; `settings` say where to compute, and in how much memory."""

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
        """Predictions for what was predicted: it is not looked at as what a user passes is, and may repeat its first point by chance."""
        return self.mean(self.frame.input_scaling.apply(a))

    def moved(self, device: torch.device) -> "Operator":
        """The same, computing elsewhere."""
        return Operator(self.trained, replace(self.settings, device=device))

    def inputs(self, a: object) -> Tensor:
        """Inputs, checked and in training units."""
        return self.frame.inputs(self.settings, a)

    def mean(self, inputs: Tensor) -> Tensor:
        """Predictions for inputs in training units, with the share of a partner's."""
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
        """The state in a, and one after the other those that it leads to, without end."""
        steps = None if self.trained.schema is None else self.trained.schema.steps
        return Marching.of(self.frame.input, self.frame.output, steps).path(self, as_tensor("a", a), self.again)

    def compare(self, a: object, y: object) -> tuple[Tensor, Tensor]:
        """Predictions for a, and the error of each against y, by the measure of the model."""
        outputs, inputs = as_tensor("y", y), self.inputs(a)
        check_pairs(inputs, outputs)
        predicted = self.mean(inputs)
        if outputs.shape != predicted.shape:
            raise RaffiaError(
                f"y must have the shape of the predictions, {tuple(predicted.shape)}; got {tuple(outputs.shape)}."
            )
        return predicted, self.frame.errors(outputs, predicted)

    def centre(self, a: object) -> tuple[Tensor, Tensor]:
        """Predictions, and the deviations of the training outputs as a scale of their errors."""
        mean = self(a)
        return mean, self.frame.output_scaling.stretch(torch.ones_like(mean))

    def has_seen(self, inputs: Tensor) -> bool:
        """Whether any of these, in training units, was trained on, as far as the model still has its training pairs."""
        if self.trained.pairs is None or self.trained.pairs[0].shape[1:] != inputs.shape[1:]:
            return False
        known = self.trained.pairs[0].cpu()
        return bool((groups_of(torch.cat([known, inputs.double().cpu()]))[len(known) :] < len(known)).any())

    def errors_of(self, pairs: Prepared) -> Tensor:
        """The errors of predictions for pairs in training units."""
        guess = self.frame.in_training_units(self.mean(pairs.inputs), pairs.inputs)
        return self.frame.measure.errors(pairs.outputs, guess, pairs.grid)

    def _combination(self, inputs: Tensor) -> Callable[[Tensor], Tensor]:
        """That of the trained coefficients; kept, so that predicting one input at a time is fast."""
        key, kept = (self.frame.input.grid_of(inputs), inputs.dtype, self.settings.place(inputs)), self._kept
        if kept is None or not _same(kept[0], key):
            kind = coefficients_of(self.settings)
            with outside_transforms():
                kept = self._kept = (key, kind.combination(self.frame, self.trained.solution, inputs))
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        """Without what was kept, which can be made again and cannot be sent."""
        return vars(self) | {"_kept": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Where the GPU that was asked for is not there, compute where the data are."""
        vars(self).update(state)
        if not torch.cuda.is_available():
            self.settings = replace(self.settings, device=None)


def elsewhere(operator: Operator, space: Space) -> Trained:
    """What was trained, for functions given on a mesh instead of a grid, or the other way round."""
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
    """Equal; a mesh is not compared with itself node by node."""
    return all(p is q or p == q for p, q in zip(one, other, strict=True))
