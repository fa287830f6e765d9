"""Variables of a file as samples: which axis counts them, which axes are the grid, which one holds channels."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from raffia.data.meaning.names import shown
from raffia.data.meaning.smoothness import blocks, spread
from raffia.data.meaning.steps import each_of
from raffia.data.options import FLAGS
from raffia.data.readers import Variable, check_whole, decode
from raffia.data.schema import ArrayLayout
from raffia.errors import RaffiaError
from raffia.spaces import Space

CHANNELS = 16  # at most so many, where an axis is not named
CHANNEL = ("channel", "channels", "component", "components", "variable", "feature", "c", "ch", "complex")


@dataclass(eq=False)
class Column:
    """Samples of one variable. Axes of one entry are left out, unless it is `plain`.

    `samples` is the axis of the samples, None where the variable is one; `channel` that of channels, if any, among the axes that count.
    Axis i of the grid is axis `order[i]` of the file's, backwards where `flipped`; `nodes` are the numbers of the nodes of that grid
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
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return 1 if self.samples is None else self.variable.shape[self.samples]

    @property
    def _all(self) -> list[int]:
        """The axes of the variable but that of the samples."""
        axes = range(len(self.variable.shape))
        return [axis for axis in axes if self.samples is None or axis != self.samples % len(axes)]

    @property
    def _kept(self) -> list[int]:
        """The axes of the variable that count, before they are reshaped."""
        return [axis for axis in self._all if self.variable.shape[axis] != 1 or self.plain]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of a sample that count, as they are in the file: those of more than one value."""
        kept = tuple(self.variable.shape[axis] for axis in self._kept)
        return self.shape if self.shape and math.prod(kept) == math.prod(self.shape) else kept

    @property
    def dims(self) -> tuple[str, ...] | None:
        """The names of these axes."""
        names = self.variable.dims
        return None if names is None or len(self.axes) != len(self._kept) else tuple(names[axis] for axis in self._kept)

    @property
    def whole_grid(self) -> tuple[int, ...]:
        """The axes of the grid, all nodes of it."""
        sizes = [size for axis, size in enumerate(self.axes) if axis != self.channel]
        sizes = [sizes[axis] for axis in self.order] if self.order else sizes
        return tuple(size - again for size, again in zip(sizes, self.repeated or (False,) * len(sizes), strict=True))

    @property
    def grid(self) -> tuple[int, ...]:
        """The axes of the grid, or the number of nodes."""
        return self.whole_grid if self.nodes is None else (len(self.nodes),)

    @property
    def grid_dims(self) -> tuple[str, ...] | None:
        """The names of the axes of the grid, where they have any."""
        names = [dim for axis, dim in enumerate(self.dims or ()) if axis != self.channel]
        if not any(names):
            return None
        return tuple(names[axis] for axis in self.order) if self.order else tuple(names)

    @property
    def count(self) -> int:
        """How many channels."""
        return 1 if self.channel is None else self.axes[self.channel]

    @property
    def layout(self) -> ArrayLayout:
        """What other arrays are read and written by."""
        single = tuple(place for place, axis in enumerate(self._all) if axis not in self._kept)
        some = self.nodes is not None and len(self.nodes) < math.prod(self.whole_grid)
        masked = self.whole_grid if some or self.flat else ()
        shape = self.shape if self.axes == self.shape else ()
        return ArrayLayout(
            samples=self.samples,
            channel=self.channel,
            count=self.count,
            single=single,
            shape=shape,
            order=self.order,
            flipped=self.flipped,
            masked=masked,
            repeated=self.repeated,
        )

    def read(self, rows: range) -> np.ndarray:
        """Samples (n, channels, *grid), none of them missing."""
        values = self.values(rows)
        check_whole(self.variable.path, self.variable.name, values, rows.start, each_of(self.variable))
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

    def glance(self, most: int) -> np.ndarray:
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
        """All samples, where they are not rows."""
        values = self.variable.glance()
        return values[None] if self.samples is None else np.moveaxis(values, self.samples, 0)


def column(variable: Variable, samples: int | None, lengths: dict[str, int], shape: tuple[int, ...] = ()) -> Column:
    """Return a variable with samples along an axis.

    `lengths` are those of coordinates in the file, by their names; `shape` is what samples are reshaped to.
    """
    part = Column(variable, samples)
    if 1 in part.variable.shape[1:] and len(part.variable.shape) > 2:
        part.notes.append(f"{variable.name}: an axis with a single entry is left out.")
    if shape and math.prod(part.axes) == math.prod(shape) and len(part.axes) == 1:
        part.shape = shape
        part.notes.append(
            f"{variable.name}: samples of {math.prod(shape)} values are reshaped to {shown(shape)}, as asked for."
        )
        return part
    part.channel = _channel(part, lengths)
    if shape and part.channel is not None and part.grid == (math.prod(shape),):
        part.shape = (part.count, *shape) if part.channel == 0 else (*shape, part.count)
        part.channel = 0 if part.channel == 0 else len(shape)
        part.notes.append(
            f"{variable.name}: {part.count} channels of {math.prod(shape)} values are reshaped to {shown(shape)}, as asked for."
        )
    elif part.channel is not None:
        part.notes.append(f"{variable.name}: the axis of {part.count} is taken for channels, the others for the grid.")
    return part


def check_reshaped(parts: Sequence[Column], shape: tuple[int, ...]) -> None:
    """Refuse a shape that no array has as many values for."""
    if shape and not any(part.shape for part in parts):
        came = ", ".join(f"{part.variable.name} {shown(part.axes)}" for part in parts)
        raise RaffiaError(
            f"reshape={shape} ({FLAGS['reshape']}) needs samples of {math.prod(shape)} values along one axis; they have {came}."
        )


def stacked(parts: Sequence[Column], space: Space, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """What was read of several variables, as the space has it: components of a vector, or channels (numbers as constant ones)."""
    if space.tabular:
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


def _channel(part: Column, lengths: dict[str, int]) -> int | None:
    """Return the axis called channels, else a short one at either end, unless it has coordinates; None where there is none."""
    axes, dims = part.axes, part.dims
    if len(axes) < 2 or (not any(dims or ()) and Counter(axes) <= Counter(lengths.values())):
        return None
    if dims and (by_name := [axis for axis, dim in enumerate(dims) if dim.lower() in CHANNEL]):
        return by_name[0]
    for axis, others in ((len(axes) - 1, axes[:-1]), (0, axes[1:])):
        if 2 <= axes[axis] <= CHANNELS and 2 * axes[axis] <= min(others) and not (dims and dims[axis] in lengths):
            return axis
    return None
