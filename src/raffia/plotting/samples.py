"""One sample: its input, the truth, the prediction and the error, for functions on any space."""

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.plotting.line import Curve
from raffia.plotting.style import INK, Array
from raffia.plotting.views import View, views
from raffia.spaces import Domain, Space

MOST_CHANNELS = 4
WIDTH, BESIDE, BELOW = 3.1, 1.2, 0.9  # of a panel, and of its labels, in inches

Row = tuple[str, np.ndarray, View]
"""Which channel, its values, and how to look at them."""


def prediction(a: Array, y: Array, predicted: Array, domain: Domain | None = None) -> Figure:
    """Input, truth, prediction and pointwise error of one sample, in 1-D (fig:sample_burg) or 2-D (fig:darcy_inputoutput).

    `domain=None` means the circle in 1-D and the unit square in 2-D. In 1-D the input shares the panel of the output; `fields`
    gives it its own.
    """
    a, y, predicted = _arrays(a, y, predicted)
    if not (a.ndim == y.ndim == predicted.ndim and a.ndim in (1, 2)):
        raise RaffiaError(
            f"prediction draws one sample, arrays (points,) or (r, r); got {a.shape}, {y.shape}, {predicted.shape}. Pass a[0]."
        )
    domain = domain or Domain(a.ndim, periodic=a.ndim == 1)
    if a.ndim == 2:
        return fields(a, y, predicted, domain, domain)
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    Curve(domain.grid(len(a)).axes()[0].numpy()).draw(left, a, (0, 1), color=INK, lw=1.2, ls=":", label="input a")
    output = Curve(domain.grid(len(y)).axes()[0].numpy())
    output.compare([left, right], y, predicted)
    left.set_title(_relative_error(y, predicted, domain))
    _titled(right, output.titles[1])
    return figure


def fields(
    a: Array, y: Array, predicted: Array, input_space: Space, output_space: Space | None = None, title: str | None = None
) -> Figure:
    """Input, truth, prediction and pointwise error of one sample; truth and prediction share a panel or a scale of colours.

    A row for each of the first four channels of the output, or for each of three slices in 3-D. `output_space=None` is the space of
    the input; `title=None` says the relative error.
    """
    a, y, predicted = _arrays(a, y, predicted)
    output_space = output_space or input_space
    for name, values, space in (("a", a, input_space), ("y", y, output_space), ("predicted", predicted, output_space)):
        if values.ndim != space.ndim:
            raise RaffiaError(
                f"fields draws one sample, {name} on {space} with {space.ndim} axes; got {values.shape}. Pass {name}[0]."
            )
    if y.shape != predicted.shape:
        raise RaffiaError(f"y and predicted must have one shape; got {y.shape} and {predicted.shape}.")
    inputs, outputs = _rows(a, input_space), _rows(y, output_space)
    guesses = [guess for _, guess, _ in _rows(predicted, output_space)]
    columns = len(outputs[0][2].titles)
    height = max(np.clip(view.ratio, 0.4, 1.6) * (WIDTH - BESIDE) + BELOW for _, _, view in (*inputs, *outputs))
    figure, input_panels, output_panels = _layout(len(inputs), len(outputs), columns, float(height))
    for axes, (name, values, view) in zip(input_panels, inputs, strict=True):
        view.show(axes, values, "Greys")
        _titled(axes, "input a", name)
    for panels, (name, truth, view), guess in zip(output_panels, outputs, guesses, strict=True):
        view.compare(panels, truth, guess)
        for axes, what in zip(panels, view.titles, strict=True):
            _titled(axes, what, name)
    if title != "":
        figure.suptitle(title or _relative_error(y, predicted, output_space), fontsize=11)
    return figure


def pair(a: Array, y: Array, input_space: Space, output_space: Space | None = None) -> Figure:
    """The input and the output of one sample, a panel for each of the first four channels, or for each of three slices in 3-D."""
    a, y = _arrays(a, y)
    sides = (("input a", _rows(a, input_space)), ("output y", _rows(y, output_space or input_space)))
    panels = [(side, *row) for side, rows in sides for row in rows]
    height = max(np.clip(view.ratio, 0.4, 1.6) * (WIDTH - BESIDE) + BELOW for *_, view in panels)
    figure = Figure(figsize=(WIDTH * len(panels), float(height) + 0.3), layout=ConstrainedLayoutEngine(wspace=0.05))
    for axes, (side, name, values, view) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        view.show(axes, values, "viridis")
        _titled(axes, side, name)
    return figure


def _arrays(*arrays: Array) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values) for values in arrays)


def _rows(values: np.ndarray, space: Space) -> list[Row]:
    """Every channel of the first four, or every view of the only one."""
    space.grid_of(torch.as_tensor(values))
    one = space.one_channel
    channels = values if space.ndim > one.ndim else values[None]
    looks, count = views(one, channels.shape[1:]), channels.shape[-1 - one.ndim]
    if count == 1:
        return [(view.where, channels[0, ...], view) for view in looks]  # ...: of numbers too this is an array
    suffix = ("" if count <= MOST_CHANNELS else f" of {count}") + (looks[0].where and f", {looks[0].where}")
    return [(f"channel {i}{suffix}", channels[i], looks[0]) for i in range(min(count, MOST_CHANNELS))]


def _layout(inputs: int, outputs: int, columns: int, height: float) -> tuple[Figure, list[Axes], list[list[Axes]]]:
    """Inputs to the left of the outputs; above them, if there are more of them."""
    above = inputs > outputs
    across = max(inputs, columns) if above else 1 + columns
    figure = Figure(figsize=(WIDTH * across, height * (outputs + above) + 0.3), layout=ConstrainedLayoutEngine(wspace=0.05))
    if above:
        first, second = figure.subfigures(2, 1, height_ratios=(1, outputs), squeeze=False)[:, 0]
        panels = list(first.subplots(1, inputs, squeeze=False)[0])
        return figure, panels, second.subplots(outputs, columns, squeeze=False).tolist()
    cells = figure.add_gridspec(outputs, across)
    left = [figure.add_subplot(cells[i, 0]) for i in range(inputs)]
    return figure, left, [[figure.add_subplot(cells[i, 1 + j]) for j in range(columns)] for i in range(outputs)]


def _titled(axes: Axes, what: str, name: str = "") -> None:
    axes.set_title(f"{what}\n{name}" if name else what, fontsize=10)


def _relative_error(y: np.ndarray, predicted: np.ndarray, space: Space) -> str:
    truth, guess = (torch.as_tensor(values).double() for values in (y, predicted))
    grid = space.grid_of(truth)
    error, norm = float(grid.norm(guess - truth)), float(grid.norm(truth))
    return f"relative L² error {error / norm:.4f}" if norm else f"L² error {error:.3g}, the truth being zero"
