"""What multiplies a feature, and all that depends on it: one file for each kind of coefficients."""

import math

from raffia.training.coefficients.base import Chosen, Coefficients
from raffia.training.coefficients.kernel import Kernel
from raffia.training.coefficients.modal import Modal
from raffia.training.coefficients.ordinary import Ordinary
from raffia.training.settings import Settings

__all__ = ["Chosen", "Coefficients", "Kernel", "Modal", "Ordinary", "coefficients_of"]


def coefficients_of(settings: Settings) -> Coefficients:
    """The kind that a model with these settings has."""
    if settings.n_features == math.inf:
        return Kernel()
    return Modal() if settings.modal else Ordinary()
