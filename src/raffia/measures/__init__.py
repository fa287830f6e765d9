"""Probability measures on function spaces."""

from raffia.measures.base import Measure
from raffia.measures.gaussian import GaussianField
from raffia.measures.noise import uniform_noise, white_noise

__all__ = ["GaussianField", "Measure", "uniform_noise", "white_noise"]
