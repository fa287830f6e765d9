"""Errors of many samples: how they spread, where they are large, and predictions against the truth."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from raffia.errors import RaffiaError
from raffia.plotting.layout import ERROR, INK, PREDICTION, TRUTH, Array, as_numpy, log_ticks, panels, positive

MOST_PARAMETERS, MOST_COMPONENTS, MOST_GROUPS = 12, 8, 24
"""Panels of parameters and of components, and groups, that are drawn."""
LABEL = "relative L² error"


def errors(errors: Array) -> Figure:
    """Draw a histogram of relative errors on a logarithmic scale, with the median and the worst marked.

    Parameters
    ----------
    errors
        The error of each sample, (n,). Errors that are not finite are left out, and counted in the title.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.errors(np.geomspace(0.01, 0.1, 50))
    """
    values = as_numpy(errors).ravel()
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        raise RaffiaError(f"errors needs at least one finite error; got {len(values)} that are not.")
    figure, (axes,) = panels(1, 1, (5.1, 3.0))
    least = float(min(finite[finite > 0], default=1e-16))
    shown = np.maximum(finite, least)
    low, high = least / 1.05, float(shown[-1]) * 1.05
    bins = np.geomspace(low, high, int(np.clip(2 * np.sqrt(len(finite)), 8, 40)) + 1)
    axes.hist(shown, bins.tolist(), color=ERROR, alpha=0.55)
    median = float(shown[(len(shown) - 1) // 2])
    axes.axvline(median, color=TRUTH, lw=1.6, label=f"median {median:.3g}")
    axes.axvline(float(shown[-1]), color=PREDICTION, lw=1.6, ls="--", label=f"worst {shown[-1]:.3g}")
    axes.set_xscale("log")
    log_ticks(axes.xaxis, low, high)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    left_out = len(values) - len(finite)
    axes.set(xlabel=LABEL, ylabel="samples", title=f"{left_out} errors are not finite" if left_out else "")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return figure


def parity(y: Array, predicted: Array, labels: Sequence[str] | None = None) -> Figure:
    """Draw predicted against true numbers, with the diagonal on which they are equal, in a panel for each of the first eight.

    Parameters
    ----------
    y, predicted
        Numbers, (n,) or (n, size).
    labels
        The names of the numbers.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.parity(np.random.rand(50), np.random.rand(50))
    """
    truth, guess = as_numpy(y), as_numpy(predicted)
    if truth.shape != guess.shape or truth.ndim not in (1, 2):
        raise RaffiaError(f"parity draws y and predicted (n,) or (n, size) of one shape; got {truth.shape} and {guess.shape}.")
    truth, guess = (values.reshape(len(values), -1) for values in (truth, guess))
    size = truth.shape[1]
    labels = labels or ([f"component {i}" for i in range(size)] if size > 1 else [""])
    if len(labels) != size:
        raise RaffiaError(f"parity(labels=…) needs {size} of them, one a component; got {len(labels)}.")
    count = min(size, MOST_COMPONENTS)
    figure, every = panels(count, 4, (3.2, 3.2))
    for i, axes in enumerate(every):
        both = np.concatenate((truth[:, i], guess[:, i]))
        both = both[np.isfinite(both)] if np.isfinite(both).any() else np.array([0.0, 1.0])
        margin = 0.05 * (float(np.ptp(both)) or abs(float(both[0])) or 1.0)
        ends = (float(both.min()) - margin, float(both.max()) + margin)
        axes.plot(ends, ends, color=INK, lw=0.9)
        axes.plot(truth[:, i], guess[:, i], "o", color=TRUTH, ms=3.5, alpha=0.6, mew=0)
        axes.set(xlabel="truth", ylabel="prediction", xlim=ends, ylim=ends, aspect="equal")
        axes.locator_params(nbins=5)
        axes.set_title(labels[i], fontsize=10)
    if size > count:
        figure.suptitle(f"the first {count} of {size} components", fontsize=11)
    return figure


def errors_against_parameters(a: Array, errors: Array, names: Sequence[str] | None = None) -> Figure:
    """Draw the error of each sample against each of its parameters, in a panel for each of the first twelve.

    Parameters
    ----------
    a
        Parameters, (n, size).
    errors
        Errors, (n,).
    names
        The names of the parameters.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.errors_against_parameters(np.random.rand(50, 2), np.geomspace(0.01, 0.1, 50), ["load", "stiffness"])
    """
    values, off = as_numpy(a), as_numpy(errors)
    size = values.shape[1]
    labels = list(names) if names is not None and len(names) == size else [f"parameter {i}" for i in range(size)]
    count = min(size, MOST_PARAMETERS)
    figure, every = panels(count, 3, (2.9, 2.7), sharey=True)
    for i, axes in enumerate(every):
        _dots(axes, values[:, i], off)
        axes.set(xlabel=labels[i], ylabel=LABEL if i % 3 == 0 else "")
        axes.xaxis.set_major_locator(MaxNLocator(5))
    if size > count:
        figure.suptitle(f"the first {count} of {size} parameters", fontsize=11)
    return figure


def errors_along(places: Array, errors: Array, label: str) -> Figure:
    """Draw the error of each sample against its position in the data, with medians: do errors change along a file or a series?

    Parameters
    ----------
    places
        The row or the step of each sample, (n,).
    errors
        Errors, (n,).
    label
        The label of the horizontal axis.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.errors_along(np.arange(50), np.geomspace(0.01, 0.1, 50), "row")
    """
    at, off = as_numpy(places), as_numpy(errors)
    figure, (axes,) = panels(1, 1, (5.1, 3.0))
    _dots(axes, at, off)
    parts = [part for part in np.array_split(np.argsort(at, kind="stable"), 10) if len(part) and np.isfinite(off[part]).any()]
    if len(at) >= 20:
        middle = [float(np.nanmedian(np.where(np.isfinite(off[part]), off[part], np.nan))) for part in parts]
        axes.plot([float(at[part].mean()) for part in parts], middle, color=INK, lw=1.4, label="median of a tenth")
        axes.legend(frameon=False, fontsize=8)
    axes.set(xlabel=label, ylabel=LABEL)
    return figure


def errors_by_group(groups: Sequence[object], errors: Array) -> Figure:
    """Draw the errors of each group of samples in a column, with their median. Of many groups, the worst are shown.

    Parameters
    ----------
    groups
        The label of each sample, n of them.
    errors
        Errors, (n,).

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.errors_by_group(["left", "right"] * 25, np.geomspace(0.01, 0.1, 50))
    """
    off, names = as_numpy(errors), np.array([str(group) for group in groups])
    known = sorted(dict.fromkeys(names.tolist()), key=lambda name: -_median(off[names == name]))
    shown = known[:MOST_GROUPS]
    figure, (axes,) = panels(1, 1, (max(3.4, min(8.0, 0.45 * len(shown) + 1.6)), 3.4))
    for place, name in enumerate(shown):
        inside = off[names == name]
        _dots(axes, np.full(len(inside), place), inside)
        axes.plot([place - 0.3, place + 0.3], [_median(inside)] * 2, color=INK, lw=1.6)
    axes.set_xticks(range(len(shown)), [name[:18] for name in shown], rotation=60 if len(shown) > 4 else 0)
    axes.set(ylabel=LABEL, title=f"the worst {len(shown)} of {len(known)} groups" if len(known) > len(shown) else "")
    return figure


def _dots(axes: Axes, at: np.ndarray, errors: np.ndarray) -> None:
    """Errors on a logarithmic scale; those that are zero or not finite have no place on it."""
    shown = positive(errors)
    axes.plot(at, shown, "o", color=ERROR, ms=3.5, alpha=0.6, mew=0)
    if np.isfinite(shown).any():
        axes.set_yscale("log")
        log_ticks(axes.yaxis, float(np.nanmin(shown)), float(np.nanmax(shown)))
        axes.grid(axis="y", color=TRUTH, alpha=0.15)


def _median(errors: np.ndarray) -> float:
    finite = errors[np.isfinite(errors)]
    return float(np.median(finite)) if len(finite) else 0.0
