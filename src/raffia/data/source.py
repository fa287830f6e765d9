"""Pairs in a file of any format: what is what is said by the file, by the caller, or guessed and noted."""

import os
from pathlib import Path
from typing import Any

from raffia.data import own
from raffia.data.formats import variables
from raffia.data.formats.folders.stacked import NUMBERS
from raffia.data.formats.layout import Layout, resampling
from raffia.data.formats.selection import selected
from raffia.data.formats.variable import guarded
from raffia.data.meaning.coordinates import named_axes
from raffia.data.meaning.grids import Convention
from raffia.data.meaning.names import Names, choose, listed
from raffia.data.meaning.sides import Asked, as_told, columns, spaces_of
from raffia.data.parameters import with_parameters
from raffia.data.reading import Source
from raffia.pairs import Dataset
from raffia.spaces import Space, Vectors


def open_source(
    path: str | os.PathLike[str],
    *,
    input: Names | None = None,
    output: Names | None = None,
    coordinates: Names | None = None,
    cells: str | None = None,
    periodic: bool | None = None,
    axes: str | tuple[str, ...] | None = None,
    extent: float | tuple[float, ...] | None = None,
    output_path: str | os.PathLike[str] | None = None,
    domain: Space | None = None,
    table: str | None = None,
    sample_column: Names | None = None,
    resample: str | int | None = None,
    files: str | None = None,
    parameters: str | os.PathLike[str] | None = None,
) -> Source:
    """Pairs in a file of any format; what is not given is guessed where it is clear, and said in `notes`.

    `input` and `output` name arrays, several of them as channels; `coordinates` name nodes (points, dim) of a mesh, or coordinates
    along the axes of a grid; `cells` the cells of a mesh. `periodic` is the convention of grids, or `axes` are the kinds of
    their axes, as in "periodic,box" (see `Domain`); `extent` are their lengths. The outputs may be in a file of their own,
    `output_path`. `domain` is the space of the inputs, for files that do not say.

    A `table` is "wide" (a row a sample), "long" (a row a point of a sample, which the columns `sample_column` name) or "columns" (a
    column a sample); curves on different points are brought to `resample` points, "200" or "0:0.44:200". Of a folder or a pattern such
    as "runs/*.csv", `files` are "samples" or "parts" of them, and `parameters` is a table with a row for each file.
    """
    place = Path(path)
    names = (*listed(input), *listed(output))
    layout = told_layout(table, sample_column, coordinates, resample, files, names)
    arrays = selected(variables(place, layout), names)
    told = own.told(place, arrays) if input is output is None else None
    settings: dict[str, Any] = {}
    if told:
        (domain, settings), (input, output) = told, ("a", "y")
    elsewhere = arrays if output_path is None else selected(variables(output_path, layout), listed(output))
    if parameters is not None:
        own_arrays = {name: v for name, v in arrays.items() if name != NUMBERS}
        arrays, input = with_parameters(place, arrays, Path(parameters), input)
        output_path, elsewhere = (place, own_arrays) if output_path is None else (output_path, elsewhere)
    ins, outs, notes = choose(place, arrays, input, output, output_path, elsewhere)
    pool = {name: v for name, v in (arrays | elsewhere).items() if v not in (*ins, *outs)}
    asked = Asked(coordinates, cells, Convention(periodic, axes, extent), vectors=isinstance(domain, Vectors))
    known = None if asked.vectors else domain
    with guarded(place):
        inputs, outputs = columns(ins, outs, named_axes(pool), known)
        notes += dict.fromkeys(note for v in (*ins, *outs) for note in v.notes)
        notes += [note for part in (*inputs, *outputs) for note in part.notes]
        spaces = as_told(inputs, outputs, known) if known is not None else spaces_of(place, inputs, outputs, pool, asked, notes)
    told_notes = [f"{len(inputs[0])} samples.", *notes]
    return Source(place, *spaces, inputs, outputs, settings, told_notes, None if parameters is None else Path(parameters))


def told_layout(
    table: str | None,
    sample_column: Names | None,
    coordinates: Names | None,
    resample: str | int | None,
    files: str | None,
    wanted: tuple[str, ...],
) -> Layout:
    """What the caller says of tables and folders, and the arrays that have a row for each sample."""
    samples, places = tuple(listed(sample_column)), tuple(listed(coordinates))
    return Layout(table or "", samples, places, *resampling(resample), files or "", wanted=wanted)


def read(path: str | os.PathLike[str], domain: Space | None = None, **options: Any) -> Dataset:
    """All pairs in a file, with the options of `open_source`. What a file of ours says of its domain comes first."""
    return open_source(path, domain=domain, **options).dataset()
