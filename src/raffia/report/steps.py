"""The section of a report on models of time steps, applied again and again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from raffia import plotting
from raffia.plotting import Labels
from raffia.report.page import Picture, Section
from raffia.report.words import sentence
from raffia.spaces import Space

CHANNELS = 2  # that pictures show, at most


@dataclass(frozen=True, eq=False)
class StepAfterStep:
    """How a model of time steps does on trajectories held out: errors after 1, 2, … steps, and some paths, the best to the worst.

    `truth` and `predicted` are states (paths, states, *state) in a `space`; a correlation with the truth above `alike` is a good one.
    """

    words: str
    errors: Sequence[float]
    correlations: Sequence[float]
    alike: float
    truth: Tensor
    predicted: Tensor
    space: Space
    labels: Labels = ()

    @property
    def section(self) -> Section:
        """Errors against time, spectra, and the median and the worst path."""
        function = bool(self.space.dim) and not self.space.tabular
        figure = plotting.errors_in_time(np.array(self.errors), np.array(self.correlations) if function else None, self.alike)
        beside = " and correlation with the truth" if function else ""
        pictures = [Picture.of(figure, f"Mean relative error{beside} of the model applied again and again, against the steps.")]
        return Section(
            "Step after step", "rollout", lead=sentence(self.words), pictures=[*pictures, *self._spectra(), *self._paths()]
        )

    def _spectra(self) -> list[Picture]:
        one = self.space.one_channel
        if not one.gridded or not one.dim:
            return []
        truth, predicted = (self._channel(states, 0) for states in (self.truth, self.predicted))
        of = ", the first channel" if self.space.has_components else ""
        over = f"a mean over {len(truth)} trajectories held out" if len(truth) > 1 else "of the trajectory held out"
        words = f"Spectra{of}: the mean square in waves of each number, {over}."
        return [Picture.of(plotting.spectra(truth, predicted, one), words)]  # type: ignore[arg-type]  # what is gridded is a Domain

    def _paths(self) -> list[Picture]:
        pictures = []
        count = min(CHANNELS, self.truth.shape[2]) if self.space.has_components and not self.space.tabular else 1
        last = len(self.truth) - 1
        for row, name in {last // 2: "The median", last: "The worst"}.items():
            for channel in range(count):
                truth, predicted = (self._channel(states, channel)[row] for states in (self.truth, self.predicted))
                figure = plotting.evolution(truth, predicted, self.space.one_channel, self.labels)
                of = f", channel {channel}" if count > 1 else ""
                words = (
                    f"{name} trajectory of those held out, by its error at the end{of}."
                    if last
                    else f"The trajectory held out{of}."
                )
                pictures.append(Picture.of(figure, words))
        return pictures

    def _channel(self, states: Tensor, channel: int) -> Tensor:
        return states[:, :, channel] if self.space.has_components and not self.space.tabular else states
