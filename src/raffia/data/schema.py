"""What a file means: which arrays are inputs and outputs, how they hold samples, and the spaces that these live in.

A `Schema` is inferred from a file (`open_source`), stored with a model, and applied to other files of the same kind (`Schema.pairs`).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from raffia.data.readers import Layout
from raffia.errors import RaffiaError
from raffia.spaces import Space

MOST_AXES = 32  # of an array
LARGEST = 2**24  # nodes of a grid of which a mesh is a part


@dataclass(frozen=True)
class AxisLabel:
    """An axis of a grid, or a coordinate of scattered nodes: its name, its units, and the coordinates of its first and last node.

    They are those of the file, in ascending order: a domain of raffia begins at 0. What the file does not say is empty, or None.
    """

    name: str = ""
    units: str = ""
    first: float | None = None
    last: float | None = None

    def __post_init__(self) -> None:
        if not all(end is None or math.isfinite(end) for end in (self.first, self.last)):
            raise RaffiaError(f"{self} must go from somewhere to somewhere.")


Frame = tuple[AxisLabel, ...]


@dataclass(frozen=True)
class ArrayLayout:
    """How one array holds samples of functions, so that another is read alike, and values are written as they came.

    `samples` is the axis that counts samples, None where the array is one sample. Of the other axes those with a `single` entry are left
    out, and what remains is reshaped to `shape`, if there is one. `channel` is the axis of `count` channels, if any, the others are the
    grid. Axis i of the grid that raffia sees is axis `order[i]` of the grid in the file, backwards where it is `flipped`, and without its
    last point where that is `repeated`: the first one again, on a periodic axis. Where the space is a mesh of some nodes of a grid, or
    vectors of all of its values, `masked` is the shape of that grid.
    """

    samples: int | None = 0
    channel: int | None = None
    count: int = 1
    single: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    flipped: tuple[bool, ...] = ()
    masked: tuple[int, ...] = ()
    repeated: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        axes = [axis for axis in (self.samples, self.channel, *self.single) if axis is not None]
        sound = all(0 <= axis < MOST_AXES for axis in axes) and list(self.single) == sorted(set(self.single))
        sound = sound and min(*self.shape, *self.masked, self.count, 1) > 0 and math.prod(self.masked) <= LARGEST
        turns = {len(turn) for turn in (self.order, self.flipped, self.repeated) if turn}
        if not sound or len(turns) > 1 or sorted(self.order) != list(range(len(self.order))):
            raise RaffiaError(f"{self} is no layout of an array.")

    @property
    def _backwards(self) -> tuple[int, ...]:
        return tuple(2 + axis for axis, flip in enumerate(self.flipped) if flip)

    def turned(self, values: np.ndarray) -> np.ndarray:
        """Samples (n, channels, *grid) with the axes of the grid in our order and direction."""
        if self.order:
            values = values.transpose(0, 1, *(2 + axis for axis in self.order))
        values = np.flip(values, self._backwards)
        return values[(..., *(slice(-1) if again else slice(None) for again in self.repeated))]

    def turned_back(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `turned`."""
        for axis, again in enumerate(self.repeated, 2):
            if again:
                values = np.concatenate([values, values.take([0], axis)], axis)
        values = np.flip(values, self._backwards)
        return values.transpose(0, 1, *(2 + int(axis) for axis in np.argsort(self.order))) if self.order else values

    def written(self, values: np.ndarray) -> np.ndarray:
        """Samples (n, channels, *grid), turned back, as an array of this layout."""
        channel = self.channel
        if self.shape:
            values = values.reshape(*values.shape[:2], math.prod(values.shape[2:]))
            channel = channel and 1
        joined = values[:, 0] if channel is None else np.moveaxis(values, 1, 1 + channel)
        for axis in self.single:
            joined = np.expand_dims(joined, 1 + axis)
        if self.samples is None:
            return joined[0] if len(joined) == 1 else joined
        return np.moveaxis(joined, 0, self.samples)


@dataclass(frozen=True, kw_only=True)
class SideSchema:
    """The inputs, or the outputs, of the pairs in a file.

    Parameters
    ----------
    names
        The arrays that hold them; none where pairs did not come from a file.
    space
        The space that they live in.
    layouts
        How each array holds samples. Without them, shapes decide.
    shape
        The shape of one sample, as the space has it.
    frame
        A label for each axis of a grid, or for each coordinate of nodes. Coordinates of other files are compared with it.
    files
        Where samples are in tables and folders.
    """

    space: Space
    names: tuple[str, ...] = ()
    layouts: tuple[ArrayLayout, ...] = ()
    shape: tuple[int, ...] | None = None
    frame: Frame = field(default=())
    files: Layout | None = None


def filled(values: np.ndarray, nodes: np.ndarray, grid: tuple[int, ...]) -> np.ndarray:
    """Values (n, channels, points) at some nodes of a grid, by their numbers, as functions on all of it; NaN elsewhere."""
    whole = np.full((*values.shape[:2], math.prod(grid)), np.nan, values.dtype)
    whole[..., nodes] = values
    return whole.reshape(*values.shape[:2], *grid)
