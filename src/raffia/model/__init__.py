"""The random feature model: training, prediction, error bars and files."""

from raffia.model.error_bars import ConformalBand
from raffia.model.estimator import RandomFeatureModel, load

__all__ = ["ConformalBand", "RandomFeatureModel", "load"]
