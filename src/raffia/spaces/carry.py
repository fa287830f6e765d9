"""A function given on some nodes, on others: whatever grids and meshes they are."""

from typing import cast

from torch import Tensor

from raffia.spaces.base import Nodes
from raffia.spaces.followed import plainly
from raffia.spaces.grid import Grid
from raffia.spaces.mesh import Mesh
from raffia.spaces.resample import moved, resample


def carry(f: Tensor, here: Nodes | None, there: Nodes) -> Tensor:
    """f, (*shape) on the nodes `here`, interpolated to those `there`; as it is where they agree, or where it is no function (None)."""
    if here is None or here == there:
        return f
    one, other = here.one_channel, there.one_channel
    if isinstance(one, Grid) and isinstance(other, Grid):
        return resample(f, one, other, smooth=True)
    here, there = cast(Mesh, one), cast(Mesh, other)  # or grids, which have positions too
    with plainly():
        places = there.positions.numpy()
    return moved(f, here, places).reshape(*f.shape[: f.ndim - len(one.shape)], *other.shape)
