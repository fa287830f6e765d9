"""Operator learning with function-valued random features."""

from raffia import metrics
from raffia.data import read
from raffia.dataset import Dataset
from raffia.errors import RaffiaError
from raffia.features import BrownianBridge, FeatureMap, FourierFeatures, PredictorCorrectorFeatures
from raffia.kernel import empirical_kernel
from raffia.measures import GaussianField, LevelSet
from raffia.model import RandomFeatureModel, load
from raffia.problems import BridgeRegression, Burgers, Darcy, Problem
from raffia.regression import Cholesky, NormalEquations, Pseudoinverse, Solution, Solver
from raffia.spaces import Domain, Grid, resample

__version__ = "0.1.0"

__all__ = [
    "BridgeRegression",
    "BrownianBridge",
    "Burgers",
    "Cholesky",
    "Darcy",
    "Dataset",
    "Domain",
    "FeatureMap",
    "FourierFeatures",
    "GaussianField",
    "Grid",
    "LevelSet",
    "NormalEquations",
    "PredictorCorrectorFeatures",
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
