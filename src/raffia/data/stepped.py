"""How files are read for a model of trajectories: as those of its training, or as the arrays that it was given in memory."""

from dataclasses import replace

from raffia.data.along import Along
from raffia.data.dataset import Dataset
from raffia.data.meaning.layout import ArrayLayout, AxisLabel
from raffia.data.meaning.steps import Steps
from raffia.data.reading import Reading, Source
from raffia.spaces import Space

STATES, FIXED = "u", "parameters"  # what arrays in memory are called, as the arguments of `Dataset.of_trajectories` are


def reading_for(data: Dataset, source: Source | None) -> Reading | None:
    """How a file is read for a model of these pairs; None where nothing is known of files, and pairs are no steps."""
    if source is None:
        return None if data.along is None else _of_arrays(data, data.along)
    reading, steps = source.reading, source.steps
    if steps is None or data.along is None or data.along.window == steps.window:
        return reading
    wider = replace(steps, window=data.along.window)
    own = len(reading.input_layouts) - len(steps.fixed)
    layouts = (*reading.input_layouts[:own] * (wider.window // steps.window), *reading.input_layouts[own:])
    return replace(
        reading, input_names=tuple(wider.inputs), output_names=tuple(wider.outputs), domain=data.domain, input_layouts=layouts,
        input_shape=tuple(data.a.shape[1:]), steps=wider,
    )  # fmt: skip


def _of_arrays(data: Dataset, along: Along) -> Reading:
    """Trajectories (n, states, *state), and numbers beside them, as `Dataset.of_trajectories` takes them."""
    output = data.output_space
    channels = data.y.shape[1] // along.horizon if output.has_components and not output.tabular else 1
    axes = output.one_channel.ndim + (channels > 1)
    fixed = (FIXED,) if along.fixed else ()
    steps = Steps(STATES, 2 + axes, 1, along.stride, along.window, along.horizon, (), fixed)
    state = ArrayLayout(channel=0, count=channels) if channels > 1 else ArrayLayout()
    layouts = (*(state for _ in range(along.window)), *(ArrayLayout() for _ in fixed)), (state,) * along.horizon
    frames = _frame(data.domain), _frame(output)
    shapes = tuple(data.a.shape[1:]), tuple(data.y.shape[1:])
    return Reading(tuple(steps.inputs), tuple(steps.outputs), data.domain, output, *layouts, *shapes, *frames, steps=steps)


def _frame(space: Space) -> tuple[AxisLabel, ...]:
    one = space.one_channel
    return tuple(AxisLabel() for _ in range(one.dim)) if one.gridded else ()
