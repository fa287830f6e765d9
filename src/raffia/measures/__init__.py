"""Probability measures on function spaces."""

from raffia.measures.gaussian import GaussianField
from raffia.measures.noise import uniform_noise, white_noise

__all__ = ["GaussianField", "uniform_noise", "white_noise"]
