"""Errors as they are reported, the same for all outputs: relative to norms, in units of deviations, and both for each channel."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from raffia.errors import RaffiaError
from raffia.metrics.error_measure import FLOOR, not_zero
from raffia.spaces import Nodes

AT_ONCE = 2**22
"""Values that are copied to float64 at a time."""
ROUNDING = 1e-12
"""A channel whose standard deviation is below this share of its norm counts as constant."""


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of predictions, for each sample and for each channel.

    Attributes
    ----------
    relative
        The relative L² error, of shape (n,).
    deviations
        The error in standard deviations of the outputs, of shape (n,).
    channels
        The relative error of each channel or component, of shape (n, channels).
    channel_deviations
        The error of each in its standard deviations, of shape (n, channels).

    Examples
    --------
    See `surrogate.measured` in `examples/plot_02_own_file.py` of the gallery.

    >>> import torch
    >>> from raffia.metrics import Errors
    >>> one = torch.ones(3)
    >>> Errors(one, one, one[:, None], one[:, None]).part(torch.tensor([0, 2])).relative.shape
    torch.Size([2])
    """

    relative: Float[Tensor, "n"]
    """‖F(a) − y‖ / ‖y‖ in the units of the data; the divisor is at least a tenth of the usual norm."""
    deviations: Float[Tensor, "n"]
    """The root mean square over channels of errors in standard deviations; predicting the mean has error about 1."""
    channels: Float[Tensor, "n channels"]
    """The relative error of each channel."""
    channel_deviations: Float[Tensor, "n channels"]
    """The error of each channel in standard deviations; NaN if it is constant."""

    def part(self, rows: Tensor) -> "Errors":
        """The errors of some of the samples."""
        return Errors(self.relative[rows], self.deviations[rows], self.channels[rows], self.channel_deviations[rows])


@dataclass(frozen=True, eq=False)
class Sizes:
    """The norms and standard deviations of training outputs, for each channel or component; errors are relative to them."""

    norms: Tensor
    """(channels,): the root mean square of ‖y‖."""
    spreads: Tensor
    """(channels,): the root mean square of ‖y − mean y‖."""

    @classmethod
    def of(cls, y: Float[Tensor, "n *output"], grid: Nodes) -> "Sizes":
        """Compute them from outputs."""
        mean = y.detach().mean(0, dtype=torch.float64).cpu()
        parts = y.detach().split(max(1, AT_ONCE // grid.size))
        norms = (torch.cat([_norms(part.double().cpu() - off, grid) for part in parts]) for off in (torch.zeros(()), mean))
        return cls(*(found.square().mean(0).sqrt() for found in norms))

    def errors(self, y: Float[Tensor, "n *output"], prediction: Float[Tensor, "n *output"], grid: Nodes) -> Errors:
        """The errors of these predictions."""
        truth, guess = (values.detach().double().cpu() for values in (y, prediction))
        off, norms = _norms(guess - truth, grid), _norms(truth, grid)
        if off.shape[1] != len(self.norms):
            raise RaffiaError(f"y must have {len(self.norms)} channels or components, as in training; got {off.shape[1]}.")
        sizes = not_zero(norms.norm(dim=1).clamp(min=FLOOR * float(self.norms.norm())))
        varies = torch.where(self.spreads > ROUNDING * self.norms, self.spreads, torch.nan)
        return Errors(
            off.norm(dim=1) / sizes,
            (off / varies).square().nanmean(1).sqrt(),
            off / norms.maximum(FLOOR * self.norms),
            off / varies,
        )

    def values(self, grid: Nodes) -> Float[Tensor, "channels"]:
        """The root mean square value of each channel, for outputs on this grid."""
        return self.norms / _norms(torch.ones(1, *grid.shape, dtype=self.norms.dtype), grid)[0]


def _norms(f: Float[Tensor, "n *output"], grid: Nodes) -> Float[Tensor, "n channels"]:
    """The norm of each channel or component of each sample."""
    channels = grid.shape[0] if grid.has_components else 1
    return grid.embed(f).reshape(len(f), channels, -1).norm(dim=2)
