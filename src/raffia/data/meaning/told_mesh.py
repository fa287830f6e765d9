"""Meshes that a file tells of: its fields name the variables of their nodes, cells and weights."""

import numpy as np
import torch

from raffia.data.formats.meshes.content import CELLS, NODES, NOTES, PART, WEIGHTS
from raffia.data.formats.variable import Variable
from raffia.errors import RaffiaError
from raffia.spaces import Mesh


def told_mesh(field: Variable, pool: dict[str, Variable]) -> tuple[Mesh, list[str], tuple[Variable, ...]] | None:
    """The mesh of a field, what to say of it, and the variables that tell; None where its file does not."""
    parts = [pool.get(str(field.attributes.get(key))) for key in (NODES, CELLS, WEIGHTS)]
    if parts[0] is None or not all(part is None or part.attributes.get(PART) is True for part in parts):
        return None
    nodes, cells, weights = (None if part is None else part.glance() for part in parts)
    assert nodes is not None
    notes = [f"{parts[0].name} gives the {len(nodes)} nodes of a mesh{_in_words(cells, nodes)}.", *field.attributes[NOTES]]
    tensors = [None if part is None else torch.from_numpy(part) for part in (weights, cells)]
    try:
        return (
            Mesh(torch.from_numpy(nodes.astype(np.float64)), tensors[0], cells=tensors[1]),
            notes,
            tuple(part for part in parts if part is not None),
        )
    except RaffiaError as error:
        raise RaffiaError(f"{field.path}: {error}") from None


def _in_words(cells: np.ndarray | None, nodes: np.ndarray) -> str:
    if cells is None:
        return ""
    shape = {2: "intervals", 3: "triangles", 4: "tetrahedra"}[cells.shape[1]]
    return f", divided into {len(cells)} {shape}" + (" of a curve or surface" if cells.shape[1] <= nodes.shape[1] else "")
