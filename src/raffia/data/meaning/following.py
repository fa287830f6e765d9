"""How trajectories lie in another file than that of the training: as there, unless names of axes, times or lengths tell otherwise."""

from collections.abc import Sequence
from dataclasses import replace

from raffia.data.meaning.names import Variables, in_file, pick, shown
from raffia.data.meaning.smoothness import Look
from raffia.data.meaning.steps import Steps
from raffia.data.meaning.times import by_name, told
from raffia.data.meaning.trajectory_axes import samples_axis, swapped, time_axis
from raffia.data.readers import Variable
from raffia.errors import RaffiaError

State = tuple[int, ...] | None


def followed(
    path: object, arrays: Variables, trained: Steps, names: Sequence[str], state: State
) -> tuple[Variables, Steps, Variable | None, list[str]]:
    """The arrays and parts of them that are meant, how trajectories lie in them, which they are, and what to say; None for single states.

    `names` are arrays of states that were asked for, in place of those of the training; `state` is the shape of a state there.
    """
    steps = trained.called(path, names) if names else trained
    wanted = [*names] if names else [n for n in trained.arrays if n not in arrays and n.partition("[")[0] in arrays]
    missing = [name for name in wanted if name not in arrays]
    if missing:
        apart = [
            replace(v, name=n) if in_file(n) else v for n, v in zip(missing, pick(path, arrays, missing, "input"), strict=True)
        ]
        arrays = arrays | dict(zip(missing, apart, strict=True))
    v = steps.found(arrays)
    if v is None or (names and len(names) == len(trained.inputs) > len(trained.arrays)):
        return arrays, steps, None, []
    if len(v.shape) == steps.ndim:
        steps, notes = _lying(path, v, arrays, steps, state)
        return arrays, steps, v, notes
    several = replace(steps, ndim=steps.ndim + 1, axis=steps.axis + 1, samples=0)
    if steps.samples is None and len(v.shape) == several.ndim and (state is None or several.state(v.shape) == state):
        note = f"{v.name} {shown(v.shape)} is taken for {v.shape[0]} trajectories, where the training had one."
        return arrays, several, v, [note]
    return arrays, steps, None, []


def _lying(path: object, v: Variable, arrays: Variables, steps: Steps, state: State) -> tuple[Steps, list[str]]:
    """Return the axes of time and of trajectories, those of the training or others, and notes."""
    fits = state is None or steps.state(v.shape) == state
    axis, reason = told(v, arrays)
    if axis is not None:
        other = _with(v, arrays, replace(steps, axis=axis, samples=None), steps.samples, state)
        if (other.axis, other.samples) != (steps.axis, steps.samples) and (
            by_name(v) is not None or not fits or (axis != steps.axis and other.state(v.shape) == state)
        ):
            return other, [_note(v, other, steps, reason)]
        return steps, []
    look = Look(v)
    if fits and steps.samples is not None and swapped(look, steps.axis, steps.samples):
        other = replace(steps, axis=steps.samples, samples=steps.axis)
        return other, [_note(v, other, steps, "as states there are like their neighbours")]
    others = [place for place in range(steps.ndim) if place not in (steps.axis, steps.samples)]
    others = [place for place in others if replace(steps, axis=place).state(v.shape) == state]
    guess = None if fits or not others else time_axis(look, steps.samples, arrays)
    if fits or not others or (guess is not None and guess[0] == steps.axis):
        return steps, []
    if guess is not None and guess[0] in others:
        other = replace(steps, axis=guess[0])
        return other, [_note(v, other, steps, guess[1])]
    raise RaffiaError(
        f"{path}: {v.name} {shown(v.shape)} must have time along axis {steps.axis}, as in the training; states of {shown(state or ())}, as "
        f"there, it has only with time along axis {others[0]}. Pass a file that is laid out like that of the training, or one with times: "
        f"an array t beside {v.name}, or an axis that is called time."
    )


def _with(v: Variable, arrays: Variables, steps: Steps, trained: int | None, state: State) -> Steps:
    """Steps along an axis, with the axis of trajectories: by names, as that which leaves states of the training, or by coordinates."""
    if trained is None and steps.state(v.shape) == state:
        return steps
    found, _ = samples_axis(Look(v), steps.axis, arrays, [])
    places = [place for place in range(steps.ndim) if place != steps.axis]
    fitting = [place for place in places if replace(steps, samples=place).state(v.shape) == state]
    if found not in fitting and fitting:
        found = trained if trained in fitting else fitting[0]
    return replace(steps, samples=found)


def _note(v: Variable, steps: Steps, trained: Steps, reason: str) -> str:
    along = "" if steps.samples == trained.samples or steps.samples is None else f" and trajectories along axis {steps.samples}"
    return f"{v.name} has time along axis {steps.axis}{along}, {reason}; in the training it was axis {trained.axis}."
