"""Pairs in a file, read lazily, and how they were read, so that another file of the same kind is read alike."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data import own
from raffia.data.along import Along
from raffia.data.dataset import Dataset, Readable
from raffia.data.meaning import attributes
from raffia.data.meaning.columns import Column, column, sample_shape
from raffia.data.meaning.coordinates import Places, lengths
from raffia.data.meaning.following import followed
from raffia.data.meaning.matching import match
from raffia.data.meaning.names import Variables, choose, only, pick, shapes, shown, unpaired
from raffia.data.meaning.samples import Found, by_names, check_values, samples_axes
from raffia.data.meaning.steps import Steps, each_of
from raffia.data.options import FLAGS, Names, listed
from raffia.data.parameters import with_parameters
from raffia.data.readers import Layout, Variable, files_of, naming, selected, variables
from raffia.data.schema import ArrayLayout, AxisLabel, SideSchema
from raffia.data.written import Inputs, read_rows
from raffia.errors import RaffiaError
from raffia.spaces import Nodes, Space, Vectors

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Schema:
    """How pairs are read from a file. Another file of the same kind is read alike: nothing is inferred or asked for again.

    Parameters
    ----------
    input, output
        The arrays, spaces and layouts of the two sides.
    coordinates
        The arrays that gave the coordinates. A colon stands before those in files of their own, whose order all files have.
    steps
        How pairs are made of trajectories; None for a file of pairs.
    """

    input: SideSchema
    output: SideSchema
    coordinates: tuple[str, ...] = ()
    steps: Steps | None = None

    def inputs(self, path: PathLike, names: Names | None = None, parameters: PathLike | None = None) -> Tensor:
        """The inputs in another file: its arrays `names`, else those of the training, else `a`, the only array or a usual name.

        `parameters` is a table with a row for each sample, beside a folder.
        """
        return self.opened(path, names, parameters).values

    def opened(
        self, path: PathLike, names: Names | None = None, parameters: PathLike | None = None, first: bool = False
    ) -> Inputs:
        """The inputs in another file, with what there is to say of them, and a way to write what is predicted as the file has it.

        Of trajectories, all states are inputs, or with `first` those that they begin with.
        """
        place = Path(path)
        layout = self.input.files if parameters is None else self.output.files
        arrays, steps, said = self._arrays(place, layout, listed(names), list(self.input.names), parameters, first)
        settings = self._settings(place, arrays)
        if steps is None and names and self.steps is not None and self.steps.window == 1:
            names = self.steps.called(place, listed(names)).inputs
        own = self.input.names if steps is None else steps.inputs
        chosen = _chosen(names if steps is None else None, ("a",) if settings is not None else own, arrays)
        likely = {"a": arrays["a"]} if "a" in arrays else arrays
        ins = pick(place, arrays, chosen, "input") if chosen else only(place, likely, "input")[0]
        parts, _, places, notes = self._columns(ins, [], arrays, foreign=settings is None)
        return Inputs(parts=parts, domain=self.input.space, trained=self.output, places=places, notes=[*said, *notes])

    def pairs(
        self,
        path: PathLike,
        input: Names | None = None,
        output: Names | None = None,
        output_path: PathLike | None = None,
        parameters: PathLike | None = None,
    ) -> "Source":
        """Pairs in another file, or in two: its arrays `input` and `output`, else those of the training, else by usual names.

        `parameters` is a table with a row for each sample, beside a folder.
        """
        place = Path(path)
        wanted = [listed(input) or list(self.input.names), listed(output) or list(self.output.names)]
        layout = self.input.files if output_path is not None or parameters is None else self.output.files
        given = listed(input) if output is output_path is None else []
        arrays, steps, moved = self._arrays(place, layout, given, [*wanted[0], *wanted[1]], parameters)
        elsewhere = arrays if output_path is None else self._arrays(Path(output_path), self.output.files, [], wanted[1])[0]
        settings = self._settings(place, arrays)
        own = (self.input.names, self.output.names) if steps is None else (steps.inputs, steps.outputs)
        known = (("a",), ("y",)) if settings is not None else own
        a, y = _chosen(None if steps is not None and given else input, known[0], arrays), _chosen(output, known[1], elsewhere)
        if not (a and y) and not (input or output or output_path):
            a = y = None  # the file has other names: of both, as they go in pairs
        ins, outs, notes = choose(place, arrays, a, y, output_path, elsewhere)
        inputs, outputs, _, said = self._columns(ins, outs, arrays | elsewhere, foreign=settings is None)
        notes = [f"{len(inputs[0])} samples.", *notes, *moved, *said]
        return Source(
            path=place,
            domain=self.input.space,
            output=self.output.space,
            inputs=inputs,
            outputs=outputs,
            settings=settings or {},
            notes=notes,
            input_frame=self.input.frame,
            output_frame=self.output.frame,
            coordinates=self.coordinates,
            steps=steps or self.steps,
        )

    def _arrays(
        self,
        place: Path,
        layout: Layout | None,
        given: list[str],
        wanted: list[str],
        parameters: PathLike | None = None,
        first: bool = False,
    ) -> tuple[Variables, Steps | None, list[str]]:
        """The arrays of a file that lies as that of the training did, and those that names mean in it.

        Of trajectories they are states; how those were found, and what to say of it, come with them.
        """
        arrays = selected(variables(place, replace(layout or Layout(), wanted=tuple(given or wanted))), given or wanted)
        steps, notes = None, list[str]()
        if self.steps is not None:
            arrays, found, v, notes = followed(place, arrays, self.steps, given, self._state)
            if v is None:
                found.check_states(arrays)
            else:
                arrays, steps = found.stepped(arrays, first), found
        arrays = arrays if parameters is None else with_parameters(place, arrays, Path(parameters), given or wanted)[0]
        return arrays, steps, notes

    @property
    def _state(self) -> tuple[int, ...] | None:
        """The shape of a state of a trajectory, as it was in the file of the training; None where it is not known."""
        region = self.input.space.one_channel
        if not self.input.layouts or self.input.shape is None or not region.dim:
            return None
        layout = self.input.layouts[0]
        grid = layout.masked or self.input.shape[len(self.input.shape) - region.ndim :]
        return layout.written(layout.turned_back(np.empty((1, layout.count, *grid)))).shape[1:]

    def _settings(self, place: Path, arrays: Variables) -> dict[str, Any] | None:
        """The settings in a file of ours, whose domain must be that of the training; None for other files."""
        told = own.told(place, arrays)
        if told and told[0] != self.input.space:
            raise RaffiaError(f"{place} has {told[0]}, the model was trained on {self.input.space}.")
        return told[1] if told else None

    def _columns(
        self, ins: list[Variable], outs: list[Variable], arrays: Variables, foreign: bool
    ) -> tuple[list[Column], list[Column], Places, list[str]]:
        """Samples of all variables, with axes as in the training where that is known, each side in its space, by its coordinates."""
        both, apart = (*ins, *outs), attributes.bounds(arrays)
        taken = {v.name.partition("[")[0] for v in both}
        pool = {name: v for name, v in arrays.items() if name.partition("[")[0] not in taken and name not in apart}
        layouts = (*self.input.layouts, *(self.output.layouts if outs else ()))
        alike = foreign and len(self.input.layouts) == len(ins) and len(layouts) == len(both)
        with naming(ins[0].path):
            parts = _as_trained(both, layouts, pool) if alike else _as_guessed(ins, outs, pool)
            if len({len(part) for part in parts}) != 1:
                raise RaffiaError(unpaired(ins, outs))
        inputs, outputs = parts[: len(ins)], parts[len(ins) :]
        notes, found = [], Places()
        for side, trained in ((inputs, self.input), (outputs, self.output)):
            if not side:
                continue
            space, shape = trained.space, trained.shape
            if len(side) == 1 and len(side[0].variable.shape) == 1 + space.ndim and not (alike and trained.layouts[0].masked):
                side[0].plain = True
                side[0].channel = side[0].channel if alike else _channel(side[0].axes, space)
            if foreign:
                others = {} if any(name.startswith(":") for name in self.coordinates) else pool
                given = [others[name] for name in self.coordinates if name in others]
                given = given if len(given) == len(self.coordinates) else []
                places = match(ins[0].path, side, trained, others, given)
                notes += [note for note in places.notes if note not in notes]
                found = places if side is inputs else found
            _check_fits(side, space, shape)
            if alike and shape is not None and space.one_channel.gridded and sample_shape(side, space) != shape:
                check_values([part.variable for part in side if part.grid], [part.samples for part in side if part.grid])
        return inputs, outputs, found, notes


def _as_trained(both: Sequence[Variable], layouts: Sequence[ArrayLayout], pool: Variables) -> list[Column]:
    """Samples along the axes of the training, unless names of axes tell others."""
    named = _named(both, pool)
    parts = []
    for i, (v, layout) in enumerate(zip(both, layouts, strict=True)):
        axis = named.axes[i] if named else layout.samples
        if axis != layout.samples:
            parts.append(column(v, axis, lengths(pool)))
            continue
        if axis is not None and axis >= len(v.shape):
            raise RaffiaError(
                f"{v.name} {shown(v.shape)} must have samples along axis {axis}, as the array of the training has."
            )
        if not v.shape or 0 in v.shape:
            raise RaffiaError(f"{v.name} must hold at least one sample; it has shape {v.shape}.")
        part = Column(v, axis, channel=layout.channel, shape=layout.shape)
        if layout.channel is not None and layout.channel >= len(part.axes):
            raise RaffiaError(
                f"{v.name} {shown(v.shape)} must have channels along an axis of its own, as the array of the training has."
            )
        parts.append(part)
    return parts


def _named(both: Sequence[Variable], pool: Variables) -> Found | None:
    """What names of axes tell, where they tell one thing."""
    try:
        return by_names(both, pool)
    except RaffiaError:
        return None


def _as_guessed(ins: Sequence[Variable], outs: Sequence[Variable], pool: Variables) -> list[Column]:
    """Samples by names and lengths, for want of anything better."""
    found = samples_axes(ins, outs, pool)
    return [column(v, axis, lengths(pool)) for v, axis in zip((*ins, *outs), found.axes, strict=True)]


@dataclass(kw_only=True)
class Source(Readable):
    """Pairs in a file. `domain` is the space of the inputs, `output` that of the outputs where it is another."""

    path: Path
    domain: Space
    output: Space | None
    inputs: list[Column]
    outputs: list[Column]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    input_frame: tuple[AxisLabel, ...] = ()
    output_frame: tuple[AxisLabel, ...] = ()
    coordinates: tuple[str, ...] = ()
    parameters: Path | None = None
    steps: Steps | None = None
    """How pairs were made of trajectories, where they were."""
    given: frozenset[str] = frozenset({"stride", "window"})
    """Which of these the user gave."""

    def __post_init__(self) -> None:
        if self.output == self.domain != Vectors():  # vectors of any size may be of two sizes
            self.output = None

    def __len__(self) -> int:
        return len(self.inputs[0])

    @property
    def each(self) -> int:
        """How many pairs a trajectory has, one after the other; 0 where there are none."""
        return 0 if self.steps is None else each_of(self.inputs[0].variable)

    @property
    def output_space(self) -> Space:
        """The space of the outputs, also where it is that of the inputs."""
        return self.domain if self.output is None else self.output

    @property
    def schema(self) -> Schema:
        """How these pairs are read, to read another file alike."""
        sides = (self.inputs, self.domain, self.input_frame), (self.outputs, self.output_space, self.output_frame)
        input, output = (
            SideSchema(
                space=space,
                names=tuple(part.variable.name for part in side),
                layouts=tuple(part.layout for part in side),
                shape=sample_shape(side, space),
                frame=frame,
                files=side[0].variable.layout,
            )
            for side, space, frame in sides
        )
        return Schema(input=input, output=output, coordinates=self.coordinates, steps=self.steps)

    @property
    def stamp(self) -> str:
        """Sizes and times of the files: what tells them from other versions of them."""
        paths = {path for part in (*self.inputs, *self.outputs) for path in (part.variable.path, *part.variable.beside)}
        facts = [file.stat() for path in paths for file in files_of(path)]
        return f"{len(facts)} of {sum(f.st_size for f in facts)} bytes, the newest of {max(f.st_mtime_ns for f in facts)}"

    @property
    def opened(self) -> Callable[[], "Source"]:
        """What opens the same pairs elsewhere, on a worker of a cluster."""
        here, there = self.inputs[0].variable.path, self.outputs[0].variable.path
        names = [[f"{part.variable.path}:{part.variable.name}" for part in side] for side in (self.inputs, self.outputs)]
        if self.parameters is not None:
            return partial(self.schema.pairs, self.path, parameters=self.parameters)
        if all(part.variable.path in (here, there) for part in (*self.inputs, *self.outputs)):
            return partial(self.schema.pairs, self.path, output_path=None if there == here else there)
        return partial(self.schema.pairs, self.path, names[0], names[1])

    def read(self, rows: range | slice) -> tuple[Tensor, Tensor]:
        """Inputs and outputs of some rows; nothing else is read."""
        chosen = range(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        if chosen.step != 1 or chosen.start < 0 or chosen.stop > len(self):
            raise RaffiaError(f"rows must be within 0 to {len(self)}, one after the other; got {rows}.")
        return read_rows(self.inputs, self.domain, chosen), read_rows(self.outputs, self.output_space, chosen)

    def dataset(self) -> Dataset:
        """All of it."""
        return self.part(range(len(self)))

    def part(self, rows: range) -> Dataset:
        """Some rows of it, one after the other."""
        return Dataset(*self.read(rows), self.domain, self.settings, self.output, self._along(rows))

    def _along(self, rows: range) -> Along | None:
        """Where pairs lie along trajectories."""
        if self.steps is None:
            return None
        steps, space = self.steps, self.output_space
        count = sample_shape(self.inputs, self.domain)[0] if self.domain.has_components else 1
        moving = sample_shape(self.outputs, space)[0] // steps.horizon if space.has_components else 1
        return replace(
            Along.all_of(self.each, rows), stride=steps.stride, window=steps.window, horizon=steps.horizon,
            fixed=count - steps.window * moving, said="window" in self.given,
        )  # fmt: skip


def _chosen(given: Names | None, trained: Sequence[str], arrays: Variables) -> list[str] | None:
    """The names that were given, else those of the training, if the file has them all."""
    there = trained and all(name.partition("[")[0] in arrays for name in trained)
    return listed(given) or (list(trained) if there else None)


def _channel(axes: tuple[int, ...], space: Space) -> int | None:
    """The axis of channels, if the space has them: the first, unless only the last has as many entries."""
    return min((0, len(axes) - 1), key=lambda axis: axes[axis] != space.channels) if space.one_channel is not space else None


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
