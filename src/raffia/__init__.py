"""Operator learning with function-valued random features."""

from raffia import interrupts, inverse, metrics  # noqa: F401  (interrupts first: the others take seconds)
from raffia.data import Dataset, read
from raffia.errors import RaffiaError
from raffia.features import (
    BrownianBridge,
    CarriedFeatures,
    FourierFeatures,
    GalerkinFeatures,
    IteratedFeatures,
    LocalFeatures,
    NeuralFeatures,
    PlacedFeatures,
    PredictorCorrectorFeatures,
    ScalarFeatures,
    Union,
)
from raffia.features.base import FeatureMap, empirical_kernel
from raffia.measures import GaussianField, LevelSet, Pushforward
from raffia.model import RandomFeatureModel, load
from raffia.problems import (
    Advection,
    AllenCahn,
    BridgeRegression,
    Burgers,
    Darcy,
    GrayScott,
    Helmholtz,
    KortewegDeVries,
    KuramotoSivashinsky,
    NavierStokes,
    Problem,
    Scenario,
    SwiftHohenberg,
    VectorBurgers,
    Wave,
)
from raffia.regression import NormalEquations
from raffia.regression.solvers import Cholesky, Dual, NystromPCG, Pseudoinverse, SketchedLSQR, Solution, Solver, TriangularQR
from raffia.spaces import Channels, Domain, Grid, Mesh, Vectors, resample
from raffia.surrogate import Surrogate, fit

__version__ = "0.1.0"

__all__ = [
    "Advection",
    "AllenCahn",
    "BridgeRegression",
    "BrownianBridge",
    "Burgers",
    "CarriedFeatures",
    "Channels",
    "Cholesky",
    "Darcy",
    "Dataset",
    "Domain",
    "Dual",
    "FeatureMap",
    "FourierFeatures",
    "GalerkinFeatures",
    "GaussianField",
    "GrayScott",
    "Grid",
    "Helmholtz",
    "IteratedFeatures",
    "KortewegDeVries",
    "KuramotoSivashinsky",
    "LevelSet",
    "LocalFeatures",
    "Mesh",
    "NavierStokes",
    "NeuralFeatures",
    "NormalEquations",
    "NystromPCG",
    "PlacedFeatures",
    "PredictorCorrectorFeatures",
    "Problem",
    "Pseudoinverse",
    "Pushforward",
    "RaffiaError",
    "RandomFeatureModel",
    "ScalarFeatures",
    "Scenario",
    "SketchedLSQR",
    "Solution",
    "Solver",
    "Surrogate",
    "SwiftHohenberg",
    "TriangularQR",
    "Union",
    "VectorBurgers",
    "Vectors",
    "Wave",
    "empirical_kernel",
    "fit",
    "inverse",
    "load",
    "metrics",
    "read",
    "resample",
]  # fmt: skip
