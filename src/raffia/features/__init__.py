"""Random feature maps."""

from raffia.features.activations import ACTIVATIONS
from raffia.features.base import FeatureMap
from raffia.features.brownian_bridge import BrownianBridge
from raffia.features.fourier import FourierFeatures
from raffia.features.predictor_corrector import PredictorCorrectorFeatures

__all__ = ["ACTIVATIONS", "BrownianBridge", "FeatureMap", "FourierFeatures", "PredictorCorrectorFeatures"]
