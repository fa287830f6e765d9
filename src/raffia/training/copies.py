"""Pairs whose inputs are copies of one another: a model that has seen one of them has seen all, so they are held out together."""

import numpy as np
import torch
from jaxtyping import Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from torch import Tensor

from raffia.measures.noise import white_noise

NEAR = 1e-4  # of the usual distance between inputs: closer ones are copies
DIRECTIONS = 8


def groups_of(inputs: Tensor) -> Int[Tensor, "n"]:
    """The number of the first input that each is a copy of, itself where it is none; exact copies and near ones.

    Inputs are compared through a few random projections, which near inputs share, and then by their distance.
    """
    flat = inputs.detach().reshape(len(inputs), -1).double().cpu()
    flat = flat - flat.mean(0)
    usual = float(flat.square().sum(1).mean().sqrt())
    if usual == 0 or len(flat) < 2:
        return torch.zeros(len(flat), dtype=torch.long) if usual == 0 else torch.arange(len(flat))
    directions = white_noise(DIRECTIONS, (flat.shape[1],), 0, "copies").mT / DIRECTIONS**0.5
    places, first, which = np.unique(
        ((flat @ directions) / (1e-3 * NEAR * usual)).round().numpy(), axis=0, return_index=True, return_inverse=True
    )
    near = cKDTree(places).query_pairs(3e3, output_type="ndarray") if len(places) > 1 else np.zeros((0, 2), dtype=int)
    distance = (flat[first[near[:, 0]]] - flat[first[near[:, 1]]]).norm(dim=1)
    near = near[(distance <= NEAR * usual).numpy()]
    links = coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(places),) * 2)
    _, group = connected_components(links, directed=False)
    _, start = np.unique(labels := group[which.reshape(-1)], return_index=True)
    return torch.from_numpy(start[labels])


def firsts(groups: Int[Tensor, "n"]) -> Int[Tensor, "distinct"]:
    """One of each group."""
    return (groups == torch.arange(len(groups))).nonzero()[:, 0]


def in_words(groups: Int[Tensor, "n"]) -> str:
    """What to tell of copies; nothing where there are none."""
    extra = len(groups) - len(firsts(groups))
    if not extra:
        return ""
    return f"{extra} of {len(groups)} inputs are copies of others, or nearly: copies are held out together, lest errors look small."
