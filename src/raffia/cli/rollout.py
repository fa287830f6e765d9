"""raffia rollout: a model of one time step, applied again and again to states in a file."""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from raffia.cli.common import app, batches, check_output, console, reading_of
from raffia.errors import RaffiaError
from raffia.model import load
from raffia.storage import atomic
from raffia.surrogate.rollouts import GROWN


@app.command()
def rollout(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit: a model of one time step.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="A file with states to begin from.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npy file to write: (n, states, *grid).")],
    steps: Annotated[int, typer.Option(min=1, help="How many steps.")],
    every: Annotated[int, typer.Option(min=1, help="Write a state after each so many steps.")] = 1,
    input_names: Annotated[
        list[str] | None, typer.Option("--input", help="Array of the states; that of the training file if not said.")
    ] = None,
) -> None:
    """Apply a model again and again, and write the path, the start first. States are written as they come, not kept in memory.

    Example: raffia rollout model.safetensors start.npz --steps 100 --output path.npy
    """
    check_output(output, ".npy")
    if every > steps:
        raise RaffiaError(f"--every must be at most --steps {steps}; got {every}.")
    model = load(model_file)
    states = reading_of(model).opened(source, input_names, first=True).values
    shape = (len(states), 1 + steps // every, *states.shape[1:])
    start = float(states.abs().max())
    grown, largest = 0, start
    with atomic(output) as temporary:
        path = np.lib.format.open_memmap(temporary, mode="w+", dtype=states.numpy().dtype, shape=shape)
        path[:, 0] = states
        for step in batches("rolling out", steps, 1):
            states = torch.as_tensor(model.predict(states))
            if tuple(states.shape) != (len(path), *shape[2:]):
                raise RaffiaError(
                    f"{model_file} does not give states of the shape it takes, {shape[2:]}, but {tuple(states.shape[1:])}: "
                    "only models of a time step can be rolled out."
                )
            largest = float(states.abs().max())
            grown = grown or (step.stop if not largest <= GROWN * start else 0)
            if step.stop % every == 0:
                path[:, step.stop // every] = states
        path.flush()
        del path
    console.print(f"wrote {shape[1]} states of {shape[0]} trajectories, {shape}, to {output}")
    if grown:
        console.print(f"values grew beyond {GROWN:g} times the largest at the start, {start:.3g}, at step {grown}.")
    else:
        console.print(f"values stayed bounded: at most {largest:.3g} at the end, {start:.3g} at the start.")
