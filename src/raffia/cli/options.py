"""Options that say how a file is read, for all commands that read one."""

from pathlib import Path
from typing import Annotated

import typer

from raffia.spaces import KINDS

Coordinates = Annotated[
    list[str] | None,
    typer.Option(
        "--coordinates",
        help="Array of the coordinates of nodes, or of a grid axis, again for more; FILE:NAME is in another file.",
    ),
]
Mask = Annotated[str | None, typer.Option("--mask", help="Array that is zero at nodes without values.")]
SamplesAxis = Annotated[
    str | None,
    typer.Option(
        "--samples-axis",
        help=(
            "The axis that counts samples, from 0: one for all arrays, or one each, as in 0,1; none where they are one sample."
        ),
    ),
]
Slices = Annotated[
    list[str] | None, typer.Option("--slice", help="Part of an array to take in its place, such as 'u[:,0]'; again for more.")
]
Reshape = Annotated[
    str | None, typer.Option("--reshape", help="The grid of samples that are stored along one axis, such as 26,22.")
]
AsVectors = Annotated[bool, typer.Option("--vectors", help="Inputs and outputs are vectors of numbers, and no functions.")]
Axes = Annotated[str | None, typer.Option("--axes", help=f"Kinds of the axes, such as periodic,box: {', '.join(KINDS)}.")]
AsTable = Annotated[
    str | None,
    typer.Option(
        "--table",
        help="What a table has: wide (a row a sample), long (a row a point of a sample) or columns (a column a sample).",
    ),
]
SampleColumn = Annotated[
    list[str] | None, typer.Option("--sample-column", help="Column of a long table that tells samples apart; again for more.")
]
Resample = Annotated[
    str | None, typer.Option("--resample", help="Bring curves on different points to so many, or to FIRST:LAST:POINTS.")
]
Files = Annotated[
    str | None, typer.Option("--files", help="What the files of a folder or a pattern are: samples, or parts of them.")
]
Parameters = Annotated[
    Path | None,
    typer.Option("--parameters", help="A table with the inputs: a row for each sample, or for each file of a folder."),
]
TimeAxis = Annotated[
    int | None,
    typer.Option(
        "--time", help="Axis of time in an array of trajectories, counted from 0; pairs are states and those that follow."
    ),
]
Stride = Annotated[
    int | None,
    typer.Option("--stride", min=1, help="Steps from a state of a trajectory to the next in a pair; found, if not said."),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window", min=1, help="States of a trajectory in a row that go into a model; 2 if one does not tell the next."
    ),
]
Horizon = Annotated[int, typer.Option("--horizon", min=1, help="States of a trajectory that a model predicts at once.")]
