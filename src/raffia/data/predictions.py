"""Predictions as files: arrays by name, or the mesh or grid that they live on with fields, in the formats that data come in."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from raffia.data.matching import indices_of
from raffia.data.readers import writing
from raffia.data.readers.meshes import original
from raffia.data.readers.meshes.content import Content, Lattice, listed
from raffia.data.readers.writing import Arrays
from raffia.errors import RaffiaError
from raffia.spaces import Domain, Mesh, Space

Order = np.ndarray | None
SUFFIXES = (*writing.WRITERS, *writing.SUFFIXES)


def on_nodes(path: Path) -> bool:
    """Whether a file of this name has nodes or a grid with fields on it, and not arrays."""
    return path.suffix in writing.SUFFIXES


def check(path: Path, space: Space) -> None:
    """Refuse a format that does not hold functions on a space: before the work, not after it."""
    one = space.one_channel
    fitting = (".vtu",) if type(one) is Mesh else (".vti",) if one.dim else ()
    if path.suffix in writing.SUFFIXES and path.suffix not in fitting:
        raise RaffiaError(f"{path}: outputs, {space.in_words}, are written to {' '.join((*fitting, *writing.WRITERS))}.")


def write(path: Path, arrays: Arrays, space: Space, source: Path | None = None, node_order: Order = None) -> list[Path]:
    """Write predictions on a space to a file of arrays, or to files of VTK with a sample each.

    Parameters
    ----------
    path
        The file to write. Of several samples, each file of VTK has the index of its sample in the name.
    arrays
        Predictions by name, (n, …) with channels before the grid, at the nodes of the space.
    space
        The space of the outputs.
    source
        The file of the inputs. If it is a file of VTK with the same nodes, in any order, its points and cells are written as they are.
    node_order
        The index of each node of the space among the nodes of the inputs, in whose order nodes are written; None if it is the same.

    Returns
    -------
    list of Path
        The files that were written.
    """
    if path.suffix not in writing.SUFFIXES:
        writing.write(path, arrays)
        return [path]
    check(path, space)
    one = space.one_channel
    count = len(next(iter(arrays.values())))
    paths = [path] if count == 1 else [path.with_stem(f"{path.stem}_{i:0{len(str(count - 1))}d}") for i in range(count)]
    grid = type(one) is not Mesh
    base, places, in_cells = (
        _on_grid(cast(Domain, one), arrays, source) if grid else _on_mesh(cast(Mesh, one), source, node_order)
    )
    for i, file in enumerate(paths):
        fields = {name: _field(array[i], one, base, places, in_cells) for name, array in arrays.items()}
        at_points, at_cells = ({}, fields) if in_cells else (fields, {})
        writing.write_mesh(file, replace(base, point_data=at_points, cell_data=at_cells))
    return paths


def _field(values: np.ndarray, one: Space, base: Content | Lattice, places: np.ndarray | None, in_cells: bool) -> np.ndarray:
    """One sample as a list with a row for each point or cell; those that have no value are missing."""
    last = np.moveaxis(values, 0, -1) if values.ndim > one.ndim else values
    if type(base) is Lattice:
        return listed(last, one.ndim)
    assert type(base) is Content
    whole = np.full((len(base.cells) if in_cells else len(base.points), *last.shape[1:]), np.nan, last.dtype)
    whole[slice(None) if places is None else places] = last
    return whole


Base = tuple[Content | Lattice, np.ndarray | None, bool]
"""A mesh or a grid, the points or cells of it that values are for, and whether they are for cells."""


def _on_mesh(mesh: Mesh, source: Path | None, node_order: Order) -> Base:
    there, nodes = None if source is None else original(source), mesh.nodes.numpy()
    if type(there) is Content:
        geometry = there.geometry
        if (order := _order(geometry.nodes, nodes)) is not None:
            return there, geometry.used[order], False
        if len(geometry.simplices) and (order := _order(geometry.centres[0], nodes)) is not None:
            return there, geometry.cells[order], True
    cells = None if mesh.cells is None else mesh.cells.numpy()
    if node_order is None:
        return writing.simplices(nodes, cells), None, False
    return writing.simplices(nodes[node_order.argsort()], None if cells is None else node_order[cells]), node_order, False


def _on_grid(domain: Domain, arrays: Arrays, source: Path | None) -> Base:
    """Return the grid of the source file if these values fit its points or its cells, else an equispaced grid of their shape."""
    shape = next(iter(arrays.values())).shape[-domain.dim :]
    there = None if source is None else original(source)
    if type(there) is Lattice and all(x[-1] >= x[0] for x in there.axes):
        for less in (0, 1):
            if tuple(size - less for size in there.shape if size > 1) == shape:
                return there, None, bool(less)
    lines = [x.numpy() for x in domain.grid(*shape).axes()]
    return Lattice((*lines, *[np.zeros(1)] * (3 - len(lines)))), None, False


def _order(here: np.ndarray, there: np.ndarray) -> Order:
    """The index `here` of each node that is `there`; None where the nodes are not the same."""
    order = indices_of(there, here)
    return order if len(here) == len(there) and (order >= 0).all() else None
