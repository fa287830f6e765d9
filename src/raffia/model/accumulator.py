"""From pairs to a trained model: the same steps whether data come at once, in batches, from files or from a cluster."""

from dataclasses import dataclass, replace
from typing import cast

import torch

from raffia.errors import RaffiaError
from raffia.model.coefficients import Coefficients, RidgeChoice, coefficients_of
from raffia.model.coefficients.ordinary import positive_ridge
from raffia.model.inequalities import bounded
from raffia.model.preprocessing import Frame, Prepared, prepare
from raffia.model.settings import Settings
from raffia.model.trained import LEFT_OUT, Trained
from raffia.regression import NormalEquations, Statistics


@dataclass(frozen=True, eq=False)
class Accumulator:
    """Statistics of the pairs so far, as a value: `add` and `+` return a new one, so an error leaves the old one unchanged.

    `expected` is the total number of pairs. None is an unknown number; statistics then take a form that adds in bounded memory.
    """

    settings: Settings
    expected: int | None = None
    frame: Frame | None = None
    statistics: Statistics | None = None
    pairs: Prepared | None = None
    """All expected pairs, where they came at once."""

    @classmethod
    def resume(cls, trained: Trained) -> "Accumulator":
        """The statistics that a model was trained on, to add more pairs."""
        if trained.statistics is None:
            raise RaffiaError(
                "partial_fit cannot continue: this model was saved without its statistics. "
                "Save it with model.save(path, statistics=True), or call fit on all the data."
            )
        if trained.partner is not None:
            raise RaffiaError("partial_fit cannot continue a sum of two models: call fit on all the data.")
        return cls(trained.settings, frame=trained.frame, statistics=trained.statistics)

    @property
    def total(self) -> Statistics:
        """The sum of the statistics of all pairs, or an error if there are none."""
        if self.statistics is None:
            raise RaffiaError("there are no pairs to learn from.")
        return self.statistics

    def empty(self) -> "Accumulator":
        """An accumulator of the same form without pairs, to which a worker adds its own."""
        return replace(self, statistics=self.total.nothing(), pairs=None)

    def add(self, a: object, y: object) -> "Accumulator":
        """Add pairs."""
        if self.settings.ridge == "auto" and self.expected is None:
            raise RaffiaError(
                "ridge='auto' leaves out one sample at a time, so it needs all of them: call fit, or pass a number."
            )
        return self.take(prepare(self.settings, a, y, self.frame))

    def take(self, prepared: Prepared) -> "Accumulator":
        """Add pairs that were prepared for the frame."""
        if self.settings.inequalities and self.expected is None:
            raise RaffiaError(
                f"constraints: {self.settings.inequalities[0]} is an inequality, which looks at all training inputs at once: call "
                "fit(a, y) with all of them. Equalities, such as Conserved(), go with batches and partial_fit."
            )
        frame, grid, inputs, outputs = prepared.frame, prepared.grid, prepared.inputs, prepared.outputs
        stream = self.coefficients.stream(prepared)
        device = self.settings.place(inputs)
        form = type(self.statistics) if self.statistics else self.coefficients.form(frame, self.expected, device)
        if self.statistics and not form.portable and grid != frame.output_nodes:
            raise RaffiaError(f"y must stay on the grid of the first batch, {frame.output_nodes.shape}; got {grid.shape}.")
        complete = len(inputs) == self.expected
        if complete or not form.portable:
            inputs, outputs = inputs.clone(), outputs.clone()  # the caller may change its arrays later
        statistics = form.assemble(stream, inputs, outputs)
        statistics.check()
        total = statistics if self.statistics is None else self.statistics + statistics
        pairs = Prepared(frame, inputs, outputs, frame.output_nodes) if complete else None
        return replace(self, frame=frame, statistics=total, pairs=pairs)

    def __add__(self, other: "Accumulator") -> "Accumulator":
        """Return an accumulator with the statistics of both, which must have the same frame."""
        return replace(self, statistics=self.total + other.total, pairs=None)

    def finish(self, errors: bool = True) -> Trained:
        """Choose the ridge if it is "auto", and solve. With errors=False, leave-one-out errors need not be computed."""
        statistics, frame, known = self.total, cast(Frame, self.frame), dict[str, float]()
        ridge, noise, solution = self.settings.ridge, None, None
        if ridge == "auto":
            choice = self._choose_ridge(cast(Prepared, self.pairs), errors)  # `add` has checked that they came at once
            ridge, noise, solution = choice.ridge, choice.noise, choice.solution
            known = {LEFT_OUT: choice.error} if errors else {}
        if self.settings.inequalities:
            raised = positive_ridge(float(ridge), statistics)
            solution = bounded(self.settings, cast(Prepared, self.pairs), NormalEquations.of(statistics), raised)
        solution = solution or self.coefficients.solve(statistics, ridge)
        if not torch.isfinite(solution.coef).all():
            raise RaffiaError(
                f"the coefficients are not finite with ridge={ridge}: check the sizes of a and y, pass normalize=True or a larger ridge."
            )
        everywhere = [f"{one.in_words}: for every input, on every grid, to rounding ({one})" for one in frame.equalities]
        solution = replace(solution, guarantees=(*everywhere, *solution.guarantees))
        pairs = None if self.pairs is None else (self.pairs.inputs, self.pairs.outputs)
        trained = Trained(self.settings.frozen(), frame, solution, ridge, errors=known)
        return replace(trained, noise=noise, statistics=statistics, pairs=pairs)

    @property
    def coefficients(self) -> Coefficients:
        """The kind of coefficients."""
        return coefficients_of(self.settings)

    def _choose_ridge(self, given: Prepared, errors: bool) -> RidgeChoice:
        """The ridge of the least leave-one-function-out error."""
        statistics, pairs = self.total, given.distinct()
        copied = len(given) / len(pairs)  # sums over all pairs are so much larger, and so must be the ridge
        if len(pairs) < 2:
            raise RaffiaError("ridge='auto' leaves out one pair at a time, so it needs two or more; got one. Pass a number.")
        if not pairs.outputs.any() and pairs.frame.measure.reference == 0:
            raise RaffiaError("all outputs are zero, so no ridge is better than another: check y, or pass a number.")
        if copied > 1:
            stream = self.coefficients.stream(pairs)
            statistics = type(statistics).assemble(stream, pairs.inputs, pairs.outputs)
        choice = self.coefficients.choose_ridge(statistics, pairs, errors)
        return replace(choice, ridge=copied * choice.ridge, solution=None) if copied > 1 else choice
