"""Divergence-free velocities, by the Leray projection."""

import math
from dataclasses import dataclass
from typing import ClassVar, cast

import torch
from torch import Tensor

from raffia.constraints.equality import Equality, Fields, Inputs
from raffia.errors import RaffiaError
from raffia.spaces import Grid, Nodes, Space
from raffia.spaces.spectral import wavenumbers


@dataclass(frozen=True, repr=False)
class DivergenceFree(Equality):
    """Make predicted velocities divergence-free, exactly, for every input and on every periodic grid.

    F̂(k) = f̂(k) − k (k·f̂(k)) / |k|², the orthogonal projection in L². The divergence is that of the waves that the grid
    resolves. It is applied to predictions only, because it mixes channels. It never increases the error if the true outputs
    are divergence-free.

    Parameters
    ----------
    channels
        Indices of the components of the velocity, as many as dimensions; None is all channels.

    Examples
    --------
    >>> from raffia import Channels, Domain, FourierFeatures, RandomFeatureModel
    >>> from raffia.constraints import DivergenceFree
    >>> model = RandomFeatureModel(FourierFeatures(domain=Channels(Domain(2), 2)), ridge=1e-6, constraints=[DivergenceFree()])
    """

    channels: tuple[int, ...] | None = None
    order: ClassVar[int] = 1
    mixes_channels: ClassVar[bool] = True

    @property
    def in_words(self) -> str:
        """The statement in words."""
        return "the divergence is zero"

    def check(self, inputs: Space, outputs: Space) -> None:
        """The domain must be a torus, with one channel for each dimension."""
        super().check(inputs, outputs)
        region, count = outputs.one_channel, outputs.channels if self.channels is None else len(set(self.channels))
        if not region.gridded or not region.periodic or region.dim != count:
            raise RaffiaError(
                f"constraints: {self} needs as many channels on a torus as it has dimensions; got {count} on {region}. "
                "Name the channels of the velocity: DivergenceFree(channels=(0, 1))."
            )

    def apply(self, f: Fields, nodes: Nodes, given: Inputs | None, ends_fixed: bool) -> Fields:
        """By projecting each wave."""
        dim = len(nodes.shape)
        k = derivative_wavenumbers(nodes).to(f)
        spectrum = torch.fft.rfftn(f, dim=tuple(range(-dim, 0)))
        along = (k * spectrum).sum(-dim - 1, keepdim=True) / k.square().sum(0).clamp(min=torch.finfo(f.dtype).tiny)
        return torch.fft.irfftn(spectrum - k * along, s=nodes.shape, dim=tuple(range(-dim, 0)))


def derivative_wavenumbers(nodes: Nodes) -> Tensor:
    """(dim, *spectrum) of a real transform, 2π/length times whole numbers; zero for the highest of an even axis."""
    grid = cast(Grid, nodes)
    axes = zip(wavenumbers(grid), grid.shape, grid.domain.extents, strict=True)
    return torch.stack(
        torch.broadcast_tensors(*(2 * math.pi / extent * torch.where(2 * k.abs() == n, 0.0, k) for k, n, extent in axes))
    )
