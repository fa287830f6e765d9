"""Pairs in, a trained model out: the one way that fits take, whole, in parts, from files and on clusters."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.regression import (
    Dual,
    Noise,
    NormalEquations,
    RidgePath,
    Solution,
    Statistics,
    Streamed,
    available_memory,
    choose_solver,
    direct_solution,
    dual_ridge_for,
    left_out_ridge,
    noise_of,
)
from raffia.training.frame import Frame, Prepared, prepare
from raffia.training.settings import Settings
from raffia.training.trained import LEFT_OUT, Trained


@dataclass(frozen=True, eq=False)
class Accumulator:
    """Statistics of the pairs so far. `add` and `+` give a new one, so pairs that are refused leave no trace.

    `expected` is how many pairs there will be in all; None where nobody knows, and then statistics take a form that adds in
    bounded memory.
    """

    settings: Settings
    expected: int | None = None
    frame: Frame | None = None
    statistics: Statistics | None = None
    pairs: tuple[Tensor, Tensor] | None = None

    @classmethod
    def going_on(cls, trained: Trained) -> "Accumulator":
        """The pairs that a model was trained on, for more to be added."""
        if trained.statistics is None:
            raise RaffiaError(
                "partial_fit cannot continue: this model was saved without its statistics. "
                "Save it with model.save(path, statistics=True), or call fit on all the data."
            )
        return cls(trained.settings, frame=trained.frame, statistics=trained.statistics)

    def empty(self) -> "Accumulator":
        """The same frame and form of statistics, and no pairs: what travels to whoever adds some."""
        assert self.statistics is not None  # some pairs have said which form
        return replace(self, statistics=self.statistics.nothing(), pairs=None)

    def add(self, a: object, y: object) -> "Accumulator":
        """And these pairs."""
        if self.settings.ridge == "auto" and self.expected is None:
            raise RaffiaError(
                "ridge='auto' leaves out one sample at a time, so it needs all of them: call fit, or pass a number."
            )
        return self.take(prepare(self.settings, a, y, self.frame))

    def take(self, prepared: Prepared) -> "Accumulator":
        """And these pairs, which were prepared for the frame."""
        settings, frame, grid = self.settings, prepared.frame, prepared.grid
        inputs, outputs = prepared.inputs, prepared.outputs
        values = frame.values_at(inputs)
        stream = settings.stream(inputs, grid, values)
        form = type(self.statistics) if self.statistics else self._form(values.size, stream.theta)
        if self.statistics and not form.portable and grid != frame.output_nodes:
            raise RaffiaError(f"y must stay on the grid of the first batch, {frame.output_nodes.shape}; got {grid.shape}.")
        whole = len(inputs) == self.expected
        if whole or not form.portable:
            inputs, outputs = inputs.clone(), outputs.clone()  # kept: what the caller does to its arrays must not matter
        statistics = form.assemble(stream, inputs, outputs)
        statistics.check()
        total = statistics if self.statistics is None else self.statistics + statistics
        return replace(self, frame=frame, statistics=total, pairs=(inputs, outputs) if whole else None)

    def __add__(self, other: "Accumulator") -> "Accumulator":
        """The pairs of both, which must have one frame."""
        assert self.statistics is not None  # there are pairs to add to
        assert other.statistics is not None
        return replace(self, statistics=self.statistics + other.statistics, pairs=None)

    def finish(self) -> Trained:
        """Find the ridge if it is to be found, and solve."""
        if self.statistics is None or self.frame is None:
            raise RaffiaError("there are no pairs to learn from.")
        errors: dict[str, float] = {}
        noise: Noise | None = None
        if self.settings.ridge == "auto":
            ridge, error, noise = self._automatic_ridge(self.statistics, self.frame)
            errors[LEFT_OUT] = error
        else:
            ridge = float(self.settings.ridge)
        solution = self._solution(self.statistics, ridge)
        if not torch.isfinite(solution.coef).all():
            raise RaffiaError(
                f"the coefficients are not finite with ridge={ridge:g}: check the sizes of a and y, pass normalize=True or a larger ridge."
            )
        return Trained(self.settings.frozen(), self.frame, solution, ridge, errors, noise, self.statistics, self.pairs)

    def _form(self, rows_per_sample: int, theta: Tensor) -> type[Statistics]:
        """The form that the solver wants, or where none is named, that of the one that suits the rows to expect."""
        settings = self.settings
        if settings.solver is not None:
            return settings.solver.statistics
        if self.expected is None:
            return NormalEquations
        if settings.ridge == "auto":
            return Streamed if rows_per_sample == 1 and 2 * self.expected <= settings.n_features else NormalEquations
        rows = self.expected * rows_per_sample
        return choose_solver(settings.n_features, rows, settings.ridge, available_memory(theta.device)).statistics

    def _solution(self, statistics: Statistics, ridge: float) -> Solution:
        solver = self.settings.solver
        if solver is None and isinstance(statistics, Streamed):
            memory = available_memory(statistics.stream.theta.device)
            suited = choose_solver(statistics.n_features, statistics.n_rows, ridge, memory)
            solver = Dual() if self.settings.ridge == "auto" else suited if suited.statistics is Streamed else None
        return direct_solution(NormalEquations.of(statistics), ridge) if solver is None else solver.solve(statistics, ridge)

    def _automatic_ridge(self, statistics: Statistics, frame: Frame) -> tuple[float, float, Noise | None]:
        """The ridge of the least leave-one-function-out error, that error, and the noise level that comes with it."""
        assert self.pairs is not None  # as `add` has checked
        pairs = Prepared(frame, *self.pairs, frame.output_nodes).distinct()
        inputs, outputs = pairs.inputs, pairs.outputs
        copied = len(self.pairs[0]) / len(pairs)  # sums over all pairs are so much larger, and so must be the ridge
        if copied > 1:
            statistics = type(statistics).assemble(self.settings.stream(inputs, pairs.grid, frame.values), inputs, outputs)
        if len(inputs) < 2:
            raise RaffiaError("ridge='auto' leaves out one pair at a time, so it needs two or more; got one. Pass a number.")
        if not outputs.any() and frame.measure.reference == 0:
            raise RaffiaError("all outputs are zero, so no ridge is better than another: check y, or pass a number.")
        if isinstance(statistics, Streamed) and len(inputs) == statistics.n_rows:
            ridge, error = dual_ridge_for(statistics, frame.measure)
            return copied * ridge, error, None
        stream = self.settings.stream(inputs, frame.output_nodes, frame.values)
        ridge, left_out = left_out_ridge(RidgePath(statistics), stream, inputs, outputs, frame.measure)
        noise = noise_of(left_out, frame.output_nodes) if statistics.rhs.ndim == 1 else None
        return copied * ridge, float(left_out.errors.mean()), noise
