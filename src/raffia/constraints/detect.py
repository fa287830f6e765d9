"""What data conserve, found from the data."""

import numpy as np
import torch
from torch import Tensor

from raffia.constraints.integral import Conserved, integrals
from raffia.spaces import Space

ROUNDINGS = 256.0
"""Of the precision of the data, times the mean size of a value: integrals that differ by less are equal."""


def conserved_by(a: Tensor | np.ndarray, y: Tensor | np.ndarray, space: Space) -> Conserved | None:
    """The constraint that the integral of each output is that of its input, for the channels where these data say so to rounding.

    `space` is that of the outputs y; inputs a are on the same nodes, with as many channels or more, of which the first are compared. None
    where no channel is conserved, or where a and y are not functions on the same nodes. `in_words` of what is found says it.
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
    apart = (integrals(before[:, :count], nodes) - integrals(after, nodes)).abs().amax(0)
    sizes = integrals(after.abs(), nodes).amax(0)
    kept = tuple(torch.nonzero((apart <= ROUNDINGS * precision * sizes) & (sizes > 0)).flatten().tolist())
    if not kept:
        return None
    return Conserved() if len(kept) == count == before.shape[1] else Conserved(channels=kept)
