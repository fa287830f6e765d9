"""Many samples at once: how errors spread, and numbers predicted against the truth."""

from collections.abc import Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from raffia.errors import RaffiaError
from raffia.plotting.style import ERROR, INK, PREDICTION, TRUTH, Array, panel

MOST_PANELS = 8


def errors(errors: Array) -> Figure:
    """How many samples have which relative error, on a logarithmic scale; the median and the worst are marked.

    The median is the lower one of two, so that it is the error of a sample. Errors of zero count as the least there is; errors that
    are not finite are left out and counted in the title.
    """
    values = torch.as_tensor(errors).detach().double().cpu().flatten().numpy()
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        raise RaffiaError(f"errors needs at least one finite error; got {len(values)} that are not.")
    figure, axes = panel(5.1, 3.0)
    least = float(min(finite[finite > 0], default=1e-16))
    shown = np.maximum(finite, least)
    low, high = least / 1.05, float(shown[-1]) * 1.05
    bins = np.geomspace(low, high, int(np.clip(2 * np.sqrt(len(finite)), 8, 40)) + 1)
    axes.hist(shown, bins.tolist(), color=ERROR, alpha=0.55)
    median = float(shown[(len(shown) - 1) // 2])
    axes.axvline(median, color=TRUTH, lw=1.6, label=f"median {median:.3g}")
    axes.axvline(float(shown[-1]), color=PREDICTION, lw=1.6, ls="--", label=f"worst {shown[-1]:.3g}")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 30 * low else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    left_out = len(values) - len(finite)
    axes.set(xlabel="relative L² error", ylabel="samples", title=f"{left_out} errors are not finite" if left_out else "")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return figure


def parity(y: Array, predicted: Array, labels: Sequence[str] | None = None) -> Figure:
    """Predicted against true numbers, (n,) or (n, size), with the diagonal on which they agree: a panel for each of the first eight."""
    truth, guess = (torch.as_tensor(values).detach().double().cpu().numpy() for values in (y, predicted))
    if truth.shape != guess.shape or truth.ndim not in (1, 2):
        raise RaffiaError(f"parity draws y and predicted (n,) or (n, size) of one shape; got {truth.shape} and {guess.shape}.")
    truth, guess = (values.reshape(len(values), -1) for values in (truth, guess))
    size = truth.shape[1]
    if labels is None:
        labels = [f"component {i}" for i in range(size)] if size > 1 else [""]
    if len(labels) != size:
        raise RaffiaError(f"parity(labels=…) needs {size} of them, one a component; got {len(labels)}.")
    count = min(size, MOST_PANELS)
    columns = min(count, 4)
    rows = -(-count // columns)
    figure = Figure(figsize=(3.1 * columns + 0.2, 3.1 * rows + 0.2), layout="constrained")
    for i, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        if i >= count:
            axes.remove()
            continue
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
