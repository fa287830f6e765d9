"""Operator learning with function-valued random features."""

from raffia import metrics
from raffia.data import read
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import BrownianBridge, FeatureMap, FourierFeatures
from raffia.kernel import empirical_kernel
from raffia.measures import GaussianField
from raffia.model import RandomFeatureModel, load
from raffia.problems import BridgeRegression, Burgers, Problem
from raffia.regression import Cholesky, NormalEquations, Pseudoinverse, Solution, Solver
from raffia.spaces import Domain, Grid, resample

__version__ = "0.1.0"

__all__ = [
    "BridgeRegression",
    "BrownianBridge",
    "Burgers",
    "Cholesky",
    "Dataset",
    "Domain",
    "FeatureMap",
    "FourierFeatures",
    "GaussianField",
    "Grid",
    "NormalEquations",
    "Problem",
    "Pseudoinverse",
    "RaffiaError",
    "RandomFeatureModel",
    "Solution",
    "Solver",
    "empirical_kernel",
    "load",
    "metrics",
    "read",
    "resample",
]
