"""Functions of two coordinates, or slices in two of more, as colours: images, triangles and dots."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.tri import Triangulation

from raffia.plotting.layout import Width, limits, short_numbers

MOST_TRIANGLES = 20_000  # more are a black field


@dataclass(frozen=True, kw_only=True)
class Field:
    """Values as colours in the plane of two coordinates, so that each function has a panel and a bar."""

    titles: ClassVar = ("truth y", "prediction F(a)", "pointwise error |F(a) − y|")
    """What the panels that compare a prediction with the truth show."""
    pick: Callable[[np.ndarray], np.ndarray]
    """The values of a function that are shown."""
    paint: Callable[..., ScalarMappable]
    """paint(axes, picked, cmap=…, vmin=…, vmax=…) shows them."""
    box: tuple[float, float, float, float]
    """Left, right, bottom and top; a side may be the larger one, where coordinates descend."""
    labels: tuple[str, str]
    """Of the coordinates to the right and upward."""
    ratio: float
    """How high the panel is, for its width."""
    where: str = ""
    """Which part of the function is shown, if it is not the whole."""
    triangulation: Triangulation | None = None
    """Between the nodes of a mesh."""

    def draw(self, axes: Axes, values: np.ndarray, colours: str, ends: tuple[float, float]) -> ScalarMappable:
        """Show picked values in colours, from the least to the greatest value of `ends`."""
        shown = self.paint(axes, values, cmap=colours, vmin=ends[0], vmax=ends[1])
        axes.set(xlim=sorted(self.box[:2]), ylim=sorted(self.box[2:]))
        axes.set_box_aspect(self.ratio)
        return shown

    def show(self, axes: Axes, values: np.ndarray, colours: str, ends: tuple[float, float] | None = None) -> None:
        """One function with its bar of colours, between its least and greatest value unless `ends` is given."""
        picked = self.pick(values)
        shown = self.draw(axes, picked, colours, limits(picked) if ends is None else ends)
        axes.set(xlabel=self.labels[0], ylabel=self.labels[1])
        axes.locator_params(nbins=5)
        bar = axes.inset_axes((1.04, 0, 0.05, 1))  # as high as the panel
        axes.figure.colorbar(shown, cax=bar)
        bar.tick_params(labelsize=8)
        short_numbers(bar)

    def outline(self, axes: Axes) -> None:
        """Show the triangles of a mesh, unless there are too many to tell them apart."""
        if self.triangulation is not None and len(self.triangulation.triangles) <= MOST_TRIANGLES:
            axes.triplot(self.triangulation, color="black", lw=0.2, alpha=0.5)

    def compare(self, panels: Sequence[Axes], truth: np.ndarray, guess: np.ndarray, width: Width = None) -> None:
        """A panel for each of `titles`; truth and prediction share a scale of colours. A band has no place in it."""
        error, shared = np.abs(guess - truth), limits(self.pick(truth), self.pick(guess))
        self.show(panels[0], truth, "viridis", shared)
        self.show(panels[1], guess, "viridis", shared)
        self.show(panels[2], error, "magma", (0.0, limits(self.pick(error))[1]))
