"""Variables of a file as samples: which axis counts them, which axes are the grid, which one holds channels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from raffia.data.formats.missing import check_whole, decode
from raffia.data.formats.variable import Variable, guarded
from raffia.spaces import Space, Vectors

Axes = tuple[tuple[bool, int | None], ...]  # of each variable: whether samples are along the last, and which one holds channels
CHANNELS = 16  # at most so many, where an axis is not named
CHANNEL = ("channel", "channels", "component", "components", "variable", "feature", "c", "ch")


@dataclass
class Column:
    """Samples of one variable. Axes of one entry are left out, unless it is `plain`; `channel` is the axis of channels, if any."""

    variable: Variable
    samples_last: bool = False
    plain: bool = False
    channel: int | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return self.variable.shape[-1 if self.samples_last else 0]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of a sample that count, as they are in the file: those of more than one value."""
        kept = self.variable.shape[:-1] if self.samples_last else self.variable.shape[1:]
        return tuple(size for size in kept if size != 1 or self.plain)

    @property
    def dims(self) -> tuple[str, ...] | None:
        """The names of these axes."""
        pairs = list(zip(self.variable.shape, self.variable.dims or (), strict=False))
        kept = pairs[:-1] if self.samples_last else pairs[1:]
        return tuple(dim for size, dim in kept if size != 1 or self.plain) if self.variable.dims else None

    @property
    def grid(self) -> tuple[int, ...]:
        """The axes of the grid."""
        return tuple(size for axis, size in enumerate(self.axes) if axis != self.channel)

    @property
    def grid_dims(self) -> tuple[str, ...] | None:
        """The names of the axes of the grid."""
        return None if self.dims is None else tuple(dim for axis, dim in enumerate(self.dims) if axis != self.channel)

    @property
    def count(self) -> int:
        """How many channels."""
        return 1 if self.channel is None else self.axes[self.channel]

    def read(self, rows: range) -> np.ndarray:
        """Samples (n, channels, *grid), none of them missing."""
        with guarded(self.variable.path, self.variable.name):
            values = decode(self.variable, raw := self._raw(rows)).reshape(len(raw), *self.axes)
        check_whole(self.variable.path, self.variable.name, values, rows.start)
        return values[:, None] if self.channel is None else np.moveaxis(values, 1 + self.channel, 1)

    def glance(self, most: int) -> np.ndarray:
        """The first samples, at most so many, and no more than can be looked at on opening."""
        first = len(self) if self.samples_last else self.variable.affordable(min(most, len(self)))
        return self.read(range(min(most, first)))

    def _raw(self, rows: range) -> np.ndarray:
        if self.samples_last:
            return np.moveaxis(self._whole[..., rows.start : rows.stop], -1, 0)
        return self.variable.read(slice(rows.start, rows.stop))

    @cached_property
    def _whole(self) -> np.ndarray:
        return self.variable.glance()


def column(variable: Variable, n: int, named: set[str]) -> Column:
    """A variable with `n` samples; `named` are the axes that have coordinates."""
    part = Column(variable, samples_last=variable.shape[0] != n)
    if part.samples_last:
        part.notes.append(
            f"{variable.name}: samples are along the last axis, where it has {n} entries as the other arrays have rows."
        )
    kept = variable.shape[:-1] if part.samples_last else variable.shape[1:]
    if 1 in kept and kept != (1,):
        part.notes.append(f"{variable.name}: an axis with a single entry is left out.")
    part.channel = _channel(part, named)
    if part.channel is not None:
        part.notes.append(f"{variable.name}: the axis of {part.count} is taken for channels, the others for the grid.")
    return part


def stacked(parts: Sequence[Column], space: Space, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """What was read of several variables, as the space has it: components of a vector, or channels (numbers as constant ones)."""
    if isinstance(space, Vectors):
        return np.concatenate([_numbers(array) for array in arrays], axis=1)
    grid = max((part.grid for part in parts), key=lambda shape: (len(shape), shape))
    channels = [array if part.grid == grid else _numbers(array, grid) for part, array in zip(parts, arrays, strict=True)]
    joined = channels[0] if len(parts) == 1 else np.concatenate(channels, axis=1)
    return joined[:, 0] if space.one_channel is space and joined.shape[1] == 1 else joined


def sample_shape(parts: Sequence[Column], space: Space) -> tuple[int, ...]:
    """The shape of one sample of several variables together; nothing is read."""
    return stacked(parts, space, [np.empty((0, part.count, *part.grid)) for part in parts]).shape[1:]


def _numbers(array: np.ndarray, grid: tuple[int, ...] = ()) -> np.ndarray:
    """All numbers of a sample, (n, numbers), or the constant functions on a grid that they are, (n, numbers, *grid)."""
    flat = array.reshape(len(array), math.prod(array.shape[1:]), *[1] * len(grid))
    return np.broadcast_to(flat, (*flat.shape[:2], *grid))


def _channel(part: Column, named: set[str]) -> int | None:
    """The axis called channels, else a short one at either end without coordinates."""
    axes, dims = part.axes, part.dims
    if len(axes) < 2:
        return None
    if dims and (by_name := [axis for axis, dim in enumerate(dims) if dim.lower() in CHANNEL]):
        return by_name[0]
    for axis, others in ((len(axes) - 1, axes[:-1]), (0, axes[1:])):
        if 2 <= axes[axis] <= CHANNELS and 2 * axes[axis] <= min(others) and not (dims and dims[axis] in named):
            return axis
    return None
