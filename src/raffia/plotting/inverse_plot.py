"""The posterior mean and standard deviation of an unknown function, with the truth where that is known."""

from typing import cast

import numpy as np
from matplotlib.figure import Figure

from raffia.errors import RaffiaError
from raffia.plotting.field import Field
from raffia.plotting.layout import INK, PREDICTION, TRUTH, Array, Sheet, as_numpy, limits, panels
from raffia.plotting.line import Curve
from raffia.plotting.views import views
from raffia.spaces import Domain


def posterior(
    mean: Array, std: Array, truth: Array | None = None, domain: Domain | None = None, positions: Array | None = None
) -> Figure:
    """Draw the mean and the standard deviation of an unknown function: a line with a band of two deviations, or two images.

    Parameters
    ----------
    mean, std
        The mean and the standard deviation at each node, (*grid).
    truth
        The true function, (*grid), if it is known.
    domain
        The domain; None is the circle in 1D and the unit square in 2D.
    positions
        Where data were observed, (points,) or (points, dim).

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import plotting
    >>> figure = plotting.posterior(torch.rand(32), torch.full((32,), 0.1))
    """
    mean, std = as_numpy(mean), as_numpy(std)
    truth = None if truth is None else as_numpy(truth)
    places = None if positions is None else as_numpy(positions).reshape(len(positions), -1)
    if mean.ndim not in (1, 2) or {mean.shape} != {std.shape, mean.shape if truth is None else truth.shape}:
        shapes = ", ".join(str(f.shape) for f in (mean, std, truth) if f is not None)
        raise RaffiaError(f"posterior draws one function, arrays (points,) or (r, r) of one shape; got {shapes}.")
    domain = domain or Domain(mean.ndim, periodic=mean.ndim == 1)
    if mean.ndim == 1:
        return _curve(Curve(domain.grid(len(mean)).axes()[0].numpy()), mean, std, truth, places)
    (view,) = views(domain, mean.shape)
    return _images(cast(Field, view), mean, std, truth, places)


def _curve(view: Curve, mean: np.ndarray, std: np.ndarray, truth: np.ndarray | None, places: np.ndarray | None) -> Figure:
    figure, (axes,) = panels(1, 1, (6.5, 3.2))
    order = np.argsort(view.x)
    low, high = (mean - 2 * std)[order], (mean + 2 * std)[order]
    axes.fill_between(view.x[order], low, high, color=PREDICTION, alpha=0.18, lw=0, label="± 2 standard deviations")
    if truth is not None:
        view.draw(axes, truth, (0, 2), color=TRUTH, lw=2.2, label="truth")
    view.draw(axes, mean, (1, 2), color=PREDICTION, lw=1.4, ls="--", label="posterior mean")
    view.frame(axes)
    if places is not None:
        bottom = axes.get_ylim()[0]
        axes.plot(places[:, 0], np.full(len(places), bottom), "|", color=INK, ms=9, label="observed at", clip_on=False)
        axes.set_ylim(bottom=bottom)
    view.legend(axes)
    return figure


def _images(view: Field, mean: np.ndarray, std: np.ndarray, truth: np.ndarray | None, places: np.ndarray | None) -> Figure:
    shared = limits(mean) if truth is None else limits(mean, truth)
    shown = [] if truth is None else [("truth", truth, "viridis", shared)]
    shown += [("posterior mean", mean, "viridis", shared), ("standard deviation", std, "magma", (0.0, limits(std)[1]))]
    sheet = Sheet(1, len(shown), [view.ratio])
    for column, (title, values, colours, ends) in enumerate(shown):
        axes = sheet.panel(0, column)
        view.show(axes, values, colours, ends)
        axes.set_title(title, fontsize=10, y=1.0, pad=11)
        if places is not None:
            axes.plot(places[:, 0], places[:, 1], "o", ms=3, mfc="white", mec="black", mew=0.5)
    return sheet.figure
