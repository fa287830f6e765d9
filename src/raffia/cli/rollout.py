"""raffia rollout: a model of time steps, applied again and again to states in a file."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from raffia.cli.common import batches, check_output, say_novel
from raffia.cli.console import app, console
from raffia.cli.options import reading
from raffia.data import ReadingOptions
from raffia.data.paths import Paths, growing_paths
from raffia.data.readers.writing import GROWING
from raffia.errors import RaffiaError
from raffia.model import load
from raffia.model.time_stepping import Lost
from raffia.surrogate.rollouts import GROWN, usual_value

STARTS = 1024
"""First states that are compared with the training data."""
TOGETHER = 2**22
"""Values of the states that are computed at once."""


@app.command()
@reading("input", input="Array of the states; that of the training file if not given.")
def rollout(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit: a model of time steps.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="A file with states, or trajectories, to begin from.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help=f"The file to write, like that of the training: {' '.join(GROWING)}.")
    ],
    steps: Annotated[int, typer.Option(min=1, help="How many steps.")],
    options: ReadingOptions,
    every: Annotated[int, typer.Option(min=1, help="Write a state after each so many steps.")] = 1,
) -> None:
    """Apply a model again and again, and write all states, the start first. They are written as they are computed.

    Paths are laid out as the trajectories of the training were, so that they can be read again.
    Of trajectories, the first states are where paths begin: as many as the model takes, and the newest of them is the start.

    Example: raffia rollout model.safetensors start.npz --steps 100 --output path.npy
    """
    check_output(output, GROWING)
    if every > steps:
        raise RaffiaError(f"--every must be at most --steps {steps}; got {every}.")
    model = load(model_file)
    schema = model.trained_.file_schema
    opened = schema.opened(source, options.input, first=True)
    for note in opened.notes:
        console.print(note, style="dim", soft_wrap=True)
    one = opened.read(range(1))
    say_novel(model, opened.read(range(min(len(opened), STARTS))))
    begin = torch.as_tensor(next(model.states(one)))
    n, size = len(opened), max(1, TOGETHER // one.numel())
    count, paths = 1 + steps // every, Paths.of(opened, schema.steps, begin, output.suffix)
    shape = next(iter(paths.shapes(begin, count, n).values()))
    blocks = [range(first, min(first + size, n)) for first in range(0, n, size)]
    largest, lost = np.zeros(steps + 1), Lost(n)
    with growing_paths(output, paths, schema.steps, begin, count, size) as arrays:
        for places in batches("rolling out", len(blocks) * (steps + 1), steps + 1):
            rows = blocks[places.start // (steps + 1)]
            for step, state in enumerate(islice(model.states(opened.read(rows)), steps + 1)):
                values = torch.as_tensor(state)
                finite = lost.look(step, values, rows.start)
                if not finite.any():
                    paths.lose(arrays, rows, -(-step // every))
                    break
                largest[step] = max(largest[step], float(values[finite].abs().max()))
                if step % every == 0:
                    values = torch.where(finite.reshape(-1, *(1 for _ in values.shape[1:])), values, torch.nan)
                    paths.write(arrays, rows, step // every, values)
    console.print(f"wrote {count} states of {n} trajectories, {shape}, to {output}")
    if schema.steps is not None and schema.steps.stride > 1:
        console.print(f"a step is {schema.steps.stride} steps of the training file.")
    console.print(_summary(largest, lost, usual_value(model)))


def _summary(largest: np.ndarray, lost: Lost, usual: float) -> str:
    """Whether values stayed bounded, by the largest after each step and the usual ones of the training."""
    start = largest[0]
    size, of = (start, "the largest at the start") if start >= usual else (usual, "the usual size of the training outputs")
    missing = f"{lost.words}, and missing (NaN) in the file" if lost.words else ""
    grown = np.flatnonzero(largest > GROWN * size)
    if len(grown):
        return f"values grew beyond {GROWN:g} times {of}, {size:.3g}, at step {grown[0]}{missing and f'; {missing}'}."
    return f"{missing or f'values stayed bounded: at most {largest[-1]:.3g} at the end, {start:.3g} at the start'}."
