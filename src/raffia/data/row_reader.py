"""Rows of arrays as samples of functions: which axis counts them, which axes are the grid, which one holds channels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from raffia.data.options import FLAGS
from raffia.data.readers.variable import LOOKED_AT, Variable, check_whole, decode
from raffia.data.schema import ArrayLayout
from raffia.errors import RaffiaError
from raffia.spaces import Space

PER_TRAJECTORY = "states of a trajectory"  # the attribute of arrays that are made of trajectories
TOGETHER = 16 * LOOKED_AT  # values of an array up to which rows anywhere in it may be looked at


@dataclass(eq=False)
class RowReader:
    """Samples of one variable. Axes of one entry are left out, unless it is `plain`.

    `samples` is the axis of the samples, None where the variable is one; `channel` that of channels, if any, among the axes that count.
    Axis i of the grid is axis `order[i]` of the file's, backwards where `flipped`; `nodes` are the indices of the nodes of that grid
    that a mesh consists of, where not all are, or not in their order; at the others there are no values, if they are `empty`. All values
    of a sample are one vector, if they are `flat`. The last point of an axis is left out where it is `repeated`: the first again.
    """

    variable: Variable
    samples: int | None = 0
    plain: bool = False
    channel: int | None = None
    shape: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    flipped: tuple[bool, ...] = ()
    nodes: np.ndarray | None = None
    empty: bool = False
    flat: bool = False
    repeated: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return 1 if self.samples is None else self.variable.shape[self.samples]

    @property
    def _all(self) -> list[int]:
        """The axes of the variable but that of the samples."""
        axes = range(len(self.variable.shape))
        return [axis for axis in axes if self.samples is None or axis != self.samples % len(axes)]

    @property
    def _counted(self) -> list[int]:
        """The axes of the variable that count, before they are reshaped."""
        return [axis for axis in self._all if self.variable.shape[axis] != 1 or self.plain]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of a sample that count, as they are in the file: those of more than one value."""
        sizes = tuple(self.variable.shape[axis] for axis in self._counted)
        return self.shape if self.shape and math.prod(sizes) == math.prod(self.shape) else sizes

    @property
    def dims(self) -> tuple[str, ...] | None:
        """The names of these axes."""
        names = self.variable.dims
        return None if names is None or len(self.axes) != len(self._counted) else tuple(names[axis] for axis in self._counted)

    def _of_grid(self, entries: Sequence) -> tuple:
        """Of entries for each axis those of the grid, in its order."""
        grid = [entry for axis, entry in enumerate(entries) if axis != self.channel]
        return tuple(grid[axis] for axis in self.order) if self.order else tuple(grid)

    @property
    def whole_grid(self) -> tuple[int, ...]:
        """The sizes of the axes of the grid, without repeated end points; nodes that a mask leaves out are counted."""
        sizes = self._of_grid(self.axes)
        return tuple(size - again for size, again in zip(sizes, self.repeated or (False,) * len(sizes), strict=True))

    @property
    def grid(self) -> tuple[int, ...]:
        """The sizes of the axes of the grid; with a mask, the number of nodes that are kept."""
        return self.whole_grid if self.nodes is None else (len(self.nodes),)

    @property
    def grid_dims(self) -> tuple[str, ...] | None:
        """The names of the axes of the grid, where they have any."""
        names = self._of_grid(self.dims or ())
        return names if any(names) else None

    @property
    def count(self) -> int:
        """How many channels."""
        return 1 if self.channel is None else self.axes[self.channel]

    @property
    def layout(self) -> ArrayLayout:
        """What other arrays are read and written by."""
        some = self.nodes is not None and len(self.nodes) < math.prod(self.whole_grid)
        return ArrayLayout(
            samples=self.samples,
            channel=self.channel,
            count=self.count,
            single=tuple(place for place, axis in enumerate(self._all) if axis not in self._counted),
            shape=self.shape if self.axes == self.shape else (),
            order=self.order,
            flipped=self.flipped,
            masked=self.whole_grid if some or self.flat else (),
            repeated=self.repeated,
        )

    def read(self, rows: range) -> np.ndarray:
        """Samples (n, channels, *grid), none of them missing."""
        values = self.values(rows)
        check_whole(self.variable.path, self.variable.name, values, rows.start, pairs_each(self.variable))
        return values

    def values(self, rows: range) -> np.ndarray:
        """Samples (n, channels, *grid), some of which may be missing."""
        values = decode(self.variable, raw := self._raw(rows)).reshape(len(raw), *self.axes)
        channels = values[:, None] if self.channel is None else np.moveaxis(values, 1 + self.channel, 1)
        turned = self.layout.turned(channels)
        if self.nodes is None:
            return turned
        flat = turned.reshape(*turned.shape[:2], -1)
        if self.empty and np.isfinite(np.delete(flat, self.nodes, axis=2)).any():
            raise RaffiaError(
                f"{self.variable.path}: {self.variable.name} has values at nodes where its first samples have none. Fill the gaps, or pass "
                f"{FLAGS['mask']} with an array that is zero where values are to be left out."
            )
        return flat[..., self.nodes]

    def some(self, most: int) -> np.ndarray:
        """Return at most so many samples, spread over all of them: neighbours, such as states in time, are alike."""
        return np.concatenate([self.read(rows) for rows in self._spread(most)])

    def gaps(self, most: int) -> np.ndarray:
        """Return where the same samples have no values."""
        return np.concatenate([np.isnan(self.values(rows)) for rows in self._spread(most)])

    def _spread(self, most: int) -> list[range]:
        chosen = spread(self.variable, most, 1) if self._in_rows else blocks(len(self), most, 1)
        return [range(*block.indices(len(self))) for block in chosen]

    @property
    def _in_rows(self) -> bool:
        return self.samples is not None and self.samples % len(self.variable.shape) == 0

    def _raw(self, rows: range) -> np.ndarray:
        if self._in_rows:
            return self.variable.read(slice(rows.start, rows.stop))
        return self._whole[rows.start : rows.stop]

    @cached_property
    def _whole(self) -> np.ndarray:
        """All values, with samples along the first axis, where they are not rows."""
        values = self.variable.glance()
        return values[None] if self.samples is None else np.moveaxis(values, self.samples, 0)


