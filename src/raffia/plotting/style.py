"""What the pictures share: colours and scales."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter
from torch import Tensor

Array = np.ndarray | Tensor
Width = float | np.ndarray | None
"""Half of the width of a band: one for all of a function, one for each component of a vector, or no band."""

INK, TRUTH, PREDICTION, ERROR = "#4c4c4c", "#1f6fb2", "#d1495b", "#7a5195"


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of so many inches, with one panel."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


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
