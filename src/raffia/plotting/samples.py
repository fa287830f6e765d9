"""One sample: its input, the truth, the prediction and the error, for functions on any space."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from raffia.data import SideSchema
from raffia.errors import RaffiaError
from raffia.plotting.layout import INK, Array, Sheet, Width, panels
from raffia.plotting.line import Curve
from raffia.plotting.views import View, views
from raffia.spaces import Domain, Space

MOST_CHANNELS, MOST_ACROSS = 16, 4

Side = Space | SideSchema
"""A space, or what a file says of functions on it."""
Row = tuple[str, np.ndarray, View]
"""Which channel, its values, and how to look at them."""


def prediction(a: Array, y: Array, predicted: Array, domain: Domain | None = None) -> Figure:
    """Draw input, truth, prediction and pointwise error of one sample, in 1D or 2D, as in fig:sample_burg of the paper.

    Parameters
    ----------
    a, y, predicted
        The input, the true output and the prediction of one sample, (*grid).
    domain
        The domain; None is the circle in 1D and the unit square in 2D.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import plotting
    >>> figure = plotting.prediction(torch.rand(32), torch.rand(32), torch.rand(32))
    """
    a, y, predicted = _arrays(a, y, predicted)
    if not (a.ndim == y.ndim == predicted.ndim and a.ndim in (1, 2)):
        raise RaffiaError(
            f"prediction draws one sample, arrays (points,) or (r, r); got {a.shape}, {y.shape}, {predicted.shape}. Pass a[0]."
        )
    domain = domain or Domain(a.ndim, periodic=a.ndim == 1)
    if a.ndim == 2:
        return fields(a, y, predicted, domain, domain)
    figure, (left, right) = panels(2, 2, (4.5, 3.4))
    Curve(domain.grid(len(a)).axes()[0].numpy()).draw(left, a, (0, 1), color=INK, lw=1.2, ls=":", label="input a")
    output = Curve(domain.grid(len(y)).axes()[0].numpy())
    output.compare([left, right], y, predicted)
    left.set_title(_relative_error(y, predicted, domain))
    _titled(right, output.titles[1])
    return figure


def fields(
    a: Array,
    y: Array,
    predicted: Array,
    input: Side,
    output: Side | None = None,
    title: str | None = None,
    widths: Sequence[float] | None = None,
) -> Figure:
    """Draw input, truth, prediction and pointwise error of one sample on any space.

    There is a row for each of the first sixteen channels of the output, or for each of three slices in 3D.

    Parameters
    ----------
    a, y, predicted
        The input, the true output and the prediction of one sample, each (*grid) or (channels, *grid).
    input, output
        The spaces of input and output, or the sides of the schema of a file. `output=None` is the same as the input.
    title
        The title; None writes the relative error.
    widths
        Half the width of a band around curves: one number, or one for each channel or component.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, plotting
    >>> a = torch.rand(32)
    >>> figure = plotting.fields(a, a, a, Domain(1))
    """
    a, y, predicted = _arrays(a, y, predicted)
    given, wanted = _side(input), _side(input if output is None else output)
    for name, values, side in (("a", a, given), ("y", y, wanted), ("predicted", predicted, wanted)):
        if values.ndim != side.space.ndim:
            raise RaffiaError(
                f"fields draws one sample, {name} on {side.space} with {side.space.ndim} axes; got {values.shape}. Pass {name}[0]."
            )
    if y.shape != predicted.shape:
        raise RaffiaError(f"y and predicted must have one shape; got {y.shape} and {predicted.shape}.")
    inputs, outputs = _rows(a, given), _rows(y, wanted)
    guesses = [guess for _, guess, _ in _rows(predicted, wanted)]
    sheet, input_panels, output_panels = _layout(inputs, outputs, heading=title != "")
    for axes, (name, values, view) in zip(input_panels, inputs, strict=True):
        view.show(axes, values, "Greys")
        _titled(axes, "input a", name)
    bands = _bands(widths, wanted.space, len(outputs))
    for row, (name, truth, view), guess, width in zip(output_panels, outputs, guesses, bands, strict=True):
        view.compare(row, truth, guess, width)
        for axes, what in zip(row, view.titles, strict=True):
            _titled(axes, what, name)
    if title != "":
        sheet.figure.suptitle(title or _relative_error(y, predicted, wanted.space), fontsize=11)
    return sheet.figure


def pair(a: Array, y: Array, input: Side, output: Side | None = None) -> Figure:
    """Draw the input and the output of one sample, in a panel for each channel.

    Parameters
    ----------
    a, y
        The input and the output, each (*grid) or (channels, *grid).
    input, output
        Their spaces, or the sides of the schema of a file. `output=None` is the same as the input.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, plotting
    >>> figure = plotting.pair(torch.rand(32), torch.rand(32), Domain(1))
    """
    a, y = _arrays(a, y)
    inputs = [("input a", *row) for row in _rows(a, _side(input))]
    outputs = [("output y", *row) for row in _rows(y, _side(input if output is None else output))]
    if len(inputs) + len(outputs) <= MOST_ACROSS:
        rows = [[*inputs, *outputs]]
    else:
        rows = [side[i : i + MOST_ACROSS] for side in (inputs, outputs) for i in range(0, len(side), MOST_ACROSS)]
    sheet = Sheet(len(rows), max(map(len, rows)), [view.ratio for *_, view in (*inputs, *outputs)])
    for i, row in enumerate(rows):
        for j, (side, name, values, view) in enumerate(row):
            axes = sheet.panel(i, j)
            view.show(axes, values, "viridis")
            view.outline(axes)
            _titled(axes, side, name)
    return sheet.figure


def _side(side: Side) -> SideSchema:
    return SideSchema(space=side) if isinstance(side, Space) else side


def _bands(widths: Sequence[float] | None, space: Space, rows: int) -> list[Width]:
    """Half of the width of the band of each row: of each channel, or of all components of a vector together."""
    if widths is None:
        return [None] * rows
    if space.one_channel is space:
        return [widths[0] if len(widths) == 1 else np.asarray(widths)] * rows
    return [widths[min(i, len(widths) - 1)] for i in range(rows)]


def _arrays(*arrays: Array) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values) for values in arrays)


def _rows(values: np.ndarray, side: SideSchema) -> list[Row]:
    """Every channel of the first sixteen, or every view of the only one."""
    space, names, one = side.space, side.names, side.space.one_channel
    space.grid_of(torch.as_tensor(values))
    channels = values if space.ndim > one.ndim else values[None]
    shown, count = views(one, channels.shape[1:], side.frame, names), channels.shape[-1 - one.ndim]
    if count == 1:
        alone = names[0] if len(names) == 1 and len(names[0]) > 1 and not one.tabular else ""
        return [(", ".join(filter(None, (alone, view.where))), np.asarray(channels[0]), view) for view in shown]
    suffix = ("" if count <= MOST_CHANNELS else f" of {count}") + (shown[0].where and f", {shown[0].where}")
    named = names if len(names) == count else [f"channel {i}" for i in range(count)]
    return [(f"{named[i]}{suffix}", channels[i], shown[0]) for i in range(min(count, MOST_CHANNELS))]


def _layout(inputs: list[Row], outputs: list[Row], heading: bool) -> tuple[Sheet, list[Axes], list[list[Axes]]]:
    """Inputs to the left of the outputs; above them, if there are more of them."""
    columns, above = len(outputs[0][2].titles), len(inputs) > len(outputs)
    ratios = [view.ratio for _, _, view in (*inputs, *outputs)]
    if above:
        across = max(min(len(inputs), MOST_ACROSS), columns)
        first = -(-len(inputs) // across)
        sheet = Sheet(first + len(outputs), across, ratios, heading)
        places, shift = [divmod(i, across) for i in range(len(inputs))], (first, 0)
    else:
        sheet = Sheet(len(outputs), 1 + columns, ratios, heading)
        places, shift = [(i, 0) for i in range(len(inputs))], (0, 1)
    left = [sheet.panel(*place) for place in places]
    return sheet, left, [[sheet.panel(shift[0] + i, shift[1] + j) for j in range(columns)] for i in range(len(outputs))]


def _titled(axes: Axes, what: str, name: str = "") -> None:
    axes.set_title(f"{what}\n{name}" if name else what, fontsize=10, y=1.0, pad=11)  # above a power of ten


def _relative_error(y: np.ndarray, predicted: np.ndarray, space: Space) -> str:
    truth, guess = (torch.as_tensor(values).double() for values in (y, predicted))
    grid = space.grid_of(truth)
    error, norm = float(grid.norm(guess - truth)), float(grid.norm(truth))
    return f"relative L² error {error / norm:.4f}" if norm else f"L² error {error:.3g}, the truth being zero"
