"""raffia export: a model for programs without raffia."""

from pathlib import Path
from typing import Annotated

import torch
import typer

from raffia.cli.common import app, console
from raffia.errors import RaffiaError
from raffia.model import load


@app.command()
def export(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by fit.")],
    output: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write: .pt2, a torch.export program, or .onnx for ONNX Runtime.")
    ],
    points: Annotated[
        list[int] | None,
        typer.Option("--points", min=1, help="Points of the grid, again for each axis; those of the training if not said."),
    ] = None,
    any_grid: Annotated[
        bool,
        typer.Option("--any-grid", help="For every grid that is fine enough, not for one; .pt2, where the features allow."),
    ] = False,
) -> None:
    """Write what predicts on one grid, or on any, for any number of inputs, and compare it with the model's own predictions.

    Example: raffia export model.safetensors model.onnx
    """
    model = load(model_file)
    if any_grid:
        if points:
            raise RaffiaError("--any-grid and --points exclude each other: leave out one of them.")
        difference = model.export(output, "any")
        ranges = [*torch.export.load(output).range_constraints.values()][1:]  # after that of the number of inputs
        least = " × ".join(str(one.lower) for one in ranges)
        console.print(
            f"wrote a program for grids of {least} points or more, which hold all that the features are made of, float64, to {output}; "
            f"it differs from predictions by {difference:.1e}",
            soft_wrap=True,
        )
        return
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
