"""Functions of another file, brought onto the axes and nodes of the training by their coordinates; other places are refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import torch
from scipy.spatial import cKDTree

from raffia.data.infer.coordinates import FEW, Places, places_of
from raffia.data.infer.guess import Guesses
from raffia.data.infer.names import Variables, shapes, shown
from raffia.data.infer.sides import LOOKED_AT
from raffia.data.options import FLAGS
from raffia.data.orientation import in_one_order, oriented, positions
from raffia.data.readers import Variable
from raffia.data.row_reader import RowReader, sample_shape, with_grid
from raffia.data.schema import ArrayLayout, AxisLabel, Frame, SideSchema
from raffia.errors import RaffiaError
from raffia.spaces import Mesh, Nodes, Space
from raffia.spaces.axes import Axis, equispaced

NEAR = 1e-6  # of the size of a mesh: nodes that are nearer are one
CLOSE = 1e-2  # of a step: how far the ends of an axis may be from those of the training


def match(
    path: object, parts: Sequence[RowReader], trained: SideSchema, pool: Variables, chosen: list[Variable], guesses: Guesses
) -> Places:
    """Bring the arrays of a file into the layout of the training data, and return their coordinates.

    With coordinates, axes are permuted and reversed until these agree with the training. Without them, the layout of the training file is
    taken. Values on a mesh are reordered by their nodes. End points that the training left out are left out here if they repeat
    the first ones. `parts` are changed in place.

    Raises
    ------
    RaffiaError
        If coordinates do not fit the samples, or lie elsewhere than those of the training.
    """
    region, frame, shape, whole = trained.space.one_channel, trained.frame, trained.shape, with_grid(parts, FEW)
    if whole is None or not trained.space.dim:
        return Places()
    alike = [part for part in parts if part.whole_grid == whole.whole_grid]
    layout = next((one for part, one in zip(parts, trained.layouts, strict=False) if part is whole), ArrayLayout())
    wanted = tuple(label.name for label in frame)
    turned = in_one_order(alike, wanted, guesses)
    places = places_of(path, whole, pool, chosen, Guesses())
    if chosen and frame and frame[0].first is not None and not places.known:
        raise RaffiaError(
            f"{path}: its coordinates {shapes(chosen)} do not fit samples of {whole.variable.name} {shown(whole.variable.shape)}, "
            f"which are {shown(whole.whole_grid)}. Pass a file whose arrays are laid out like those of the training."
        )
    if places.known or turned:
        places = oriented(places, alike, wanted, guesses)
    else:
        for part in alike:
            fits = len(part.whole_grid) == len(layout.flipped or layout.order)
            part.order, part.flipped = (layout.order, layout.flipped) if fits else ((), ())
        if layout.order or any(layout.flipped):
            guesses.note(f"{whole.variable.name}: without coordinates, its axes are taken as those of the training file")
        places = Places()
    if not region.gridded:
        return _on_nodes(path, alike, cast(Mesh, region), places, layout, frame, guesses)
    if any(layout.repeated) and len(layout.repeated) == len(whole.whole_grid):
        again = tuple(one and all(_repeats(part, axis) for part in alike) for axis, one in enumerate(layout.repeated))
        for part in alike:
            part.repeated = again
        axes = (x[:-1] if x is not None and one else x for x, one in zip(places.axes, again, strict=False))
        places = replace(places, axes=tuple(axes))
    for axis, (x, label) in enumerate(zip(places.axes, frame, strict=False)):
        if x is not None and label.first is not None and shape is not None and len(x) > 1:
            _check_ends(path, places.names[axis], x, label, region.kinds[axis], shape[len(shape) - len(region.kinds) + axis])
    return places


def _repeats(part: RowReader, axis: int) -> bool:
    """Whether functions have their first value again at the last point of an axis."""
    f = part.some(LOOKED_AT)
    return bool(np.allclose(f.take(0, 2 + axis), f.take(-1, 2 + axis), rtol=0, atol=2e-5 * float(np.abs(f).max())))


def nodes_of(mesh: Mesh, frame: Frame, grid: tuple[int, ...], lines: Sequence[np.ndarray | None] = ()) -> np.ndarray:
    """Return the indices of those nodes of a grid, with axes along `lines` or as in the `frame`, that a mesh consists of."""
    known = [
        x if x is not None or label.first is None or label.last is None else np.linspace(label.first, label.last, size)
        for x, label, size in zip(lines or (None,) * len(grid), frame, grid, strict=True)
    ]
    return indices_of(mesh.nodes.numpy(), positions(known, grid))


def _on_nodes(
    path: object, parts: Sequence[RowReader], mesh: Mesh, places: Places, layout: ArrayLayout, frame: Frame, guesses: Guesses
) -> Places:
    """Give arrays the nodes of the mesh among those of the file."""
    grid = parts[0].whole_grid
    if layout.masked and len(grid) == len(frame):
        if grid != layout.masked:
            raise RaffiaError(
                f"{path}: {parts[0].variable.name} must be on the grid {shown(layout.masked)} of the training; got {shown(grid)}."
            )
        indices = nodes_of(mesh, frame, grid, places.axes)
    else:
        line = places.axes[0] if places.nodes is None and len(grid) == 1 and places.axes else None
        nodes = places.nodes if line is None else line[:, None]
        if nodes is None or places.moving or (len(nodes) != len(mesh.nodes) and not layout.masked):
            return places  # nothing to compare, or refused by its shape
        indices = indices_of(mesh.nodes.numpy(), nodes)
    if (indices < 0).any():
        lost = int(np.flatnonzero(indices < 0)[0])
        raise RaffiaError(
            f"{path}: its coordinates {', '.join(places.names)} are not the nodes of the training: none is at {mesh.nodes[lost].tolist()}. "
            "Pass functions on the nodes of the training; interpolate them, or mend the units of the coordinates."
        )
    if not np.array_equal(indices, np.arange(int(np.prod(grid)))):
        for part in parts:
            part.nodes = indices
        if not layout.masked:
            guesses.note(f"{parts[0].variable.name}: its nodes are taken in the order of the training, by their coordinates")
    return places


def indices_of(wanted: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Return for each node that is wanted the index of the one that is there, or −1; each is taken once."""
    if nodes.shape[1] > wanted.shape[1]:
        nodes = nodes[:, np.ptp(nodes, axis=0) > 0]
    if nodes.shape[1] != wanted.shape[1]:
        return np.full(len(wanted), -1)
    near = NEAR * float(np.ptp(wanted, axis=0).max() + np.abs(wanted).max())
    distances, indices = cKDTree(nodes).query(wanted)
    first = np.isin(np.arange(len(indices)), np.unique(indices, return_index=True)[1])
    return np.where((distances <= near) & first, indices, -1)


