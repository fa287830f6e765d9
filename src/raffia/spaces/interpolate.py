"""A function given on some nodes, on others: whatever grids and meshes they are."""

from torch import Tensor

from raffia.spaces.base import Nodes
from raffia.spaces.resample import resample


def interpolate(f: Tensor, here: Nodes | None, there: Nodes) -> Tensor:
    """Interpolate f, (*shape), from the nodes `here` to those `there`.

    It is returned as it is where the nodes are equal, or where it is a constant (`here` is None).
    """
    one, other = there.one_channel if here is None else here.one_channel, there.one_channel
    return f if one is other or one == other else resample(f, one, other, smooth=True)
