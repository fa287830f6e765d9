"""Errors against sizes, searches, and the Brownian bridge of the paper."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from raffia.plotting.layout import ERROR, INK, PREDICTION, TRUTH, Array, panels
from raffia.tuning import History


def error_against_resolution(points: Sequence[int], errors: Mapping[str, Sequence[float]]) -> Figure:
    """Draw test errors against the resolution of the test grid, as in fig:gridtranfser_burg of the paper.

    Parameters
    ----------
    points
        The numbers of points along an axis.
    errors
        For each label its errors, one for each of `points`.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> from raffia.plotting import error_against_resolution
    >>> figure = error_against_resolution([64, 128, 256], {"trained on 64 points": [0.03, 0.03, 0.03]})
    """
    figure, (axes,) = panels(1, 1, (5.0, 3.8))
    for label, values in errors.items():
        axes.semilogx(np.asarray(points), np.asarray(values), "o-", lw=1.4, ms=4, label=label, base=2)
    axes.set_xticks(np.asarray(points), [str(p) for p in points])
    axes.set(xlabel="points along an axis of the test grid", ylabel="mean relative L² error")
    axes.set_ylim(0, 1.3 * max(float(np.max(values)) for values in errors.values()))  # a flat curve stays off the frame
    axes.legend(frameon=False)
    return figure


def search(history: History) -> Figure:
    """Draw what a search did: the validation error of its steps, and of each trial with the best so far.

    Parameters
    ----------
    history
        `model.history_` after `model.tune`.

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    See `examples/plot_06_tuning.py` in the gallery.

    >>> from raffia import plotting
    >>> from raffia.tuning import History, Trial
    >>> figure = plotting.search(History([Trial({"ridge": 1e-3}, 0.2), Trial({"ridge": 1e-6}, 0.1)], curve=[0.2, 0.1]))
    """
    figure, (*left, right) = panels(2 if history.curve else 1, 2, (4.6, 3.4))
    for axes in left:
        axes.semilogy(np.arange(1, len(history.curve) + 1), history.curve, color=TRUTH, lw=1.0)
        axes.set(xlabel="step", ylabel="validation error", title=f"{len(history.curve)} steps in {history.seconds:.0f} s")
    sizes = sorted(
        {trial.n_features for trial in history.trials}
    )  # a colour each: errors of larger and smaller models do not compare
    for size, colour in zip(sizes, (INK, TRUTH, PREDICTION, ERROR, *["black"] * len(sizes)), strict=False):
        places = [i for i, trial in enumerate(history.trials, 1) if trial.n_features == size]
        errors = np.array([history.trials[i - 1].error for i in places])
        right.semilogy(places, errors, "o", ms=3, color=colour, alpha=0.5)
        label = f"best with {size} features" if size else "best so far"
        right.semilogy(places, np.minimum.accumulate(errors), lw=1.4, color=colour, label=label)
    right.legend(frameon=False, fontsize=8)
    right.set(xlabel="trial", ylabel="validation error", title=f"{len(history.trials)} trials")
    return figure


def brownian_bridge(x: Array, truth: Array, x_train: Array, y_train: Array, curves: Mapping[str, Array]) -> Figure:
    """Draw predictions of a path of a Brownian bridge, with the truth and the training points, as in fig:bb_compare of the paper.

    Parameters
    ----------
    x, truth
        Points in (0, 1) and the true path there, (points,).
    x_train, y_train
        The training points, (n,).
    curves
        For each panel its title and the predicted path, (points,).

    Returns
    -------
    Figure
        A matplotlib figure; `figure.savefig("name.png")` writes it.

    Examples
    --------
    >>> import torch
    >>> from raffia.plotting import brownian_bridge
    >>> x = torch.linspace(0, 1, 50)
    >>> figure = brownian_bridge(x, x * 0, x[::10], x[::10] * 0, {"m = 100": x * 0})
    """
    figure, every = panels(len(curves), 2, (4.4, 3.0), sharex=True, sharey=True)
    for axes, (label, values) in zip(every, curves.items(), strict=True):
        axes.plot(np.asarray(x), np.asarray(truth), color=PREDICTION, lw=1.2, label="truth")
        axes.plot(np.asarray(x), np.asarray(values), color=TRUTH, lw=1.2, label="model")
        axes.plot(np.asarray(x_train), np.asarray(y_train), "o", mfc="none", color="black", ms=4, label="training points")
        axes.set(title=label, xlim=(0, 1))
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.supxlabel("x")
    return figure
