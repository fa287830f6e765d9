"""The axes of grids in one order and direction, by names and by coordinates that go up; and the nodes that have values."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from raffia.data.infer.coordinates import Places
from raffia.data.infer.guess import Guesses
from raffia.data.readers import Variable
from raffia.data.row_reader import RowReader
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Mesh


def in_one_order(parts: Sequence[RowReader], wanted: tuple[str, ...], guesses: Guesses) -> bool:
    """Give the axes of all arrays the order of the names that are wanted, where they have these names; return whether any had another."""
    turned = [part for part in parts if _order(part.grid_dims or (), wanted)]
    for part in turned:
        dims = part.grid_dims or ()
        guesses.note(f"{part.variable.name}: its axes {', '.join(dims)} are taken in the order {', '.join(wanted)}")
        _reorder(part, _order(dims, wanted))
    return bool(turned)


def oriented(places: Places, parts: Sequence[RowReader], wanted: tuple[str, ...], guesses: Guesses) -> Places:
    """Return places and arrays with axes in the order of the names that are wanted, and coordinates that go up."""
    if order := _order(places.names, wanted):
        guesses.note(
            f"the axes {', '.join(places.names)} of {parts[0].variable.name} are taken in the order {', '.join(wanted)}"
        )
        units = tuple(places.units[i] for i in order)
        places = replace(places, axes=tuple(places.axes[i] for i in order), names=wanted, units=units)
    flipped = tuple(x is not None and len(x) > 1 and bool((np.diff(x) < 0).all()) for x in places.axes)
    turns = places.nodes is None and any(flipped)
    for part in parts:
        if len(part.whole_grid) == len(order or ()):
            _reorder(part, order)
        if turns and len(part.whole_grid) == len(flipped):
            part.flipped = flipped
    if not turns:
        return places
    for name, x, flip in zip(places.names, places.axes, flipped, strict=True):
        if flip and x is not None:
            guesses.note(f"{name} goes from {float(x[0]):g} to {float(x[-1]):g} in the file: it is read the other way round")
    return replace(
        places, axes=tuple(x[::-1] if x is not None and flip else x for x, flip in zip(places.axes, flipped, strict=True))
    )


def _order(own: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[int, ...]:
    """The place of each axis that is wanted among its own; none where they are the same, or others."""
    if own == wanted or sorted(own) != sorted(wanted) or len(set(wanted)) != len(wanted) or "" in wanted:
        return ()
    return tuple(own.index(name) for name in wanted)


def _reorder(part: RowReader, order: tuple[int, ...]) -> None:
    part.order = tuple(part.order[axis] for axis in order) if part.order else order


def without_gaps(places: Places, parts: Sequence[RowReader], most: int, mask: Variable | None, guesses: Guesses) -> Places:
    """Return the nodes of a grid, or of a mesh, at which some samples have values, where at others none has; or those of a `mask`."""
    grid = parts[0].whole_grid
    masked = mask is not None and math.prod(mask.shape) == math.prod(grid)
    if mask is not None and masked:
        valid = np.nan_to_num(mask.glance().astype(np.float64)) != 0
        in_file = tuple(size for axis, size in enumerate(parts[0].axes) if axis != parts[0].channel)
        missing = ~parts[0].layout.turned(valid.reshape(1, 1, *in_file)).reshape(-1)
    else:
        gaps = [part.gaps(most) for part in parts]
        each = np.concatenate([gap.any(1).reshape(len(gap), -1) for gap in gaps])
        constant = len(each) > 1 and all(bool((gap == gap[:1, :1]).all()) for gap in gaps)
        missing = np.asarray(each.any(0) & constant)
    if not missing.any():
        return places
    chosen = np.flatnonzero(~missing)
    if not len(chosen):
        raise RaffiaError(f"{parts[0].variable.name} has no values at any of its {len(missing)} nodes.")
    for part in parts:
        part.nodes, part.empty = chosen, mask is None
    reason = f"{mask.name} is zero" if masked and mask is not None else "no sample has values"
    guesses.note(
        f"at {int(missing.sum())} of {len(missing)} nodes {reason}: the functions live on a mesh of the other {len(chosen)}",
        "mask",
    )
    beside = (*places.beside, *([mask] if masked and mask is not None else []))
    return replace(places, mesh=_of_chosen(places, grid, chosen), beside=beside)


def _of_chosen(places: Places, grid: tuple[int, ...], chosen: np.ndarray) -> Mesh:
    if places.mesh is not None:
        assert places.mesh.weights is not None
        return Mesh(places.mesh.nodes[chosen], places.mesh.weights[chosen], places.mesh.domain, places.mesh.origin)
    nodes = positions(places.axes, grid)
    weights = Domain(len(grid), periodic=False, extent=tuple(np.ptp(nodes, axis=0).tolist())).grid(*grid).weights().reshape(-1)
    return Mesh(torch.from_numpy(nodes[chosen].copy()), weights[torch.from_numpy(chosen)])


def positions(lines: Sequence[np.ndarray | None], grid: tuple[int, ...]) -> np.ndarray:
    """Return all nodes of a grid, (points, dim); an axis without coordinates goes from 0 to 1."""
    known = [np.linspace(0, 1, size) if x is None else x for x, size in zip(lines or (None,) * len(grid), grid, strict=True)]
    return np.stack(np.meshgrid(*known, indexing="ij"), -1).reshape(-1, len(grid))
