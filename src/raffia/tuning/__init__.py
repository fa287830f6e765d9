"""Searches for hyperparameters."""

from raffia.tuning.base import History, Search, Trial
from raffia.tuning.gradient import GradientSearch
from raffia.tuning.objective import Objective, objective_for
from raffia.tuning.ridge import RidgeSearch

__all__ = ["GradientSearch", "History", "Objective", "RidgeSearch", "Search", "Trial", "objective_for"]
