"""Conservation laws that data obey, inferred from the data."""

import numpy as np
import torch
from torch import Tensor

from raffia.constraints.integral import Conserved, integrals
from raffia.spaces import Space
from raffia.spaces.outliers import largest

ROUNDINGS = 256.0
"""Integrals are equal if they differ by less than this many roundings of the mean |value|."""


def conserved_by(a: Tensor | np.ndarray, y: Tensor | np.ndarray, space: Space) -> Conserved | None:
    """Return the constraint that outputs keep the integrals of inputs, for the channels that do so to rounding; None if none does.

    A fiftieth of the samples may break the law, as measured and simulated sets have faulty samples.

    Parameters
    ----------
    a, y
        Inputs and outputs, functions on the same nodes. Inputs may have further channels, after those of the outputs.
    space
        The space of the outputs.
    """
    inputs, outputs = torch.as_tensor(a), torch.as_tensor(y)
    if space.tabular or space.dim == 0 or outputs.ndim != 1 + space.ndim or len(inputs) != len(outputs):
        return None
    nodes, count = space.one_channel.grid_of(outputs), space.channels
    if inputs.shape[inputs.ndim - len(nodes.shape) :] != nodes.shape:
        return None
    before, after = (f.double().reshape(len(f), -1, *nodes.shape) for f in (inputs, outputs))
    if before.shape[1] < count:
        return None
    precision = max(torch.finfo(f.dtype).eps for f in (inputs, outputs))
    apart = integrals(before[:, :count], nodes) - integrals(after, nodes)
    sizes = integrals(after.abs(), nodes)
    kept = tuple(i for i in range(count) if largest(apart[:, i]) <= ROUNDINGS * precision * largest(sizes[:, i]) > 0)
    if not kept:
        return None
    return Conserved() if len(kept) == count == before.shape[1] else Conserved(channels=kept)
