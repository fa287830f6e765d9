"""Inverse problems: from a few noisy values of F(a) back to a, with a surrogate, the true solver or any map of batches as F.

All of it works in whitened coordinates, ξ ~ N(0, I) under the prior, so that nothing depends on how finely functions are resolved.
"""

from raffia.inverse.bars import error_bars
from raffia.inverse.chains import Chains
from raffia.inverse.delayed import delayed_acceptance
from raffia.inverse.diagnostics import effective_sample_size, split_rhat
from raffia.inverse.laplace import Laplace, laplace
from raffia.inverse.maximum import Maximum, maximum_a_posteriori
from raffia.inverse.observation import point_values, surrogate_error
from raffia.inverse.prior import Prior, WhiteNoise
from raffia.inverse.problem import InverseProblem
from raffia.inverse.sampling import mala, pcn

__all__ = [
    "Chains", "InverseProblem", "Laplace", "Maximum", "Prior", "WhiteNoise", "delayed_acceptance", "effective_sample_size", "error_bars",
    "laplace", "mala", "maximum_a_posteriori", "pcn", "point_values", "split_rhat", "surrogate_error",
]  # fmt: skip
