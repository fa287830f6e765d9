"""One sample: its input, the truth, the prediction and the error, for functions on any space."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.plotting.style import ERROR, INK, PREDICTION, TRUTH, Array
from raffia.plotting.views import Bars, Curve, Field, Line, View, views
from raffia.spaces import Channels, Domain, Space

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
    _line_panels([left, right], y, predicted, Curve(domain.grid(len(y)).axes()[0].numpy()))
    left.set_title(_relative_error(y, predicted, domain))
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
    columns = 2 if isinstance(outputs[0][2], Line) else 3
    height = max(np.clip(view.ratio, 0.4, 1.6) * (WIDTH - BESIDE) + BELOW for _, _, view in (*inputs, *outputs))
    figure, input_panels, output_panels = _layout(len(inputs), len(outputs), columns, float(height))
    for axes, (name, values, view) in zip(input_panels, inputs, strict=True):
        _one_panel(axes, "input a", name, values, view, "Greys")
    for panels, (name, truth, view), guess in zip(output_panels, outputs, guesses, strict=True):
        if isinstance(view, Line):
            _line_panels(panels, truth, guess, view, name)
        elif isinstance(view, Field):
            _field_panels(panels, truth, guess, view, name)
    said = _relative_error(y, predicted, output_space) if title is None else title
    if said:
        figure.suptitle(said, fontsize=11)
    return figure


def pair(a: Array, y: Array, input_space: Space, output_space: Space | None = None) -> Figure:
    """The input and the output of one sample, a panel for each of the first four channels, or for each of three slices in 3-D."""
    a, y = _arrays(a, y)
    sides = (("input a", _rows(a, input_space)), ("output y", _rows(y, output_space or input_space)))
    panels = [(side, *row) for side, rows in sides for row in rows]
    height = max(np.clip(view.ratio, 0.4, 1.6) * (WIDTH - BESIDE) + BELOW for *_, view in panels)
    figure = Figure(figsize=(WIDTH * len(panels), float(height) + 0.3), layout=ConstrainedLayoutEngine(wspace=0.05))
    for axes, (side, name, values, view) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _one_panel(axes, side, name, values, view, "viridis")
    return figure


def _arrays(*arrays: Array) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values) for values in arrays)


def _rows(values: np.ndarray, space: Space) -> list[Row]:
    """Every channel of the first four, or every view of the only one."""
    if isinstance(space, Channels):
        space.grid_of(torch.as_tensor(values))
        if space.count > 1:
            shown = min(space.count, MOST_CHANNELS)
            view = views(space.of, values.shape[1:])[0]
            return [(_of_channel(i, space.count, view.where), values[i], view) for i in range(shown)]
        values, space = values[0], space.of
    space.grid_of(torch.as_tensor(values))
    return [(view.where, values, view) for view in views(space, values.shape)]


def _of_channel(number: int, count: int, where: str) -> str:
    channel = f"channel {number}" if count <= MOST_CHANNELS else f"channel {number} of {count}"
    return f"{channel}, {where}" if where else channel


def _layout(inputs: int, outputs: int, columns: int, height: float) -> tuple[Figure, list[Axes], list[list[Axes]]]:
    """Inputs to the left of the outputs; above them, if there are more of them."""
    above = inputs > outputs
    across = max(inputs, columns) if above else 1 + columns
    figure = Figure(figsize=(WIDTH * across, height * (outputs + above) + 0.3), layout=ConstrainedLayoutEngine(wspace=0.05))
    if above:
        first, second = figure.subfigures(2, 1, height_ratios=(1, outputs), squeeze=False)[:, 0]
        return (
            figure,
            list(first.subplots(1, inputs, squeeze=False)[0]),
            second.subplots(outputs, columns, squeeze=False).tolist(),
        )
    cells = figure.add_gridspec(outputs, across)
    left = [figure.add_subplot(cells[i, 0]) for i in range(inputs)]
    return figure, left, [[figure.add_subplot(cells[i, 1 + j]) for j in range(columns)] for i in range(outputs)]


def _titled(axes: Axes, what: str, name: str) -> None:
    axes.set_title(f"{what}\n{name}" if name else what, fontsize=10)


def _one_panel(axes: Axes, what: str, name: str, values: np.ndarray, view: View, colours: str) -> None:
    if isinstance(view, Line):
        view.draw(axes, values, (0, 1), color=INK, lw=1.4)
        view.frame(axes)
    elif isinstance(view, Field):
        _coloured(axes, view, values, _limits(view.pick(values)), colours)
    _titled(axes, what, name)


def _line_panels(panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray, view: Line, name: str = "") -> None:
    both, error = panels
    view.draw(both, truth, (0, 2), color=TRUTH, lw=2.2, label="truth y")
    view.draw(both, guess, (1, 2), color=PREDICTION, lw=1.4, ls="--", label="prediction F(a)")
    view.frame(both)
    if isinstance(view, Bars):
        low, high = both.get_ylim()
        both.set_ylim(low, high + 0.25 * (high - low))  # bars leave no room for a legend
        both.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)
    else:
        both.legend(frameon=False, fontsize=8)
    _titled(both, "truth and prediction", name)
    off = np.asarray(np.abs(guess - truth))
    view.draw(error, off, (0, 1), color=ERROR, lw=1.4)
    view.frame(error)
    error.set_ylim(0, 1.15 * _limits(off)[1] or 1.0)  # a constant stays off the frame
    _titled(error, "pointwise error |F(a) − y|", name)


def _field_panels(panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray, view: Field, name: str = "") -> None:
    error = np.abs(guess - truth)
    shared = _limits(view.pick(truth), view.pick(guess))
    shown: Iterable[tuple[str, np.ndarray, tuple[float, float], str]] = (
        ("truth y", truth, shared, "viridis"),
        ("prediction F(a)", guess, shared, "viridis"),
        ("pointwise error |F(a) − y|", error, (0.0, _limits(view.pick(error))[1]), "magma"),
    )
    for axes, (what, values, limits, colours) in zip(panels, shown, strict=True):
        _coloured(axes, view, values, limits, colours)
        _titled(axes, what, name)


def _coloured(axes: Axes, view: Field, values: np.ndarray, limits: tuple[float, float], colours: str) -> None:
    shown = view.draw(axes, values, limits, colours)
    view.frame(axes)
    axes.figure.colorbar(shown, cax=axes.inset_axes((1.04, 0, 0.05, 1)))  # inset: as high as the panel


def _limits(*arrays: np.ndarray) -> tuple[float, float]:
    """The least and the greatest finite value."""
    values: Any = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def _relative_error(y: np.ndarray, predicted: np.ndarray, space: Space) -> str:
    truth, guess = (torch.as_tensor(values).double() for values in (y, predicted))
    grid = space.grid_of(truth)
    error, norm = float(grid.norm(guess - truth)), float(grid.norm(truth))
    return f"relative L² error {error / norm:.4f}" if norm else f"L² error {error:.3g}, the truth being zero"
