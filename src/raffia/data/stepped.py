"""How files are read for a model of trajectories: as those of its training, or as the arrays that it was given in memory."""

from dataclasses import replace

from raffia.data.along import Along
from raffia.data.dataset import Dataset
from raffia.data.meaning.steps import Steps
from raffia.data.schema import ArrayLayout, AxisLabel, SideSchema
from raffia.data.source import Schema, Source
from raffia.spaces import Space

STATES, FIXED = "u", "parameters"  # what arrays in memory are called, as the arguments of `Dataset.of_trajectories` are


def schema_for(data: Dataset, source: Source | None) -> Schema | None:
    """How a file is read for a model of these pairs; None where nothing is known of files, and pairs are no steps."""
    if source is None:
        return None if data.along is None else _of_arrays(data, data.along)
    schema, steps = source.schema, source.steps
    if steps is None or data.along is None or data.along.window == steps.window:
        return schema
    wider = replace(steps, window=data.along.window)
    own = len(schema.input.layouts) - len(steps.fixed)
    layouts = (*schema.input.layouts[:own] * (wider.window // steps.window), *schema.input.layouts[own:])
    input = replace(schema.input, names=tuple(wider.inputs), space=data.domain, layouts=layouts, shape=tuple(data.a.shape[1:]))
    return replace(schema, input=input, output=replace(schema.output, names=tuple(wider.outputs)), steps=wider)


def _of_arrays(data: Dataset, along: Along) -> Schema:
    """Trajectories (n, states, *state), and numbers beside them, as `Dataset.of_trajectories` takes them."""
    output = data.output_space
    channels = data.y.shape[1] // along.horizon if output.has_components and not output.tabular else 1
    axes = output.one_channel.ndim + (channels > 1)
    fixed = (FIXED,) if along.fixed else ()
    steps = Steps(STATES, 2 + axes, 1, along.stride, along.window, along.horizon, (), fixed)
    state = ArrayLayout(channel=0, count=channels) if channels > 1 else ArrayLayout()
    layouts = (*(state for _ in range(along.window)), *(ArrayLayout() for _ in fixed)), (state,) * along.horizon
    input, output_side = (
        SideSchema(space=space, names=tuple(names), layouts=layout, shape=tuple(values.shape[1:]), frame=_frame(space))
        for space, names, layout, values in zip(
            (data.domain, output), (steps.inputs, steps.outputs), layouts, (data.a, data.y), strict=True
        )
    )
    return Schema(input=input, output=output_side, steps=steps)


def _frame(space: Space) -> tuple[AxisLabel, ...]:
    one = space.one_channel
    return tuple(AxisLabel() for _ in range(one.dim)) if one.gridded else ()
