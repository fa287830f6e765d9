"""raffia inspect: what a file holds, what raffia makes of it, and what to type next."""

import shlex
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from torch import Tensor

from raffia import data, plotting
from raffia.cli.common import check_output
from raffia.cli.console import app, console
from raffia.cli.options import reading
from raffia.data import ReadingOptions
from raffia.data.options import FLAGS
from raffia.data.readers.variable import LOOKED_AT, decode
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Domain, Mesh, Space
from raffia.storage import atomic

BARS, SHADES = "▁▂▃▄▅▆▇█", " ░▒▓█"
COLUMNS, LINES, FEW = 72, 16, 8  # of a sketch; so many numbers are written out
RANGES, TOGETHER = 64, 4 * LOOKED_AT  # variables and values that are read for the table; it has no ranges of what is beyond


@app.command()
@reading()
def inspect(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="NumPy, MATLAB, HDF5, NetCDF, Zarr, PyTorch, VTK, XDMF, Gmsh, Exodus, a table, a folder, or a pattern.",
        ),
    ],
    options: ReadingOptions,
    figure: Annotated[Path | None, typer.Option("--figure", help="Draw the first sample into this file, .png or .pdf.")] = None,
) -> None:
    """Show what a data file holds, what raffia would learn from it, and the command to type next.

    Example: raffia inspect train.mat --figure first.png
    """
    if figure is not None:
        check_output(figure, [".png", ".pdf", ".svg"], "--figure")
    for file in (path, options.output_path, options.parameters):
        if file is not None:
            arrays, problems = _table(
                data.variables(file, options.layout if file is not options.parameters else data.Layout("wide"))
            )
            console.print(arrays)
            for problem in problems:
                console.print(f"• {problem}", soft_wrap=True)
    source = data.open_source(path, options)
    for part in (*source.inputs, *source.outputs):
        part.variable.affordable(1)
    a, y = source.read(range(1))
    console.print(f"inputs:  {len(source)} × {_described(source.domain, a)}", soft_wrap=True)
    console.print(f"outputs: {len(source)} × {_described(source.output_space, y)}", soft_wrap=True)
    for side, values, space in (("input", a[0], source.domain), ("output", y[0], source.output_space)):
        console.print(f"the first {side}:", *_sketch(values.numpy(), space), sep="\n  ", soft_wrap=True)
    for guess in source.guesses:
        changed = f" [{FLAGS[guess.field]}]" if guess.field else ""
        console.print(f"• {guess.reason}{changed}", soft_wrap=True, markup=False)
    console.print("Each line is what was read off the file; the option in brackets changes it.")
    if figure is not None:
        picture = plotting.pair(a[0], y[0], source.schema.input, source.schema.output)
        with atomic(figure) as temporary:
            picture.savefig(temporary, dpi=150)
        console.print(f"drew the first sample into {figure}", soft_wrap=True)
    console.print("next:")
    console.print("  " + shlex.join(["raffia", "fit", str(path), *options.words]), soft_wrap=True)


def _sketch(values: np.ndarray, space: Space) -> list[str]:
    """The first function of a sample on a grid, drawn with characters: a line, or shades of a plane; other numbers as they are."""
    one = space.one_channel
    if not (one.gridded and one.dim) or values.size <= FEW:
        more = ", …" if values.size > FEW else ""
        return [", ".join(f"{value:.4g}" for value in values.reshape(-1)[:FEW]) + more]
    lines = values.reshape(-1, *values.shape[-min(one.dim, 2) :])[0]
    lines = lines[None] if lines.ndim == 1 else lines
    for axis, most in enumerate((LINES, COLUMNS)):
        lines = lines.take(np.unique(np.linspace(0, lines.shape[axis] - 1, most).round().astype(int)), axis)
    marks = BARS if len(lines) == 1 else SHADES
    low, high = float(lines.min()), float(lines.max())
    places = ((lines - low) / (high - low or 1.0) * (len(marks) - 1)).round().astype(int)
    return ["".join(marks[place] for place in row) for row in places] + [f"from {low:.4g} to {high:.4g}"]


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