def _check_ends(path: object, name: str, x: np.ndarray, label: AxisLabel, kind: Axis, points: int) -> None:
    """Raise an error if an axis does not begin and end where that of the training does."""
    assert label.first is not None
    assert label.last is not None
    if not equispaced(x):
        raise RaffiaError(
            f"{path}: the coordinates {name} are not equispaced, and those of the training are. Interpolate its functions."
        )
    there, here = _ends(kind, label.first, label.last, points), _ends(kind, float(x[0]), float(x[-1]), len(x))
    step = min(abs(label.last - label.first) / max(1, points - 1), abs(float(x[-1] - x[0])) / (len(x) - 1))
    if max(abs(a - b) for a, b in zip(there, here, strict=True)) > CLOSE * step:
        raise RaffiaError(
            f"{path}: {name} covers {here[0]:g} to {here[1]:g}, and {label.name or 'the axis'} of the training {there[0]:g} to {there[1]:g}"
            f"{f' {label.units}' if label.units else ''}. Pass functions on that domain, or convert units and origin."
        )


def _ends(kind: Axis, first: float, last: float, points: int) -> tuple[float, float]:
    """The ends of an axis with these first and last nodes."""
    step = (last - first) / max(1, points - 1)
    return first - kind.before * step, last + kind.after * step


def channel_in(axes: tuple[int, ...], space: Space) -> int | None:
    """The axis of channels, if the space has them: the first, unless only the last has as many entries."""
    return min((0, len(axes) - 1), key=lambda axis: axes[axis] != space.channels) if space.one_channel is not space else None


def check_fits(parts: list[RowReader], space: Space, trained: tuple[int, ...] | None) -> None:
    """Samples must be of the space: grids may have any size, meshes and vectors that of the training."""
    shape = sample_shape(parts, space)
    try:
        fits = len(shape) == space.ndim and space.grid_of(torch.empty(shape, device="meta")) is not None
    except RaffiaError:
        fits = False
    if not fits or (isinstance(space, Nodes) and trained not in (None, shape)):
        before = "" if trained is None else f", {shown(trained)} in training"
        order = "" if space.one_channel is space else ", channels before the grid"
        came = shapes(part.variable for part in parts)
        raise RaffiaError(
            f"{parts[0].variable.path}: {came} must hold samples of {space}{before}; got samples of shape {shown(shape)}{order}. "
            f"Pass a file like that of the training, or name other arrays ({FLAGS['input']}, {FLAGS['output']})."
        )
