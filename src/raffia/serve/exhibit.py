"""What the page knows of a model: what its inputs and outputs look like, where to begin, and pairs to compare with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from raffia.data.schema import AxisLabel, SideSchema
from raffia.data.source import Source
from raffia.errors import RaffiaError
from raffia.serve.protocol import Asked, grid_of, vector_of, wanted
from raffia.serve.served import Served
from raffia.spaces import Grid, Nodes, resample

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
SEEN = 200  # pairs whose values say how far inputs range
FEW = 6  # values that inputs take, for these to be colours of a palette
MOST_POINTS = 2**16  # of a grid that the page offers
Shape = tuple[int, ...] | None
"""Points of a grid; None is the training grid."""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A model on the page, with pairs of a file where there is one."""

    served: Served
    pairs: Source | None = None

    @cached_property
    def described(self) -> dict[str, Any]:
        """All that the page needs to know before it asks for anything."""
        frame, schema, start = self.served.model.trained_.frame, self.served.model.trained_.file_schema, self._first
        low, high, values = self._range
        return {
            "name": self.served.name,
            "input": _described(schema.input, frame.input_nodes) | {"low": low, "high": high, "values": values},
            "output": _described(schema.output, frame.output_nodes),
            "grid": list(frame.input.grid_of(start).one_channel.shape) if frame.input.one_channel.gridded else [],
            "grids": self._grids,
            "start": start.flatten().numpy(),
            "band": self._band,
            "levels": self._levels,
            "pairs": 0 if self.pairs is None else len(self.pairs),
            "file": "" if self.pairs is None else self.pairs.path.name,
        }

    def predict(self, asked: Asked) -> dict[str, Any]:
        """The prediction for an input, its band, and the coordinates of both."""
        level, grid = asked.get("level"), _grid(asked, "grid")
        if level is not None and level not in self._levels:
            raise RaffiaError(f"level must be one of {self._levels}; got {level!r:.80}.")
        a, operator = self._input(asked, grid), self.served.at(grid)
        mean, half = self._with_band(a[None], level)
        return {
            "output": mean.flatten().numpy(),
            "half": None if half is None else half.flatten().numpy(),
            "novelty": None if self.served.model.trained_.novelty is None else float(self.served.model.novelty(a[None])),
            "shape": operator.output_grid.shape,
            "axes": self._axes(operator.output_grid, "output"),
            "inputAxes": self._axes(operator.input_grid, "input"),
        }

    def move(self, asked: Asked) -> dict[str, Any]:
        """An input on another grid."""
        here, there = _grid(asked, "from"), _grid(asked, "grid")
        return {"input": self._moved(self._input(asked, here), here, there).flatten().numpy()}

    def pair(self, asked: Asked) -> dict[str, Any]:
        """A pair of the file: its input on a grid, its output, and the relative error of the prediction."""
        number, grid, count = wanted(asked, "number"), _grid(asked, "grid"), 0 if self.pairs is None else len(self.pairs)
        if type(number) is not int or self.pairs is None or not 0 <= number < count:
            raise RaffiaError(f"number must be one of the {count} pairs; got {number!r:.80}.")
        a, y = (values.double() for values in self.pairs.read(range(number, number + 1)))
        frame, model = self.served.model.trained_.frame, self.served.model
        nodes = frame.input.grid_of(a)
        target = nodes if grid is None else self.served.at(grid).input_grid
        shown = a[0] if target.shape == nodes.shape else resample(a[0], nodes.one_channel, target.one_channel, smooth=True)
        outputs, predicted = frame.output.grid_of(y), torch.as_tensor(model.predict(a))
        error = float(outputs.norm(predicted - y)[0] / outputs.norm(y)[0]) if predicted.shape == y.shape else float("nan")
        return {
            "input": shown.flatten().numpy(),
            "truth": y.flatten().numpy(),
            "shape": outputs.shape,
            "axes": self._axes(outputs, "output"),
            "off": error if np.isfinite(error) else None,
        }

    def _input(self, asked: Asked, grid: Shape) -> Tensor:
        nodes = self.served.at(grid).input_grid
        return torch.from_numpy(vector_of("input", wanted(asked, "input"), nodes.size)).reshape(nodes.shape)

    def _moved(self, a: Tensor, here: Shape, there: Shape) -> Tensor:
        source, target = (self.served.at(grid).input_grid for grid in (here, there))
        return resample(a, source.one_channel, target.one_channel, smooth=True)

    def _with_band(self, a: Tensor, level: float | None) -> tuple[Tensor, Tensor | None]:
        model = self.served.model
        if self._band == "conformal" and level is not None:
            band = model.band(level)
            mean, deviation = band.centre(a)
            return mean, band.width * deviation
        if self._band == "bars":
            mean, deviation = model.predict(a, return_std=True)
            return mean, 2 * deviation
        return torch.as_tensor(model.predict(a)), None

    @cached_property
    def _levels(self) -> list[float]:
        """Probabilities of bands that the pairs held out suffice for."""
        return [level for level in LEVELS if self._can(lambda: self.served.model.band(level))]  # noqa: B023

    @cached_property
    def _band(self) -> str | None:
        """What kind of band there is: by pairs held out, of twice the standard deviation, or none."""
        middle = torch.from_numpy(self.served.middle)[None]
        bars = bool(self._levels) or self._can(lambda: self.served.model.predict(middle, return_std=True))
        return "conformal" if self._levels else "bars" if bars else None

    @staticmethod
    def _can(work: Callable[[], object]) -> bool:
        """Whether the model does not refuse it."""
        try:
            work()
        except RaffiaError:
            return False
        return True

    @cached_property
    def _range(self) -> tuple[list[float], list[float], list[float] | None]:
        """The least and the greatest value of each channel or component of inputs, and all of them where they are few."""
        frame, start = self.served.model.trained_.frame, self._first
        a = start if self.pairs is None else self.pairs.read(range(min(SEEN, len(self.pairs))))[0].double()
        count = start.shape[1] if frame.input.has_components else 1
        each = a.reshape(len(a), count, -1).transpose(0, 1).reshape(count, -1)
        if self.pairs is None:
            deviation = frame.input_scaling.stretch(torch.ones_like(start)).reshape(count, -1)
            each = torch.cat([each - deviation, each + deviation], 1)
        few = torch.unique(each)
        values = few.tolist() if len(few) <= FEW and frame.input.ndim and not frame.input.has_components else None
        return each.amin(1).tolist(), each.amax(1).tolist(), values

    @cached_property
    def _first(self) -> Tensor:
        """The input that the page shows first, (1, *input): that of the first pair, or a synthetic one without data.

        The synthetic input is the mean of the training inputs. On a grid, a sine wave is added to it.
        """
        frame = self.served.model.trained_.frame
        if self.pairs is not None:
            return self.pairs.read(range(1))[0].double()
        nodes = frame.input_nodes.one_channel
        wave = torch.zeros(1, *frame.input_nodes.shape, dtype=torch.float64)
        if frame.input.one_channel.gridded and nodes.shape:
            for x, extent in zip(cast(Grid, nodes).nodes().movedim(-1, 0), cast(Grid, nodes).domain.extents, strict=True):
                wave = wave + torch.sin(2 * torch.pi * x / extent) / (2 * nodes.space.dim)
        return torch.from_numpy(self.served.middle) + frame.input_scaling.stretch(wave)

    @cached_property
    def _grids(self) -> list[list[int]]:
        """Grids to choose from: those of the training and of the file, coarser and finer ones, where the model takes them."""
        frame = self.served.model.trained_.frame
        if not frame.input.one_channel.gridded or not frame.input.one_channel.ndim:
            return []
        own = frame.input.grid_of(self._first).one_channel.shape
        ends = [not kind.periodic and not any(kind.left_out) for kind in frame.input.one_channel.kinds]
        shapes = {own, frame.input_nodes.one_channel.shape}
        for factor in (0.5, 2, 4):
            shape = tuple(round((n - end) * factor) + end for n, end in zip(own, ends, strict=True))
            small = np.prod(shape) <= MOST_POINTS and min(shape) > 4
            if small and self._can(lambda: self.served.model.predict(self._moved(self._first[0], own, shape)[None])):  # noqa: B023
                shapes.add(shape)
        return [list(shape) for shape in sorted(shapes, key=np.prod)]

    def _axes(self, nodes: Nodes, side: str) -> list[np.ndarray]:
        """The coordinates along each axis of a grid, those of the file where it has them."""
        one, trained = nodes.one_channel, self.served.model.trained_
        if not one.space.gridded:
            return []
        first = trained.frame.input_nodes if side == "input" else trained.frame.output_nodes
        labels = getattr(trained.file_schema, side).frame
        axes = cast(Grid, one).axes()
        begin = [float(x[0]) for x in cast(Grid, first.one_channel).axes()]
        known = labels if len(labels) == len(axes) else [AxisLabel()] * len(axes)
        shifts = [0.0 if label.first is None else label.first - x for label, x in zip(known, begin, strict=True)]
        return [x.numpy() + shift for x, shift in zip(axes, shifts, strict=True)]


def _described(side: SideSchema, nodes: Nodes) -> dict[str, Any]:
    """What inputs or outputs are, and what to call them."""
    space, one = nodes.space, nodes.space.one_channel
    kind = {1: "curve", 2: "field"}.get(one.dim, "other") if one.gridded else "other"
    kind = "numbers" if one.tabular or not one.ndim else kind
    count = nodes.size if kind == "numbers" else space.channels
    labels = side.frame if len(side.frame) == one.dim else [AxisLabel()] * one.dim
    axes = [f"{label.name} ({label.units})" if label.units else label.name for label in labels]
    return {
        "kind": kind,
        "count": count,
        "periodic": [bool(kind.periodic) for kind in one.kinds],
        "labels": [label or letter for label, letter in zip(axes, "xyz", strict=False)],
        "names": list(side.names) if len(side.names) == count else [],
        "words": space.in_words,
    }


def _grid(asked: Asked, name: str) -> Shape:
    return grid_of({"grid": asked[name]} if asked.get(name) else None)
