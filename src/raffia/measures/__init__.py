"""Probability measures on function spaces."""

from raffia.measures.base import Measure
from raffia.measures.gaussian import GaussianField
from raffia.measures.level_set import LevelSet
from raffia.measures.noise import uniform_noise, white_noise
from raffia.measures.pushforward import Pushforward
from raffia.measures.truncated_waves import TruncatedWaves

__all__ = ["GaussianField", "LevelSet", "Measure", "Pushforward", "TruncatedWaves", "uniform_noise", "white_noise"]
