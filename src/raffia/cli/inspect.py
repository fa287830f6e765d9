"""raffia inspect: what a file holds, what raffia makes of it, and what to type next."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from torch import Tensor

from raffia import data, plotting
from raffia.cli import options
from raffia.cli.common import app, check_output, console
from raffia.data.meaning.names import FLAGS, listed
from raffia.data.readers import LOOKED_AT, decode
from raffia.data.source import told_layout
from raffia.errors import RaffiaError
from raffia.pages import labels_of
from raffia.spaces import Channels, Domain, Mesh, Space, Vectors
from raffia.storage import atomic

RANGES, TOGETHER = 64, 4 * LOOKED_AT  # variables and values that are read for the table; it has no ranges of what is beyond


@app.command()
def inspect(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="NumPy, MATLAB, HDF5, NetCDF, Zarr, PyTorch, VTK, XDMF, Gmsh, Exodus, a table, a folder, or a pattern.",
        ),
    ],
    input: Annotated[list[str] | None, typer.Option(FLAGS["input"], help="Array of inputs; again for more.")] = None,
    output: Annotated[list[str] | None, typer.Option(FLAGS["output"], help="Array of outputs; again for more.")] = None,
    output_file: Annotated[Path | None, typer.Option(FLAGS["output_path"], help="The file with the outputs.")] = None,
    coordinates: options.Coordinates = None,
    cells: Annotated[str | None, typer.Option(FLAGS["cells"], help="Array of triangles or other cells.")] = None,
    mask: options.Mask = None,
    samples_axis: options.SamplesAxis = None,
    slices: options.Slices = None,
    reshape: options.Reshape = None,
    periodic: Annotated[
        bool | None, typer.Option("--periodic/--box", help="Grid convention, for files that do not say.")
    ] = None,
    vectors: options.AsVectors = False,
    axes: options.Axes = None,
    table: options.AsTable = None,
    sample_column: options.SampleColumn = None,
    resample: options.Resample = None,
    files: options.Files = None,
    parameters: options.Parameters = None,
    time: options.TimeAxis = None,
    stride: options.Stride = None,
    window: options.Window = None,
    horizon: options.Horizon = 1,
    figure: Annotated[Path | None, typer.Option("--figure", help="Draw the first sample into this file, .png or .pdf.")] = None,
) -> None:
    """Show what a data file holds, what raffia would learn from it, and the command to type next.

    Example: raffia inspect train.mat --figure first.png
    """
    if figure is not None:
        check_output(figure, ".png, .pdf or .svg", "--figure")
    layout = told_layout(table, sample_column, coordinates, resample, files, (*(input or ()), *(output or ())))
    for file in (path, output_file, parameters):
        if file is not None:
            arrays, problems = _table(data.variables(file, layout if file is not parameters else data.Layout("wide")))
            console.print(arrays)
            for problem in problems:
                console.print(f"• {problem}", soft_wrap=True)
    named: dict[str, Any] = {"input": input, "output": output, "output_path": output_file and str(output_file)}
    named |= {"coordinates": coordinates, "cells": cells, "mask": mask, "axes": axes}
    named |= {"samples_axis": samples_axis, "slice": slices, "reshape": reshape}
    named |= {"table": table, "sample_column": sample_column}
    named |= {"resample": resample, "files": files, "parameters": parameters and str(parameters)}
    named = {argument: names for argument, names in named.items() if names}
    told = {"stride": stride, "window": window, "horizon": None if horizon == 1 else horizon}
    moving: dict[str, Any] = {argument: count for argument, count in told.items() if count is not None}
    source = data.open_source(path, periodic=periodic, time=time, domain=Vectors() if vectors else None, **moving, **named)
    for part in (*source.inputs, *source.outputs):
        part.variable.affordable(1)
    a, y = source.read(range(1))
    console.print(f"inputs:  {len(source)} × {_described(source.domain, a)}", soft_wrap=True)
    console.print(f"outputs: {len(source)} × {_described(source.output_space, y)}", soft_wrap=True)
    for note in source.notes:
        console.print(f"• {note}", soft_wrap=True)
    if figure is not None:
        frames, names = labels_of(source.reading, a, y)
        picture = plotting.pair(
            a[0], y[0], source.domain, source.output, input_labels=frames[0], output_labels=frames[1],
            input_names=names[0], output_names=names[1],
        )  # fmt: skip
        with atomic(figure) as temporary:
            picture.savefig(temporary, dpi=150)
        console.print(f"drew the first sample into {figure}", soft_wrap=True)
    words = [word for argument, names in named.items() for name in listed(names) for word in (FLAGS[argument], name)]
    words += [] if time is None else [FLAGS["time"], str(time)]
    words += [word for argument, count in moving.items() for word in (FLAGS[argument], str(count))]
    words += [] if periodic is None else ["--periodic" if periodic else "--box"]
    words += ["--vectors"] if vectors else []
    console.print("next:")
    console.print("  " + shlex.join(["raffia", "fit", str(path), *words]), soft_wrap=True)


def _table(arrays: dict[str, data.Variable]) -> tuple[Table, list[str]]:
    """A row for each array, and what hindered from reading some, which may not be needed."""
    problems: list[str] = []
    table = Table(*("name", "shape", "type", "axes", "min", "max", "missing"))
    left = TOGETHER
    for count, (name, variable) in enumerate(arrays.items()):
        low = high = missing = ""
        try:
            rows = _rows(variable) if variable.numeric and count < RANGES else 0
            left -= variable.cost(rows)
            if rows and left >= 0:
                low, high, missing = _range(variable, rows)
        except RaffiaError as error:
            missing = "cannot be read"
            problems.append(str(error))
        axes = ", ".join(variable.dims or ())
        table.add_row(name, "×".join(map(str, variable.shape)) or "1", np.dtype(variable.dtype).name, axes, low, high, missing)
    return table, problems


def _rows(variable: data.Variable) -> int:
    """How many first rows are read for the table."""
    n, total = (variable.shape or (1,))[0], int(np.prod(variable.shape, dtype=object))
    return variable.affordable(n if total <= LOOKED_AT else max(1, n * LOOKED_AT // total))


def _range(variable: data.Variable, rows: int) -> tuple[str, str, str]:
    """Least and largest value, and how many are missing, of the first rows."""
    n = (variable.shape or (1,))[0]
    values = decode(variable, variable.read(slice(0, rows) if rows < n else None))
    there = values[np.isfinite(values)]
    where = f" in the first {rows} rows" if rows < n else ""
    if not there.size:
        return "", "", f"{values.size}{where}"
    return f"{there.min():.4g}", f"{there.max():.4g}", f"{values.size - there.size}{where}"


def _described(space: Space, values: Tensor) -> str:
    if isinstance(space, Channels):
        return f"{space.count} channels of {_described(space.of, values[:, 0])}"
    if isinstance(space, Mesh):
        return f"functions on a {space}"
    if isinstance(space, Domain) and space.dim:
        size = "×".join(map(str, values.shape[1:]))
        return f"functions on {size} points of a {space.noun}{',' if space.axes else ''} of extent {space.extent}"
    return f"{values[0].numel()} number{'s' if values[0].numel() > 1 else ''}"
