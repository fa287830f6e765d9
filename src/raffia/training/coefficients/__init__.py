"""What multiplies a feature, and all that depends on it: one file for each kind of coefficients."""

from raffia.training.coefficients.base import Coefficients
from raffia.training.coefficients.modal import Modal
from raffia.training.coefficients.ordinary import Ordinary
from raffia.training.settings import Settings

__all__ = ["Coefficients", "Modal", "Ordinary", "coefficients_of"]


def coefficients_of(settings: Settings) -> Coefficients:
    """The kind that a model with these settings has."""
    return Modal() if settings.modal else Ordinary()
