"""Simplices of a mesh: their volumes, and linear interpolation in them."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import cKDTree
from torch import Tensor

Points = Float[Tensor, "points dim"]
Cells = Int[Tensor, "cells corners"]
SPREAD = 32
"""The average number of search bins that a cell may overlap."""
ROUNDING = 1e-9
"""A point may lie outside of a cell by this share of its size."""


def volumes(nodes: Points, cells: Cells) -> Float[Tensor, "cells"]:
    """√det(EᵀE)/k! with edges E from the first of k + 1 corners: lengths, areas or volumes, of curves and surfaces in space too."""
    edges = nodes[cells[:, 1:]] - nodes[cells[:, :1]]
    count, dim = edges.shape[1:]
    if count == dim:
        return torch.linalg.det(edges).abs() / math.factorial(dim)
    return torch.linalg.det(edges @ edges.mT).clamp(min=0).sqrt() / math.factorial(count)


def spread(nodes: Points, cells: Cells) -> Float[Tensor, "points"]:
    """Distribute the volume of each cell equally to its corners."""
    corners = cells.shape[1]
    weights = torch.zeros(len(nodes), dtype=torch.float64)
    return weights.index_add_(0, cells.flatten(), (volumes(nodes, cells) / corners).repeat_interleave(corners))


@dataclass(frozen=True)
class Between:
    """Linear interpolation f(x_p) = Σ_k weights_pk f(nodes_pk). `outside` are the points that lie in no cell."""

    nodes: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    def __call__(self, f: np.ndarray) -> np.ndarray:
        """Functions (…, nodes) at the points, (…, points)."""
        return (f[..., self.nodes] * self.weights).sum(-1)


def between(nodes: np.ndarray, cells: np.ndarray, points: np.ndarray) -> Between:
    """Linear interpolation at points in cells, and the value at the nearest node outside of them.

    Cells without volume, such as those of a surface in space, contain no points.
    """
    corners = cells.shape[1]
    used = np.repeat(cells[:1, :1], len(points), 0).repeat(corners, 1)
    weights = np.zeros((len(points), corners))
    cell, shares = _containing(nodes, cells, points) if corners == nodes.shape[1] + 1 else (np.full(len(points), -1), weights)
    inside, outside = cell >= 0, np.flatnonzero(cell < 0)
    used[inside], weights[inside] = cells[cell[inside]], shares[inside]
    if len(outside):
        members = np.unique(cells)
        used[outside] = members[cKDTree(nodes[members]).query(points[outside])[1]][:, None]
        weights[outside, 0], weights[outside, 1:] = 1.0, 0.0
    return Between(used, weights, outside)


def _containing(nodes: np.ndarray, cells: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell that contains each point (−1 for none), and barycentric coordinates; on a common face, the cell that contains it best."""
    dim = nodes.shape[1]
    corners = nodes[cells]
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 2)
    flat = np.abs(np.linalg.det(edges)) <= 1e-14 * np.prod(np.linalg.norm(edges, axis=1), axis=1)
    inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(dim), edges))
    bins = _Bins(corners.min(1), corners.max(1))
    start, count = bins.of(points)
    found, best = np.full(len(points), -1), np.full(len(points), -ROUNDING)
    shares = np.zeros((len(points), dim + 1))
    for rank in range(int(count.max(initial=0))):
        here = np.flatnonzero(count > rank)
        cell = bins.members[start[here] + rank]
        rest = np.einsum("pij,pj->pi", inverse[cell], points[here] - corners[cell, 0])
        part = np.concatenate([1 - rest.sum(1, keepdims=True), rest], axis=1)
        depth = np.where(flat[cell], -np.inf, part.min(1))
        better = depth >= best[here]
        here, cell = here[better], cell[better]
        found[here], best[here], shares[here] = cell, depth[better], part[better]
    return found, shares


class _Bins:
    """A grid of search bins. `members` lists the cells that may overlap each bin, one bin after the other."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self.origin, extent = low.min(0), np.maximum(high.max(0) - low.min(0), 1e-300)
        margin = ROUNDING * extent
        dim, along = low.shape[1], max(1, int(len(low) ** (1 / low.shape[1])))
        while True:
            self.shape = np.full(dim, along)
            self.step = extent / along * (1 + 1e-12)
            first, last = self._place(low - margin), self._place(high + margin)
            sizes = last - first + 1
            counts = sizes.prod(1)
            if along == 1 or counts.sum() <= SPREAD * len(low):
                break
            along = along // 2
        cell = np.repeat(np.arange(len(low)), counts)
        rank = np.arange(len(cell)) - np.repeat(counts.cumsum() - counts, counts)
        place = np.empty((len(cell), dim), dtype=np.int64)
        for axis in range(dim):
            rank, place[:, axis] = np.divmod(rank, sizes[cell, axis])
        number = np.ravel_multi_index(tuple((first[cell] + place).T), tuple(self.shape))
        order = number.argsort(kind="stable")
        self.members, self.counts = cell[order], np.bincount(number, minlength=int(self.shape.prod()))
        self.starts = self.counts.cumsum() - self.counts

    def _place(self, points: np.ndarray) -> np.ndarray:
        return np.clip(((points - self.origin) / self.step).astype(np.int64), 0, self.shape - 1)

    def of(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For the bin of each point, the position of its first member and their number."""
        number = np.ravel_multi_index(tuple(self._place(points).T), tuple(self.shape))
        return self.starts[number], self.counts[number]
