"""Panels of one size in rows, placed by inches: to have a layout found takes minutes where there are many."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from raffia.plotting.views import View

LEFT, WIDTH, RIGHT = 0.8, 2.0, 0.65  # of the labels of a panel, of itself, and of its bar of colours
ABOVE, BELOW = 0.6, 0.45  # its title, and the labels of its axis
HEADING = 0.3  # of the figure


class Sheet:
    """A figure with room for `rows` of `across` panels, each as high as the highest of these views."""

    def __init__(self, rows: int, across: int, views: list[View], heading: bool = False) -> None:
        self.height = max(float(np.clip(view.ratio, 0.4, 1.6)) for view in views) * WIDTH
        self.cell = (LEFT + WIDTH + RIGHT, ABOVE + self.height + BELOW)
        size = (across * self.cell[0], rows * self.cell[1] + HEADING * heading)
        self.figure, self.size, self.rows = Figure(figsize=size), size, rows

    def panel(self, row: int, column: int) -> Axes:
        """The panel there, counted from above and from the left."""
        left, bottom = column * self.cell[0] + LEFT, (self.rows - 1 - row) * self.cell[1] + BELOW
        place = (left / self.size[0], bottom / self.size[1], WIDTH / self.size[0], self.height / self.size[1])
        axes = self.figure.add_axes(place)
        axes.tick_params(labelsize=9)
        axes.xaxis.label.set_fontsize(10)
        axes.yaxis.label.set_fontsize(10)
        return axes
