"""Where errors are large: against the parameters of inputs, along the rows of a file or a series, and by group."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from raffia.errors import RaffiaError
from raffia.plotting.style import ERROR, INK, TRUTH, Array, panel

MOST_PANELS, MOST_GROUPS = 12, 24
LABEL = "relative L² error"


def errors_against_parameters(a: Array, errors: Array, names: Sequence[str] | None = None) -> Figure:
    """The error of each sample against each of its parameters, (n, size): a panel for each of the first twelve."""
    values, off = _numbers(a), _numbers(errors)
    if values.ndim != 2 or off.shape != (len(values),):
        raise RaffiaError(
            f"errors_against_parameters draws parameters (n, size) and n errors; got {values.shape} and {off.shape}."
        )
    size = values.shape[1]
    labels = list(names) if names is not None and len(names) == size else [f"parameter {i}" for i in range(size)]
    count = min(size, MOST_PANELS)
    columns = min(count, 3)
    figure = Figure(figsize=(2.8 * columns + 0.6, 2.6 * -(-count // columns) + 0.2), layout="constrained")
    for i, axes in enumerate(figure.subplots(-(-count // columns), columns, squeeze=False, sharey=True).flat):
        if i >= count:
            axes.remove()
            continue
        _dots(axes, values[:, i], off)
        axes.set(xlabel=labels[i], ylabel=LABEL if i % columns == 0 else "")
        axes.xaxis.set_major_locator(MaxNLocator(5))
    if size > count:
        figure.suptitle(f"the first {count} of {size} parameters", fontsize=11)
    return figure


def errors_along(places: Array, errors: Array, label: str) -> Figure:
    """The error of each sample against its place: the row of a file, or the step of a series; with the median of each tenth of them."""
    at, off = _numbers(places), _numbers(errors)
    if at.shape != off.shape or at.ndim != 1:
        raise RaffiaError(f"errors_along draws n places and n errors; got {at.shape} and {off.shape}.")
    figure, axes = panel(5.1, 3.0)
    _dots(axes, at, off)
    parts = [part for part in np.array_split(np.argsort(at, kind="stable"), 10) if len(part) and np.isfinite(off[part]).any()]
    if len(at) >= 20:
        middle = [float(np.nanmedian(np.where(np.isfinite(off[part]), off[part], np.nan))) for part in parts]
        axes.plot([float(at[part].mean()) for part in parts], middle, color=INK, lw=1.4, label="median of a tenth")
        axes.legend(frameon=False, fontsize=8)
    axes.set(xlabel=label, ylabel=LABEL)
    return figure


def errors_by_group(groups: Sequence[object], errors: Array) -> Figure:
    """The errors of the samples of each group, in a column with their median; of many groups, the worst."""
    off, names = _numbers(errors), np.array([str(group) for group in groups])
    if names.shape != off.shape:
        raise RaffiaError(f"errors_by_group draws a group and an error for each sample; got {len(names)} and {off.shape}.")
    known = sorted(dict.fromkeys(names.tolist()), key=lambda name: -_median(off[names == name]))
    shown = known[:MOST_GROUPS]
    figure, axes = panel(max(3.4, min(8.0, 0.45 * len(shown) + 1.6)), 3.4)
    for place, name in enumerate(shown):
        inside = off[names == name]
        _dots(axes, np.full(len(inside), place), inside)
        axes.plot([place - 0.3, place + 0.3], [_median(inside)] * 2, color=INK, lw=1.6)
    axes.set_xticks(range(len(shown)), [name[:18] for name in shown], rotation=60 if len(shown) > 4 else 0)
    axes.set(ylabel=LABEL, title=f"the worst {len(shown)} of {len(known)} groups" if len(known) > len(shown) else "")
    return figure


def _dots(axes: Axes, at: np.ndarray, errors: np.ndarray) -> None:
    """Errors on a logarithmic scale; those that are zero or not finite have no place on it."""
    axes.plot(at, np.where(errors > 0, errors, np.nan), "o", color=ERROR, ms=3.5, alpha=0.6, mew=0)
    if (np.isfinite(errors) & (errors > 0)).any():
        axes.set_yscale("log")
        few = float(np.nanmax(errors)) < 30 * float(errors[errors > 0].min())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.grid(axis="y", color=TRUTH, alpha=0.15)


def _median(errors: np.ndarray) -> float:
    finite = errors[np.isfinite(errors)]
    return float(np.median(finite)) if len(finite) else 0.0


def _numbers(values: Array) -> np.ndarray:
    return torch.as_tensor(values).detach().double().cpu().numpy()
