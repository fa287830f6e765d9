"""Pairs of functions in a file, read lazily: what is what is said by the file, by the caller, or guessed and noted."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from raffia.data import own
from raffia.data.formats import variables
from raffia.data.formats.variable import guarded
from raffia.data.meaning.columns import Column
from raffia.data.meaning.coordinates import named_axes
from raffia.data.meaning.names import Names, choose
from raffia.data.meaning.sides import Asked, as_told, columns, spaces_of
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.spaces import Channels, Space, Vectors


@dataclass
class Source:
    """Pairs in a file. `domain` is the space of the inputs, `output` that of the outputs where it is another."""

    path: Path
    domain: Space
    output: Space | None
    inputs: list[Column]
    outputs: list[Column]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.inputs[0])

    def read(self, rows: range | slice) -> tuple[Tensor, Tensor]:
        """Inputs and outputs of some rows; nothing else is read."""
        chosen = range(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        if chosen.step != 1 or chosen.start < 0 or chosen.stop > len(self):
            raise RaffiaError(f"rows must be within 0 to {len(self)}, one after the other; got {rows}.")
        return _stacked(self.inputs, self.domain, chosen), _stacked(self.outputs, self.output or self.domain, chosen)

    def batches(self, size: int, start: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Inputs and outputs, `size` rows at a time."""
        for first in range(start, len(self), size):
            yield self.read(range(first, min(first + size, len(self))))

    def dataset(self) -> Dataset:
        """All of it."""
        a, y = self.read(slice(None))
        return Dataset(a, y, self.domain, self.settings, self.output)


def open_source(
    path: str | os.PathLike[str],
    *,
    input: Names | None = None,
    output: Names | None = None,
    coordinates: Names | None = None,
    cells: str | None = None,
    periodic: bool | None = None,
    extent: float | tuple[float, ...] | None = None,
    output_path: str | os.PathLike[str] | None = None,
    domain: Space | None = None,
) -> Source:
    """Pairs in a file of any format; what is not given is guessed where it is clear, and said in `notes`.

    `input` and `output` name arrays, several of them as channels; `coordinates` name nodes (points, dim) of a mesh, or coordinates
    along the axes of a grid; `cells` the cells of a mesh. `periodic` is the convention of grids, `extent` their lengths. The outputs
    may be in a file of their own, `output_path`. `domain` is the space of the inputs, for files that do not say.
    """
    place = Path(path)
    found = variables(place)
    told = own.told(place, found) if input is output is None else None
    settings: dict[str, Any] = {}
    if told:
        (domain, settings), (input, output) = told, ("a", "y")
    elsewhere = variables(output_path) if output_path is not None else found
    ins, outs, notes = choose(place, found, input, output, output_path, elsewhere)
    pool = {name: v for name, v in (found | elsewhere).items() if v not in (*ins, *outs)}
    vectors = isinstance(domain, Vectors)
    try:
        with guarded(place):
            inputs, outputs = columns(ins, outs, named_axes(pool), None if vectors else domain)
            notes += [note for part in (*inputs, *outputs) for note in part.notes]
            asked = Asked(coordinates, cells, periodic, extent, vectors)
            spaces = (
                spaces_of(place, inputs, outputs, pool, asked, notes)
                if domain is None or vectors
                else as_told(inputs, outputs, domain)
            )
    except RaffiaError as error:
        raise error if place.name in str(error) else RaffiaError(f"{place}: {error}") from None
    notes.insert(0, f"{len(inputs[0])} samples.")
    same = spaces[0] == spaces[1] and not isinstance(spaces[0], Vectors)
    return Source(place, spaces[0], None if same else spaces[1], inputs, outputs, settings, notes)


def read(path: str | os.PathLike[str], domain: Space | None = None, **options: Any) -> Dataset:
    """All pairs in a file, with the options of `open_source`. What a file of ours says of its domain comes first."""
    return open_source(path, domain=domain, **options).dataset()


def _stacked(parts: list[Column], space: Space, rows: range) -> Tensor:
    """The arrays as the space has them: alone, as channels (numbers as constant ones), or as the components of a vector."""
    arrays = [part.read(rows) for part in parts]
    n = len(rows)
    if isinstance(space, Vectors):
        joined = np.concatenate([array.reshape(n, -1) for array in arrays], axis=1)
    elif not isinstance(space, Channels):
        joined = arrays[0].reshape(n, *parts[0].grid)
    else:
        grid = max((part.grid for part in parts), key=lambda shape: (len(shape), shape))
        flat = (
            array if part.grid == grid else array.reshape(n, -1, *[1] * len(grid))
            for part, array in zip(parts, arrays, strict=True)
        )
        joined = np.concatenate([np.broadcast_to(array, (*array.shape[:2], *grid)) for array in flat], axis=1)
    return torch.from_numpy(np.ascontiguousarray(joined))
