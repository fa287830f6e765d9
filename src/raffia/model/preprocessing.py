"""The frame of a model: spaces, nodes and units, which turn what a user gives into tensors to learn from, and predictions back."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from raffia.constraints import Equality, check_spaces, imposed
from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure, measure_for
from raffia.model.coarsening import coarse_grid
from raffia.model.copies import firsts, groups_of
from raffia.model.scaling import Scaling
from raffia.model.settings import Settings
from raffia.model.shapes import check_function, check_one_grid, output_space
from raffia.regression import fits, gains_of, root_mean_squares
from raffia.spaces import POINT, Grid, Modes, Nodes, Space, interpolate, modes_of, resample
from raffia.validation import as_tensor, check_pairs

Scalings = tuple[Scaling, Scaling]


def given(name: str, values: object, settings: Settings) -> Tensor:
    """A tensor of finite values on the device of the model, if it fits there."""
    tensor = as_tensor(name, values)
    device = None if settings.device is None else torch.device(settings.device)
    return tensor.to(device) if device is not None and fits(tensor, device) else tensor


@dataclass(frozen=True, eq=False)
class Frame:
    """What the first pairs fix: where inputs, outputs and features live, on which nodes training is done, and in which units."""

    input: Space
    output: Space
    input_nodes: Nodes
    output_nodes: Nodes
    values: Nodes
    """Where features live on the grid of the training: with the inputs, or on a point where they are numbers."""
    input_scaling: Scaling
    output_scaling: Scaling
    measure: ErrorMeasure
    """What errors are relative to."""
    modes: Modes | None = None
    """Of the outputs, where coefficients differ from mode to mode."""
    mode_sizes: Tensor | None = None
    """How large features are in each mode: root mean squares over all of the first input."""
    gains: Tensor | None = None
    """What each channel of inputs is multiplied by, where it is a feature beside these."""
    equalities: tuple[Equality, ...] = ()
    """What predictions meet, whatever the coefficients."""

    @classmethod
    def of(cls, settings: Settings, inputs: Tensor, outputs: Tensor, scalings: Scalings | None = None) -> "Frame":
        """The frame that these pairs, the first, give; `scalings` normalise them, where more is known than they say."""
        domain, feature_map = settings.feature_map.domain, settings.feature_map
        check_function("a", inputs, domain)
        check_pairs(inputs, outputs)
        nodes = domain.grid_of(inputs)
        values = feature_map.values_on(nodes)
        space = settings.output or output_space(domain, outputs, values == POINT)
        check_function("y", outputs, space)
        grid = space.grid_of(outputs)
        if values != POINT:
            check_one_grid(nodes, grid, domain, space)
        check_spaces(settings.constraints, domain, space)
        outputs = unprescribed(settings.equalities, outputs, grid, inputs, nodes)
        if settings.normalize and scalings is None:
            function = settings.normalize == "function"
            scalings = Scaling.of(inputs, domain), Scaling.of(outputs, space, function)  # in their own precision
        input_scaling, output_scaling = scalings or (Scaling(), Scaling())
        output_scaling = output_scaling.projected(settings.equalities, grid)
        outputs = output_scaling.apply(outputs.double())
        measure = measure_for(grid, bool(settings.normalize)).of(outputs, grid, output_scaling.offset, output_scaling.nodes)
        frame = cls(domain, space, nodes, grid, values, input_scaling, output_scaling, measure, equalities=settings.equalities)
        if settings.points is None:
            return frame
        if values == POINT:
            raise RaffiaError("points=… is for features whose values are functions: with scalar ones the grid costs nothing.")
        coarse = coarse_grid(
            feature_map, settings.theta(outputs), input_scaling.apply(inputs.double()), outputs, settings.points
        )
        return replace(frame, input_nodes=nodes.with_channels(coarse), output_nodes=grid.with_channels(coarse), values=coarse)

    def pairs(self, inputs: Tensor, outputs: Tensor, resampled: bool) -> "Prepared":
        """Pairs in training units, on their own nodes, or on those of the frame if they are to be `resampled`."""
        check_function("a", inputs, self.input)
        check_function("y", outputs, self.output)
        check_pairs(inputs, outputs)
        nodes, grid = self.input.grid_of(inputs), self.output.grid_of(outputs)
        if self.values == POINT:
            if grid != self.output_nodes:
                raise RaffiaError(f"y must stay on the grid of the first batch, {self.output_nodes.shape}; got {grid.shape}.")
        else:
            check_one_grid(nodes, grid, self.input, self.output)
        outputs = unprescribed(self.equalities, outputs.double(), grid, inputs, nodes)
        inputs, outputs = self.input_scaling.apply(inputs.double()), self.output_scaling.apply(outputs)
        here, move = grid.one_channel, resample if resampled else interpolate
        there = self.output_nodes.one_channel if resampled or self.modes is not None else here
        return Prepared(self, move(inputs, here, there), move(outputs, here, there), grid.with_channels(there))

    def inputs(self, settings: Settings, a: object) -> Tensor:
        """Inputs to predict from, in training units and in their own precision."""
        inputs = given("a", a, settings)
        check_function("a", inputs, self.input)
        if self.input.tabular:
            self.input_nodes.grid_of(inputs)  # type: ignore[attr-defined]  # vectors of one size are a space
        return self.input_scaling.apply(inputs)

    def values_at(self, inputs: Tensor) -> Nodes:
        """Where the features of these inputs live."""
        return POINT if self.values == POINT else self.input.grid_of(inputs).one_channel

    def nodes_for(self, inputs: Tensor) -> Nodes:
        """Where predictions for these inputs are: on their grid, or with features that are numbers, on that of the training outputs;
        if this was also the inputs', interpolated to the grid at hand."""
        here = self.input.grid_of(inputs).one_channel
        shared = isinstance(here, Grid) and self.input_nodes.one_channel == self.output_nodes.one_channel
        return self.output_nodes if self.values == POINT and not shared else self.output_nodes.with_channels(here)

    def errors(self, y: Tensor, prediction: Tensor) -> Tensor:
        """The error of each prediction in the units of the data, by the measure of the model."""
        truth, guess = (self.output_scaling.apply(values.double().cpu()) for values in (y, prediction))
        return self.measure.errors(truth, guess, self.output.grid_of(truth))

    def outputs(self, embedded: Tensor, inputs: Tensor) -> Tensor:
        """Predictions in the units of the data, from sums of features for these inputs."""
        return self.in_units(self.on_nodes(embedded, inputs), inputs)

    def in_units(self, values: Tensor, inputs: Tensor) -> Tensor:
        """Outputs in the units of the data, where equalities hold, from those in training units."""
        outputs = self.output_scaling.undo(values)
        if not self.equalities:
            return outputs
        given, at = self.input_scaling.undo(inputs), self.input.grid_of(inputs)
        return imposed(self.equalities, outputs, self.nodes_for(inputs), given, at)

    def in_training_units(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """What was learnt of outputs in the units of the data, for inputs in training units: the inverse of `in_units`."""
        given, at = self.input_scaling.undo(inputs), self.input.grid_of(inputs)
        return self.output_scaling.apply(unprescribed(self.equalities, outputs, self.nodes_for(inputs), given, at))

    def on_nodes(self, embedded: Tensor, inputs: Tensor) -> Tensor:
        """Functions where predictions for these inputs are, in training units; features that are numbers give them embedded."""
        nodes, n = self.nodes_for(inputs), len(inputs)
        if self.values == POINT:
            embedded = self.output_nodes.unembed(embedded.reshape(n, -1))
            if nodes != self.output_nodes:
                embedded = resample(embedded, self.output_nodes.one_channel, nodes.one_channel, smooth=True)
        return embedded.reshape(n, *nodes.shape)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Pairs as they are learnt from: in training units and float64, with the nodes of the outputs."""

    frame: Frame
    inputs: Tensor
    outputs: Tensor
    grid: Nodes

    def __len__(self) -> int:
        return len(self.inputs)

    def distinct(self) -> "Prepared":
        """Without copies of inputs: one of each."""
        rows = firsts(groups_of(self.inputs))
        return self if len(rows) == len(self) else self.part(rows)

    def with_modes(self, settings: Settings) -> "Prepared":
        """The same pairs in a frame that has the modes of their outputs and the sizes of features there, where coefficients are modal."""
        if not settings.modal:
            return self
        if self.frame.values == POINT:
            raise RaffiaError(
                "coefficients='modal' is for features whose values are functions; where they are numbers, coefficients are functions "
                "already. Pass coefficients='ordinary'."
            )
        modes, nodes = modes_of(self.outputs, self.grid), self.grid.one_channel
        stream = settings.stream(self.inputs[:1], self.grid, self.frame.values_at(self.inputs))
        rows, _ = next(stream.blocks(self.inputs[:1], self.outputs[:1]))
        sizes = root_mean_squares(modes.analysis(nodes.unembed(rows), nodes)).cpu()
        norms = nodes.norm(self.inputs[0].reshape(-1, *nodes.shape)).cpu()
        gains = gains_of(sizes, modes.twice(nodes), norms)
        return replace(self, frame=replace(self.frame, modes=modes, mode_sizes=sizes, gains=gains))

    def part(self, rows: Tensor) -> "Prepared":
        """Some of them, by their numbers or by whether they are in it."""
        rows = rows.to(self.inputs.device)
        return replace(self, inputs=self.inputs[rows], outputs=self.outputs[rows])


def unprescribed(equalities: tuple[Equality, ...], outputs: Tensor, grid: Nodes, inputs: Tensor, nodes: Nodes) -> Tensor:
    """Outputs without what equalities prescribe for their inputs, which nothing need learn."""
    return outputs - imposed(equalities, torch.zeros_like(outputs), grid, inputs, nodes) if equalities else outputs


def prepare(settings: Settings, a: object, y: object, frame: Frame | None = None, scalings: Scalings | None = None) -> Prepared:
    """Check pairs, move them to the device and into training units; without a frame, they are the first and give it."""
    if frame is None:
        settings.check()
    inputs, outputs = given("a", a, settings).detach(), given("y", y, settings).detach()
    frame, first = frame or Frame.of(settings, inputs, outputs, scalings), frame is None
    pairs = frame.pairs(inputs, outputs, resampled=settings.points is not None)
    return pairs.with_modes(settings) if first else pairs
