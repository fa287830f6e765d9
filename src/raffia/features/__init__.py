"""Random feature maps."""

from raffia.features.activations import ACTIVATIONS
from raffia.features.advected import CarriedFeatures
from raffia.features.base import FeatureMap, empirical_kernel
from raffia.features.brownian_bridge import BrownianBridge
from raffia.features.composed import IteratedFeatures
from raffia.features.fourier import FourierFeatures
from raffia.features.galerkin import GalerkinFeatures
from raffia.features.local import LocalFeatures
from raffia.features.modulated import PlacedFeatures
from raffia.features.neural import BranchTrunk, Network, NeuralFeatures, SpectralNetwork
from raffia.features.predictor_corrector import PredictorCorrectorFeatures
from raffia.features.products import ProductFeatures
from raffia.features.scalar import ScalarFeatures
from raffia.features.union import Union
from raffia.features.wrapped import Selected

__all__ = [
    "ACTIVATIONS", "BranchTrunk", "BrownianBridge", "CarriedFeatures", "FeatureMap", "FourierFeatures", "GalerkinFeatures",
    "IteratedFeatures", "LocalFeatures", "Network",
    "NeuralFeatures", "PlacedFeatures", "PredictorCorrectorFeatures", "ProductFeatures",
    "ScalarFeatures", "Selected", "SpectralNetwork", "Union",
    "empirical_kernel",
]  # fmt: skip
