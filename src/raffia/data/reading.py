"""Pairs in a file, read lazily, and how they were read, so that another file of the same kind is read alike."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data import own
from raffia.data.formats import Variable, variables
from raffia.data.formats.variable import guarded
from raffia.data.meaning.columns import Axes, Column, sample_shape, stacked
from raffia.data.meaning.coordinates import named_axes
from raffia.data.meaning.names import FLAGS, Names, Variables, choose, listed, only, pick, shown
from raffia.data.meaning.sides import columns, shapes
from raffia.errors import RaffiaError
from raffia.pairs import Dataset, Readable
from raffia.spaces import Channels, Nodes, Space, Vectors

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Reading:
    """How pairs were read from a file. Another file of the same kind is read alike: nothing is guessed or asked for again.

    `input_names` and `output_names` are the arrays, none where pairs did not come from a file; `domain` and `output` are the spaces
    of inputs and outputs. `input_axes` and `output_axes` say for each array whether its samples are along the last axis, and which
    axis of a sample holds channels; without them, shapes tell. `input_shape` and `output_shape` are those of one sample.
    """

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    domain: Space
    output: Space
    input_axes: Axes = ()
    output_axes: Axes = ()
    input_shape: tuple[int, ...] | None = None
    output_shape: tuple[int, ...] | None = None

    def inputs(self, path: PathLike, names: Names | None = None) -> Tensor:
        """The inputs in another file: its arrays `names`, else those of the training, else `a`, the only array or a usual name."""
        place = Path(path)
        arrays = variables(place)
        settings = self._settings(place, arrays)
        chosen = _chosen(names, ("a",) if settings is not None else self.input_names, arrays)
        likely = {"a": arrays["a"]} if "a" in arrays else arrays
        ins = pick(place, arrays, chosen, "input") if chosen else only(place, likely, "input")[0]
        parts, _ = self._columns(ins, [], arrays, foreign=settings is None)
        return _read(parts, self.domain, range(len(parts[0])))

    def pairs(
        self, path: PathLike, input: Names | None = None, output: Names | None = None, output_path: PathLike | None = None
    ) -> "Source":
        """Pairs in another file, or in two: its arrays `input` and `output`, else those of the training, else by usual names."""
        place = Path(path)
        arrays = variables(place)
        elsewhere = arrays if output_path is None else variables(output_path)
        settings = self._settings(place, arrays)
        known = (("a",), ("y",)) if settings is not None else (self.input_names, self.output_names)
        a, y = _chosen(input, known[0], arrays), _chosen(output, known[1], elsewhere)
        if not (a and y) and not (input or output or output_path):
            a = y = None  # the file has other names: of both, as they go in pairs
        ins, outs, notes = choose(place, arrays, a, y, output_path, elsewhere)
        inputs, outputs = self._columns(ins, outs, arrays | elsewhere, foreign=settings is None)
        return Source(place, self.domain, self.output, inputs, outputs, settings or {}, [f"{len(inputs[0])} samples.", *notes])

    def _settings(self, place: Path, arrays: Variables) -> dict[str, Any] | None:
        """The settings in a file of ours, whose domain must be that of the training; None for other files."""
        told = own.told(place, arrays)
        if told and told[0] != self.domain:
            raise RaffiaError(f"{place} has {told[0]}, the model was trained on {self.domain}.")
        return told[1] if told else None

    def _columns(
        self, ins: list[Variable], outs: list[Variable], arrays: Variables, foreign: bool
    ) -> tuple[list[Column], list[Column]]:
        """Samples of all variables, with axes as in the training where that is known, each side in its space."""
        axes = (*self.input_axes, *(self.output_axes if outs else ()))
        alike = foreign and len(self.input_axes) == len(ins) and len(axes) == len(ins) + len(outs)
        named = named_axes({name: v for name, v in arrays.items() if v not in (*ins, *outs)})
        with guarded(ins[0].path):
            inputs, outputs = columns(ins, outs, named, axes=axes if alike else ())
        for side, space, shape in ((inputs, self.domain, self.input_shape), (outputs, self.output, self.output_shape)):
            if len(side) == 1 and len(side[0].variable.shape) == 1 + space.ndim:
                side[0].plain = True
                side[0].channel = side[0].channel if alike else _channel(side[0].axes, space)
            if side:
                _check_fits(side, space, shape)
        return inputs, outputs


@dataclass
class Source(Readable):
    """Pairs in a file. `domain` is the space of the inputs, `output` that of the outputs where it is another."""

    path: Path
    domain: Space
    output: Space | None
    inputs: list[Column]
    outputs: list[Column]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.output == self.domain != Vectors():  # vectors of any size may be of two sizes
            self.output = None

    def __len__(self) -> int:
        return len(self.inputs[0])

    @property
    def output_space(self) -> Space:
        """The space of the outputs, also where it is that of the inputs."""
        return self.domain if self.output is None else self.output

    @property
    def reading(self) -> Reading:
        """How these pairs are read, to read another file alike."""
        return Reading(
            tuple(part.variable.name for part in self.inputs),
            tuple(part.variable.name for part in self.outputs),
            self.domain,
            self.output_space,
            tuple((part.samples_last, part.channel) for part in self.inputs),
            tuple((part.samples_last, part.channel) for part in self.outputs),
            sample_shape(self.inputs, self.domain),
            sample_shape(self.outputs, self.output_space),
        )

    @property
    def stamp(self) -> str:
        """Sizes and times of the files: what tells them from other versions of them."""
        paths = {path for part in (*self.inputs, *self.outputs) for path in (part.variable.path, *part.variable.beside)}
        facts = [file.stat() for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
        return f"{len(facts)} of {sum(f.st_size for f in facts)} bytes, the newest of {max(f.st_mtime_ns for f in facts)}"

    @property
    def opened(self) -> Callable[[], "Source"]:
        """What opens the same pairs elsewhere, on a worker of a cluster."""
        there = self.outputs[0].variable.path
        return partial(self.reading.pairs, self.path, output_path=None if there == self.path else there)

    def read(self, rows: range | slice) -> tuple[Tensor, Tensor]:
        """Inputs and outputs of some rows; nothing else is read."""
        chosen = range(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        if chosen.step != 1 or chosen.start < 0 or chosen.stop > len(self):
            raise RaffiaError(f"rows must be within 0 to {len(self)}, one after the other; got {rows}.")
        return _read(self.inputs, self.domain, chosen), _read(self.outputs, self.output_space, chosen)

    def dataset(self) -> Dataset:
        """All of it."""
        a, y = self.read(slice(None))
        return Dataset(a, y, self.domain, self.settings, self.output)


def _chosen(given: Names | None, trained: Sequence[str], arrays: Variables) -> list[str] | None:
    """The names that were given, else those of the training, if the file has them all."""
    return listed(given) or (list(trained) if trained and set(trained) <= set(arrays) else None)


def _channel(axes: tuple[int, ...], space: Space) -> int | None:
    """The axis of channels, if the space has them: the first, unless only the last has as many entries."""
    return min((0, len(axes) - 1), key=lambda axis: axes[axis] != space.count) if isinstance(space, Channels) else None


def _check_fits(parts: list[Column], space: Space, trained: tuple[int, ...] | None) -> None:
    """Samples must be of the space: grids may have any size, meshes and vectors that of the training."""
    shape = sample_shape(parts, space)
    try:
        fits = len(shape) == space.ndim and space.grid_of(torch.empty(shape, device="meta")) is not None
    except RaffiaError:
        fits = False
    if not fits or (isinstance(space, Nodes) and trained not in (None, shape)):
        before = "" if trained is None else f", {shown(trained)} in training"
        order = "" if space.one_channel is space else ", channels before the grid"
        came = shapes(part.variable for part in parts)
        raise RaffiaError(
            f"{parts[0].variable.path}: {came} must hold samples of {space}{before}; got samples of shape {shown(shape)}{order}. "
            f"Pass a file like that of the training, or name other arrays ({FLAGS['input']}, {FLAGS['output']})."
        )


def _read(parts: list[Column], space: Space, rows: range) -> Tensor:
    """Some rows of the arrays, as the space has them."""
    return torch.from_numpy(np.ascontiguousarray(stacked(parts, space, [part.read(rows) for part in parts])))
