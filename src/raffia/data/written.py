"""Read the inputs of a file, and write predictions for them in the layout of the training outputs, with the axes of that file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from torch import Tensor

from raffia.data.infer.coordinates import FEW, Places
from raffia.data.matching import nodes_of
from raffia.data.row_reader import RowReader, read_rows, with_grid
from raffia.data.schema import ArrayLayout, SideSchema, filled
from raffia.spaces import Mesh, Space


@dataclass(frozen=True, eq=False, kw_only=True)
class Inputs:
    """The inputs in a file, read as those of the training were.

    `trained` describes the outputs of the training; `places` is where the inputs lie, by the file.
    """

    parts: list[RowReader]
    domain: Space
    trained: SideSchema
    places: Places
    notes: list[str]

    def __len__(self) -> int:
        return len(self.parts[0])

    @cached_property
    def values(self) -> Tensor:
        """All inputs, as the model takes them."""
        return self.read(range(len(self)))

    def read(self, rows: range) -> Tensor:
        """Some of them."""
        return read_rows(self.parts, self.domain, rows)

    def coordinates(self, predicted: Tensor) -> dict[str, np.ndarray]:
        """Where predictions are: the coordinates of this file, as they are, if outputs live where inputs do; else those of the training."""
        if self._shared:
            return {v.name: v.read() for v in self.places.used}
        region, layout = self.trained.space.one_channel, (self.trained.layouts or (ArrayLayout(),))[0]
        if region.dim and not region.gridded and not layout.masked:
            return {"nodes": cast(Mesh, region).nodes.numpy()}
        sizes, lines = layout.masked or tuple(predicted.shape[predicted.ndim - region.ndim :]), {}
        for axis, (label, points) in enumerate(zip(self.trained.frame, sizes, strict=False)):
            if label.name and label.first is not None and label.last is not None:
                x = np.linspace(label.first, label.last, points)
                if axis < len(layout.repeated) and layout.repeated[axis]:
                    x = np.append(x, x[-1] + (x[1] - x[0]))
                lines[label.name] = x[::-1] if axis < len(layout.flipped) and layout.flipped[axis] else x
        return lines

    def written(self, predicted: Tensor, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
        """Predictions as arrays of the layout that those of the training had, by name, with axes and nodes in the order of this file.

        Where outputs live elsewhere than inputs, axes are as in the file of the training. Several components of a vector are one array, as
        are outputs of which nothing is known. States of trajectories are the first outputs, under other `names`.
        """
        names = names or self.trained.names
        values, layouts = predicted.numpy(force=True), self.trained.layouts[: len(names)]
        if len(layouts) < max(1, len(names)) or (len(names) > 1 and not self.trained.space.dim):
            return {", ".join(names) or "y": values}
        whole = values[:, None] if values.ndim == 1 + self.trained.space.one_channel.ndim else values
        counts = [layout.count for layout in layouts] if len(layouts) > 1 else [whole.shape[1]]
        channels = np.split(whole, np.cumsum(counts)[:-1], axis=1)
        return {name: self._laid_out(f, one) for name, f, one in zip(names, channels, layouts, strict=True)}

    def fields(self, predicted: Tensor) -> dict[str, np.ndarray]:
        """Predictions by the names of the arrays that the model was trained on, each with its channels, at the nodes of the space."""
        names, counts = self.trained.names, [layout.count for layout in self.trained.layouts] or [1] * len(self.trained.names)
        values = predicted.numpy(force=True)
        if len(names) < 2 or not self.trained.space.has_components or values.shape[1] != sum(counts):
            return {", ".join(names) or "y": values}
        parts = zip(names, np.split(values, np.cumsum(counts)[:-1], axis=1), strict=True)
        return {name: part[:, 0] if part.shape[1] == 1 else part for name, part in parts}

    def _laid_out(self, f: np.ndarray, layout: ArrayLayout) -> np.ndarray:
        there = with_grid(self.parts, FEW) if self._shared else None
        nodes, grid = (None, layout.masked) if there is None else (there.nodes, there.whole_grid)
        if there is not None:
            layout = replace(layout, order=there.order, flipped=there.flipped, repeated=there.repeated)
        if self.trained.space.tabular and layout.masked:
            f, nodes = f.reshape(len(f), layout.count, -1), np.arange(math.prod(grid))
        elif there is None and layout.masked and len(self.trained.frame) == len(grid):
            nodes = nodes_of(cast(Mesh, self.trained.space.one_channel), self.trained.frame, grid)
        if nodes is not None and math.prod(grid) >= len(nodes):
            f = filled(f, nodes, grid)
        if f.ndim - 2 != len(layout.flipped or layout.order or f.shape[2:]):
            return f[:, 0]
        return layout.written(layout.turned_back(f))

    @property
    def node_order(self) -> np.ndarray | None:
        """The index of each node of the outputs among those of this file; None where outputs live elsewhere, or in the same order."""
        there = with_grid(self.parts, FEW) if self._shared else None
        whole = there is not None and there.nodes is not None and len(there.nodes) == math.prod(there.whole_grid)
        return there.nodes if there is not None and whole else None

    @property
    def _shared(self) -> bool:
        """Whether outputs live where inputs do."""
        return bool(self.domain.dim) and self.trained.space.one_channel == self.domain.one_channel
