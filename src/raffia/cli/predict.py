"""raffia predict, evaluate: a model on files like that of its training."""

import json
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer

from raffia import metrics
from raffia.cli.common import check_output, predict_in_batches, print_table, say_novel
from raffia.cli.console import app, console
from raffia.cli.options import reading
from raffia.data import ReadingOptions, predictions
from raffia.data.written import Inputs
from raffia.errors import RaffiaError
from raffia.model import load


@app.command()
@reading("input", "parameters", input="Array of the inputs, again for more; those of the training file if not given.")
def predict(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[Path, typer.Argument(metavar="DATA", help="A file with inputs, of any format that fit reads.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=f"The file to write: {' '.join(predictions.SUFFIXES)}.")],
    options: ReadingOptions,
    times: Annotated[int, typer.Option(min=1, help="Apply the model this many times.")] = 1,
    band: Annotated[
        float | None, typer.Option(help="Also write a band that holds a whole output with this probability, such as 0.9.")
    ] = None,
) -> None:
    """Predict outputs for inputs in a file, on their own grid or mesh, in the layout that the outputs of the training had.

    Example: raffia predict model.safetensors test.npz --output prediction.npy
    """
    check_output(output, predictions.SUFFIXES)
    model = load(model_file)
    if band is not None and times > 1:
        raise RaffiaError("--band is for one application of the model: leave --times out.")
    schema = model.trained_.file_schema
    if (
        times > 1
        and schema.steps is not None
        and not (schema.steps.window == schema.steps.horizon == 1 and not schema.steps.fixed)
    ):
        raise RaffiaError(
            "--times is for models whose outputs are inputs: raffia rollout applies one of windows or horizons again and again."
        )
    predictions.check(output, schema.output.space)
    opened = schema.opened(source, options.input, options.parameters)
    for note in opened.notes:
        console.print(note, style="dim", soft_wrap=True)
    inputs = predicted = opened.values
    say_novel(model, inputs)
    for _ in range(times):
        predicted = predict_in_batches(model, predicted)
    parts = {"": predicted}
    if band is not None:
        edges = zip(("lower", "upper"), model.band(band)(inputs), strict=True)
        parts |= {f"_{name}": torch.as_tensor(edge) for name, edge in edges}
    files = _write(output, parts, opened, source)
    several = f" and {len(files) - 1} more" if len(files) > 1 else ""
    console.print(f"wrote predictions {tuple(predicted.shape)} to {files[0]}{several}", soft_wrap=True)


def _write(output: Path, parts: dict[str, torch.Tensor], opened: Inputs, source: Path) -> list[Path]:
    """Predictions and the edges of their band, laid out as in the training: in one file, of .npy, which holds one array, in three."""
    if output.suffix == ".npy":
        paths = [output.with_name(f"{output.stem}{end.replace('_', '-')}.npy") for end in parts]
        for path, values in zip(paths, parts.values(), strict=True):
            arrays = opened.written(values)
            predictions.write(path, arrays if len(arrays) == 1 else {"y": values.numpy(force=True)}, opened.trained.space)
        return paths
    apart = opened.fields if predictions.on_nodes(output) else opened.written  # files of meshes have layouts of their own
    fields = {end: apart(values) for end, values in parts.items()}
    joined = {f"{name}{end}": array for end, some in fields.items() for name, array in some.items()}
    with_places = output.suffix in (".npz", ".mat", ".h5", ".hdf5")
    places = opened.coordinates(parts[""]) if with_places else {}
    return predictions.write(output, places | joined, opened.trained.space, source, opened.node_order)


@app.command()
@reading("input", "output", "output_path", "parameters")
def evaluate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    source: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file with inputs and outputs, of any format that fit reads.")
    ],
    options: ReadingOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare predictions with the truth in a file; on the pairs of the training the errors say nothing of new ones.

    The relative L2 error of a sample is ‖F(a) − y‖ / ‖y‖, with a tenth of the usual norm where y is smaller; channels have theirs. The
    Bochner error is the root of the mean square error over that of the outputs. In units of deviations, always predicting the mean has
    error 1.

    Example: raffia evaluate model.safetensors test.npz
    """
    model = load(model_file)
    pairs = model.trained_.file_schema.pairs(source, options.input, options.output, options.output_path, options.parameters)
    for note in [] if as_json else pairs.notes:
        console.print(note, style="dim", soft_wrap=True)
    dataset = pairs.dataset()
    if not as_json:
        say_novel(model, dataset.a)
    predicted, _ = model.compare(dataset.a, dataset.y)
    grid = dataset.output_space.grid_of(dataset.y)
    sizes = model.trained_.sizes or metrics.Sizes.of(dataset.y, grid)
    errors = sizes.errors(dataset.y, predicted, grid)
    report: dict[str, float] = {
        "samples": len(dataset),
        "mean relative L2 error": float(errors.relative.mean()),
        "median": float(errors.relative.median()),
        "worst": float(errors.relative.max()),
        "Bochner error": metrics.bochner_error(dataset.y, predicted, grid),
    }
    if errors.deviations.isfinite().all():
        report["in units of deviations"] = float(errors.deviations.mean())
    if errors.channels.shape[1] > 1:
        means = errors.channels.mean(0)
        report |= {f"channel {i}": float(error) for i, error in enumerate(means) if error.isfinite()}
    if as_json:
        sys.stdout.write(json.dumps(report, allow_nan=False) + "\n")
        return
    print_table([name, str(value) if isinstance(value, int) else f"{value:.5g}"] for name, value in report.items())
