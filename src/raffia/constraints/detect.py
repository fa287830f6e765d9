"""Conservation laws inferred from data."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from raffia.constraints.integral import Conserved, integrals
from raffia.spaces import Space

ROUNDINGS = 64.0
"""The change of an integral in one step that rounding may cause, relative to the precision of the data and the mean value."""
SHARE = 0.95
"""The integral must be constant along this share of the trajectories; with fewer than twenty, along all."""


def conserved_by(
    a: Tensor | np.ndarray,
    y: Tensor | np.ndarray,
    space: Space,
    trajectory: Tensor | None = None,
    of: Sequence[int] | None = None,
) -> Conserved | None:
    """Find the channels of outputs whose integral is that of the inputs, to the rounding of the data.

    An integral is conserved if its change along a trajectory is explained by rounding, which grows as the square root of the number of
    steps.

    Parameters
    ----------
    a, y
        Inputs and outputs, functions on the same nodes.
    space
        The space of the outputs.
    trajectory
        A label for each pair, the same for all pairs of a trajectory. None takes each pair by itself.
    of
        The channel of inputs that each channel of outputs is compared with; None compares with the first ones, in order.

    Returns
    -------
    The constraint, or None where no channel is conserved, or where inputs and outputs are not functions on the same nodes.
    """
    inputs, outputs = torch.as_tensor(a), torch.as_tensor(y)
    if space.tabular or space.dim == 0:
        return None
    nodes, count = space.one_channel.grid_of(outputs), space.channels
    if inputs.shape[inputs.ndim - len(nodes.shape) :] != nodes.shape:
        return None
    before, after = (f.double().reshape(len(f), -1, *nodes.shape) for f in (inputs, outputs))
    sources = tuple(range(count) if of is None else of)
    if before.shape[1] <= max(sources):
        return None
    labels = torch.arange(len(after)) if trajectory is None else trajectory.unique(return_inverse=True)[1]
    constant, sizes = _constant(
        torch.stack([integrals(before[:, sources], nodes), integrals(after, nodes)]),
        integrals(after.abs(), nodes),
        labels.to(after.device),
        max(torch.finfo(f.dtype).eps for f in (inputs, outputs)),
    )
    kept = tuple(torch.nonzero((constant.double().mean(0) >= SHARE) & (sizes > 0)).flatten().tolist())
    if not kept:
        return None
    named, channels = tuple(sources[channel] for channel in kept), None if len(kept) == count else kept
    if named != kept:
        return Conserved(channels, named)
    return Conserved(channels if before.shape[1] == count else kept)


def _constant(both: Tensor, sizes: Tensor, labels: Tensor, precision: float) -> tuple[Tensor, Tensor]:
    """Whether integrals (2, n, channels) are constant along each trajectory, up to rounding, and the size of each channel."""
    steps = labels.bincount()
    where = labels[:, None].expand_as(sizes)

    def largest(values: Tensor) -> Tensor:
        return values.new_zeros(len(steps), values.shape[1]).scatter_reduce(0, where, values, "amax", include_self=False)

    drift = largest(both.amax(0)) + largest(-both.amin(0))
    return drift <= ROUNDINGS * precision * steps.sqrt()[:, None] * largest(sizes), sizes.amax(0)
