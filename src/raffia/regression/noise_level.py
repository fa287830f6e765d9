"""The noise level of a model, read off the errors of leaving out one function at a time.

Errors of one function at neighbouring points are not independent: the noise has a pointwise variance σ², and a function counts
as K_eff independent numbers, so in embedded coordinates its variance is s² = σ² |D| / K_eff.
"""

from dataclasses import dataclass

from raffia.regression.leave_one_out import LeftOut
from raffia.spaces import Nodes


@dataclass(frozen=True)
class Noise:
    """σ², the pointwise variance of what the model cannot say, and K_eff, as how many independent numbers a function counts."""

    variance: float
    effective_points: float

    def scale(self, grid: Nodes) -> float:
        """s² = σ² |D| / K_eff."""
        return self.variance * grid.volume / self.effective_points


def noise_of(left_out: LeftOut, grid: Nodes) -> Noise:
    """From e_i: K_eff is the participation ratio of their covariance; σ² makes mean ‖e_i‖² equal to its expectation."""
    e = left_out.functions
    second = (e @ e.mT if len(e) < e.shape[1] else e.mT @ e) / len(e)  # whichever is smaller: their spectra agree
    energy = float(second.diagonal().sum())
    effective = energy**2 / float(second.square().sum()) if energy > 0 else 1.0
    leverage = float(left_out.leverages.mean())
    return Noise(energy / (grid.volume * (1 + leverage / effective)), effective)
