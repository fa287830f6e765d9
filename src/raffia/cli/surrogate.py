"""raffia generate, predict, evaluate: from files to files."""

import json
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.table import Table

from raffia import data, metrics
from raffia.checks import output_space
from raffia.cli.common import Example, app, check_output, console, generate_in_batches, predict_in_batches
from raffia.errors import RaffiaError
from raffia.files import atomic
from raffia.model import RandomFeatureModel, load
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem


@app.command()
def generate(
    problem: Annotated[Example, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npz file to write.")],
    n: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 512,
    points: Annotated[int, typer.Option(min=1, help="Grid points along an axis.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed; pair i is a function of (seed, i).")] = 0,
    viscosity: Annotated[float, typer.Option(help="Burgers: viscosity.")] = 0.01,
    final_time: Annotated[float, typer.Option("--time", help="Burgers: final time.")] = 1.0,
    low: Annotated[float, typer.Option(help="Darcy: lower value of the permeability.")] = 3.0,
    high: Annotated[float, typer.Option(help="Darcy: upper value of the permeability.")] = 12.0,
    fine_points: Annotated[int | None, typer.Option(min=3, help="Points along an axis to solve on, at least.")] = None,
) -> None:
    """Generate input-output pairs of a benchmark problem.

    Example: raffia generate burgers --n 512 --points 128 --output train.npz
    """
    chosen: Problem = {
        Example.burgers: Burgers(viscosity=viscosity, time=final_time),
        Example.darcy: Darcy(low=low, high=high),
        Example.bridge: BridgeRegression(),
    }[problem]
    if fine_points is not None:
        if problem is Example.bridge:
            raise RaffiaError("--fine-points is for problems on grids: burgers and darcy.")
        chosen.set_params(fine_points=fine_points)
    check_output(output, ".npz")
    dataset = generate_in_batches(chosen, n, points, seed)
    data.write(output, dataset)
    console.print(f"wrote {len(dataset)} pairs, a {tuple(dataset.a.shape)} and y {tuple(dataset.y.shape)}, to {output}")


@app.command()
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="A file with inputs, of any format that fit reads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .npy file to write.")],
    input_names: Annotated[
        list[str] | None,
        typer.Option("--input", help="Array of the inputs, again for more; those of the training file if not said."),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="Apply the model this many times.")] = 1,
) -> None:
    """Predict outputs for inputs in a file, on their own grid.

    Example: raffia predict model.safetensors test.npz --output prediction.npy
    """
    check_output(output, ".npy")
    model = load(model_file)
    predicted = _reading(model).inputs(source, input_names)
    for _ in range(times):
        predicted = predict_in_batches(model, predicted)
    with atomic(output) as temporary, temporary.open("wb") as file:
        np.save(file, predicted.numpy())
    console.print(f"wrote predictions {tuple(predicted.shape)} to {output}")


@app.command()
def evaluate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file with inputs and outputs, of any format that fit reads.")
    ],
    input_names: Annotated[list[str] | None, typer.Option("--input", help="Array of the inputs; several are channels.")] = None,
    output_names: Annotated[list[str] | None, typer.Option("--output", help="Array of the outputs.")] = None,
    outputs: Annotated[Path | None, typer.Option(help="A second file, with the outputs.")] = None,
    coordinates: Annotated[list[str] | None, typer.Option(hidden=True)] = None,  # these three the model knows: they are taken
    cells: Annotated[str | None, typer.Option(hidden=True)] = None,  # for commands written when evaluate had to be told
    extent: Annotated[list[float] | None, typer.Option(hidden=True)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare predictions with the truth in a file; on the pairs of the training the errors say nothing of new ones.

    The Bochner error is the root of the mean square error over that of the outputs.

    Example: raffia evaluate model.safetensors test.npz
    """
    model = load(model_file)
    dataset = _reading(model).pairs(source, input_names, output_names, outputs).dataset()
    predicted = predict_in_batches(model, dataset.a)
    if predicted.shape != dataset.y.shape:
        raise RaffiaError(f"outputs in {source} must have shape {tuple(predicted.shape)}; got {tuple(dataset.y.shape)}.")
    errors = model.errors(dataset.a, dataset.y)
    grid = dataset.output_space.grid_of(dataset.y)
    report = {
        "samples": len(dataset),
        "mean relative L2 error": float(errors.mean()),
        "median": float(errors.median()),
        "worst": float(errors.max()),
        "Bochner error": metrics.bochner_error(dataset.y, predicted, grid),
    }
    if as_json:
        sys.stdout.write(json.dumps(report, allow_nan=False) + "\n")
        return
    table = Table(show_header=False)
    for name, value in report.items():
        table.add_row(name, str(value) if isinstance(value, int) else f"{value:.5g}")
    console.print(table)


def _reading(model: RandomFeatureModel) -> data.Reading:
    """How to read files for a model: the names of its arrays, if it came from a file, and its spaces."""
    names = getattr(model, "variables_", {})
    output = model.output or output_space(model.feature_map.domain, torch.empty(1, *model.output_grid_.shape), scalar=True)
    return data.Reading(tuple(names.get("input", ())), tuple(names.get("output", ())), model.feature_map.domain, output)
