"""Pairs in a file, read lazily, and how they were read, so that another file of the same kind is read alike."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from raffia.data import own
from raffia.data.dataset import Dataset, Readable
from raffia.data.infer.coordinates import Places, reader_of
from raffia.data.infer.guess import Guesses
from raffia.data.infer.names import Variables, choose, in_file, only, pick, shown, unpaired, unused
from raffia.data.infer.sample_axis import by_names, check_values, samples_axes
from raffia.data.infer.time_axis import axes_in
from raffia.data.matching import channel_in, check_fits, match
from raffia.data.options import Names, listed
from raffia.data.parameters import with_parameters
from raffia.data.readers import Layout, naming, variables
from raffia.data.readers.folders import parameters_in
from raffia.data.readers.tables.wide import selected
from raffia.data.readers.variable import Variable, files_of
from raffia.data.row_reader import RowReader, pairs_each, read_rows, sample_shape
from raffia.data.schema import ArrayLayout, AxisLabel, SideSchema
from raffia.data.trajectories import FIXED, NAME, Along, Steps
from raffia.data.written import Inputs
from raffia.errors import RaffiaError
from raffia.spaces import Space, Vectors

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
        place, guesses, given = Path(path), Guesses(), listed(names)
        layout = self.input.files if parameters is None else self.output.files
        arrays, steps, _ = self._arrays(place, layout, given, self.input.names, parameters, first, guesses)
        if steps is not None:
            given = steps.inputs
        elif given and self.steps is not None and self.steps.window == 1:
            given = self.steps.renamed(place, given).inputs
        chosen = _chosen(given, self.input.names, arrays)
        likely = {"a": arrays["a"]} if "a" in arrays else arrays
        ins = pick(place, arrays, chosen, "input") if chosen else [only(place, likely, "input")]
        parts, _, places = self._readers(ins, [], arrays, guesses)
        return Inputs(parts=parts, domain=self.input.space, trained=self.output, places=places, notes=guesses.notes)

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
        place, guesses, stepping = Path(path), Guesses(), Guesses()
        layout = self.input.files if output_path is not None or parameters is None else self.output.files
        wanted = listed(output) or self.output.names
        moving = listed(input) if output is output_path is None else []
        names = [*(listed(input) or self.input.names), *wanted]
        arrays, steps, settings = self._arrays(place, layout, moving, names, parameters, False, stepping)
        elsewhere = arrays
        if output_path is not None:
            elsewhere, _, _ = self._arrays(Path(output_path), self.output.files, [], wanted, None, False, Guesses())
        if steps is not None:
            a, y = _chosen(steps.inputs, (), arrays), _chosen(steps.outputs, (), arrays)
        else:
            a, y = _chosen(input, self.input.names, arrays), _chosen(output, self.output.names, elsewhere)
        if not (a and y) and not (input or output or output_path):
            a = y = None  # the file has other names: of both, as they go in pairs
        ins, outs, why = choose(place, arrays, a, y, output_path, elsewhere)
        guesses.extend([*why, *stepping])
        inputs, outputs, _ = self._readers(ins, outs, arrays | elsewhere, guesses)
        return Source(
            path=place,
            domain=self.input.space,
            output=self.output.space,
            inputs=inputs,
            outputs=outputs,
            settings=settings,
            guesses=guesses,
            input_frame=self.input.frame,
            output_frame=self.output.frame,
            coordinates=self.coordinates,
            steps=steps or self.steps,
        )

    def _arrays(
        self, place: Path, layout: Layout | None, given: list[str], names: Sequence[str], parameters: PathLike | None, first: bool,
        guesses: Guesses,
    ) -> tuple[Variables, Steps | None, dict[str, Any]]:  # fmt: skip
        """The arrays of a file that lies as that of the training did, those that are `given` before others, and its settings.

        Trajectories are replaced by their states; how those lie comes with them.
        """
        wanted = given or list(names)
        arrays = selected(variables(place, replace(layout or Layout(), wanted=tuple(wanted))), wanted)
        space, settings = own.description(place, arrays) or (self.input.space, {})
        if space != self.input.space:
            raise RaffiaError(f"{place} has {space}, the model was trained on {self.input.space}.")
        steps = None
        if self.steps is not None:
            arrays, steps = self._states(place, arrays, self.steps, given, first, guesses)
        parameters = parameters or parameters_in(place)
        if parameters is not None:
            arrays, _ = with_parameters(place, arrays, Path(parameters), wanted)
        return arrays, steps, settings

    def _states(
        self, place: Path, arrays: Variables, trained: Steps, given: list[str], first: bool, guesses: Guesses
    ) -> tuple[Variables, Steps | None]:
        """The states of the trajectories of a file, and how these lie; the arrays as they are, where it holds single states."""
        steps = trained.renamed(place, given) if given else trained
        names = (*trained.moving, *trained.fixed)
        wanted = given or [n for n in names if n not in arrays and n.partition("[")[0] in arrays]
        missing = [name for name in wanted if name not in arrays]
        parts = pick(place, arrays, missing, "input") if missing else []
        arrays = arrays | {n: replace(v, name=n) if in_file(n) else v for n, v in zip(missing, parts, strict=True)}
        v, state = steps.trajectories_in(arrays), self._state
        several = steps.several
        if v is None or (given and len(given) == len(trained.inputs) > len(names)):
            pass
        elif len(v.shape) == steps.ndim:
            steps = axes_in(place, v, arrays, steps, state, guesses)
            return steps.pairs_in(arrays, first), steps
        elif steps.samples is None and len(v.shape) == several.ndim and state in (None, several.state(v.shape)):
            guesses.note(f"{v.name} {shown(v.shape)} is taken for {v.shape[0]} trajectories, where the training had one")
            return several.pairs_in(arrays, first), several
        steps.check_states(arrays)
        return arrays, None

    @property
    def _state(self) -> tuple[int, ...] | None:
        """The shape of a state of a trajectory, as it was in the file of the training; None where it is not known."""
        region = self.input.space.one_channel
        if not self.input.layouts or self.input.shape is None or not region.dim:
            return None
        layout = self.input.layouts[0]
        grid = layout.masked or self.input.shape[len(self.input.shape) - region.ndim :]
        return layout.written(layout.turned_back(np.empty((1, layout.count, *grid)))).shape[1:]

    def _readers(
        self, ins: list[Variable], outs: list[Variable], arrays: Variables, guesses: Guesses
    ) -> tuple[list[RowReader], list[RowReader], Places]:
        """Readers of all arrays, with axes as in the training where that is known, each side in its space, by its coordinates."""
        both, pool = (*ins, *outs), unused(arrays, (*ins, *outs))
        layouts = (*self.input.layouts, *(self.output.layouts if outs else ()))
        alike = len(self.input.layouts) == len(ins) and len(layouts) == len(both)
        with naming(ins[0].path):
            if alike:
                parts = _as_trained(both, layouts, pool)
            else:
                axes = samples_axes(ins, outs, pool, Guesses())
                parts = [reader_of(v, axis, pool, Guesses()) for v, axis in zip(both, axes, strict=True)]
            if len({len(part) for part in parts}) != 1:
                raise RaffiaError(unpaired(ins, outs))
        others = {} if any(name.startswith(":") for name in self.coordinates) else pool
        known = all(name in others for name in self.coordinates)
        chosen = [others[name] for name in self.coordinates] if known else []
        inputs, outputs, found = parts[: len(ins)], parts[len(ins) :], Places()
        for side, trained in ((inputs, self.input), (outputs, self.output)):
            if not side:
                continue
            space, shape = trained.space, trained.shape
            if len(side) == 1 and len(side[0].variable.shape) == 1 + space.ndim and not (alike and trained.layouts[0].masked):
                side[0].plain = True
                side[0].channel = side[0].channel if alike else channel_in(side[0].axes, space)
            places = match(ins[0].path, side, trained, others, chosen, guesses)
            found = places if side is inputs else found
            check_fits(side, space, shape)
            if alike and shape is not None and space.one_channel.gridded and sample_shape(side, space) != shape:
                check_values([part.variable for part in side if part.grid], [part.samples for part in side if part.grid])
        return inputs, outputs, found


def _chosen(given: Names | None, trained: Sequence[str], arrays: Variables) -> list[str] | None:
    """The names that were given, else those of the training, if the file has them all."""
    there = trained and all(name.partition("[")[0] in arrays for name in trained)
    return listed(given) or (list(trained) if there else None)


def _as_trained(both: Sequence[Variable], layouts: Sequence[ArrayLayout], pool: Variables) -> list[RowReader]:
    """Samples along the axes of the training, unless names of axes tell others."""
    try:
        named = by_names(both, pool, Guesses())
    except RaffiaError:
        named = None
    parts = []
    for i, (v, layout) in enumerate(zip(both, layouts, strict=True)):
        axis = named[i] if named else layout.samples
        if axis != layout.samples:
            parts.append(reader_of(v, axis, pool, Guesses()))
            continue
        if not v.shape or 0 in v.shape:
            raise RaffiaError(f"{v.name} must hold at least one sample; it has shape {v.shape}.")
        fits = axis is None or axis < len(v.shape)
        part = RowReader(v, axis if fits else 0, channel=layout.channel, shape=layout.shape)
        if not fits or (layout.channel is not None and layout.channel >= len(part.axes)):
            what = "channels along an axis of its own" if fits else f"samples along axis {axis}"
            raise RaffiaError(f"{v.name} {shown(v.shape)} must have {what}, as the array of the training has.")
        parts.append(part)
    return parts


@dataclass(kw_only=True)
class Source(Readable):
    """Pairs in a file. `domain` is the space of the inputs, `output` that of the outputs where it is another."""

    path: Path
    domain: Space
    output: Space | None
    inputs: list[RowReader]
    outputs: list[RowReader]
    settings: dict[str, Any] = field(default_factory=dict)
    guesses: Guesses = field(default_factory=Guesses)
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
    def notes(self) -> list[str]:
        """How the file was read: each guess as a sentence, with the flag that changes it."""
        return [f"{len(self)} samples.", *self.guesses.notes]

    @property
    def each(self) -> int:
        """How many pairs a trajectory has, one after the other; 0 where there are none."""
        return 0 if self.steps is None else pairs_each(self.inputs[0].variable)

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
        fixed = sum(math.prod(part.axes) for part in self.inputs[len(self.inputs) - len(self.steps.fixed) :])
        return Along.all_of(self.each, rows, self.steps, fixed, said="window" in self.given)


def schema_for(data: Dataset, source: Source | None) -> Schema | None:
    """Return how a file is read for a model of these pairs; None where nothing is known of files, and pairs are no steps."""
    if source is None:
        return None if data.along is None else _of_arrays(data, data.along)
    schema, steps = source.schema, source.steps
    if steps is None or data.along is None or data.along.window == steps.window:
        return schema
    wider = replace(steps, window=data.along.window)
    own = len(schema.input.layouts) - len(steps.fixed)
    layouts = (*schema.input.layouts[:own] * (wider.window // steps.window), *schema.input.layouts[own:])
    input = replace(schema.input, names=tuple(wider.inputs), space=data.domain, layouts=layouts, shape=tuple(data.a.shape[1:]))
    return replace(schema, input=input, output=replace(schema.output, names=tuple(wider.outputs)), steps=wider)


def _of_arrays(data: Dataset, along: Along) -> Schema:
    """Trajectories (n, states, *state), and numbers beside them, as `Dataset.of_trajectories` takes them."""
    output = data.output_space
    channels = data.y.shape[1] // along.horizon if output.has_components and not output.tabular else 1
    fixed = (FIXED,) if along.fixed else ()
    ndim = 2 + output.one_channel.ndim + (channels > 1)
    steps = Steps(NAME, ndim, 1, along.stride, along.window, along.horizon, (), fixed)
    state = ArrayLayout(channel=0, count=channels) if channels > 1 else ArrayLayout()
    layouts = (*(state for _ in range(along.window)), *(ArrayLayout() for _ in fixed)), (state,) * along.horizon
    sides = []
    for space, names, layout, values in zip(
        (data.domain, output), (steps.inputs, steps.outputs), layouts, (data.a, data.y), strict=True
    ):
        frame = (AxisLabel(),) * space.one_channel.dim if space.one_channel.gridded else ()
        sides.append(SideSchema(space=space, names=tuple(names), layouts=layout, shape=tuple(values.shape[1:]), frame=frame))
    return Schema(input=sides[0], output=sides[1], steps=steps)
