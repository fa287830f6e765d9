"""The panels of the paper with the authors' curve and ours on the same axes."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

COLOURS = ("#1f6fb2", "#d1495b", "#3a7d44", "#7a5195", "#e08e0b", "#00798c", "#8d6a4f", "#4c4c4c")

Curves = Mapping[str, Sequence[float] | np.ndarray]
NONE: Curves = MappingProxyType({})


def panels(count: int) -> tuple[Figure, list[Axes]]:
    """Side by side."""
    figure = Figure(figsize=(5.2 * count, 4.4), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def compare(
    axes: Axes, x: Sequence[int], labels: tuple[str, str], *, authors: Curves, fresh: Mapping[str, Any], same: Curves = NONE
) -> None:
    """One colour a label: black rings the authors, a line ours with their draws, a band the range of ours with fresh draws, (seeds, x)."""
    for colour, label in zip(COLOURS, fresh or same, strict=False):
        if label in authors:
            axes.plot(x[: len(authors[label])], authors[label], "o", mfc="none", color="black", ms=7, zorder=3)
        if label in same:
            axes.plot(x, same[label], "-", color=colour, lw=1.5)
        if label in fresh:
            values = np.asarray(fresh[label])
            axes.fill_between(x, values.min(0), values.max(0), color=colour, alpha=0.25, lw=0)
            axes.plot(x, values.mean(0), "." if label in same else ".-", color=colour, ms=6, lw=1.2)
        axes.plot([], [], "-", color=colour, label=label)
    axes.plot([], [], "o", mfc="none", color="black", label="authors")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(x, [str(value) for value in x])
    axes.minorticks_off()
    axes.set(xlabel=labels[0], ylabel=labels[1])
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7) if high < 30 * low else (1,)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
