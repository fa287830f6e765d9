"""raffia export: a model for programs without raffia."""

from pathlib import Path
from typing import Annotated

import typer

from raffia.cli.console import app, console
from raffia.model import load


@app.command()
def export(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write: .pt2, a torch.export program, or .onnx for ONNX Runtime.")
    ],
    points: Annotated[
        list[int] | None,
        typer.Option("--points", min=1, help="Points of the grid, once for each axis; by default those of the training grid."),
    ] = None,
) -> None:
    """Write a program that predicts on one grid, for any number of inputs, and compare it with the model's own predictions.

    Example: raffia export model.safetensors model.onnx
    """
    model = load(model_file)
    operator = model.at(tuple(points) if points else None)
    difference = model.export(output, operator.input_grid)
    shapes = (
        f"(n, {', '.join(map(str, grid.shape))})" if grid.shape else "(n,)"
        for grid in (operator.input_grid, operator.output_grid)
    )
    kinds = "float32" if output.suffix == ".onnx" else "float64"
    console.print(
        f"wrote {' to '.join(shapes)}, {kinds}, to {output}; it differs from predictions by {difference:.1e}", soft_wrap=True
    )
