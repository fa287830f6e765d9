"""Inverse problems: from a few noisy values of F(a) back to a, with a surrogate, the true solver or any map of batches as F.

All of it works in whitened coordinates, ξ ~ N(0, I) under the prior, so that nothing depends on how finely functions are resolved.
"""

from raffia.inverse.chains import Chains
from raffia.inverse.laplace import Laplace, laplace
from raffia.inverse.maximum import Maximum, maximum_a_posteriori
from raffia.inverse.observation import error_bars, point_values, surrogate_error
from raffia.inverse.prior import Prior, WhiteNoise
from raffia.inverse.problem import InverseProblem
from raffia.inverse.sampling import delayed_acceptance, pcn

__all__ = [
    "Chains",
    "InverseProblem",
    "Laplace",
    "Maximum",
    "Prior",
    "WhiteNoise",
    "delayed_acceptance",
    "error_bars",
    "laplace",
    "maximum_a_posteriori",
    "pcn",
    "point_values",
    "surrogate_error",
]
