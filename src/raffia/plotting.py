"""One function per picture. Each returns a matplotlib Figure and touches no global state; save it with `figure.savefig`."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics import relative_error
from raffia.spaces import Domain
from raffia.tuning import History

Array = np.ndarray | Tensor

INK, TRUTH, PREDICTION, ERROR = "#4c4c4c", "#1f6fb2", "#d1495b", "#7a5195"


def prediction(a: Array, y: Array, predicted: Array, domain: Domain | None = None) -> Figure:
    """Input, truth, prediction and pointwise error of one sample, in 1-D (fig:sample_burg) or 2-D (fig:darcy_inputoutput).

    `domain=None` means the circle in 1-D and the unit square in 2-D.
    """
    a, y, predicted = (np.asarray(values) for values in (a, y, predicted))
    if not (a.ndim == y.ndim == predicted.ndim and a.ndim in (1, 2)):
        raise RaffiaError(
            f"prediction draws one sample, arrays (points,) or (r, r); got {a.shape}, {y.shape}, {predicted.shape}. Pass a[0]."
        )
    domain = domain or Domain(a.ndim, periodic=a.ndim == 1)
    title = f"relative L² error {relative_error(y[None], predicted[None], domain.grid(*y.shape)):.4f}"
    return (_curves if a.ndim == 1 else _images)(a, y, predicted, domain, title)


def _curves(a: np.ndarray, y: np.ndarray, predicted: np.ndarray, domain: Domain, title: str) -> Figure:
    x_in, x = (domain.grid(len(values)).axes()[0].numpy() for values in (a, y))
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(x_in, a, color=INK, lw=1.2, ls=":", label="input a")
    left.plot(x, y, color=TRUTH, lw=2.2, label="truth y")
    left.plot(x, predicted, color=PREDICTION, lw=1.4, ls="--", label="prediction F(a)")
    left.legend(frameon=False)
    left.set(xlabel="x", title=title)
    right.plot(x, np.abs(predicted - y), color=ERROR, lw=1.4)
    right.set(xlabel="x", title="pointwise error |F(a) − y|")
    right.set_ylim(bottom=0)
    return figure


def _images(a: np.ndarray, y: np.ndarray, predicted: np.ndarray, domain: Domain, title: str) -> Figure:
    figure = Figure(figsize=(15, 3.6), layout="constrained")
    low, high = min(y.min(), predicted.min()), max(y.max(), predicted.max())
    extent = (0, domain.extents[0], 0, domain.extents[1])
    panels = (
        ("input a", a, "Greys", (None, None)),
        ("truth y", y, "viridis", (low, high)),
        (f"prediction F(a)\n{title}", predicted, "viridis", (low, high)),
        ("pointwise error |F(a) − y|", np.abs(predicted - y), "magma", (0, None)),
    )
    for axes, (name, values, colours, (bottom, top)) in zip(figure.subplots(1, 4), panels, strict=True):
        image = axes.imshow(values.T, origin="lower", extent=extent, cmap=colours, vmin=bottom, vmax=top)
        axes.set_title(name, fontsize=10)
        axes.set(xlabel="x₁", ylabel="x₂")
        figure.colorbar(image, ax=axes, shrink=0.85)
    return figure


def error_against_resolution(points: Sequence[int], errors: Mapping[str, Sequence[float]]) -> Figure:
    """Test error against the grid of the test, one curve a label (fig:gridtranfser_burg, fig:gridtranfser_darcy)."""
    figure = Figure(figsize=(5, 3.8), layout="constrained")
    axes = figure.subplots()
    for label, values in errors.items():
        axes.semilogx(np.asarray(points), np.asarray(values), "o-", lw=1.4, ms=4, label=label, base=2)
    axes.set_xticks(np.asarray(points), [str(p) for p in points])
    axes.set(xlabel="points along an axis of the test grid", ylabel="mean relative L² error")
    axes.set_ylim(0, 1.3 * max(float(np.max(values)) for values in errors.values()))  # a flat curve stays off the frame
    axes.legend(frameon=False)
    return figure


def error_against_features(n_features: Sequence[int], errors: Mapping[str, Sequence[float]]) -> Figure:
    """Test error against the number of features, one curve a label, with the Monte Carlo rate m^(−1/2) for comparison."""
    m = np.asarray(n_features, dtype=float)
    figure = Figure(figsize=(5, 3.8), layout="constrained")
    axes = figure.subplots()
    for label, values in errors.items():
        axes.loglog(m, np.asarray(values), "o-", lw=1.4, ms=4, label=label)
    first = max(float(np.asarray(values)[0]) for values in errors.values())
    axes.loglog(m, 1.2 * first * (m / m[0]) ** -0.5, color=INK, lw=1, ls=":", label="m^(−1/2)")
    axes.set(xlabel="number of features m", ylabel="mean relative L² error")
    axes.legend(frameon=False)
    return figure


def search(history: History) -> Figure:
    """What a search did: the validation error of its steps, and of each trial with the best so far."""
    figure = Figure(figsize=(9.2 if history.curve else 4.6, 3.4), layout="constrained")
    *left, right = figure.subplots(1, 2 if history.curve else 1, squeeze=False)[0]
    for axes in left:
        axes.semilogy(np.arange(1, len(history.curve) + 1), history.curve, color=TRUTH, lw=1.0)
        axes.set(xlabel="step", ylabel="validation error", title=f"{len(history.curve)} steps in {history.seconds:.0f} s")
    _trials(right, history)
    right.set(xlabel="trial", ylabel="validation error", title=f"{len(history.trials)} trials")
    return figure


def _trials(axes: Axes, history: History) -> None:
    """One colour a model size, since errors of larger and smaller models do not compare."""
    sizes = sorted({trial.n_features for trial in history.trials})
    for size, colour in zip(sizes, (INK, TRUTH, PREDICTION, ERROR, *["black"] * len(sizes)), strict=False):
        numbers = [i for i, trial in enumerate(history.trials, 1) if trial.n_features == size]
        errors = np.array([history.trials[i - 1].error for i in numbers])
        axes.semilogy(numbers, errors, "o", ms=3, color=colour, alpha=0.5)
        axes.semilogy(numbers, np.minimum.accumulate(errors), lw=1.4, color=colour, label=f"best with {size} features")
    axes.legend(frameon=False, fontsize=8)


def brownian_bridge(x: Array, truth: Array, x_train: Array, y_train: Array, curves: Mapping[str, Array]) -> Figure:
    """The panels of fig:bb_compare: each curve of `curves` on x, beside the truth and the training points."""
    columns = min(2, len(curves))
    rows = -(-len(curves) // columns)
    figure = Figure(figsize=(4.4 * columns, 3.0 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    for axes, (label, values) in zip(panels, curves.items(), strict=False):
        axes.plot(np.asarray(x), np.asarray(truth), color=PREDICTION, lw=1.2, label="truth")
        axes.plot(np.asarray(x), np.asarray(values), color=TRUTH, lw=1.2, label="model")
        axes.plot(np.asarray(x_train), np.asarray(y_train), "o", mfc="none", color="black", ms=4, label="training points")
        axes.set(title=label, xlim=(0, 1))
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.supxlabel("x")
    return figure
