"""The axes of grids in one order and direction: by the names of axes, and coordinates that go up; and the nodes that have values."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from raffia.data.meaning.columns import Column
from raffia.data.meaning.coordinates import Places
from raffia.data.readers import Variable
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Mesh


def in_one_order(parts: Sequence[Column], names: tuple[str, ...]) -> list[str]:
    """Give the axes of all arrays the order of `names`, where they have these names; and say so."""
    notes = []
    for part in parts:
        dims = part.grid_dims
        if dims is not None and dims != names and sorted(dims) == sorted(names) and len(set(dims)) == len(dims):
            _reorder(part, tuple(dims.index(name) for name in names))
            notes.append(f"{part.variable.name}: its axes {', '.join(dims)} are taken in the order {', '.join(names)}.")
    return notes


def like(places: Places, parts: Sequence[Column], names: tuple[str, ...]) -> Places:
    """The places and arrays of one side with the axes in the order of another, where coordinates have the same names."""
    if places.names == names or sorted(places.names) != sorted(names) or len(set(names)) != len(names) or "" in names:
        return places
    order = tuple(places.names.index(name) for name in names)
    for part in parts:
        if len(part.whole_grid) == len(order):
            _reorder(part, order)
    note = f"the axes {', '.join(places.names)} of {parts[0].variable.name} are taken in the order {', '.join(names)}."
    return replace(places.ordered(order), notes=[*places.notes, note])


def upward(places: Places, parts: Sequence[Column]) -> Places:
    """Coordinates that go up: axes along which they go down are turned around, in all arrays on the grid."""
    if places.nodes is not None or not any(down(x) for x in places.axes):
        return places
    flipped = tuple(down(x) for x in places.axes)
    for part in parts:
        if len(part.whole_grid) == len(flipped):
            part.flipped = flipped
    axes = tuple(x[::-1] if x is not None and flip else x for x, flip in zip(places.axes, flipped, strict=True))
    said = [
        f"{name} goes from {float(x[0]):g} to {float(x[-1]):g} in the file: it is read the other way round."
        for name, x, flip in zip(places.names, places.axes, flipped, strict=True)
        if flip and x is not None
    ]
    return replace(places, axes=axes, notes=[*places.notes, *said])


def down(x: np.ndarray | None) -> bool:
    """Whether coordinates go down all the way."""
    return x is not None and len(x) > 1 and bool((np.diff(x) < 0).all())


def without_gaps(places: Places, parts: Sequence[Column], most: int, mask: Variable | None) -> Places:
    """The nodes of a grid, or of a mesh, at which the first samples have values, where at others none has; or those of a `mask`."""
    grid = parts[0].whole_grid
    missing, reason = _missing(parts, most), "no sample has values"
    if mask is not None and math.prod(mask.shape) == math.prod(grid):
        valid = np.nan_to_num(mask.glance().astype(np.float64)) != 0
        turned = parts[0].layout.turned(valid.reshape(1, 1, *_in_file(parts[0])))
        missing, reason = ~turned.reshape(-1), f"{mask.name} is zero"
    if missing is None or not missing.any():
        return places
    chosen = np.flatnonzero(~missing)
    if not len(chosen):
        raise RaffiaError(f"{parts[0].variable.name} has no values at any of its {len(missing)} nodes.")
    for part in parts:
        part.nodes, part.empty = chosen, mask is None
    note = f"at {int(missing.sum())} of {len(missing)} nodes {reason}: the functions live on a mesh of the other {len(chosen)}."
    mesh, beside = _of_chosen(places, grid, chosen), (mask,) if reason.endswith("zero") and mask is not None else ()
    return replace(places, mesh=mesh, notes=[*places.notes, note], beside=(*places.beside, *beside))


def positions(lines: Sequence[np.ndarray | None], grid: tuple[int, ...]) -> np.ndarray:
    """All nodes of a grid, (points, dim); an axis without coordinates goes from 0 to 1."""
    known = [np.linspace(0, 1, size) if x is None else x for x, size in zip(lines or (None,) * len(grid), grid, strict=True)]
    return np.stack(np.meshgrid(*known, indexing="ij"), -1).reshape(-1, len(grid))


def _of_chosen(places: Places, grid: tuple[int, ...], chosen: np.ndarray) -> Mesh:
    if places.mesh is not None:
        assert places.mesh.weights is not None
        return Mesh(places.mesh.nodes[chosen], places.mesh.weights[chosen], places.mesh.domain, places.mesh.origin)
    nodes = positions(places.axes, grid)
    weights = Domain(len(grid), periodic=False, extent=tuple(np.ptp(nodes, axis=0).tolist())).grid(*grid).weights().reshape(-1)
    return Mesh(torch.from_numpy(nodes[chosen].copy()), weights[torch.from_numpy(chosen)])


def _missing(parts: Sequence[Column], most: int) -> np.ndarray | None:
    """The nodes without values in any sample looked at, if there are several and all others have values."""
    gaps = [part.gaps(most) for part in parts]
    each = np.concatenate([gap.any(1).reshape(len(gap), -1) for gap in gaps])
    constant = len(each) > 1 and all(bool((gap == gap[:1, :1]).all()) for gap in gaps)
    return np.asarray(each.any(0)) if constant else None


def _in_file(part: Column) -> tuple[int, ...]:
    """The shape of the grid as the file has it."""
    return tuple(size for axis, size in enumerate(part.axes) if axis != part.channel)


def _reorder(part: Column, order: tuple[int, ...]) -> None:
    part.order = tuple(part.order[axis] for axis in order) if part.order else order
