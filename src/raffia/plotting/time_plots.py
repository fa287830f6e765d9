"""A model of one step, applied again and again: errors against time, and one trajectory compared with the true one."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from raffia.metrics.spectrum import spectrum
from raffia.plotting.field import Field
from raffia.plotting.layout import ERROR, INK, PREDICTION, TRUTH, Array, Sheet, as_numpy, limits, log_ticks, panels, positive
from raffia.plotting.line import Curve
from raffia.plotting.ruler import Labels
from raffia.plotting.views import views
from raffia.spaces import Domain, Space

FRAMES, TIMES, COMPONENTS = 4, 3, 4  # times of frames, times of spectra, components of a vector, at most
LOST, FAINT = 1e3, 1e-16  # relative errors that pictures end at, and the least share of a spectrum that they show
SPACE_TIME = 1.1  # the height of a picture of space and time, over its width
TITLES = ("truth", "prediction", "|difference|")


def errors_in_time(errors: Array, correlations: Array | None = None, alike: float = 0.9) -> Figure:
    """Draw the mean relative error after 1, 2, … steps, and the correlation with the truth.

    Parameters
    ----------
    errors
        The mean error after each step, (steps,).
    correlations
        The correlation after each step, (steps,), or None.
    alike
        The step where the correlation falls below this value is marked.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> from raffia import plotting
    >>> figure = plotting.errors_in_time(np.geomspace(0.001, 0.1, 20))
    """
    off = as_numpy(errors)
    steps = np.arange(1, len(off) + 1)
    count = 1 if correlations is None else 2
    figure, (left, *right) = panels(count, 2, (4.3, 3.0))
    left.semilogy(steps, positive(off), "o-", color=ERROR, ms=3, lw=1.2)
    left.set(xlabel="steps", ylabel="mean relative L² error")
    if (positive(off) > LOST).any():
        left.set_ylim(np.nanmin(positive(off)) / 2, LOST)
    log_ticks(left.yaxis, np.nanmin(positive(off), initial=np.inf), np.nanmax(np.minimum(positive(off), LOST), initial=0.0))
    for axes in right:
        values = as_numpy(correlations if correlations is not None else [])
        axes.plot(steps, values, "o-", color=TRUTH, ms=3, lw=1.2)
        axes.axhline(alike, color=INK, lw=1, ls=":")
        below = np.flatnonzero(values < alike)
        if len(below):
            axes.axvline(steps[below[0]], color=PREDICTION, lw=1, ls="--", label=f"below {alike:g} at step {steps[below[0]]}")
            axes.legend(frameon=False, fontsize=8)
        axes.set(xlabel="steps", ylabel="correlation with the truth", ylim=(min(0.0, float(values.min())) - 0.05, 1.05))
    for axes in figure.axes:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.grid(color=TRUTH, alpha=0.12)
    return figure


def spectra(truth: Tensor, predicted: Tensor, domain: Domain) -> Figure:
    """Draw the mean spectra of predicted and true states, after a few of the steps.

    Parameters
    ----------
    truth, predicted
        States of several trajectories, (n, states, *grid).
    domain
        Their domain.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, plotting
    >>> u = torch.rand(3, 10, 32)
    >>> figure = plotting.spectra(u, u, Domain(1))
    """
    times, waves = _spread(truth.shape[1], TIMES), slice(1, min(truth.shape[2:]) // 2 + 1)
    true, guess = ([spectrum(u[:, step], domain).mean(0).numpy()[waves] for step in times] for u in (truth, predicted))
    largest, least = max(float(e.max()) for e in true) or 1.0, min(float(e.min()) for e in true)
    figure, every = panels(len(times), TIMES, (3.0, 2.9), sharey=True)
    for i, axes in enumerate(every):
        axes.loglog(np.arange(1, len(true[i]) + 1), positive(true[i]), color=TRUTH, lw=2.2, label="truth")
        axes.loglog(np.arange(1, len(guess[i]) + 1), positive(guess[i]), color=PREDICTION, label="prediction")
        if not (guess[i] <= LOST * largest).any():  # what is lost does not set the scale
            axes.text(0.5, 0.92, "prediction above", color=PREDICTION, ha="center", transform=axes.transAxes, fontsize=9)
        axes.set(xlabel="waves across the domain", ylim=(max(least, FAINT * largest) / 3, LOST * largest))
        axes.set_title(_after(times[i]), fontsize=10)
        axes.grid(color=TRUTH, alpha=0.12)
    figure.axes[0].set_ylabel("mean square")
    figure.axes[0].legend(frameon=False, fontsize=8)
    return figure


def evolution(truth: Tensor, predicted: Tensor, space: Space, labels: Labels = ()) -> Figure:
    """Draw one trajectory and its prediction: curves in time, pictures of space and time, or rows of frames.

    Parameters
    ----------
    truth, predicted
        States of one channel, (states, *grid).
    space
        The space of the states.
    labels
        Names and units of the axes.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia import Domain, plotting
    >>> u = torch.rand(10, 32)
    >>> figure = plotting.evolution(u, u, Domain(1))
    """
    true, guess = as_numpy(truth), as_numpy(predicted)
    if space.tabular or space.dim == 0:
        return _series(true.reshape(len(true), -1), guess.reshape(len(true), -1))
    view = views(space, true.shape[1:], labels)[0]
    return _space_time(true, guess, view) if space.dim == 1 else _frames(true, guess, view)  # type: ignore[arg-type]


def _series(truth: np.ndarray, guess: np.ndarray) -> Figure:
    count, steps = min(COMPONENTS, truth.shape[1]), np.arange(len(truth))
    figure, every = panels(count, 1, (6.2, 1.9), sharex=True)
    for i, axes in enumerate(every):
        axes.plot(steps, truth[:, i], color=TRUTH, lw=2.2, label="truth")
        axes.plot(steps, guess[:, i], color=PREDICTION, lw=1.4, ls="--", label="prediction")
        axes.set_ylabel(f"component {i}" if truth.shape[1] > 1 else "value")
        _keep(axes, truth[:, i])
    figure.axes[0].legend(frameon=False, fontsize=8, ncols=2)
    figure.axes[-1].set_xlabel("steps")
    return figure


def _space_time(truth: np.ndarray, guess: np.ndarray, view: Curve) -> Figure:
    order, steps = np.argsort(view.x, kind="stable"), len(truth) - 1
    x = view.x[order]

    def paint(axes: Axes, values: np.ndarray, **colours: Any) -> ScalarMappable:
        return axes.pcolormesh(x, np.arange(steps + 1), values, shading="nearest", rasterized=True, **colours)

    plane = (float(x[0]), float(x[-1]), -0.5, steps + 0.5)
    field = Field(pick=lambda values: values[:, order], paint=paint, box=plane, labels=(view.name, "steps"), ratio=SPACE_TIME)
    sheet = Sheet(1, 3, [field.ratio])
    for i, (values, colours, ends) in enumerate(_compared(truth, guess)):
        axes = sheet.panel(0, i)
        field.show(axes, values, colours, ends)
        axes.set_title(TITLES[i], fontsize=10, y=1.0, pad=11)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    return sheet.figure


def _compared(truth: np.ndarray, guess: np.ndarray) -> list[tuple[np.ndarray, str, tuple[float, float]]]:
    """Truth, prediction and error, with their colours, whose scales what is lost does not set."""
    shared, error = limits(truth), np.abs(guess - truth)
    worst = min(limits(error)[1], 2 * (shared[1] - shared[0]) or np.inf)
    return [(truth, "viridis", shared), (guess, "viridis", shared), (error, "magma", (0.0, worst))]


def _frames(truth: np.ndarray, guess: np.ndarray, view: Field) -> Figure:
    times = _spread(len(truth), FRAMES)
    height = float(np.clip(view.ratio, 0.4, 1.6))
    figure = Figure(figsize=(2.1 * len(times) + 0.5, 3 * 1.9 * height + 1.9), layout="constrained")
    rows = figure.subplots(3, len(times), squeeze=False)
    for j, step in enumerate(times):
        compared = _compared(view.pick(truth[step]), view.pick(guess[step]))
        images = [view.draw(axes, *shown) for axes, shown in zip(rows[:, j], compared, strict=True)]
        for image, where in ((images[1], rows[:2, j]), (images[2], rows[2, j])):
            bar = figure.colorbar(image, ax=where, location="bottom", fraction=0.05, pad=0.02, aspect=25)
            bar.ax.tick_params(labelsize=7)
            bar.ax.locator_params(nbins=3)
        rows[0, j].set_title(_after(step), fontsize=10)
    for row, title in zip(rows, TITLES, strict=True):
        for axes in row:
            axes.set(xticks=[], yticks=[])
        row[0].set_ylabel(title)
    return figure


def _keep(axes: Axes, truth: np.ndarray) -> None:
    """What has grown without bounds leaves the panel, which the truth fills."""
    low, high = limits(truth)
    room = 0.6 * (high - low) or 1.0
    axes.set_ylim(low - room, high + room)


def _spread(states: int, count: int) -> list[int]:
    """Some of the steps 1, 2, …, from the first to the last."""
    last = states - 1
    return sorted({max(1, round(1 + (last - 1) * i / max(1, count - 1))) for i in range(count)})


def _after(step: int) -> str:
    return f"after {step} step{'s' if step > 1 else ''}"
