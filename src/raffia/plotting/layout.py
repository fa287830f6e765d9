"""What the pictures share: colours, scales, and where panels are."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, ScalarFormatter
from torch import Tensor

Array = np.ndarray | Tensor
Width = float | np.ndarray | None
"""Half of the width of a band: one for all of a function, one for each component of a vector, or no band."""

FEW_POWERS = 30
"""The ratio of the ends of a logarithmic axis below which it has ticks at 1, 2 and 5."""
LEFT, WIDTH, RIGHT, ABOVE, BELOW, HEADING = 0.8, 2.0, 0.65, 0.6, 0.45, 0.3
"""Inches of a panel on a sheet: its labels, itself, its bar of colours, its title, the labels below; and the heading of the figure."""
INK, TRUTH, PREDICTION, ERROR = "#4c4c4c", "#1f6fb2", "#d1495b", "#7a5195"


def limits(*arrays: np.ndarray) -> tuple[float, float]:
    """The least and the greatest finite value; 0 and 1 if there is none."""
    values = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)


def short_numbers(axes: Axes) -> None:
    """Have very large and very small numbers of the vertical axis written with a common power of ten."""
    formatter = ScalarFormatter(useMathText=True)
    formatter.set_powerlimits((-2, 4))
    axes.yaxis.set_major_formatter(formatter)
    axes.yaxis.get_offset_text().set_fontsize(8)


def as_numpy(values: Array | Sequence[float]) -> np.ndarray:
    """Values as a float64 array on the CPU."""
    return torch.as_tensor(values).detach().double().cpu().numpy()


def positive(values: np.ndarray) -> np.ndarray:
    """The values that a logarithmic scale can show; NaN for the others."""
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def log_ticks(axis: Axis, low: float, high: float) -> None:
    """Plain numbers on a logarithmic axis; 1, 2 and 5 of each power of ten where few powers are shown."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < FEW_POWERS * low else (1,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter("")


def panels(
    count: int, columns: int, size: tuple[float, float], sharex: bool = False, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels of so many inches in rows of at most `columns`."""
    across = min(count, columns)
    down = -(-count // across)
    figure = Figure(figsize=(size[0] * across, size[1] * down), layout="constrained")
    every = list(figure.subplots(down, across, squeeze=False, sharex=sharex, sharey=sharey).flat)
    for unused in every[count:]:
        unused.remove()
    return figure, every[:count]


class Sheet:
    """A figure of `rows` of `across` panels of one size, placed by inches: a constrained layout of many panels takes minutes.

    Panels are as high as the highest of `ratios`, heights over widths, asks for.
    """

    def __init__(self, rows: int, across: int, ratios: Sequence[float], heading: bool = False) -> None:
        self.height = max(float(np.clip(ratio, 0.4, 1.6)) for ratio in ratios) * WIDTH
        self.cell = (LEFT + WIDTH + RIGHT, ABOVE + self.height + BELOW)
        size = (across * self.cell[0], rows * self.cell[1] + HEADING * heading)
        self.figure, self.size, self.rows = Figure(figsize=size), size, rows

    def panel(self, row: int, column: int) -> Axes:
        """The panel there, counted from above and from the left."""
        left, bottom = column * self.cell[0] + LEFT, (self.rows - 1 - row) * self.cell[1] + BELOW
        place = (left / self.size[0], bottom / self.size[1], WIDTH / self.size[0], self.height / self.size[1])
        axes = self.figure.add_axes(place)
        axes.tick_params(labelsize=9)
        axes.xaxis.label.set_fontsize(10)
        axes.yaxis.label.set_fontsize(10)
        return axes
