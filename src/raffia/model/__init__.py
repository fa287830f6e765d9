"""The random feature model, what it predicts, how sure it is, and its file."""

from raffia.model.error_bars import ConformalBand
from raffia.model.estimator import RandomFeatureModel, load

__all__ = ["ConformalBand", "RandomFeatureModel", "load"]
