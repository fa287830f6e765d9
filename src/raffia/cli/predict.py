"""raffia predict, evaluate: a model on files like that of its training."""

import json
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.table import Table

from raffia import data, metrics
from raffia.cli.common import app, check_output, console, predict_in_batches, reading_of
from raffia.data import predictions
from raffia.errors import RaffiaError
from raffia.model import load


@app.command()
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="A file with inputs, of any format that fit reads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=f"The file to write: {' '.join(predictions.SUFFIXES)}.")],
    input_names: Annotated[
        list[str] | None,
        typer.Option("--input", help="Array of the inputs, again for more; those of the training file if not said."),
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="Apply the model this many times.")] = 1,
    band: Annotated[
        float | None, typer.Option(help="Also write a band that holds a whole output with this probability, such as 0.9.")
    ] = None,
) -> None:
    """Predict outputs for inputs in a file, on their own grid or mesh.

    Example: raffia predict model.safetensors test.npz --output prediction.npy
    """
    check_output(output, " or ".join(predictions.SUFFIXES))
    model = load(model_file)
    if band is not None and times > 1:
        raise RaffiaError("--band is for one application of the model: leave --times out.")
    reading = reading_of(model)
    predictions.check(output, reading.output)
    inputs = predicted = reading.inputs(source, input_names)
    for _ in range(times):
        predicted = predict_in_batches(model, predicted)
    parts = {"": predicted}
    if band is not None:
        parts |= {
            f"_{name}": torch.as_tensor(edge) for name, edge in zip(("lower", "upper"), model.band(band)(inputs), strict=True)
        }
    files = _write(output, parts, reading, source)
    several = f" and {len(files) - 1} more" if len(files) > 1 else ""
    console.print(f"wrote predictions {tuple(predicted.shape)} to {files[0]}{several}", soft_wrap=True)


def _write(output: Path, parts: dict[str, torch.Tensor], reading: data.Reading, source: Path) -> list[Path]:
    """Predictions and the edges of their band: in one file, of .npy, which holds one array, in three."""
    fields = {end: predictions.named(values, reading.output_names, reading.output) for end, values in parts.items()}
    if output.suffix == ".npy":
        paths = [output.with_name(f"{output.stem}{end.replace('_', '-')}.npy") for end in parts]
        arrays = [{"y": values.numpy(force=True)} for values in parts.values()]
        return [file for path, one in zip(paths, arrays, strict=True) for file in predictions.write(path, one, reading.output)]
    joined = {f"{name}{end}": array for end, some in fields.items() for name, array in some.items()}
    return predictions.write(output, joined, reading.output, source)


@app.command()
def evaluate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file with inputs and outputs, of any format that fit reads.")
    ],
    input_names: Annotated[list[str] | None, typer.Option("--input", help="Array of the inputs; several are channels.")] = None,
    output_names: Annotated[list[str] | None, typer.Option("--output", help="Array of the outputs.")] = None,
    outputs: Annotated[Path | None, typer.Option(help="A second file, with the outputs.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare predictions with the truth in a file; on the pairs of the training the errors say nothing of new ones.

    The Bochner error is the root of the mean square error over that of the outputs.

    Example: raffia evaluate model.safetensors test.npz
    """
    model = load(model_file)
    dataset = reading_of(model).pairs(source, input_names, output_names, outputs).dataset()
    predicted, errors = model.compare(dataset.a, dataset.y)
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
