"""The kinds of coefficients that multiply features, with their solvers, errors and variances: one file for each kind."""

import math

from raffia.model.coefficients.base import Coefficients, RidgeChoice
from raffia.model.coefficients.kernel import Kernel
from raffia.model.coefficients.modal import Modal
from raffia.model.coefficients.ordinary import Ordinary
from raffia.model.settings import Settings


def coefficients_of(settings: Settings) -> Coefficients:
    """The kind that a model with these settings has."""
    if settings.n_features == math.inf:
        return Kernel(settings)
    return Modal(settings) if settings.modal else Ordinary(settings)
