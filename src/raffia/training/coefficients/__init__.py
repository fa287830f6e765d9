"""What multiplies a feature, and all that depends on it: one file for each kind of coefficients."""

from raffia.training.coefficients.base import Coefficients
from raffia.training.coefficients.ordinary import Ordinary

__all__ = ["Coefficients", "Ordinary", "coefficients_of"]


def coefficients_of(settings: object) -> Coefficients:
    """The kind that a model with these settings has."""
    return Ordinary()
