"""The section about models of time steps: errors against time, spectra, and some trajectories."""

from collections.abc import Iterator

from torch import Tensor

from raffia import plotting
from raffia.pages import Picture, Section
from raffia.plotting import Labels
from raffia.report.wording import sentence
from raffia.spaces import Domain, Space
from raffia.surrogate.rollouts import ALIKE, Rollout

States = tuple[Tensor, Tensor]
"""True and predicted states, each (trajectories, steps, *state)."""
MOST_CHANNELS = 2
"""Channels that pictures show."""


def rollout_section(rollout: Rollout | None, labels: Labels) -> Section | None:
    """Errors after 1, 2, … steps, spectra, and the median and the worst trajectory; None without a rollout."""
    if rollout is None or rollout.truth is None or rollout.predicted is None or rollout.space is None:
        return None
    space, states = rollout.space, (rollout.truth, rollout.predicted)
    function = bool(space.dim) and not space.tabular
    figure = plotting.errors_in_time(rollout.errors, rollout.correlations if function else None, ALIKE)
    correlation = " and correlation with the truth" if function else ""
    first = Picture.of(figure, f"Mean relative error{correlation} of the model applied again and again, against the steps.")
    pictures = [first, *_spectra(space, states), *_trajectories(space, states, labels)]
    return Section(title="Step after step", anchor="rollout", lead=sentence(rollout.words), pictures=pictures)


def _spectra(space: Space, states: States) -> Iterator[Picture]:
    if isinstance(space.one_channel, Domain) and space.one_channel.dim:
        channel = ", the first channel" if space.has_components else ""
        count = len(states[0])
        over = f"a mean over {count} trajectories held out" if count > 1 else "of the trajectory held out"
        truth, predicted = _channel(space, states, 0)
        figure = plotting.spectra(truth, predicted, space.one_channel)
        yield Picture.of(figure, f"Spectra{channel}: the mean square in waves of each number, {over}.")


def _trajectories(space: Space, states: States, labels: Labels) -> Iterator[Picture]:
    channelled = space.has_components and not space.tabular
    count, last = min(MOST_CHANNELS, states[0].shape[2]) if channelled else 1, len(states[0]) - 1
    for row, name in {last // 2: "The median", last: "The worst"}.items():
        for channel in range(count):
            truth, predicted = (values[row] for values in _channel(space, states, channel))
            figure = plotting.evolution(truth, predicted, space.one_channel, labels)
            of = f", channel {channel}" if count > 1 else ""
            several = f"{name} trajectory of those held out, by its error at the end{of}."
            yield Picture.of(figure, several if last else f"The trajectory held out{of}.")


def _channel(space: Space, states: States, channel: int) -> States:
    """One channel of the true and the predicted states."""
    if not space.has_components or space.tabular:
        return states
    return states[0][:, :, channel], states[1][:, :, channel]
