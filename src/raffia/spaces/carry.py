"""A function given on some nodes, on others: whatever grids and meshes they are."""

from typing import cast

from torch import Tensor

from raffia.spaces.base import Nodes
from raffia.spaces.followed import plainly
from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.spaces.resample import moved, resample


def carry(f: Tensor, here: Nodes | None, there: Nodes) -> Tensor:
    """Interpolate f, (*shape), from the nodes `here` to those `there`.

    It is returned as it is where the nodes are equal, or where it is a constant (`here` is None).
    """
    one, other = there.one_channel if here is None else here.one_channel, there.one_channel
    if one is other or one == other:
        return f
    if isinstance(one, Grid) and isinstance(other, Grid):
        return resample(f, one, other, smooth=True)
    source, target = cast(Mesh, one), cast(Mesh, other)  # or grids, which have positions too
    with plainly():
        places = target.positions.numpy()
    return moved(f, source, places).reshape(*f.shape[: f.ndim - len(one.shape)], *other.shape)
