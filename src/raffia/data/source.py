"""Pairs in a file of any format: what is what is said by the file, by the caller, or guessed and noted."""

import os
from pathlib import Path
from typing import Any

from raffia.data import own
from raffia.data.formats import variables
from raffia.data.formats.variable import guarded
from raffia.data.meaning.coordinates import named_axes
from raffia.data.meaning.grids import Convention
from raffia.data.meaning.names import Names, choose
from raffia.data.meaning.sides import Asked, as_told, columns, spaces_of
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
) -> Source:
    """Pairs in a file of any format; what is not given is guessed where it is clear, and said in `notes`.

    `input` and `output` name arrays, several of them as channels; `coordinates` name nodes (points, dim) of a mesh, or coordinates
    along the axes of a grid; `cells` the cells of a mesh. `periodic` is the convention of grids, or `axes` are the kinds of
    their axes, as in "periodic,box" (see `Domain`); `extent` are their lengths. The outputs may be in a file of their own,
    `output_path`. `domain` is the space of the inputs, for files that do not say.
    """
    place = Path(path)
    arrays = variables(place)
    told = own.told(place, arrays) if input is output is None else None
    settings: dict[str, Any] = {}
    if told:
        (domain, settings), (input, output) = told, ("a", "y")
    elsewhere = arrays if output_path is None else variables(output_path)
    ins, outs, notes = choose(place, arrays, input, output, output_path, elsewhere)
    pool = {name: v for name, v in (arrays | elsewhere).items() if v not in (*ins, *outs)}
    asked = Asked(coordinates, cells, Convention(periodic, axes, extent), vectors=isinstance(domain, Vectors))
    known = None if asked.vectors else domain
    with guarded(place):
        inputs, outputs = columns(ins, outs, named_axes(pool), known)
        notes += [note for part in (*inputs, *outputs) for note in part.notes]
        spaces = as_told(inputs, outputs, known) if known is not None else spaces_of(place, inputs, outputs, pool, asked, notes)
    return Source(place, *spaces, inputs, outputs, settings, [f"{len(inputs[0])} samples.", *notes])


def read(path: str | os.PathLike[str], domain: Space | None = None, **options: Any) -> Dataset:
    """All pairs in a file, with the options of `open_source`. What a file of ours says of its domain comes first."""
    return open_source(path, domain=domain, **options).dataset()
