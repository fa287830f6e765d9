"""Preprocessing: normalisation, and from arrays of the user to training tensors and back to the units of the data."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from raffia.constraints import Equality, check_spaces, impose
from raffia.errors import RaffiaError
from raffia.metrics import ErrorMeasure, measure_for
from raffia.model.coarsening import coarse_grid
from raffia.model.model_defaults import DEFAULTS
from raffia.model.settings import Settings
from raffia.model.splitting import firsts, groups_of
from raffia.regression import fits, gains_of, root_mean_squares
from raffia.spaces import (
    POINT,
    Channels,
    Domain,
    Grid,
    Modes,
    Nodes,
    Space,
    Vectors,
    interpolate,
    interpolation_error,
    modes_of,
    resample,
)
from raffia.spaces.trimmed import largest
from raffia.transforms import is_abstract
from raffia.validation import as_tensor, check_pairs


@dataclass(frozen=True, eq=False)
class Scaling:
    """f ↦ (f − shift) / scale, with one shift and scale for a function, for each channel, or for each component of a vector.

    With `nodes`, the shift is a function on these nodes; it is interpolated to the nodes of f. `Scaling()` is the identity.
    """

    shift: Tensor | None = None
    scale: Tensor | None = None
    nodes: Nodes | None = None

    @classmethod
    def of(cls, f: Tensor, space: Space, function: bool = False) -> "Scaling":
        """Shift by the mean, or with `function` by the mean function, and scale by the standard deviation; constants keep scale 1."""
        return Moments.of(f, space, function).scaling

    def apply(self, f: Tensor) -> Tensor:
        """Normalise f."""
        return f if self.shift is None or self.scale is None else (f - self._shift_for(f)) / self.scale.to(f)

    def undo(self, f: Tensor) -> Tensor:
        """Convert normalised values to the units of the data."""
        return f if self.shift is None else self.stretch(f) + self._shift_for(f)

    def stretch(self, f: Tensor) -> Tensor:
        """Convert normalised differences to the units of the data."""
        return f if self.scale is None else f * self.scale.to(f)

    @property
    def offset(self) -> Tensor | None:
        """The shift in normalised units."""
        return None if self.shift is None or self.scale is None else self.shift / self.scale

    def elsewhere(self, space: Space) -> "Scaling":
        """The same normalisation for functions on a mesh instead of a grid, or on a grid instead of a mesh."""
        if self.shift is None or self.nodes is None:
            return self
        there = self.nodes.with_channels(space.as_fine_as(self.nodes.one_channel))
        return Scaling(interpolate(self.shift, self.nodes, there), self.scale, there)

    def projected(self, equalities: tuple[Equality, ...], nodes: Nodes) -> "Scaling":
        """With a shift that satisfies equalities; a constant shift stays constant."""
        if self.shift is None or not equalities:
            return self
        kept = impose(equalities, self.shift.expand(nodes.shape).contiguous(), nodes)
        if self.nodes is None:
            axes = [axis for axis, size in enumerate(self.shift.shape) if size == 1]
            kept = kept.mean(axes, keepdim=True)
        return Scaling(kept, self.scale, self.nodes)

    def _shift_for(self, f: Tensor) -> Tensor:
        assert self.shift is not None
        return (
            self.shift.to(f) if self.nodes is None else interpolate(self.shift, self.nodes, self.nodes.space.grid_of(f)).to(f)
        )


@dataclass(frozen=True, eq=False)
class Moments:
    """The number of elements, their mean and their sum of squared deviations from it. Moments of disjoint samples add.

    There is one mean for each channel or component or, with `nodes`, a mean function on them.
    """

    count: int
    mean: Tensor
    deviations: Tensor
    precision: float
    """The relative rounding error of the values."""
    nodes: Nodes | None = None

    @classmethod
    def of(cls, f: Tensor, space: Space, function: bool = False) -> "Moments":
        """Over samples and points, for each channel or component; with `function`, over samples at each point."""
        nodes = space.grid_of(f) if function and not space.tabular and space.ndim else None
        axes = [axis for axis in range(f.ndim) if axis == 0 or (nodes is None and (axis != 1 or not space.has_components))]
        mean = f.double().mean(axes, keepdim=True)[0]
        deviations = (f.double() - mean).square().sum(axes, keepdim=True)[0]
        return cls(f.numel() // mean.numel(), mean.cpu(), deviations.cpu(), torch.finfo(f.dtype).eps, nodes)

    def __add__(self, other: "Moments") -> "Moments":
        """The moments of all samples together, without cancellation."""
        count, apart = self.count + other.count, other.mean - self.mean
        deviations = self.deviations + other.deviations + apart.square() * (self.count * other.count / count)
        mean = self.mean + apart * (other.count / count)
        return Moments(count, mean, deviations, max(self.precision, other.precision), self.nodes)

    @property
    def scaling(self) -> Scaling:
        """The normalisation to mean 0 and standard deviation 1; constants keep scale 1."""
        squares, size = self.deviations / self.count, self.mean.square()
        if self.nodes is not None:  # one scale for all points of a channel
            axes = tuple(range(1 if self.nodes.has_components else 0, squares.ndim))
            squares, size = squares.mean(axes, keepdim=True), size.mean(axes, keepdim=True)
        deviation = squares.sqrt()
        varies = deviation > DEFAULTS.rounding * self.precision * size.sqrt()
        return Scaling(self.mean, torch.where(varies & (deviation > 0), deviation, torch.ones_like(deviation)), self.nodes)


Scalings = tuple[Scaling, Scaling]
SOME = 256
"""Outputs from which the error of interpolation is estimated."""


def checked_tensor(name: str, values: object, settings: Settings) -> Tensor:
    """A tensor of finite values, on the device of the model if it fits there."""
    tensor = as_tensor(name, values)
    device = None if settings.device is None else torch.device(settings.device)
    return tensor.to(device) if device is not None and fits(tensor, device) else tensor


@dataclass(frozen=True, eq=False)
class Frame:
    """The spaces of inputs and outputs, the training nodes, and the normalisation, all set by the first batch of pairs."""

    input: Space
    output: Space
    input_nodes: Nodes
    output_nodes: Nodes
    values: Nodes
    """The nodes of feature values in training: those of the inputs, or a point for scalar features."""
    input_scaling: Scaling
    output_scaling: Scaling
    measure: ErrorMeasure
    """The error measure by which the model is judged."""
    modes: Modes | None = None
    """The modes of the outputs, for modal coefficients."""
    mode_sizes: Tensor | None = None
    """The root mean square of the features in each mode, at the first input."""
    gains: Tensor | None = None
    """The factor of each input channel, which is an additional feature of modal coefficients."""
    equalities: tuple[Equality, ...] = ()
    """Equalities that all predictions satisfy."""
    interpolation_error: float = 0.0
    """An estimate of the relative error of interpolating training outputs from their grid to others."""

    @classmethod
    def of(cls, settings: Settings, inputs: Tensor, outputs: Tensor, scalings: Scalings | None = None) -> "Frame":
        """The frame for the first pairs. `scalings` replaces the normalisation that would be estimated from them."""
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
        wrong = interpolation_error(outputs[:SOME], grid)
        outputs = unprescribed(settings.equalities, outputs, grid, inputs, nodes)
        if settings.normalize and scalings is None:
            function = settings.normalize == "function"
            scalings = Scaling.of(inputs, domain), Scaling.of(outputs, space, function)  # in their own precision
        input_scaling, output_scaling = scalings or (Scaling(), Scaling())
        output_scaling = output_scaling.projected(settings.equalities, grid)
        outputs = output_scaling.apply(outputs.double())
        measure = measure_for(grid, bool(settings.normalize)).of(outputs, grid, output_scaling.offset, output_scaling.nodes)
        frame = cls(
            domain,
            space,
            input_nodes=nodes,
            output_nodes=grid,
            values=values,
            input_scaling=input_scaling,
            output_scaling=output_scaling,
            measure=measure,
            equalities=settings.equalities,
            interpolation_error=wrong,
        )
        if settings.points is None:
            return frame
        if values == POINT:
            raise RaffiaError(
                "points=… is for features whose values are functions: for scalar features the grid costs nothing."
            )
        coarse = coarse_grid(
            feature_map, settings.theta(outputs), input_scaling.apply(inputs.double()), outputs, settings.points
        )
        return replace(frame, input_nodes=nodes.with_channels(coarse), output_nodes=grid.with_channels(coarse), values=coarse)

    def pairs(self, inputs: Tensor, outputs: Tensor, resampled: bool) -> "Prepared":
        """Pairs in training units, on their own nodes or, if `resampled`, on those of the frame."""
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
        """Inputs of a prediction, in training units and in their own precision."""
        inputs = checked_tensor("a", a, settings)
        check_function("a", inputs, self.input)
        if self.input.tabular:
            self.input_nodes.grid_of(inputs)  # type: ignore[attr-defined]  # vectors of one size are a space
        return self.input_scaling.apply(inputs)

    def values_at(self, inputs: Tensor) -> Nodes:
        """The nodes of the feature values for these inputs."""
        return POINT if self.values == POINT else self.input.grid_of(inputs).one_channel

    def nodes_for(self, inputs: Tensor) -> Nodes:
        """The nodes of predictions: those of the inputs or, with scalar features, those of the training outputs.

        If training inputs and outputs had one grid, predictions of scalar features are interpolated to the grid of the new inputs.
        """
        here = self.input.grid_of(inputs).one_channel
        shared = isinstance(here, Grid) and self.input_nodes.one_channel == self.output_nodes.one_channel
        return self.output_nodes if self.values == POINT and not shared else self.output_nodes.with_channels(here)

    def errors(self, y: Tensor, prediction: Tensor) -> Tensor:
        """The error of each prediction, given in the units of the data, by the error measure of the model."""
        truth, guess = (self.output_scaling.apply(values.double().cpu()) for values in (y, prediction))
        return self.measure.errors(truth, guess, self.output.grid_of(truth))

    def outputs(self, embedded: Tensor, inputs: Tensor) -> Tensor:
        """Predictions in the units of the data, from weighted sums of features."""
        return self.in_units(self.on_nodes(embedded, inputs), inputs)

    def in_units(self, values: Tensor, inputs: Tensor) -> Tensor:
        """Convert outputs from training units to the units of the data, and impose equalities."""
        outputs = self.output_scaling.undo(values)
        if not self.equalities:
            return outputs
        a, at = self.input_scaling.undo(inputs), self.input.grid_of(inputs)
        return impose(self.equalities, outputs, self.nodes_for(inputs), a, at)

    def in_training_units(self, outputs: Tensor, inputs: Tensor) -> Tensor:
        """Convert outputs from the units of the data to training units: the inverse of `in_units`. Inputs are in training units."""
        a, at = self.input_scaling.undo(inputs), self.input.grid_of(inputs)
        return self.output_scaling.apply(unprescribed(self.equalities, outputs, self.nodes_for(inputs), a, at))

    def on_nodes(self, embedded: Tensor, inputs: Tensor) -> Tensor:
        """Predictions on `nodes_for(inputs)`, in training units; with scalar features they come embedded."""
        nodes, n = self.nodes_for(inputs), len(inputs)
        if self.values == POINT:
            embedded = self.output_nodes.unembed(embedded.reshape(n, -1))
            if nodes != self.output_nodes:
                embedded = resample(embedded, self.output_nodes.one_channel, nodes.one_channel, smooth=True)
        return embedded.reshape(n, *nodes.shape)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training pairs in training units and float64, with the nodes of the outputs."""

    frame: Frame
    inputs: Tensor
    outputs: Tensor
    grid: Nodes

    def __len__(self) -> int:
        return len(self.inputs)

    def distinct(self) -> "Prepared":
        """One pair for each distinct input."""
        rows = firsts(groups_of(self.inputs))
        return self if len(rows) == len(self) else self.part(rows)

    def with_modes(self, settings: Settings) -> "Prepared":
        """For modal coefficients, the same pairs in a frame with the modes of the outputs and the sizes of features in them."""
        if not settings.modal:
            return self
        if self.frame.values == POINT:
            raise RaffiaError(
                "coefficients='modal' is for features whose values are functions; the coefficients of scalar features are functions "
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
        """Some of the pairs, by indices or by a mask."""
        rows = rows.to(self.inputs.device)
        return replace(self, inputs=self.inputs[rows], outputs=self.outputs[rows])


def unprescribed(equalities: tuple[Equality, ...], outputs: Tensor, grid: Nodes, inputs: Tensor, nodes: Nodes) -> Tensor:
    """Subtract from outputs what equalities prescribe for their inputs."""
    return outputs - impose(equalities, torch.zeros_like(outputs), grid, inputs, nodes) if equalities else outputs


def prepare(settings: Settings, a: object, y: object, frame: Frame | None = None, scalings: Scalings | None = None) -> Prepared:
    """Check pairs, move them to the device and convert them to training units. Without a frame, these pairs define it."""
    if frame is None:
        settings.check()
    inputs, outputs = checked_tensor("a", a, settings).detach(), checked_tensor("y", y, settings).detach()
    frame, first = frame or Frame.of(settings, inputs, outputs, scalings), frame is None
    pairs = frame.pairs(inputs, outputs, resampled=settings.points is not None)
    return pairs.with_modes(settings) if first else pairs


def check_function(name: str, f: Tensor, space: Space) -> None:
    """Samples of a space: shape (n, *grid), with the grid convention of the domain."""
    if f.ndim != 1 + space.ndim:
        shape = f"(n, {', '.join(space.axes_in_words)})" if space.ndim else "(n,)"
        raise RaffiaError(
            f"{name} must have shape {shape}, {space.in_words}; got {tuple(f.shape)}. A single one is {name}[None]."
        )
    space.grid_of(f)
    domain = space.one_channel
    for axis, kind in enumerate(domain.kinds, f.ndim - domain.ndim):
        if kind.periodic and not is_abstract(f):
            _check_no_repeated_end(name, f, axis)


def output_space(domain: Space, y: Tensor, numbers: bool) -> Space:
    """The default space of the outputs: that of the inputs, with channels if y has one axis more.

    Features that are `numbers` may have numbers as outputs; vectors have numbers or vectors.
    """
    if domain.tabular:
        return Domain(0) if y.ndim == 1 else Vectors()
    one = domain.one_channel
    if numbers and y.ndim == 1:
        return Domain(0)
    return Channels(one, y.shape[1]) if y.ndim == 2 + one.ndim and one.ndim else one


def check_one_grid(inputs: Nodes, outputs: Nodes, domain: Space, output: Space) -> None:
    """Features that are functions need inputs and outputs on the same nodes."""
    here, there = inputs.one_channel, outputs.one_channel
    if here != there:
        spaces = "" if here.shape != there.shape else f" of {domain} and {output}"
        raise RaffiaError(
            f"a and y must be on one grid; got {here.shape} and {there.shape} points{spaces}. "
            "Resample one of them with raffia.resample, or use features that are numbers, such as ScalarFeatures."
        )


def _check_no_repeated_end(name: str, f: Tensor, axis: int) -> None:
    """Refuse samples whose last point repeats the first, unless they are flat there (a bump away from the ends) or have few values.

    Functions of few values, such as those of two phases, agree at both ends by chance.
    """
    if f.shape[axis] < 4 or len(f) < 2:  # a single symmetric function may well agree at both ends
        return
    first, second, last = (f.select(axis, i) for i in (0, 1, -1))
    scale = largest(f)
    rounding = 1e-9 if f.dtype == torch.float64 else 1e-5
    if largest(first - last) > rounding * scale or largest(first - second) <= 1e-4 * scale:
        return
    some = f.movedim(axis, -1).reshape(-1, f.shape[axis])[:64]
    if 2 * sum(len(row.unique()) for row in some) > some.numel():
        raise RaffiaError(
            f"{name} seems to repeat its first point at the right end ({f.shape[axis]} points along axis {axis}): "
            f"a periodic grid leaves the right end out. Pass {name}[{', '.join([':'] * axis + [':-1'])}]."
        )
