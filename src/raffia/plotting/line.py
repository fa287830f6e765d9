"""Functions of one coordinate: curves, and the bars of a vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from raffia.plotting.layout import ERROR, INK, PREDICTION, TRUTH, Width, limits, short_numbers

MOST_NAMES = 12  # of components, under their bars


@dataclass(frozen=True)
class Curve:
    """Values against x, from left to right, so that several functions share a panel."""

    titles: ClassVar = ("truth and prediction", "pointwise error |F(a) − y|")
    """What the panels that compare a prediction with the truth show."""
    where: ClassVar = ""
    """The whole function is shown."""
    ratio: ClassVar = 0.9
    """The height of the panel over its width."""
    x: np.ndarray
    name: str = "x"

    def draw(self, axes: Axes, values: np.ndarray, place: tuple[int, int], **style: Any) -> None:
        """Add a function; `place` is its number and how many there will be."""
        order = np.argsort(self.x, kind="stable")
        axes.plot(self.x[order], values.reshape(-1)[order], **({"marker": "o"} if len(self.x) == 1 else {}) | style)

    def band(self, axes: Axes, values: np.ndarray, width: Width) -> None:
        """Show how far from the values the truth may be."""
        order, middle = np.argsort(self.x, kind="stable"), values.reshape(-1)
        low, high = (middle - width)[order], (middle + width)[order]
        axes.fill_between(self.x[order], low, high, color=PREDICTION, alpha=0.18, lw=0, label="band")

    def frame(self, axes: Axes) -> None:
        """Label the axes."""
        axes.set_xlabel(self.name)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        short_numbers(axes)

    def outline(self, axes: Axes) -> None:
        """Curves show where their values are."""

    def legend(self, axes: Axes) -> None:
        """Say which function is which."""
        axes.legend(fontsize=7, framealpha=0.7, edgecolor="none", borderpad=0.2)

    def show(self, axes: Axes, values: np.ndarray, colours: str) -> None:
        """One function alone, in ink whatever the colours."""
        self.draw(axes, values, (0, 1), color=INK, lw=1.4)
        self.frame(axes)

    def compare(self, panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray, width: Width = None) -> None:
        """A panel for each of `titles`, with a band around the prediction if it has a width."""
        both, error = panels
        if width is not None:
            self.band(both, guess, width)
        self.draw(both, truth, (0, 2), color=TRUTH, lw=2.2, label="truth y")
        self.draw(both, guess, (1, 2), color=PREDICTION, lw=1.4, ls="--", label="prediction F(a)")
        self.frame(both)
        self.legend(both)
        off = np.asarray(np.abs(guess - truth))
        self.draw(error, off, (0, 1), color=ERROR, lw=1.4)
        self.frame(error)
        error.set_ylim(0, 1.15 * limits(off)[1] or 1.0)  # a constant stays off the frame


@dataclass(frozen=True)
class Bars(Curve):
    """A bar for each component, side by side with those of other vectors."""

    names: Sequence[str] = ()
    """Of the components, if there is one for each."""

    @property
    def size(self) -> int:
        """How many components there are."""
        return len(self.x)

    def band(self, axes: Axes, values: np.ndarray, width: Width) -> None:
        """A bracket around each bar of the prediction, the second of two."""
        axes.errorbar(self.x + 0.2, values.reshape(-1), width, fmt="none", ecolor=INK, capsize=3, label="band")

    def draw(self, axes: Axes, values: np.ndarray, place: tuple[int, int], **style: Any) -> None:
        """Bars, with their values above if these are few."""
        number, count = place
        width = 0.8 / count
        x = self.x + (number - (count - 1) / 2) * width
        bars = axes.bar(x, values.reshape(-1), width, color=style.get("color"), label=style.get("label"))
        axes.axhline(0, color="black", lw=0.6)
        if self.size * count <= 4:
            axes.bar_label(bars, fmt="%.3g", fontsize=8, padding=2)
            axes.margins(y=0.15)

    def frame(self, axes: Axes) -> None:
        """Number the components."""
        if self.size == 1:
            axes.set(xticks=[], xlim=(-1, 1), xlabel="".join(self.names))
        elif self.names and self.size <= MOST_NAMES:
            turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if self.size > 3 else {}
            axes.set_xticks(self.x, self.names, **turned)
        else:
            axes.set_xlabel("component")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    def legend(self, axes: Axes) -> None:
        """Above the bars, which leave no room for it."""
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.25 * (high - low))
        axes.legend(frameon=False, fontsize=7, loc="upper center", ncols=2, columnspacing=0.8, handlelength=1.2)
