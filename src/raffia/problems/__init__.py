"""Benchmark problems, one file each."""

from raffia.problems.base import Problem
from raffia.problems.bridge_regression import BridgeRegression
from raffia.problems.burgers import Burgers
from raffia.problems.darcy import Darcy

__all__ = ["BridgeRegression", "Burgers", "Darcy", "Problem"]
