"""Searches for hyperparameters."""

from raffia.tuning.base import History, RidgeSearch, Search, Trial, never
from raffia.tuning.gradient import GradientSearch
from raffia.tuning.kernel_search import search_kernel
from raffia.tuning.objective import Objective, SearchSpace, objective_for

__all__ = ["GradientSearch", "History", "RidgeSearch", "Search", "SearchSpace", "Trial", "objective_for", "search_kernel"]