def spread(v: Variable, most: int, each: int) -> list[slice]:
    """Return blocks of `most` rows in all: spread over the array if all of it can be read on opening, else its first rows."""
    n = v.shape[0]
    if v.cost(n) > TOGETHER or v.affordable(n) < n:
        return [slice(0, v.affordable(min(n, most)))]
    return blocks(n, most, each)


def blocks(n: int, most: int, each: int) -> list[slice]:
    """Return blocks of `each` consecutive entries, about `most` of n in all, from the first entry to the last."""
    if n <= most:
        return [slice(0, n)]
    each = min(most, each)
    return [slice(start, start + each) for start in np.linspace(0, n - each, most // each, dtype=int).tolist()]


def pairs_each(v: Variable) -> int:
    """Return how many pairs a trajectory has in an array that was made of some; 0 for other arrays."""
    each = v.attributes.get(PER_TRAJECTORY, 0)
    return each if type(each) is int and each > 0 else 0


def with_grid(parts: Sequence[RowReader], few: int) -> RowReader | None:
    """Return the array that has a grid; all that have one must have the same, all others are numbers: `few` along one axis."""
    functions = [part for part in parts if part.grid]
    large = [part for part in functions if len(part.grid) > 1 or part.grid[0] > few]
    if len({part.grid for part in large}) > 1:
        raise RaffiaError(
            f"{' and '.join(part.variable.name for part in large)} must be on one grid to be channels; "
            f"got {' and '.join('×'.join(map(str, part.grid)) for part in large)}. Resample one of them with raffia.resample."
        )
    return large[0] if large else functions[0] if len(functions) == len(parts) == 1 else None


def read_rows(parts: Sequence[RowReader], space: Space, rows: range) -> Tensor:
    """Return some rows of the arrays, as the space has them."""
    return torch.from_numpy(np.ascontiguousarray(stacked(parts, space, [part.read(rows) for part in parts])))


def stacked(parts: Sequence[RowReader], space: Space, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return what was read of several arrays, as the space has it: components of a vector, or channels (numbers as constant ones)."""
    if space.tabular:
        return np.concatenate([_numbers(array) for array in arrays], axis=1)
    grid = max((part.grid for part in parts), key=lambda shape: (len(shape), shape))
    channels = [array if part.grid == grid else _numbers(array, grid) for part, array in zip(parts, arrays, strict=True)]
    joined = channels[0] if len(parts) == 1 else np.concatenate(channels, axis=1)
    return joined[:, 0] if space.one_channel is space and joined.shape[1] == 1 else joined


def sample_shape(parts: Sequence[RowReader], space: Space) -> tuple[int, ...]:
    """Return the shape of one sample of several arrays together; nothing is read."""
    return stacked(parts, space, [np.empty((0, part.count, *part.grid)) for part in parts]).shape[1:]


def _numbers(array: np.ndarray, grid: tuple[int, ...] = ()) -> np.ndarray:
    """Return all numbers of a sample, (n, numbers), or the constant functions on a grid that they are, (n, numbers, *grid)."""
    flat = array.reshape(len(array), math.prod(array.shape[1:]), *[1] * len(grid))
    return np.broadcast_to(flat, (*flat.shape[:2], *grid))
